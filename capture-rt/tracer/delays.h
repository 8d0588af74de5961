/* capture-rt/tracer/delays.h - how long threads of the program waited for a processor, as the kernel's scheduler counts it.
 *
 * Behind a stop what the tracer does may have the processor that a thread of the region's team needs, and then all of the team wait: up to some slices of the
 * scheduler, 3 ms each, in an invocation of 2 us.
 */
#ifndef PCERE_CAPTURE_TRACER_DELAYS_H
#define PCERE_CAPTURE_TRACER_DELAYS_H

#include "capture-rt/tracer/freeze.h"

#define DELAYS_MOST 64u              /* threads of a program that has more are not asked: it would take long */

struct delays {
    struct { pid_t tid; uint64_t waited_ns; } threads[DELAYS_MOST];     /* since they began */
    size_t count;                    /* 0: not known, or there is one thread alone, whose CPU time tells */
};

/* One thread, since it began; also of a process that ended and was not reaped. False: this kernel does not tell. */
bool delays_waited(pid_t pid, pid_t tid, uint64_t *ret_ns);

/* Of the threads that are stopped. */
void delays_look(pid_t pid, const struct freeze *freeze, struct delays *ret_delays);

/* The most that any thread waited in between. */
uint64_t delays_between(const struct delays *before, const struct delays *after);

#endif
