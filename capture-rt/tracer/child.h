/* capture-rt/tracer/child.h - starting the user's program as a child, with the capture library in it, and seeing its end. */
#ifndef PCERE_CAPTURE_TRACER_CHILD_H
#define PCERE_CAPTURE_TRACER_CHILD_H

#include "capture-rt/tracer/capture.h"
#include "core/program_signals.h"

#include <sys/types.h>

struct child_setup {
    const struct capture_options *options;
    int log, socket;             /* descriptors to inherit; socket may be -1 */
    int descriptors[3];          /* standard input, output, error: to become 0, 1, 2; -1: /dev/null */
};

struct child {
    pid_t pid;
    int pidfd;                   /* readable at the program's end; -1 where the kernel has none */
    uint64_t start_ns, end_ns;   /* CLOCK_MONOTONIC: before the process was made; its end seen */
    bool ended, stopped;         /* stopped: it was sent SIGTERM */
    int status;                  /* as waitpid gives it, once ended */
    uint64_t peak_bytes;
    uint64_t before_cpu_ns;      /* CPU time of the thread that made it, then */
    uint64_t asleep_cpu_ns;      /* ... and since, while the program slept until that was done */
    uint64_t waited_ns;          /* how long the initial thread waited for a processor, as the scheduler counts it, that the thread that made it cannot have had; 0: unknown, or it did not */
    bool randomized;             /* ADDR_NO_RANDOMIZE was refused */
    char **environment;          /* what manifest.environment wants to hold */
    struct program_signals signals;
};

uint64_t clock_ns(void);         /* CLOCK_MONOTONIC */
uint64_t thread_cpu_ns(void);    /* of the calling thread */

/* Will the program have places of ours, since its user says nothing of them? */
bool child_sets_places(const struct capture_options *options);
/* Start it. Descriptors are borrowed. PCERE_USAGE, PCERE_DATA, PCERE_SYSTEM: it could not be executed. */
enum pcere_status child_start(const struct child_setup *setup, struct child *ret_child, struct pcere_error *error);

/* Has it ended? Reaps it if so; never waits. */
bool child_poll(struct child *child);
/* A wait4 somewhere else met its end: note that. */
void child_note_end(struct child *child, int status, uint64_t peak_bytes);
/* Wait at most `timeout_ms` for its end or, if `socket` is not -1, for something to read there. True: there is something to read. */
bool child_wait(struct child *child, int socket, int timeout_ms);
/* Send it SIGTERM if the options say so, and it was not sent yet. To be asked each CHILD_STOP_MS while it runs. */
#define CHILD_STOP_MS 200
void child_stop(struct child *child, const struct capture_options *options);
/* Was it ended, or asked to end, from outside (SIGINT, SIGQUIT, SIGTERM)? Whoever does that does not want the next run. */
bool child_was_interrupted(int status);
/* Free, and give back the signals' old actions. Waits for an end that was not seen. */
void child_done(struct child *child);

/* Standard input for runs of the same program: `both[0]` for the first, `both[1]` for the second; -1: as the caller's own (inherit 0). A file is
 * opened again at the same place. A pipe is read to its end first if `keep`; else *ret_once is set: it goes to the first run as it is, and
 * so does a terminal. */
enum pcere_status child_input_share(int descriptor, bool keep, int both[2], bool *ret_once, struct pcere_error *error);
/* A descriptor of its own for that file, at `position`; -1: it is none that could be read twice. */
int child_input_again(int descriptor, off_t position);

/* capture_input_keep was called: standard input begins where it began then. */
void child_input_rewind(void);

#endif
