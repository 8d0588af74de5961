/* capture-rt/tracer/freeze.h - holding all threads of the program still by ptrace, and letting them go as they were.
 *
 * Attached only for the time of a stop, or while a thread is held longer: the program's signals, forks and execs are its own. The calling
 * thread must be the one that lets go.
 */
#ifndef PCERE_CAPTURE_TRACER_FREEZE_H
#define PCERE_CAPTURE_TRACER_FREEZE_H

#include "capture-rt/tracer/child.h"

struct freeze_thread {
    pid_t tid;
    int signal;                  /* caught on its way to the thread: delivered when it is let go */
    bool gone;
    bool ending;                 /* killed while it was stopped, or ending as it was to be: it cannot be let go, and freeze_reap waits for it */
    uint64_t held_for;           /* not let go with the others: see freeze_let_go; 0: it is */
};

struct freeze {
    struct freeze_thread *threads;
    size_t count, capacity;
    bool permitted;              /* ptrace is: it was tried */
};

/* Stop every thread of the child that is not held already; `first` (which waits for an answer) is among them, unless there is no other: it stands still as it is,
 * once it is known that ptrace is permitted. Nothing more is stopped than before
 * on failure. PCERE_REFUSED: ptrace is forbidden. PCERE_NO: the program ended meanwhile. */
enum pcere_status freeze_all(struct child *child, pid_t first, struct freeze *freeze, struct pcere_error *error);
/* One thread of those that are stopped is let go, and stopped again; it waits for us meanwhile, or does what it was asked to. As freeze_all. */
void freeze_one_release(struct freeze *freeze, pid_t tid);
enum pcere_status freeze_one(struct child *child, pid_t tid, struct freeze *freeze, struct pcere_error *error);
void freeze_release(struct freeze *freeze);      /* let all go that are not held; the struct can be used again */
/* Let go what is held for that reason. Only while nothing else is stopped. False: there was nothing. */
bool freeze_let_go(struct freeze *freeze, uint64_t held_for);
/* Threads that ended while they were held, or are ending, are nobody's any more: the program's end waits for that. To be called until `count` is 0. */
void freeze_reap(struct child *child, struct freeze *freeze);
void freeze_done(struct freeze *freeze);

#endif
