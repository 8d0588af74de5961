/* predictor/siblings.c - see siblings.h. */
#include "predictor/siblings.h"

#include "core/text.h"
#include "predictor/measured.h"
#include "predictor/members.h"
#include "predictor/replays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_work(const void *a, const void *b)
{
    const struct siblings_scaling *left = a, *right = b;
    return (left->own_ns > right->own_ns) - (left->own_ns < right->own_ns);
}

/* Sorted scalings, at least one. */
static double log_ratio_at(const struct siblings_scaling *scalings, size_t count, double own_ns)
{
    size_t above = 0;
    while (above < count && scalings[above].own_ns < own_ns)
        above++;
    if (above == 0 || above == count)
        return log(scalings[above ? count - 1 : 0].ratio);
    const struct siblings_scaling *low = &scalings[above - 1], *high = &scalings[above];
    double part = log(own_ns / low->own_ns) / log(high->own_ns / low->own_ns);
    return log(low->ratio) + part * log(high->ratio / low->ratio);
}

double siblings_ratio(struct siblings_scaling *scalings, size_t count, const struct siblings_scaling *own, const double *members_ns, size_t member_count)
{
    double sum_ns = 0, scaled_ns = 0, own_log = log(own->ratio), least = own->ratio, most = own->ratio;
    qsort(scalings, count, sizeof *scalings, by_work);
    for (size_t i = 0; i < count; i++) {
        least = fmin(least, scalings[i].ratio);
        most = fmax(most, scalings[i].ratio);
    }
    for (size_t i = 0; most >= SIBLINGS_APART * least && i < member_count; i++) {
        sum_ns += members_ns[i];
        scaled_ns += members_ns[i] * exp(log_ratio_at(scalings, count, members_ns[i]) - own_log);
    }
    double ratio = sum_ns > 0 ? scaled_ns / sum_ns : 1;
    return fabs(ratio - 1) <= MEMBERS_NOISE_RATIO ? 1 : ratio;
}

/* ---- out of samples ------------------------------------------------------------------------------------------------------------- */

struct scratch {
    struct replays replays;
    double *values;                        /* room for all repetitions, and for all samples */
    struct siblings_scaling *scalings, *sorted;   /* of each class; own_ns 0: nothing is known */
    double *members_ns;
    struct amdahl_forks forks;
};

static void scratch_done(struct scratch *scratch)
{
    free(scratch->replays.samples);
    free(scratch->values);
    free(scratch->scalings);
    free(scratch->sorted);
    free(scratch->members_ns);
}

static enum pcere_status scratch_init(const struct predict_request *request, const struct store_region *region, size_t member_count, struct scratch *scratch,
                                      struct pcere_error *error)
{
    size_t values = request->sample_count + 1;
    for (size_t i = 0; i < request->sample_count; i++)
        values += request->samples[i].sample_count;
    *scratch = (struct scratch){0};
    scratch->replays.samples = calloc(request->sample_count + 1, sizeof *scratch->replays.samples);
    scratch->values = calloc(values, sizeof *scratch->values);
    scratch->scalings = calloc(region->class_count, sizeof *scratch->scalings);
    scratch->sorted = calloc(region->class_count, sizeof *scratch->sorted);
    scratch->members_ns = calloc(member_count + 1, sizeof *scratch->members_ns);
    if (scratch->replays.samples && scratch->values && scratch->scalings && scratch->sorted && scratch->members_ns)
        return PCERE_OK;
    return pcere_fail_memory(error, "a region's classes");
}

/* 0: it was not replayed with so many. */
static double vitro_ns(const struct predict_request *request, const char *region, uint64_t representative, uint32_t threads, struct scratch *scratch)
{
    size_t count = 0;
    replays_choose(request, region, representative, threads, &scratch->replays);
    for (size_t i = 0; i < scratch->replays.count; i++)
        count += measured_values(scratch->replays.samples[i], scratch->values + count, NULL, NULL);
    return count ? replays_vitro_ns(&scratch->replays, scratch->values, count) : 0;
}

/* Classes that were replayed at both numbers of threads; returns how many of them tell how their work scales. */
static size_t scalings_find(const struct predict_request *request, const struct store_region *region, uint32_t threads, struct scratch *scratch, struct siblings_span *span)
{
    size_t count = 0;
    for (size_t c = 0; c < region->class_count; c++) {
        const struct store_class *class = &region->classes[c];
        if (!class->captured || class->nested || fabs(replays_alien_ratio(request, region->name, class, false)) > 0)
            continue;
        double base_ns = vitro_ns(request, region->name, class->representative, request->manifest->threads, scratch);
        double there_ns = vitro_ns(request, region->name, class->representative, threads, scratch);
        if (base_ns <= 0 || there_ns <= 0)
            continue;
        double ratio = there_ns / base_ns, own_ns = base_ns - scratch->forks.in_vivo_ns, own_there_ns = there_ns - scratch->forks.vitro_ns;
        span->low_ratio = span->classes ? fmin(span->low_ratio, ratio) : ratio;
        span->high_ratio = fmax(span->high_ratio, ratio);
        span->classes++;
        if (own_ns <= 0 || own_there_ns <= 0)
            continue;
        scratch->scalings[c] = (struct siblings_scaling){own_ns, own_there_ns / own_ns};
        scratch->sorted[count++] = scratch->scalings[c];
    }
    return count;
}

/* Work of a class's members, by how much of it the codelet of their representative takes. */
static size_t members_find(const struct store_series *series, const struct store_class *class, struct scratch *scratch, double own_ns)
{
    size_t count = 0;
    double own_vivo_ns = (double)class->representative_ns - scratch->forks.in_vivo_ns;
    for (size_t i = 0; own_vivo_ns > 0 && i < series->count; i++)
        if (series->representative[i] == class->representative)
            scratch->members_ns[count++] = fmax((double)series->time_ns[i] - scratch->forks.in_vivo_ns, 1) / own_vivo_ns * own_ns;
    return count;
}

static const struct store_series *series_find(const struct predict_request *request, const char *region)
{
    for (size_t i = 0; i < request->series_count; i++)
        if (text_equal(request->series[i].region, region))
            return &request->series[i];
    return NULL;
}

enum pcere_status siblings_check(const struct predict_request *request, const struct store_region *region, uint32_t threads, double *ret_ratios,
                                 struct siblings_span *ret_span, struct pcere_error *error)
{
    const struct store_series *series = series_find(request, region->name);
    struct siblings_span span = {0};
    struct scratch scratch;
    memset(ret_ratios, 0, region->class_count * sizeof *ret_ratios);
    *ret_span = span;
    if (region->class_count < 2 || threads == request->manifest->threads || request->model)
        return PCERE_OK;
    enum pcere_status status = scratch_init(request, region, series ? series->count : 0, &scratch, error);
    if (status == PCERE_OK) {
        scratch.forks = replays_forks(request, threads, scratch.values);
        size_t count = scalings_find(request, region, threads, &scratch, &span);
        for (size_t c = 0; series && count > 1 && c < region->class_count; c++) {
            const struct siblings_scaling own = scratch.scalings[c];
            size_t members = own.own_ns > 0 ? members_find(series, &region->classes[c], &scratch, own.own_ns) : 0;
            if (members > 1)
                ret_ratios[c] = siblings_ratio(scratch.sorted, count, &own, scratch.members_ns, members);
        }
        *ret_span = span;
    }
    scratch_done(&scratch);
    return status;
}
