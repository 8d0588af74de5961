/* replay-rt/launcher/speed.h - which repetitions were made while nothing slowed a processor down.
 *
 * A virtual processor may share a core with somebody that nobody sees here. While that one computes, code that fills the core runs at half its rate, and no clock, no counter of
 * the kernel's tells. So known work is timed beside each run, on all threads of the team at once (replay-rt/target/speed.c): where it takes as long as ever, the processors were at full speed.
 */
#ifndef PCERE_REPLAY_LAUNCHER_SPEED_H
#define PCERE_REPLAY_LAUNCHER_SPEED_H

#include "replay-rt/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPEED_KINDS 16u
#define SPEED_AWAIT_MOST_NS 60000000u     /* of a process; such moments last 20 to 120 ms */
#define SPEED_AWAIT_PARTS 4u              /* ... and of what a class may cost such a part; */
#define SPEED_PROGRAM_PARTS 64u           /* ... of all processes with so many threads such a part of what the program takes: they may last seconds, too */

/* The least that the known work took, by number of threads: what they take beside each other by design is full speed for them. What a single thread found out is measure for
 * those that have a core each, at another clock. */
struct speed_known {
    uint64_t alone_ns, alone_clock_ns;
    struct { uint32_t threads; uint64_t full_ns, awaited_ns; } counts[SPEED_KINDS];
    uint64_t program_ns;                  /* what the program takes with a thread */
};

/* What is known, 0 for what is not, into the policy of a process with so many threads on a machine with so many cores, and policy->await_ns no greater than what is left; and what it
 * found. */
void speed_tell(const struct speed_known *known, uint32_t threads, uint64_t cores, struct plan_policy *policy);
void speed_learn(struct speed_known *known, uint32_t threads, const struct plan_result *result);
/* 0: not known. */
uint64_t speed_full_ns(const struct speed_known *known, uint32_t threads);

/* How long a process may wait for slow processors, where the class may cost allowed_ns (0: no limit). */
uint64_t speed_await_ns(uint64_t allowed_ns);

/* Which of `count` repetitions count, into keep[count], by their times and by what the known work took beside each (0: it was not timed): those at full speed and slow ones that took no
 * longer than these, since nothing makes a region faster than it is; all, if none was at full speed. Returns by how much longer the work took beside those that count, in the mean, if they are
 * slow ones (0.8), else 0. */
double speed_choose(const uint64_t *times_ns, const uint32_t *works_ns, size_t count, uint64_t full_ns, bool *keep);

#endif
