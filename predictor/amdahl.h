/* predictor/amdahl.h - the formulas of PCERE, section V-A: Amdahl's law, what a class contributes, acceleration and error.
 *
 * Pure arithmetic on times in nanoseconds; which samples they come from is predictor/predict.h's business.
 */
#ifndef PCERE_PREDICTOR_AMDAHL_H
#define PCERE_PREDICTOR_AMDAHL_H

#include "core/error.h"

#include <stdint.h>

/* T(n) = T(1) (S + (1 - S) / n): the time on `threads` threads (at least 1) of a program that takes time_one_ns on one and whose strictly
 * serial fraction is serial_ratio (0 to 1). Unit as time_one_ns. */
double amdahl_time(double time_one_ns, double serial_ratio, uint32_t threads);

/* The serial fraction that two measurements at different thread counts imply, and T(1) with it (either output may be NULL). The fraction is
 * below 0 for better than perfect scaling and above 1 where more threads are slower: the caller says what that means.
 * PCERE_USAGE: equal or zero thread counts. PCERE_DATA: a time that is not positive, or times that imply T(1) <= 0. */
enum pcere_status amdahl_fit(uint32_t threads_a, double time_a_ns, uint32_t threads_b, double time_b_ns, double *ret_serial_ratio,
                             double *ret_time_one_ns, struct pcere_error *error);

/* How many times the representative a class counts. By the paper (T_predicted(m) = T_seq + sum of T_c(m) x invoc_c) that is `members`; a
 * class whose members differ by degree counts time_ns / representative_ns instead: each member scaled by its own in-vivo time. The
 * second is used where it differs from the first by more than AMDAHL_ALIKE_RATIO: below that the difference is the scatter of one
 * in-vivo timing, the representative's. representative_ns 0 gives `members`. */
#define AMDAHL_ALIKE_RATIO 0.03
double amdahl_class_weight(uint64_t members, uint64_t time_ns, uint64_t representative_ns);

/* Real time of the whole program over the cost of all replays for those threads; 0 if cost_ns is 0. */
double amdahl_acceleration(double real_ns, double cost_ns);

/* Fork and join of a parallel region that does nothing: in vivo (at the capture's thread count) and at the predicted one. Both 0: not known. */
struct amdahl_forks { double in_vivo_ns, vitro_ns; };

/* What `invocations` regions take at other thread counts that took `time_ns` in vivo and were not replayed: their work scales by `scaling`, as that of
 * replayed regions did, and each is forked and joined. */
double amdahl_kept_time(double time_ns, uint64_t invocations, double scaling, const struct amdahl_forks *forks);
/* What a class takes of which the representative took `vitro_ns` in vitro. Members that are alike count as it did. Others count by their own work, which is
 * what is left of their times without fork and join. */
double amdahl_class_time(uint64_t members, uint64_t time_ns, uint64_t representative_ns, double vitro_ns, const struct amdahl_forks *forks);

/* |predicted - real| / real; 0 if real_ns is 0. */
double amdahl_error_ratio(double predicted_ns, double real_ns);

#endif
