/* analysis/virtual_pmu.h - what a PMU with few counters would have seen of a run of which all counts are known.
 *
 * On machines without a PMU it stands in for one: runs that each show some of the events, and hardware event multiplexing (HEM) as perf_event of
 * the Linux kernel does it. The full profile is the truth that strategies are judged by.
 */
#ifndef PCERE_ANALYSIS_VIRTUAL_PMU_H
#define PCERE_ANALYSIS_VIRTUAL_PMU_H

#include "analysis/profile.h"

#define VIRTUAL_PMU_PERIOD_NS 4000000u     /* of the kernel's rotation */

/* A profile with the chosen events (rows of truth->events) alone. Each count is multiplied by 1 + noise_ratio times a standard normal value (not
 * below 0; 0: counts are kept), drawn from `seed`. Labels, starts and the like are the truth's; sources and segments stay behind.
 * PCERE_SYSTEM: no memory. */
enum pcere_status virtual_pmu_show(const struct profile *truth, const uint32_t *events, size_t event_count, double noise_ratio, uint64_t seed,
                                   struct profile **ret_profile, struct pcere_error *error);

struct virtual_pmu_groups {                /* as the planner makes them */
    const uint32_t *const *events;         /* [group][i]: rows of the truth's events; each event in one group at least */
    const size_t *counts;
    size_t group_count;
};

/* The profile that multiplexing gives: on each thread group 0 is visible for `period_ns` from the thread's first XU on, then group 1, and so on. What a
 * counter sees of a segment is the part of its counts in proportion to time; without segments an XU is one, from its start on. As a tool does
 * with the kernel's times, a counter is read as seen * time_enabled / time_running, and an XU has the difference between its end and its begin (0 if
 * that is negative, or while the counter was never visible). All of the truth's events are in the result, which has the strategy "hem".
 * PCERE_USAGE: no group, a period of 0. PCERE_SYSTEM: no memory. */
enum pcere_status virtual_pmu_rotate(const struct profile *truth, const struct virtual_pmu_groups *groups, uint64_t period_ns,
                                     struct profile **ret_profile, struct pcere_error *error);

#endif
