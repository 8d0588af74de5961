/* trace/clock.h - how one process's clock stands to another's, from messages between them.
 *
 * A message is received no earlier than it was sent: each one bounds the line t_reference = t + offset + drift * (t - middle) from below or from above. Of the lines that respect all bounds the one in
 * the middle is taken, and how far it can be off is known. A drift is told only by messages over a time long enough that they leave less of it open than clocks have (200 ppm); a shorter run has
 * none, and its error bound includes what drift could be. Bounds are kept per slice of time, so memory does not grow with the messages.
 */
#ifndef PCERE_TRACE_CLOCK_H
#define PCERE_TRACE_CLOCK_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { CLOCK_SLICES = 1024 };

struct clock_bound { int64_t at_ns, offset_ns; bool any; };

struct clock_bounds {
    int64_t first_ns, last_ns;   /* of the reference's clock: what slices divide; set before the first bound */
    struct clock_bound least[CLOCK_SLICES], most[CLOCK_SLICES];
    uint64_t messages;
};

/* The offset at `at_ns` (the other's clock) is at least / at most `offset_ns`. */
void clock_at_least(struct clock_bounds *bounds, int64_t at_ns, int64_t offset_ns);
void clock_at_most(struct clock_bounds *bounds, int64_t at_ns, int64_t offset_ns);

enum clock_basis { CLOCK_SAME, CLOCK_MESSAGES, CLOCK_ONE_WAY, CLOCK_MINIMA, CLOCK_DAY };

struct clock_line {
    enum clock_basis basis;      /* ONE_WAY: messages in one direction only, the fastest counts as taking no time. DAY: the clock of the day, as it was recorded */
    int64_t offset_ns, middle_ns;
    double drift;                /* per ns */
    uint64_t error_ns;           /* at most, between the first message and the last: how far any line that fits all messages lies from this one; ONE_WAY, MINIMA: unknown, 0 */
    uint64_t violation_ns;       /* how much some message still is received before it was sent; 0: consistent */
};

/* PCERE_NO: there are no messages. */
enum pcere_status clock_fit(const struct clock_bounds *bounds, struct clock_line *ret_line, struct pcere_error *error);

static inline int64_t clock_apply(const struct clock_line *line, int64_t at_ns)
{
    return at_ns + line->offset_ns + (int64_t)(line->drift * (double)(at_ns - line->middle_ns));
}

#endif
