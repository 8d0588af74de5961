/* trace/clock.c - see clock.h. For a given drift the best offset is known at once, and what it leaves open is concave in the drift: a search by thirds finds the best. */
#include "trace/clock.h"

#include <math.h>
#include <stddef.h>

static size_t slice_of(const struct clock_bounds *bounds, int64_t reference_ns)
{
    double span = (double)(bounds->last_ns - bounds->first_ns) + 1, place = (double)(reference_ns - bounds->first_ns) / span * (double)CLOCK_SLICES;
    return place < 0 ? 0 : place >= (double)CLOCK_SLICES ? CLOCK_SLICES - 1 : (size_t)place;
}

void clock_at_least(struct clock_bounds *bounds, int64_t at_ns, int64_t offset_ns)
{
    struct clock_bound *bound = &bounds->least[slice_of(bounds, at_ns + offset_ns)];
    if (!bound->any || offset_ns > bound->offset_ns)
        *bound = (struct clock_bound){at_ns, offset_ns, true};
    bounds->messages++;
}

void clock_at_most(struct clock_bounds *bounds, int64_t at_ns, int64_t offset_ns)
{
    struct clock_bound *bound = &bounds->most[slice_of(bounds, at_ns + offset_ns)];
    if (!bound->any || offset_ns < bound->offset_ns)
        *bound = (struct clock_bound){at_ns, offset_ns, true};
    bounds->messages++;
}

struct window { double least, most; };               /* of the offset at the middle */

static struct window window_of(const struct clock_bounds *bounds, int64_t base_ns, int64_t middle_ns, double drift)
{
    struct window window = {-INFINITY, INFINITY};
    for (size_t i = 0; i < CLOCK_SLICES; i++) {
        const struct clock_bound *least = &bounds->least[i], *most = &bounds->most[i];
        if (least->any)
            window.least = fmax(window.least, (double)(least->offset_ns - base_ns) - drift * (double)(least->at_ns - middle_ns));
        if (most->any)
            window.most = fmin(window.most, (double)(most->offset_ns - base_ns) - drift * (double)(most->at_ns - middle_ns));
    }
    return window;
}

/* How far a line that respects all bounds can lie from `line`, at the first and the last message: what is possible at each drift that leaves anything open. */
static double farthest(const struct clock_bounds *bounds, int64_t base_ns, const struct clock_line *line, double low, double high, int64_t first_ns, int64_t last_ns)
{
    enum { STEPS = 64 };
    double most = 0;
    for (int i = 0; i <= STEPS; i++) {
        double drift = low + (high - low) * i / (double)STEPS;
        struct window window = window_of(bounds, base_ns, line->middle_ns, drift);
        for (int k = 0; k < 4 && window.most >= window.least; k++) {
            double at = (double)((k & 1 ? last_ns : first_ns) - line->middle_ns), offset = k & 2 ? window.most : window.least;
            most = fmax(most, fabs(offset - (double)(line->offset_ns - base_ns) + (drift - line->drift) * at));
        }
    }
    return most;
}

/* The drift farthest from `inside`, towards `end`, that still leaves something open. */
static double drift_end(const struct clock_bounds *bounds, int64_t base_ns, int64_t middle_ns, double inside, double end)
{
    for (int i = 0; i < 60; i++) {
        double middle = (inside + end) / 2;
        struct window window = window_of(bounds, base_ns, middle_ns, middle);
        if (window.most >= window.least)
            inside = middle;
        else
            end = middle;
    }
    return inside;
}

/* No clock is off by more than this. */
#define DRIFT_MOST 1e-3

enum pcere_status clock_fit(const struct clock_bounds *bounds, struct clock_line *ret_line, struct pcere_error *error)
{
    bool least = false, most = false;
    int64_t base_ns = 0, first_ns = INT64_MAX, last_ns = INT64_MIN;
    for (size_t i = 0; i < CLOCK_SLICES; i++) {
        least |= bounds->least[i].any;
        most |= bounds->most[i].any;
        for (int k = 0; k < 2; k++) {
            const struct clock_bound *bound = k ? &bounds->least[i] : &bounds->most[i];
            if (!bound->any)
                continue;
            base_ns = bound->offset_ns;
            first_ns = bound->at_ns < first_ns ? bound->at_ns : first_ns;
            last_ns = bound->at_ns > last_ns ? bound->at_ns : last_ns;
        }
    }
    if (!least && !most)
        return pcere_fail(error, PCERE_NO, 0, NULL, "no message tells how the clocks stand");
    struct clock_line line = {.basis = least && most ? CLOCK_MESSAGES : CLOCK_ONE_WAY, .middle_ns = first_ns + (last_ns - first_ns) / 2};
    double low = -DRIFT_MOST, high = DRIFT_MOST;
    for (int i = 0; i < 200 && least && most; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        struct window at_a = window_of(bounds, base_ns, line.middle_ns, a), at_b = window_of(bounds, base_ns, line.middle_ns, b);
        if (at_a.most - at_a.least < at_b.most - at_b.least)
            low = a;
        else
            high = b;
    }
    line.drift = least && most ? (low + high) / 2 : 0;
    struct window window = window_of(bounds, base_ns, line.middle_ns, line.drift), without = window_of(bounds, base_ns, line.middle_ns, 0);
    if (without.most - without.least >= (window.most - window.least) / 2 && without.most >= without.least) {
        line.drift = 0;              /* in so short a time drift is not to be told from delays */
        window = without;
    }
    double offset = least && most ? (window.least + window.most) / 2 : least ? window.least : window.most;
    line.offset_ns = base_ns + (int64_t)llround(offset);
    if (least && most && window.most >= window.least)
        line.error_ns = (uint64_t)ceil(farthest(bounds, base_ns, &line, drift_end(bounds, base_ns, line.middle_ns, line.drift, -DRIFT_MOST),
                                                drift_end(bounds, base_ns, line.middle_ns, line.drift, DRIFT_MOST), first_ns, last_ns));
    else if (least && most)
        line.violation_ns = (uint64_t)ceil((window.least - window.most) / 2);
    *ret_line = line;
    return PCERE_OK;
}
