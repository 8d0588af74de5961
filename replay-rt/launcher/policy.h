/* replay-rt/launcher/policy.h - how often a codelet runs before and while it is timed: pcere.txt, section III-B b, and its
 * refinements.
 *
 *   history   the region's own last invocations, the paper's rule. More than four in the original: earlier ones warmed its data there, so four
 *             untimed runs first, or as many as there were before the captured one if these are fewer; otherwise none, and as many timed runs as
 *             the class has members, each from memory that was restored and with caches that were emptied (policy_weigh_memory)
 *   none      no untimed run: every timed run is the first of a fresh process
 *   plain     one run that learns what is written, one more that is discarded
 *   displaced as plain, and before each run other data displace the region's from the caches that each core has for itself
 *   preceded  as plain, and before each run the regions that ran before it in the program (predecessors.h)
 *   faulting  as plain, and what it touches first gets page frames that nobody has just used
 *   N         N untimed runs, the first of which learns what is written
 *   auto      which of these, calibrate.h finds out; taken for history here
 */
#ifndef PCERE_REPLAY_LAUNCHER_POLICY_H
#define PCERE_REPLAY_LAUNCHER_POLICY_H

#include "core/error.h"
#include "replay-rt/protocol.h"

#include <stdbool.h>
#include <stdint.h>

#define POLICY_OFTEN 4u               /* invocations; more than these: a frequently called region */
#define POLICY_WARMUPS 4u
#define POLICY_WEIGHT_PARTS 30u       /* of a class's time in vivo: what its replays may take */
#define POLICY_SHORT_NS 1000000000u   /* in vivo: a program that takes less. Nobody waits for what its replays take, and processes take more than could be saved */
#define POLICY_PATIENCE_NS 20000000000u       /* of a precision that cannot be reached */

struct policy {
    struct plan_policy plan;          /* of each process */
    uint32_t samples_least;           /* more processes are started until so many samples are there ... */
    uint32_t processes_most;
    uint64_t budget_ns;               /* ... or so much wall time went by; does not count where --repeat says how many */
    double precision_ratio;           /* 0, or stop when it is reached; the other limits are wide then */
    uint64_t allowed_ns;              /* 0, or no process more that would make all of them take longer (policy_weigh_time) */
    bool always_more;                 /* within the budget more processes even with samples enough: each has an offset of its own */
    bool extended;                    /* a precision or a budget was asked for */
};

struct policy_subject {               /* what the original did */
    uint64_t invocations;             /* of the region */
    uint64_t representative;          /* which of them was captured, from 1 */
    uint64_t members;                 /* of its class */
};

/* Is a program that took so long in vivo short? 0: not known, and so it is not. */
bool policy_is_short(uint64_t program_ns);

/* `repeat`: timed runs asked for, 0 for none asked for. PCERE_USAGE: no such warm-up. */
enum pcere_status policy_choose(const char *warmup, uint32_t repeat, const struct policy_subject *subject, struct policy *ret_policy,
                                struct pcere_error *error);

/* Of "auto" and "history" without warm-up, for an invocation that took `in_vivo_ns`, and of which `pages` pages were there at its start, and `changed_pages` of
 * these had other content after it (0: not known): one untimed run that shows which of them it needs, if that costs less than to make all of them the process's own,
 * or to map them all and copy those that change; and where they are many, timed runs in one process that restores them
 * instead of several that each make them anew. `page_ns`: as page_cost_ns tells it. */
void policy_weigh_memory(struct policy *policy, const char *warmup, uint32_t repeat, uint64_t in_vivo_ns, uint64_t pages,
                          uint64_t changed_pages, uint64_t page_ns);

/* Of "auto": what a class weighs limits what it may cost. `class_ns`: what all its members took in vivo, at as many threads as the replay has; `share_ratio`: of the
 * program's time. The first process runs in any case, with fewer timed runs; more of them only while all together take less than a thirtieth of class_ns, or,
 * of classes above two fifths, that share of a twelfth of it: errors of many classes cancel, that of a single one does not. */
void policy_weigh_time(struct policy *policy, const char *warmup, uint32_t repeat, uint64_t class_ns, double share_ratio);

/* After policy_weigh_time, where it has set a limit: an invocation of 10 ms, of all `threads` together, goes through all that caches hold, so that one untimed run is enough; where even three timed
 * ones would take more than the class may cost, two follow a warm-up, and without one there is a single one. Where it is known which pages change, these are made the process's own before a single run, without a
 * warm-up; should that turn out to write many more, it was the warm-up (replay-rt/target/run.c). */
#define POLICY_FIRST_RATIO 1.12           /* of the time in vivo: a single run without a warm-up that takes longer was the warm-up */
void policy_weigh_length(struct policy *policy, const char *warmup, uint32_t repeat, uint64_t in_vivo_ns, uint32_t threads, bool changes_known);

/* What --precision and --budget ask for instead: processes until the interval is narrow enough, or `budget_ns` are spent (0: as many as
 * POLICY_PATIENCE_NS allow, for a precision; nothing changes without one). Of a budget each process may take a third, by what its runs are so many, and a run
 * that is longer than that is timed once. */
void policy_extend(struct policy *policy, double precision_ratio, uint64_t budget_ns);

/* After a process that took `process_ns`, the last of several that took `wall_ns` together: does another one fit into the budget? Always, where none was asked for. */
bool policy_fits(const struct policy *policy, uint64_t wall_ns, uint64_t process_ns);

/* After a process, with the precision reached: is another one wanted? */
bool policy_wants_more(const struct policy *policy, uint32_t repeat, uint32_t processes, uint64_t samples, uint64_t longest_ns,
                       uint64_t wall_ns, double precision_ratio);

#endif
