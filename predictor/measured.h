/* predictor/measured.h - what a sample's repetitions say once those that the kernel interrupted are told apart.
 *
 * On a machine that does other things, too, some repetitions lose a processor for milliseconds. With one thread, such a repetition would have taken what is
 * left without the time that it waited for a processor (where the kernel does not tell that: its CPU time, so that what it sleeps is lost). With more,
 * what its threads waited for a processor, all together, is what it lost at most, and nearly what it lost: while one waits, the others wait for it. So it does not count where
 * enough others do, unless these all took longer by a tenth; and else without that time.
 */
#ifndef PCERE_PREDICTOR_MEASURED_H
#define PCERE_PREDICTOR_MEASURED_H

#include "store/store.h"

#include "predictor/statistics.h"

#include <stdbool.h>
#include <stddef.h>

#define MEASURED_PREEMPTED_RATIO 1.1     /* wall time over CPU time (more threads: over what is left without waiting) from which an interrupted repetition counts by that */
#define MEASURED_LEAST 3                 /* more threads: so many undisturbed repetitions are enough to leave the others out; of no more than that, one is */

/* A captured class, not inside others, that weighs less than a 250th of the program's time, and with all that are no heavier less than a hundredth: a process
 * costs more than replaying it can change in a prediction. It need not be replayed; what was not counts with its time in vivo, at other numbers of threads scaled as what was
 * replayed. So a class may weigh more that is not its region's heaviest, since that tells how the region scales (a fiftieth), or that took no longer in all than its process would
 * (a 25th): with all such that are no heavier a twentieth. */
#define MEASURED_LIGHT_PARTS 250u
#define MEASURED_LIGHT_TOGETHER_PARTS 100u
#define MEASURED_BESIDE_PARTS 50u
#define MEASURED_CHEAP_PARTS 25u
#define MEASURED_CHEAP_NS 25000000u
#define MEASURED_SPARED_TOGETHER_PARTS 20u
bool measured_is_light(const struct store_manifest *manifest, const struct store_class *class);

/* At the capture's own number of threads, of the program's own code on its machine, the time in vivo of a class of few invocations is what a prediction asks for: a replay of one could be no nearer to it,
 * and costs as much as they did. Where such a class weighs less than a fiftieth of the program's time, and those of them that are no heavier all together a twentieth, it need not be replayed there.
 * At others it is scaled as what was replayed. If it took as long as ever there, and all else scaled as the threads do, it would weigh as many times more: where that is less than a 32nd, and together a
 * 16th, it need not be replayed either, unless it cannot run with so many. (So it is a third of that off if it scales by 1.5 at two threads.)
 * Where its region has a heavier class of more invocations, which is replayed, that one tells how it scales: a region's first invocations, which meet new pages, scaled by 0.98 to 1.15 times what its others do
 * (two threads; MG, FT, IS). Then it may be less than a seventh of the program's time, and all such classes that are no heavier together a fifth. Not where it took so much longer than the others as new pages do
 * not explain: then something else may have disturbed the capture. */
#define MEASURED_KNOWN_MEMBERS 3u
#define MEASURED_KNOWN_PARTS 50u
#define MEASURED_KNOWN_TOGETHER_PARTS 20u
#define MEASURED_UNSCALED_PARTS 32u
#define MEASURED_UNSCALED_TOGETHER_PARTS 16u
#define MEASURED_FIRST_PARTS 7u
#define MEASURED_FIRST_TOGETHER_PARTS 5u
#define MEASURED_FIRST_ALIKE_RATIO 1.35
#define MEASURED_FIRST_PAGE_NS 4000.0
bool measured_is_known(const struct store_manifest *manifest, const struct store_class *class, uint32_t threads);

#define MEASURED_HELD_MOST 0.8           /* of a repetition's time: no more than that is taken off for waiting */

/* It had more threads than processors. Then threads wait for each other's processors as the scheduler has it, and undisturbed repetitions of one region lie apart by multiples: a program, which
 * runs it often, pays for their mean. */
bool measured_is_crowded(const struct store_sample *sample);

/* What other work cost repetition i as far as its waits tell, ns; 0: not known, or nothing. A crowded team's waits are what it lacked of its processors, all together: where that is up to three quarters of
 * the repetition, one processor may have lacked it, and the others waited; what is more was lacking on several at the same time, so that of as much as it took, or more, it lost its processors' mean. What
 * it used of them is left then: it cannot have done in less time what took that long. */
double measured_lost_ns(const struct store_sample *sample, size_t i);

/* What one run takes by `count` of its values, at least 1, in order: their median; their mean where they are shots, each of which has seen other iterations, or the sample is crowded. */
double measured_typical_ns(const struct store_sample *sample, const double *sorted, size_t count);
#define MEASURED_PROCESSES_ENOUGH 5u      /* fewer cannot show how much processes of a codelet differ: then that is assumed (STATISTICS_PROCESS_RATIO) */
/* The 95 % interval around that (statistics.h), of so many processes; of enough of them as measured_precision_ratio has it. */
struct statistics_interval measured_interval(const struct store_sample *sample, const double *sorted, size_t count, size_t processes);

/* With several threads: what part of their time was taken off the repetitions that count, in the mean. With one, 0: CPU time is known exactly. */
double measured_held_ratio(const struct store_sample *sample);

/* Repetitions that count, ns, in order, into values[sample->sample_count]; returns how many, at least 1 where there are any. *ret_corrected counts
 * those that count by their CPU time, or without what their threads waited, *ret_left_out those that do not count; either may be NULL. */
size_t measured_values(const struct store_sample *sample, double *values, size_t *ret_corrected, size_t *ret_left_out);

/* The same by process: groups[at least 1, and sample->process_count] point into `values`; returns how many there are. A process of which nothing counts has
 * no group. *ret_count is the number of values. */
size_t measured_groups(const struct store_sample *sample, double *values, struct statistics_group *groups, size_t *ret_count);

/* Half the width of the 95 % interval for the median of a process, over that median: Student's t over the medians of processes, since each has an offset of
 * its own. INFINITY for fewer than two processes. `values` has room for all of the sample's repetitions, `groups` and `medians` for all its processes. */
double measured_precision_ratio(const struct store_sample *sample, double *values, struct statistics_group *groups, double *medians);
/* The same, with memory of its own. False: there is none. */
bool measured_precision(const struct store_sample *sample, double *ret_ratio);

#endif
