/* capture-rt/tracer/freeze.h - holding all threads of the program still by ptrace, and letting them go as they were.
 *
 * Attached only for the time of a stop: the program's signals, forks and execs are its own. The calling thread must be the one that lets go.
 */
#ifndef PCERE_CAPTURE_TRACER_FREEZE_H
#define PCERE_CAPTURE_TRACER_FREEZE_H

#include "capture-rt/tracer/child.h"

struct freeze_thread {
    pid_t tid;
    int signal;                  /* caught on its way to the thread: delivered when it is let go */
    bool gone;
};

struct freeze {
    struct freeze_thread *threads;
    size_t count, capacity;
};

/* Stop every thread of the child; `first` (which waits for an answer) is among them. Nothing is stopped on failure.
 * PCERE_REFUSED: ptrace is forbidden. PCERE_NO: the program ended meanwhile. */
enum pcere_status freeze_all(struct child *child, pid_t first, struct freeze *freeze, struct pcere_error *error);
void freeze_release(struct freeze *freeze);      /* let all go; the struct can be used again */
void freeze_done(struct freeze *freeze);

#endif
