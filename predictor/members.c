/* predictor/members.c - see members.h. */
#include "predictor/members.h"

#include "predictor/division.h"
#include "predictor/statistics.h"

#include <math.h>
#include <stdlib.h>

#define PARTS_MOST 10u

static double mean_of(const double *logs, size_t first, size_t end)
{
    double sum = 0;
    for (size_t i = first; i < end; i++)
        sum += exp(logs[i]);
    return sum / (double)(end - first);
}

enum pcere_status members_judge(const uint64_t *times_ns, size_t count, size_t representative, uint64_t seed, uint64_t *ret_mean_ns,
                                uint64_t *ret_like_ns, struct pcere_error *error)
{
    double *logs = calloc(count, sizeof *logs);
    if (!logs)
        return pcere_fail_memory(error, "the members of a class");
    for (size_t i = 0; i < count; i++)
        logs[i] = log((double)(times_ns[i] ? times_ns[i] : 1));
    double own = logs[representative];
    statistics_sort(logs, count);
    struct division_part parts[PARTS_MOST];
    size_t part_count;
    enum pcere_status status = division_find(logs, count, PARTS_MOST, seed, parts, &part_count, error);
    for (size_t p = 0; status == PCERE_OK && p < part_count; p++)
        if (own >= logs[parts[p].first] && own <= logs[parts[p].end - 1]) {
            *ret_mean_ns = (uint64_t)(mean_of(logs, 0, count) + 0.5);
            *ret_like_ns = (uint64_t)(mean_of(logs, parts[p].first, parts[p].end) + 0.5);
            break;
        }
    free(logs);
    return status;
}

double members_ratio(double mean_ns, double like_ns, double weight, uint64_t members)
{
    if (mean_ns <= 0 || like_ns <= 0 || weight <= 0 || !members)
        return 1;
    double ratio = mean_ns / like_ns / (weight / (double)members);
    return fabs(ratio - 1) <= MEMBERS_NOISE_RATIO ? 1 : ratio;
}
