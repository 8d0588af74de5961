/* predictor/runs.c - see runs.h. */
#include "predictor/runs.h"

#include "core/text.h"
#include "predictor/replays.h"
#include "predictor/statistics.h"

#include <math.h>

bool runs_is(const struct predict_request *request, const struct store_sample *sample)
{
    return replays_sample_is(sample, "run", request->arch) && !sample->region && sample->wall_ns > 0 &&
           text_equal(sample->flags, request->flags) && text_equal(sample->settings, request->settings);
}

uint64_t runs_median(const struct predict_request *request, uint32_t threads, bool serial, double *values, size_t *ret_count)
{
    size_t count = 0;
    for (size_t i = 0; i < request->sample_count; i++) {
        const struct store_sample *sample = &request->samples[i];
        if (runs_is(request, sample) && sample->threads == threads)
            values[count++] = (double)(serial ? sample->serial_ns : sample->wall_ns);
    }
    *ret_count = count;
    if (count == 0)
        return 0;
    statistics_sort(values, count);
    return (uint64_t)(statistics_median(values, count) + 0.5);
}

double runs_spread(const struct predict_request *request, double *values, size_t *ret_count)
{
    double squares = PREDICT_RUN_ASSUMED * PREDICT_RUN_RATIO * PREDICT_RUN_RATIO, freedom = PREDICT_RUN_ASSUMED;
    *ret_count = 0;
    for (size_t i = 0; i < request->sample_count; i++) {
        uint32_t threads = request->samples[i].threads;
        bool first = runs_is(request, &request->samples[i]);
        for (size_t j = 0; j < i && first; j++)
            first = !(runs_is(request, &request->samples[j]) && request->samples[j].threads == threads);
        size_t count = 0;
        if (first)
            runs_median(request, threads, false, values, &count);
        if (count < 2)
            continue;
        double variation = statistics_variation_ratio(values, count);
        squares += (double)(count - 1) * variation * variation;
        freedom += (double)(count - 1);
        *ret_count += count;
    }
    return sqrt(squares / freedom);
}

double runs_pairs(const struct predict_request *request, uint32_t threads, double *values, size_t *ret_pairs)
{
    double before = 0;
    size_t count = 0;
    for (size_t i = 0; i < request->sample_count; i++) {
        if (!runs_is(request, &request->samples[i]) || request->samples[i].threads != threads)
            continue;
        double now = (double)request->samples[i].wall_ns;
        if (before > 0)
            values[count++] = 2 * fabs(now - before) / (now + before);
        before = now;
    }
    *ret_pairs = count;
    statistics_sort(values, count);
    return count ? statistics_median(values, count) : 0;
}

bool runs_serial(const struct predict_request *request, uint32_t threads, double *values, uint64_t *ret_ns)
{
    uint32_t below = 0, above = UINT32_MAX;
    for (size_t i = 0; i < request->sample_count; i++) {
        uint32_t other = request->samples[i].threads;
        if (!runs_is(request, &request->samples[i]))
            continue;
        if (other <= threads && other > below)
            below = other;
        if (other >= threads && other < above)
            above = other;
    }
    if (!below && above == UINT32_MAX)
        return false;
    if (!below || above == UINT32_MAX)
        below = above = below ? below : above;
    size_t count;
    double low_ns = (double)runs_median(request, below, true, values, &count), high_ns = (double)runs_median(request, above, true, values, &count);
    double share = above > below ? (double)(threads - below) / (double)(above - below) : 0;
    *ret_ns = (uint64_t)(low_ns + (high_ns - low_ns) * share + 0.5);
    return true;
}

/* A real run's time in a region that the capture did not enter. */
static bool is_strange(const struct predict_request *request, const struct store_sample *sample, uint32_t threads)
{
    if (!replays_sample_is(sample, "run", request->arch) || !sample->region || sample->sample_count != 1 || sample->threads != threads || !text_equal(sample->flags, request->flags) ||
        !text_equal(sample->settings, request->settings))
        return false;
    for (size_t r = 0; r < request->manifest->region_count; r++)
        if (text_equal(request->manifest->regions[r].name, sample->region))
            return false;
    return true;
}

uint64_t runs_strange(const struct predict_request *request, uint32_t threads, size_t *ret_count, const char **ret_most)
{
    const struct store_sample *samples = request->samples;
    uint64_t whole_ns = 0, most_ns = 0, runs = 0;
    *ret_count = 0;
    *ret_most = NULL;
    for (size_t i = 0; i < request->sample_count; i++) {
        runs += runs_is(request, &samples[i]) && samples[i].threads == threads;
        bool first = is_strange(request, &samples[i], threads);
        for (size_t j = 0; j < i && first; j++)
            first = !(text_equal(samples[j].region, samples[i].region) && is_strange(request, &samples[j], threads));
        if (!first)
            continue;
        uint64_t region_ns = 0;
        for (size_t j = i; j < request->sample_count; j++)
            if (text_equal(samples[j].region, samples[i].region) && is_strange(request, &samples[j], threads))
                region_ns += samples[j].samples_ns[0];
        ++*ret_count;
        whole_ns += region_ns;
        if (region_ns >= most_ns) {
            most_ns = region_ns;
            *ret_most = samples[i].region;
        }
    }
    return runs ? whole_ns / runs : 0;
}

double runs_waited_ratio(const struct predict_request *request, uint32_t threads)
{
    double waited_ns = 0, wall_ns = 0;
    for (size_t i = 0; i < request->sample_count; i++) {
        const struct store_sample *sample = &request->samples[i];
        if (!runs_is(request, sample) || sample->threads != threads || !sample->waits_ns || sample->sample_count != 1)
            continue;
        waited_ns += fmin((double)sample->waits_ns[0], (double)sample->wall_ns);
        wall_ns += (double)sample->wall_ns;
    }
    return wall_ns > 0 ? waited_ns / wall_ns : 0;
}

static bool region_is_fixed(const struct predict_request *request, const struct store_region *region, uint32_t threads)
{
    bool seen = false;
    for (size_t c = 0; c < region->class_count; c++)
        if (region->classes[c].team)
            return false;                       /* its replays have as many as it asks for */
    for (size_t i = 0; i < request->sample_count; i++) {
        const struct store_sample *sample = &request->samples[i];
        if (!replays_sample_is(sample, "run", request->arch) || !sample->region || sample->threads != threads || !text_equal(sample->region, region->name))
            continue;
        if (sample->team != request->manifest->threads)
            return false;
        seen = true;
    }
    return seen;
}

size_t runs_fixed(const struct predict_request *request, uint32_t threads, const char **ret_most)
{
    size_t count = 0;
    uint64_t most_ns = 0;
    *ret_most = NULL;
    for (size_t r = 0; threads != request->manifest->threads && r < request->manifest->region_count; r++) {
        const struct store_region *region = &request->manifest->regions[r];
        if (!region_is_fixed(request, region, threads))
            continue;
        count++;
        if (!*ret_most || region->time_ns > most_ns) {
            most_ns = region->time_ns;
            *ret_most = region->name;
        }
    }
    return count;
}
