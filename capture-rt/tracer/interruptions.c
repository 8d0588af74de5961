#include "capture-rt/tracer/interruptions.h"

#include "capture-rt/protocol.h"

#define GAPS_LEAST 1000u                 /* from one invocation to the next */
#define INTERRUPTED_TIMES 4u             /* what usually lies between, and so much more: an interruption */
#define INTERRUPTED_NS 1000u
#define INTERRUPTED_MOST_NS 100000u      /* what takes longer, the program may have done, or our library: it makes room for records now and then */
#define INTERRUPTED_ONE_IN 100u          /* gaps at most: what comes more often is the program's course */
#define INTERRUPTIONS_LEAST 3u

/* ns from the end of an invocation to the begin of the next one, where nothing but the program ran; 0: other things did. */
static uint64_t gap_ns(const struct capture_region *region, size_t at)
{
    const struct capture_invocation *one = &region->list[at], *next = one + 1;
    bool plain = next->number == one->number + 1 && one->end_ns && !one->nested && !next->nested && !one->stopped && !next->stopped;
    return plain && next->begin_ns > one->end_ns ? next->begin_ns - one->end_ns : 0;
}

/* The median, to a sixteenth of an octave; 0: there are too few. */
static uint64_t usual_gap_ns(const struct capture_region *region, size_t *ret_gaps)
{
    uint32_t counts[CAPTURE_MAGNITUDES] = {0}, magnitude = 0;
    size_t gaps = 0, below = 0;
    for (size_t i = 0; i + 1 < region->list_count; i++) {
        uint64_t ns = gap_ns(region, i);
        counts[capture_magnitude(ns)] += ns > 0;
        gaps += ns > 0;
    }
    *ret_gaps = gaps;
    if (gaps < GAPS_LEAST)
        return 0;
    while (magnitude + 1 < CAPTURE_MAGNITUDES && (below += counts[magnitude]) <= gaps / 2)
        magnitude++;
    return capture_magnitude_ns(magnitude);
}

uint64_t interruptions_expected_ns(const struct capture_region *region)
{
    size_t gaps, interrupted = 0;
    uint64_t usual_ns = usual_gap_ns(region, &gaps), all_ns = 0, taken_ns = 0;
    for (size_t i = 0; usual_ns && i + 1 < region->list_count; i++) {
        uint64_t ns = gap_ns(region, i);
        if (ns <= INTERRUPTED_TIMES * usual_ns + INTERRUPTED_NS) {
            all_ns += ns;
            continue;
        }
        interrupted++;
        all_ns += usual_ns;
        taken_ns += ns <= INTERRUPTED_MOST_NS ? ns - usual_ns : 0;
    }
    if (interrupted < INTERRUPTIONS_LEAST || interrupted > gaps / INTERRUPTED_ONE_IN || !all_ns)
        return 0;
    return (uint64_t)((double)region->time_ns * (double)taken_ns / (double)all_ns);
}
