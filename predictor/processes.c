/* predictor/processes.c - see processes.h. */
#include "predictor/processes.h"

#include "core/text.h"
#include "predictor/measured.h"
#include "predictor/replays.h"

#include <math.h>
#include <stdlib.h>

struct scratch {
    struct replays replays;
    struct statistics_group *groups;
    double *values, *medians;
};

static bool scratch_new(const struct predict_request *request, struct scratch *scratch)
{
    size_t repetitions = 1, processes = 1;
    for (size_t i = 0; i < request->sample_count; i++) {
        repetitions += request->samples[i].sample_count;
        processes += request->samples[i].process_counts ? request->samples[i].process_count : 1;
    }
    *scratch = (struct scratch){.replays = {.samples = calloc(request->sample_count + 1, sizeof *scratch->replays.samples)}, .groups = calloc(processes, sizeof *scratch->groups),
                                .values = calloc(repetitions, sizeof *scratch->values), .medians = calloc(processes, sizeof *scratch->medians)};
    return scratch->replays.samples && scratch->groups && scratch->values && scratch->medians;
}

static void scratch_done(struct scratch *scratch)
{
    free(scratch->replays.samples);
    free(scratch->groups);
    free(scratch->values);
    free(scratch->medians);
}

/* Medians of the processes that count for a class, into scratch->medians. */
static size_t medians_find(const struct predict_request *request, const char *region, const struct store_class *class, uint32_t threads, struct scratch *scratch)
{
    size_t processes = 0, filled = 0;
    replays_choose(request, region, class->representative, threads, &scratch->replays);
    for (size_t s = 0; s < scratch->replays.count; s++) {
        size_t count, groups = measured_groups(scratch->replays.samples[s], scratch->values + filled, scratch->groups + processes, &count);
        double *values = scratch->values + filled;
        for (size_t g = 0; g < groups; g++) {
            size_t size = scratch->groups[processes].count;
            statistics_sort(values, size);
            scratch->medians[processes++] = statistics_median(values, size);
            values += size;
        }
        filled += count;
    }
    return processes;
}

enum pcere_status processes_spread(const struct predict_request *request, uint32_t threads, double *ret_ratio, size_t *ret_count, struct pcere_error *error)
{
    const struct store_manifest *manifest = request->manifest;
    struct scratch scratch;
    double squares = 0, weight = 0;
    size_t all = 0;
    bool room = scratch_new(request, &scratch);
    for (size_t r = 0; room && r < manifest->region_count; r++)
        for (size_t c = 0; text_equal(manifest->regions[r].status, "captured") && c < manifest->regions[r].class_count; c++) {
            const struct store_class *class = &manifest->regions[r].classes[c];
            size_t count = class->captured ? medians_find(request, manifest->regions[r].name, class, threads, &scratch) : 0;
            if (count < 2)
                continue;
            double variation = statistics_variation_ratio(scratch.medians, count), own = (double)class->time_ns * (double)(count - 1);
            squares += own * variation * variation;
            weight += own;
            all += count;
        }
    scratch_done(&scratch);
    if (!room)
        return pcere_fail_memory(error, "a comparison of processes");
    *ret_ratio = weight > 0 ? sqrt(squares / weight) : 0;
    *ret_count = weight > 0 ? all : 0;
    return PCERE_OK;
}
