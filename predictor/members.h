/* predictor/members.h - whether invocations that perform alike at one thread count do so at another.
 *
 * Knows what a class is to a prediction: its representative stands for all members. Times alone, of one run; it reads nothing.
 */
#ifndef PCERE_PREDICTOR_MEMBERS_H
#define PCERE_PREDICTOR_MEMBERS_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

#define MEMBERS_NOISE_RATIO 0.05        /* what two measurements of one class differ by at the least */

/* The times of a class's members in a run with other threads, representative included: *ret_mean_ns is their mean, *ret_like_ns what those take that
 * perform there as the representative does. Where they fall into groups (predictor/division.h) that is the mean of its group; else, of all.
 * `count` at least 1, `representative` below it. PCERE_SYSTEM: no memory. */
enum pcere_status members_judge(const uint64_t *times_ns, size_t count, size_t representative, uint64_t seed, uint64_t *ret_mean_ns,
                                uint64_t *ret_like_ns, struct pcere_error *error);

/* How many times as much its members take there as one would say by the representative and its weight. 1 where that is within noise, or not known. */
double members_ratio(double mean_ns, double like_ns, double weight, uint64_t members);

#endif
