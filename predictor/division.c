/* predictor/division.c - see division.h. */
#include "predictor/division.h"

#include "predictor/clara.h"
#include "predictor/random.h"
#include "predictor/statistics.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SILHOUETTE_STRONG 0.7
#define SILHOUETTE_DOUBT 0.05        /* what that of the best of all samples exceeds that of the first by, at most */
#define SEPARATION_SIGMAS 4.0
#define CLOCK_SIGMA_NS 10.0          /* clocks tick by as much on some machines, and times of 1 us then have a handful of values, and no scatter */
#define SEPARATION_RATIO 1.01
#define SEPARATION_RATIO_FEW 1.10
#define FEW ((size_t)10)
#define SMEAR_RATIO 2.0
#define SAMPLES ((size_t)5)
#define WIDEST ((size_t)10)          /* groups that one step may find */
#define SAMPLE_LIMIT (40 + 2 * WIDEST)

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* One random position from each of `size` equal strata of [0, count), the ends themselves included: groups at the edges are what
 * a plain random sample misses. */
static void sample_fill(size_t count, size_t size, uint64_t *state, size_t *sample)
{
    for (size_t s = 0; s < size; s++) {
        size_t from = s * count / size, end = (s + 1) * count / size;
        sample[s] = from + (size_t)random_below(state, end - from);
    }
    sample[0] = 0;
    sample[size - 1] = count - 1;
}

/* Cluster logs[0..count) into k groups, by so many samples: ret_ends[g] is the position behind group g. */
static enum pcere_status groups_find(const double *logs, size_t count, size_t k, size_t samples, uint64_t seed, size_t *ret_ends,
                                     double *ret_silhouette, struct pcere_error *error)
{
    size_t given[SAMPLES * SAMPLE_LIMIT];
    size_t size = smaller(count, 40 + 2 * k);
    samples = size == count ? 1 : samples;
    for (size_t s = 0; s < samples; s++)
        sample_fill(count, size, &seed, given + s * size);
    struct clara_points points = {.coordinates = logs, .count = count, .dimensions = 1};
    struct clara_options options = {
        .clusters = k, .samples = samples, .sample_size = size, .metric = CLARA_MANHATTAN, .given = given};
    struct clara_result result;
    enum pcere_status status = clara_run(&points, &options, &result, error);
    if (status != PCERE_OK)
        return status;
    size_t end = 0;
    for (size_t g = 0; g < k; g++)
        ret_ends[g] = end += result.sizes[g];   /* medoids ascend and so do the values: groups are stretches */
    *ret_silhouette = result.silhouette;
    clara_result_done(&result);
    return PCERE_OK;
}

static bool groups_separated(const double *logs, const size_t *ends, size_t k)
{
    double median_before = 0, spread_before = 0;
    size_t size_before = 0;
    for (size_t g = 0, first = 0; g < k; first = ends[g++]) {
        if (ends[g] == first)
            return false;                       /* equal values: fewer groups than asked for */
        size_t size = ends[g] - first;
        double median = statistics_median(logs + first, size);
        double spread = fmax(STATISTICS_MAD_TO_SIGMA * statistics_mad(logs + first, size), CLOCK_SIGMA_NS * exp(-median));
        double distance = median - median_before;
        double least = log(smaller(size, size_before) < FEW ? SEPARATION_RATIO_FEW : SEPARATION_RATIO);
        if (g > 0 && !(distance > least && distance > SEPARATION_SIGMAS * fmax(spread, spread_before)))
            return false;
        median_before = median;
        spread_before = spread;
        size_before = size;
    }
    return true;
}

