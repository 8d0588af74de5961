/* capture-rt/tracer/undisturbed.h - what invocations would have taken without stops, in a run that was stopped.
 *
 * A stop leaves cold caches, and pages that cost their next writer a fault. That concerns the captured invocation, and the first one after it of every
 * region, and of every choice of argument words of it. It gets the median of up to eight undisturbed ones nearby that began with the same words, if these took
 * about as long as each other. Where several kinds of times explain what it took, it is of the one of which others stand where it stands in the region's order. Else, where the target had foretold how long it takes, that of undisturbed ones that took about as long. Else that
 * of the slowest group of undisturbed ones nearby that are not slower than it: a disturbed one takes longer, never less. Otherwise (a region that
 * is entered once or twice, or touches memory for the first time) the measured time stands, less the faults that tracking has cost: those that its region goes
 * without at other times, or as counted at its end, and what a thread of it waited for a processor (of that a team's share, where threads take what is left to do). What a fault costs is taken from the run itself where it tells, within what it costs on this machine. What only follows a stop is
 * never made slower by this.
 *
 * The clock itself takes part in what is measured: run->probe_ns is taken off every invocation.
 */
#ifndef PCERE_CAPTURE_TRACER_UNDISTURBED_H
#define PCERE_CAPTURE_TRACER_UNDISTURBED_H

#include "capture-rt/tracer/capture.h"

/* How many pages a captured invocation wrote that tracking had protected; 0: unknown, or none. */
typedef uint64_t undisturbed_pages_fn(const void *context, size_t region, uint64_t invocation);

/* `pages` NULL: no page is known to have been written. Fill in time_ns and uncertain_ns of all invocations; set right time_ns and nested_ns of all regions, wall_ns and
 * uncertain_ns of the run, while serial_ns stays. In a stopped run `near` is completed. */
void undisturbed_fill(struct capture_run *run, undisturbed_pages_fn *pages, const void *context);

/* `other` is a run of the same program, filled in as well, with the same numbers of regions: what was disturbed in `run` and not in `other` takes as long as there,
 * and so does what stands out from its like in `run` and not in `other`, where a stop there leaves it uncertain by less than it stands out here. The time outside
 * regions is the lesser of both, since stops only add to it. */
void undisturbed_take(struct capture_run *run, const struct capture_run *other);

/* With one thread, an invocation that other processes interrupted took the program no longer than its CPU time: its time, its region's and the run's are set right, as far as the
 * processor is all that it waited for. Doing it twice changes nothing more. */
void undisturbed_uninterrupt(struct capture_run *run);

#endif
