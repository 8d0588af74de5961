/* predictor/siblings.h - whether classes that were found at the capture's number of threads hold at another, by how a region's classes scale.
 *
 * Members of a class that differ by degree are taken to scale as their representative does. Where replays show the classes of a region, which take other times, to scale
 * otherwise, members that lie between two representatives probably do so, too: for each, the logarithm of its scaling (time in vitro at these threads over that at the capture's, both
 * without fork and join) is put between those of the two representatives nearest in time, in proportion on the logarithm of time; beyond the outermost it is theirs. Members whose
 * times are those of their representative look like it here whatever they do: real runs alone tell them apart (predictor/members.h). Computation over samples and times; it reads no file.
 */
#ifndef PCERE_PREDICTOR_SIBLINGS_H
#define PCERE_PREDICTOR_SIBLINGS_H

#include "predictor/amdahl.h"
#include "predictor/predict.h"

#define SIBLINGS_APART 1.25                  /* least and most of a region's scalings: below that they differ by no more than replays of few repetitions do */
struct siblings_scaling { double own_ns, ratio; };    /* of a representative: its work at the capture's threads, and how many times as long it takes at others */

/* How many times as much members with this work take together as one would say by a representative with `own`; 1 where that is within MEMBERS_NOISE_RATIO, the
 * scalings are within SIBLINGS_APART, or there is nothing to compare. `scalings` is sorted by this. */
double siblings_ratio(struct siblings_scaling *scalings, size_t count, const struct siblings_scaling *own, const double *members_ns, size_t member_count);

struct siblings_span { size_t classes; double low_ratio, high_ratio; };   /* how many were replayed at both numbers of threads, and between what they scale, fork and join included */

/* What the replays say of a region at these threads: ret_ratios[region->class_count] as above; 0 for classes of which they say nothing (one member, not replayed at both numbers of
 * threads, no sibling that was, no times of members in request->series, or these threads are the capture's). PCERE_SYSTEM: no memory. */
enum pcere_status siblings_check(const struct predict_request *request, const struct store_region *region, uint32_t threads, double *ret_ratios,
                                 struct siblings_span *ret_span, struct pcere_error *error);

#endif