/* The best real division of a stretch, 1 group if there is none. Most numbers of groups are out of the question after one sample. */
static enum pcere_status stretch_divide(const double *logs, size_t count, size_t limit, uint64_t seed, size_t *ret_ends, size_t *ret_k,
                                        struct pcere_error *error)
{
    double best = SILHOUETTE_STRONG;
    *ret_k = 1;
    ret_ends[0] = count;
    if (count < 2 || logs[count - 1] - logs[0] <= log(SEPARATION_RATIO))
        return PCERE_OK;
    for (size_t k = 2; k <= smaller(smaller(limit, WIDEST), count - 1); k++) {
        size_t ends[WIDEST];
        double silhouette;
        enum pcere_status status = groups_find(logs, count, k, 1, seed + k, ends, &silhouette, error);
        if (status == PCERE_OK && !(silhouette < best - SILHOUETTE_DOUBT))
            status = groups_find(logs, count, k, SAMPLES, seed + k, ends, &silhouette, error);
        if (status != PCERE_OK)
            return status;
        if (silhouette < best || (*ret_k > 1 && silhouette == best) || !groups_separated(logs, ends, k))
            continue;
        best = silhouette;
        *ret_k = k;
        memcpy(ret_ends, ends, k * sizeof *ends);
    }
    return PCERE_OK;
}

static size_t smear_parts(const double *logs, size_t count)
{
    double span = statistics_quantile(logs, count, 0.95) - statistics_quantile(logs, count, 0.05);
    return span > log(SMEAR_RATIO) ? (size_t)fmin(ceil(span / log(SMEAR_RATIO)), (double)WIDEST) : 1;
}

/* Put `k` parts with the given ends (relative to the part's first) in the place of parts[at]. */
static void part_replace(struct division_part *parts, size_t *part_count, size_t at, const size_t *ends, size_t k, uint32_t smear)
{
    size_t first = parts[at].first;
    memmove(parts + at + k, parts + at + 1, (*part_count - at - 1) * sizeof *parts);
    for (size_t g = 0; g < k; g++)
        parts[at + g] = (struct division_part){.first = g ? first + ends[g - 1] : first, .end = first + ends[g], .smear = smear};
    *part_count += k - 1;
}

enum pcere_status division_find(const double *logs, size_t count, size_t part_limit, uint64_t seed, struct division_part *ret_parts,
                                size_t *ret_part_count, struct pcere_error *error)
{
    assert(count > 0 && part_limit > 0);
    struct division_part *parts = malloc(part_limit * sizeof *parts);
    if (!parts)
        return pcere_fail_memory(error, "dividing a region's invocations into classes");
    size_t part_count = 1, ends[WIDEST], k;
    parts[0] = (struct division_part){.first = 0, .end = count};
    enum pcere_status status = PCERE_OK;
    for (size_t p = 0; p < part_count && status == PCERE_OK;) {
        const double *stretch = logs + parts[p].first;
        size_t length = parts[p].end - parts[p].first;
        status = stretch_divide(stretch, length, part_limit - part_count + 1, seed, ends, &k, error);
        if (status == PCERE_OK && k > 1)
            part_replace(parts, &part_count, p, ends, k, 0);
        else
            p++;
    }
    uint32_t smear = 0;
    for (size_t p = 0; p < part_count && status == PCERE_OK; p += k) {
        const double *stretch = logs + parts[p].first;
        size_t length = parts[p].end - parts[p].first;
        size_t wanted = smear_parts(stretch, length);
        k = smaller(smaller(wanted, part_limit - part_count + 1), length);
        parts[p].smear = wanted > 1 ? ++smear : 0;
        if (k < 2) {
            k = 1;
            continue;
        }
        double silhouette;
        status = groups_find(stretch, length, k, SAMPLES, seed + k, ends, &silhouette, error);
        bool empty = false;
        for (size_t g = 0; g < k; g++)
            empty |= ends[g] == (g ? ends[g - 1] : 0);
        if (status != PCERE_OK || empty)
            k = 1;
        else
            part_replace(parts, &part_count, p, ends, k, smear);
    }
    if (status == PCERE_OK) {
        memcpy(ret_parts, parts, part_count * sizeof *parts);
        *ret_part_count = part_count;
    }
    free(parts);
    return status;
}
