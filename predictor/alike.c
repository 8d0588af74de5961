/* predictor/alike.c - see alike.h. */
#include "predictor/alike.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALIKE_SPAN_RATIO 1.10

struct timed { uint64_t time_ns; uint32_t invocation; };

static int compare_timed(const void *left, const void *right)
{
    const struct timed *a = left, *b = right;
    return a->time_ns != b->time_ns ? (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns)
                                    : (a->invocation > b->invocation) - (a->invocation < b->invocation);
}

enum pcere_status alike_group(const struct classes_input *input, uint32_t *invocations, size_t count, size_t limit, uint32_t *ret_group, size_t *ret_groups,
                              struct pcere_error *error)
{
    struct timed *timed = malloc((count + 1) * sizeof *timed);
    size_t *starts = malloc((count + 1) * sizeof *starts);
    if (!timed || !starts) {
        free(timed);
        free(starts);
        return pcere_fail_memory(error, "grouping a region's invocations");
    }
    for (size_t i = 0; i < count; i++) {
        timed[i] = (struct timed){.time_ns = input->time_ns[invocations[i]], .invocation = invocations[i]};
        starts[i] = i;
    }
    qsort(timed, count, sizeof *timed, compare_timed);
    size_t groups = count;
    starts[groups] = count;
    while (groups > 1) {
        size_t closest = 0;
        double smallest = INFINITY;
        for (size_t g = 0; g + 1 < groups; g++) {
            double low = fmax((double)timed[starts[g]].time_ns, 1);
            double span = fmax((double)timed[starts[g + 2] - 1].time_ns, 1) / low;
            if (span < smallest) {
                smallest = span;
                closest = g;
            }
        }
        if (smallest > ALIKE_SPAN_RATIO && groups <= limit)
            break;
        memmove(starts + closest + 1, starts + closest + 2, (groups - closest - 1) * sizeof *starts);
        groups--;
    }
    for (size_t g = 0; g < groups; g++)
        for (size_t i = starts[g]; i < starts[g + 1]; i++) {
            invocations[i] = timed[i].invocation;
            ret_group[i] = (uint32_t)g;
        }
    *ret_groups = groups;
    free(timed);
    free(starts);
    return PCERE_OK;
}
