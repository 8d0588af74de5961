/* replay-rt/launcher/tour_choose.c - which stretch of the program is worth a tour; see tour.h. */
#include "replay-rt/launcher/tour.h"

#include <stdlib.h>

#define PROCESS_NS 8000000u               /* that one process takes, however short its region is */

struct stretch { size_t first, count; bool closed; };

/* What it saves, or a negative number. `seen`: of each candidate, 1 + the stretch that it was met in last. */
static double saved_ns(const struct tour_event *events, const struct stretch *stretch, const uint64_t *alone_ns, size_t *seen, size_t mark)
{
    double saved = -(double)PROCESS_NS;
    size_t members = 0;
    for (size_t i = 0; i < stretch->count; i++) {
        const struct tour_event *event = &events[stretch->first + i], *before = &events[stretch->first + (i ? i : stretch->count) - 1];
        saved -= TOUR_ROUNDS * (double)event->time_ns + (event->shift != before->shift ? TOUR_ROUNDS * (double)event->lay_ns : 0);
        if (event->candidate == TOUR_NOBODY || seen[event->candidate] == mark || (!i && !stretch->closed))
            continue;
        seen[event->candidate] = mark;
        saved += (double)alone_ns[event->candidate];
        members++;
    }
    return members > 1 ? saved : -1;
}

bool tour_choose(const struct tour_event *events, size_t event_count, const uint64_t *alone_ns, size_t candidate_count, size_t most, size_t *ret_first,
                 size_t *ret_count, bool *ret_closed)
{
    size_t *seen = calloc(candidate_count + 1, sizeof *seen), mark = 0;
    struct stretch best = {0};
    double best_ns = 0;
    for (size_t first = 0; seen && first < event_count; first++)
        for (size_t count = 2; count <= most && first + count <= event_count; count++) {
            struct stretch stretch = {first, count, first && events[first - 1].class == events[first + count - 1].class};
            double saved = saved_ns(events, &stretch, alone_ns, seen, ++mark);
            if (saved > best_ns) {
                best_ns = saved;
                best = stretch;
            }
        }
    free(seen);
    *ret_first = best.first;
    *ret_count = best.count;
    *ret_closed = best.closed;
    return best_ns > 0;
}
