/* predictor/measured.h - what a sample's repetitions say once those that the kernel interrupted are told apart.
 *
 * On a machine that does other things, too, some repetitions lose a processor for milliseconds. With one thread, the CPU time of such a
 * repetition is what it would have taken (measured for every repetition; in-vivo times are corrected in the same way). With more, no time is
 * known, so that the repetition does not count where enough others do.
 */
#ifndef PCERE_PREDICTOR_MEASURED_H
#define PCERE_PREDICTOR_MEASURED_H

#include "store/store.h"

#include <stddef.h>

#define MEASURED_PREEMPTED_RATIO 1.1     /* one thread: wall time over CPU time from which an interrupted repetition counts by its CPU time */
#define MEASURED_LEAST 3                 /* more threads: so many undisturbed repetitions are enough to leave the others out */

/* Repetitions that count, ns, in order, into values[sample->sample_count]; returns how many, at least 1 where there are any. *ret_corrected counts
 * those that count by their CPU time, *ret_left_out those that do not count; either may be NULL. */
size_t measured_values(const struct store_sample *sample, double *values, size_t *ret_corrected, size_t *ret_left_out);

#endif
