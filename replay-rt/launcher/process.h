/* replay-rt/launcher/process.h - one process of a codelet: started so that it does not meet captured addresses, watched,
 * collected. */
#ifndef PCERE_REPLAY_LAUNCHER_PROCESS_H
#define PCERE_REPLAY_LAUNCHER_PROCESS_H

#include "core/error.h"
#include "replay-rt/launcher/build.h"
#include "replay-rt/launcher/codelet_memory.h"
#include "replay-rt/launcher/external_table.h"
#include "replay-rt/launcher/replay.h"
#include "replay-rt/launcher/standby.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process whose result is there, and which gives its memory back. */
struct process_ending { pid_t child; };     /* 0: there is none */

void process_ending_wait(struct process_ending *ending);

/* A process whose result is there, and which waits for another policy in the same plan. */
struct process_staying {
    pid_t child;                      /* 0: there is none */
    int done;                         /* what it tells by that a result is there; it closes that when it ends */
    struct replay_plan *plan;         /* borrowed until process_release */
};

/* Let it end; from now on it is the one that is ending, and its plan is not looked at any more. Accepts that there is none. */
void process_release(struct process_staying *staying, struct process_ending *ending);

struct process {
    const struct build *build;
    const struct processor *processor;  /* that it was built for; NULL: this machine's */
    int pages_fd;                     /* of the page pool */
    int filler_fd;                    /* of requests to fill caches, or -1 */
    struct plan_file *plan;
    char *const *environment;         /* whole, NULL-terminated */
    const char *region;               /* for messages, like */
    const struct external_table *externals;     /* what the capture's libraries had where, or NULL */
    int diagnostics_fd;               /* its standard error, or -1 */
    bool keep_layout;                 /* no address randomisation */
    uint64_t patience_ns;             /* killed when nothing moved for so long, as patience.h counts it */
    uint64_t region_patience_ns;      /* the same while the region's own code runs */
    uint64_t sample_patience_ns;      /* the same while it runs a shot */
    bool (*stop)(void);               /* as struct replay_options has it */
    const struct replay_watcher *watcher;   /* or NULL */
    struct process_ending *ending;    /* or NULL: process_run returns when its end was seen. Else as soon as its result is there; the process that was left so before
                                         is waited for while this one starts */
    struct standby *standby;          /* that may serve in place of a new process, or NULL */
    const struct standby_kind *standby_next;    /* another one starts while this process prepares its region, behind the end of the one before it; NULL: none */
    struct process_staying *staying;  /* where `ending` is not NULL: the process, if its policy says that it stays, and it does */
};

/* The same for the process that stays, with process->plan, which is its own: what its policy asks for is measured next. */
enum pcere_status process_go_on(const struct process *process, uint64_t *ret_wall_ns, struct pcere_error *error);

/* Run to the end; plan->plan->result holds the outcome. A collision of addresses starts it again, another twenty times, and the OpenMP runtime's abort twice.
 * *ret_wall_ns: from start to end, all attempts together. PCERE_NO: it crashed, hung, ended early, or could not do what the plan
 * asks. PCERE_REFUSED: the addresses stay taken. PCERE_SYSTEM: it could not be started. */
enum pcere_status process_run(const struct process *process, uint64_t *ret_wall_ns, struct pcere_error *error);

#endif
