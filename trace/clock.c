/* trace/clock.c - see clock.h. For a given drift the best offset is known at once, and what it leaves open is concave in the drift, as is how high a line can lie somewhere: a search by thirds finds the best. */
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

/* By thirds: the drift in between at which `value` is greatest, which is concave. */
static double drift_best(double (*value)(const void *context, double drift), const void *context, double low, double high)
{
    for (int i = 0; i < 100; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (value(context, a) < value(context, b))
            low = a;
        else
            high = b;
    }
    return (low + high) / 2;
}

struct fitting { const struct clock_bounds *bounds; int64_t base_ns, middle_ns; double at, sign; };    /* at: from the middle; sign: 1 the highest line there, -1 the lowest, negated */

static double left_open(const void *context, double drift)
{
    const struct fitting *fitting = context;
    struct window window = window_of(fitting->bounds, fitting->base_ns, fitting->middle_ns, drift);
    return window.most - window.least;
}

static double reach(const void *context, double drift)
{
    const struct fitting *fitting = context;
    struct window window = window_of(fitting->bounds, fitting->base_ns, fitting->middle_ns, drift);
    return fitting->sign > 0 ? window.most + drift * fitting->at : -(window.least + drift * fitting->at);
}

/* How far a line that respects all bounds can lie from `line`, at the first and the last message: the drift at which such a line lies highest there, or lowest, is found as the best one is. */
static double farthest(const struct fitting *fitting, const struct clock_line *line, double low, double high, int64_t first_ns, int64_t last_ns)
{
    double most = 0;
    for (int k = 0; k < 4; k++) {
        struct fitting one = *fitting;
        one.at = (double)((k & 1 ? last_ns : first_ns) - line->middle_ns);
        one.sign = k & 2 ? 1 : -1;
        double own = (double)(line->offset_ns - fitting->base_ns) + line->drift * one.at, drift = drift_best(reach, &one, low, high);
        most = fmax(most, fmax(fmax(reach(&one, drift), reach(&one, low)), reach(&one, high)) - one.sign * own);
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

/* Two clocks drift apart by no more than the first, where messages leave a choice: crystals are good to 100 ppm. No line is steeper than the second. */
#define DRIFT_LIKELY 200e-6
#define DRIFT_MOST 1e-3

/* The drift that leaves most open among those that clocks have; a steeper one only where messages cannot do without. None where they do not tell it to less than what is likely anyway. */
static double drift_choose(const struct fitting *fitting, double *ret_low, double *ret_high)
{
    double drift = drift_best(left_open, fitting, -DRIFT_LIKELY, DRIFT_LIKELY);
    if (left_open(fitting, drift) < 0) {
        double steeper = drift_best(left_open, fitting, -DRIFT_MOST, DRIFT_MOST);
        drift = left_open(fitting, steeper) >= 0 ? steeper : drift;
    }
    *ret_low = drift_end(fitting->bounds, fitting->base_ns, fitting->middle_ns, drift, -DRIFT_MOST);
    *ret_high = drift_end(fitting->bounds, fitting->base_ns, fitting->middle_ns, drift, DRIFT_MOST);
    double none = left_open(fitting, 0);
    return none >= 0 && (none >= left_open(fitting, drift) / 2 || *ret_high - *ret_low > DRIFT_LIKELY) ? 0 : drift;
}

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
    struct fitting fitting = {.bounds = bounds, .base_ns = base_ns, .middle_ns = line.middle_ns};
    double low = 0, high = 0;
    line.drift = least && most ? drift_choose(&fitting, &low, &high) : 0;
    struct window window = window_of(bounds, base_ns, line.middle_ns, line.drift);
    double offset = least && most ? (window.least + window.most) / 2 : least ? window.least : window.most;
    line.offset_ns = base_ns + (int64_t)llround(offset);
    if (least && most && window.most >= window.least)
        line.error_ns = (uint64_t)ceil(farthest(&fitting, &line, low, high, first_ns, last_ns));
    else if (least && most)
        line.violation_ns = (uint64_t)ceil((window.least - window.most) / 2);
    *ret_line = line;
    return PCERE_OK;
}
