/* predictor/specials.h - which invocations are special for how they came about: first touch and interruptions.
 *
 * Rules 3 and 4 of predictor/classes.h, which calls this between rounds of division. Only classes.c includes this.
 */
#ifndef PCERE_PREDICTOR_SPECIALS_H
#define PCERE_PREDICTOR_SPECIALS_H

#include "predictor/classes.h"

#define SPECIALS_FAULT_NS 1500.0         /* what a page fault costs, about */
#define SPECIALS_PER_GROUP 3             /* first-touch invocations that a group can have */

#define GROUP_FIRST (UINT32_MAX - 1)     /* values of group_of for invocations that are in no group */
#define GROUP_NOISE UINT32_MAX

#define GROUP_EARLY 8
struct group {                           /* regular invocations of one stretch of time; groups ascend by time */
    uint64_t members;
    uint64_t time_ns, median_ns, low_ns, high_ns;
    uint64_t faults_median;              /* 0 where unknown */
    double spread_ratio;                 /* robust standard deviation over median */
    uint32_t early[GROUP_EARLY];         /* its first members, counted from 0 */
    uint32_t early_count;
    uint32_t smear;                      /* 0, or the number of the stretch without gaps that it was cut from */
};

/* Whether group `at`, as a whole, is the first touch of what a faster group, which is not rare, does afterwards. */
bool specials_group_is_first(const struct classes_input *input, const struct group *groups, size_t at);

/* Mark first-touch invocations in group_of and append them to firsts, at most SPECIALS_PER_GROUP per group; returns how many. */
size_t specials_mark_first(const struct classes_input *input, const struct group *groups, size_t group_count, uint32_t *group_of,
                           uint32_t *firsts);

/* Mark interrupted invocations in group_of; region_ns is the region's whole time, *noise_ns the time of noise so far. Returns how many. */
size_t specials_mark_noise(const struct classes_input *input, const struct group *groups, size_t group_count, uint64_t region_ns,
                           uint64_t *noise_ns, uint32_t *group_of);

#endif
