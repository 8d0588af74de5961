/* predictor/replays.h - which of a store's samples count for a prediction, and what they say of regions that were not replayed.
 *
 * Knows how a sample is matched with a class, a host and settings (the rules are in predict.h). It reads samples and computes no prediction.
 */
#ifndef PCERE_PREDICTOR_REPLAYS_H
#define PCERE_PREDICTOR_REPLAYS_H

#include "predictor/amdahl.h"
#include "predictor/predict.h"

/* The processes that replayed one class at one thread count. */
struct replays {
    const struct store_sample **samples;
    size_t count;
};

bool replays_sample_is(const struct store_sample *sample, const char *kind, const char *arch);

/* Those that count for one class at one thread count; replays->samples has room for all of the request. */
void replays_choose(const struct predict_request *request, const char *region, uint64_t representative, uint32_t threads, struct replays *replays);

/* What the warm-up left between in vitro and in vivo, by the newest of these samples that says it, -PREDICT_RESIDUAL_MOST / (1 + PREDICT_RESIDUAL_MOST) to PREDICT_RESIDUAL_MOST; PREDICT_UNKNOWN_RATIO if none does, PREDICT_UNSEEN_RATIO if
 * besides they are unseen. */
double replays_residual(const struct replays *replays, bool unseen);
/* Are these shots, and was no sample of the class compared with its time in vivo, on any machine? A part of the iterations may then be unlike the rest, and nothing tells. */
bool replays_are_unseen(const struct predict_request *request, const char *region, uint64_t representative, const struct replays *replays);
/* What the codelet's own work took in vivo: representative_ns, or, for classes whose members count by their own times, time_ns / members where the codelet takes at the capture's number of
 * threads what members take on average rather than what the representative took, and the two are within a factor of 1.25. Then that one timing was off (a stop, the machine), and
 * members do not differ by degree. */
uint64_t replays_reference_ns(const struct predict_request *request, const char *region, const struct store_class *class);
/* By how much the codelet took longer than its class, where it is not what that was (PREDICT_ALIEN_FACTOR), e.g. 2.5 or -0.8; else 0: by the newest of all its whole replays, or else samples,
 * on that machine that says it, whatever their threads and flags. `slow`: a codelet of a class that is one invocation may be the faster one; else that tells as well
 * that its times in vitro and in vivo do not belong together, whichever is wrong. */
double replays_alien_ratio(const struct predict_request *request, const char *region, const struct store_class *class, bool slow);

/* By how much slower their processors were than at full speed, in the mean over their repetitions; 0: all that count were made at full speed. */
double replays_slow_ratio(const struct replays *replays);

/* What part of their time was taken off their repetitions for interruptions (measured_held_ratio), in the mean over all. */
double replays_held_ratio(const struct replays *replays);

/* Of the time of all repetitions at these threads, how much their entering threads lost to other work of this machine: wall less CPU time of those that were
 * interrupted (CPU time over the share of it that undisturbed ones have, where threads share processors; with more threads than processors, measured_lost_ns). Whether they count or not. */
double replays_preempted_ratio(const struct predict_request *request, uint32_t threads);

/* By how much slower the host's processors were than at full speed in its codelets at these threads, in the mean over all samples; those that do not count included. */
double replays_loud_ratio(const struct predict_request *request, uint32_t threads);

/* What a cache line took from one thread to the next, least and most over all of the host's replays and real runs at these threads that know it: where the most is a multiple, the
 * machine's processors do not always lie equally far apart. 0: none knows. */
void replays_lines(const struct predict_request *request, uint32_t threads, uint64_t *ret_low_ns, uint64_t *ret_high_ns);

/* What one run takes by these replays, at least one, whose `count` repetitions are `values`, which are sorted (measured_typical_ns). */
double replays_vitro_ns(const struct replays *replays, double *values, size_t count);

/* How the replayed classes of one region, or of all (NULL), scaled from the capture's threads: their time in vitro over that in vivo. 0: none was
 * replayed. `replays` as above, `values` has room for all repetitions; both are overwritten. */
double replays_scaling(const struct predict_request *request, const struct store_region *only, uint32_t threads, const struct amdahl_forks *forks,
                       struct replays *replays, double *values);

/* How many times as much the members of a class take at these threads as its representative says: by the median of the host's real runs that told it apart
 * (kind "members", samples_ns the mean of the members and of those that perform as the representative; they stand behind their run). Runs that waited for processors (PREDICT_BUSY_RATIO) do not
 * tell: which invocations lost theirs is not known, and one that did is not like its class. 1: it holds; 0: no run tells. */
double replays_members(const struct predict_request *request, const char *region, const struct store_class *class, uint32_t threads, double *values);

/* How late the last thread of a new team began in the host's codelets at these threads, into `values`; returns how many told. */
size_t replays_starts(const struct predict_request *request, uint32_t threads, double *values);

/* Median of what the host's codelets measured at these threads for a parallel region that does nothing; 0: nothing. `values` has room for all samples. */
double replays_fork_ns(const struct predict_request *request, uint32_t threads, double *values);
/* The same at the capture's threads and at these; both 0 where not both are known. */
struct amdahl_forks replays_forks(const struct predict_request *request, uint32_t threads, double *values);

#endif
