/* predictor/clara.c - see clara.h. */
#include "predictor/clara.h"

#include "predictor/line.h"
#include "predictor/random.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What PAM works on: the m points of a sample and all their dissimilarities. */
struct pam {
    size_t count, clusters;
    double *dissimilarity;       /* [count * count] */
    bool *is_medoid;             /* [count] */
    double *nearest, *second;    /* [count] dissimilarity to the nearest and the second nearest medoid */
    size_t *owner;               /* [count] which medoid is nearest: place in `medoids` */
    size_t *medoids;             /* [clusters] ascending */
    double *costs;               /* [clusters] */
};

struct clara_work {
    bool on_line;                /* one coordinate, ascending: `line` and `ends`; else `pam` and `clusters` */
    struct line line;            /* the points of a sample */
    size_t *ends;                /* [clusters] */
    struct pam pam;
    uint32_t *clusters;          /* [count] by the current medoids */
    size_t *sample;              /* [sample_size] of the current sample */
    size_t *medoids;             /* [clusters] of the current sample, ascending */
};

static double point_dissimilarity(const struct clara_points *points, enum clara_metric metric, size_t a, size_t b)
{
    const double *left = points->coordinates + a * points->dimensions;
    const double *right = points->coordinates + b * points->dimensions;
    double sum = 0;
    for (size_t d = 0; d < points->dimensions; d++) {
        double difference = left[d] - right[d];
        sum += metric == CLARA_MANHATTAN ? fabs(difference) : difference * difference;
    }
    return metric == CLARA_MANHATTAN ? sum : sqrt(sum);
}

/* ---- PAM ----------------------------------------------------------------------------------------------------------------- */

static void pam_measure(struct pam *pam, const struct clara_points *points, enum clara_metric metric, const size_t *sample)
{
    for (size_t i = 0; i < pam->count; i++) {
        pam->dissimilarity[i * pam->count + i] = 0;
        for (size_t j = 0; j < i; j++) {
            double value = point_dissimilarity(points, metric, sample[i], sample[j]);
            pam->dissimilarity[i * pam->count + j] = pam->dissimilarity[j * pam->count + i] = value;
        }
    }
}

static void pam_build(struct pam *pam)
{
    size_t n = pam->count;
    double largest = 0;
    for (size_t i = 0; i < n * n; i++)
        largest = fmax(largest, pam->dissimilarity[i]);
    for (size_t i = 0; i < n; i++) {
        pam->is_medoid[i] = false;
        pam->nearest[i] = largest * 1.1 + 1;     /* without medoids everything is farther away than anything can be */
    }
    for (size_t c = 0; c < pam->clusters; c++) {
        size_t best = 0;
        double best_gain = -1;
        for (size_t i = 0; i < n; i++) {
            if (pam->is_medoid[i])
                continue;
            const double *row = pam->dissimilarity + i * n;
            double gain = 0;
            for (size_t j = 0; j < n; j++)
                if (row[j] < pam->nearest[j])
                    gain += pam->nearest[j] - row[j];
            if (gain >= best_gain) {
                best_gain = gain;
                best = i;
            }
        }
        pam->is_medoid[best] = true;
        for (size_t j = 0; j < n; j++)
            pam->nearest[j] = fmin(pam->nearest[j], pam->dissimilarity[best * n + j]);
    }
}

static double pam_update(struct pam *pam)
{
    size_t n = pam->count;
    double total = 0;
    for (size_t i = 0, found = 0; i < n; i++)
        if (pam->is_medoid[i])
            pam->medoids[found++] = i;
    for (size_t j = 0; j < n; j++) {
        pam->nearest[j] = pam->second[j] = INFINITY;
        for (size_t m = 0; m < pam->clusters; m++) {
            double value = pam->dissimilarity[pam->medoids[m] * n + j];
            if (value < pam->nearest[j]) {
                pam->second[j] = pam->nearest[j];
                pam->nearest[j] = value;
                pam->owner[j] = m;
            } else if (value < pam->second[j])
                pam->second[j] = value;
        }
        total += pam->nearest[j];
    }
    return total;
}

/* costs[m]: what the total dissimilarity changes by if `candidate` takes the place of the m-th medoid. A point that is nearer to the candidate than to
 * its own medoid moves whichever medoid goes; any other moves only when its own one does. All costs in one walk, each summed up in the order of
 * the points. */
static void pam_exchange_costs(const struct pam *pam, size_t candidate, double *costs)
{
    size_t n = pam->count;
    const double *to = pam->dissimilarity + candidate * n;
    for (size_t m = 0; m < pam->clusters; m++)
        costs[m] = 0;
    for (size_t j = 0; j < n; j++) {
        double nearest = pam->nearest[j];
        if (to[j] < nearest)
            for (size_t m = 0; m < pam->clusters; m++)
                costs[m] += to[j] - nearest;
        else
            costs[pam->owner[j]] += fmin(to[j], pam->second[j]) - nearest;
    }
}

static void pam_swap(struct pam *pam)
{
    size_t n = pam->count;
    if (pam->clusters == n)
        return;
    double total = pam_update(pam);
    for (;;) {
        double best = 0;
        size_t best_medoid = n, best_candidate = n;
        for (size_t candidate = 0; candidate < n; candidate++) {
            if (pam->is_medoid[candidate])
                continue;
            pam_exchange_costs(pam, candidate, pam->costs);
            for (size_t m = 0; m < pam->clusters; m++)
                if (pam->costs[m] < best) {
                    best = pam->costs[m];
                    best_medoid = pam->medoids[m];
                    best_candidate = candidate;
                }
        }
        if (!(best < -16 * DBL_EPSILON * fabs(total)))
            return;
        pam->is_medoid[best_medoid] = false;
        pam->is_medoid[best_candidate] = true;
        total = pam_update(pam);
    }
}

/* ---- samples ------------------------------------------------------------------------------------------------------------- */

/* Fill work->sample with the given medoids and random others, each set of others equally likely. One walk through the points takes each
 * with the probability that completes the sample, so that the sample comes out ascending. */
static void sample_draw(struct clara_work *work, size_t count, size_t sample_size, const size_t *medoids, size_t medoid_count, uint64_t *state)
{
    size_t wanted = sample_size - medoid_count, left = count - medoid_count, filled = 0, medoid = 0;
    for (size_t i = 0; i < count && filled < sample_size; i++) {
        if (medoid < medoid_count && medoids[medoid] == i) {
            work->sample[filled++] = i;
            medoid++;
            continue;
        }
        if (random_below(state, left--) < wanted) {
            work->sample[filled++] = i;
            wanted--;
        }
    }
}

static double points_assign(const struct clara_points *points, enum clara_metric metric, const size_t *medoids, size_t cluster_count,
                            uint32_t *clusters)
{
    double total = 0;
    for (size_t i = 0; i < points->count; i++) {
        double nearest = INFINITY;
        for (size_t c = 0; c < cluster_count; c++) {
            double value = point_dissimilarity(points, metric, i, medoids[c]);
            if (value < nearest) {
                nearest = value;
                clusters[i] = (uint32_t)c;
            }
        }
        total += nearest;
    }
    return total / (double)points->count;
}

static void line_take(struct clara_work *work, const struct clara_points *points, const size_t *sample)
{
    for (size_t i = 0; i < work->line.count; i++)
        work->line.at[i] = points->coordinates[sample[i]];
    line_sum(&work->line);
}

static double line_cluster(struct clara_work *work, const struct clara_points *points, size_t clusters)
{
    const double *at = points->coordinates;
    line_take(work, points, work->sample);
    line_medoids(&work->line, clusters, work->medoids);
    for (size_t c = 0; c < clusters; c++)
        work->medoids[c] = work->sample[work->medoids[c]];
    line_divide(at, points->count, clusters, work->medoids, work->ends);
    double total = 0;
    for (size_t c = 0, i = 0; c < clusters; c++)
        for (double medoid = at[work->medoids[c]]; i < work->ends[c]; i++)
            total += fabs(at[i] - medoid);
    return total / (double)points->count;
}

/* Average silhouette width over the sample that `pam` holds (Rousseeuw 1987); a cluster of one has width 0. `sums` is [clusters]. */
static double sample_silhouette(const struct pam *pam, const size_t *sample, const uint32_t *clusters, double *sums, size_t *sizes)
{
    if (pam->clusters < 2)
        return 0;
    memset(sizes, 0, pam->clusters * sizeof *sizes);
    for (size_t i = 0; i < pam->count; i++)
        sizes[clusters[sample[i]]]++;
    double total = 0;
    for (size_t i = 0; i < pam->count; i++) {
        uint32_t own = clusters[sample[i]];
        if (sizes[own] < 2)
            continue;
        memset(sums, 0, pam->clusters * sizeof *sums);
        for (size_t j = 0; j < pam->count; j++)
            sums[clusters[sample[j]]] += pam->dissimilarity[i * pam->count + j];
        double within = sums[own] / (double)(sizes[own] - 1), between = INFINITY;
        for (size_t c = 0; c < pam->clusters; c++)
            if (c != own && sizes[c] > 0)
                between = fmin(between, sums[c] / (double)sizes[c]);
        if (isfinite(between) && fmax(within, between) > 0)
            total += (between - within) / fmax(within, between);
    }
    return total / (double)pam->count;
}

/* ---- CLARA --------------------------------------------------------------------------------------------------------------- */

static enum pcere_status options_check(const struct clara_points *points, const struct clara_options *options, size_t sample_size,
                                       size_t samples, struct pcere_error *error)
{
    if (points->count == 0 || points->dimensions == 0)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "there is nothing to cluster");
    if (options->clusters == 0 || options->clusters > points->count || options->clusters > UINT32_MAX)
        return pcere_fail(error, PCERE_USAGE, 0, "ask for 1 cluster up to as many as there are points",
                          "%zu points cannot form %zu clusters", points->count, options->clusters);
    if (sample_size < options->clusters)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "a sample of %zu points cannot hold %zu medoids", sample_size,
                          options->clusters);
    if (points->count > SIZE_MAX / points->dimensions / sizeof(double) || sample_size > SIZE_MAX / sample_size / sizeof(double))
        return pcere_fail_memory(error, "the dissimilarities of a sample");
    for (size_t i = 0; i < points->count * points->dimensions; i++)
        if (!isfinite(points->coordinates[i]))
            return pcere_fail(error, PCERE_DATA, 0, NULL, "point %zu has a coordinate that is not a finite number",
                              i / points->dimensions);
    for (size_t s = 0; options->given && s < samples; s++)
        for (size_t i = 0; i < sample_size; i++) {
            const size_t *sample = options->given + s * sample_size;
            if (sample[i] >= points->count || (i > 0 && sample[i] <= sample[i - 1]))
                return pcere_fail(error, PCERE_USAGE, 0, NULL, "given sample %zu is not an ascending list of point numbers", s);
        }
    return PCERE_OK;
}

static void work_done(struct clara_work *work)
{
    line_done(&work->line);
    free(work->ends);
    free(work->pam.dissimilarity);
    free(work->pam.is_medoid);
    free(work->pam.nearest);
    free(work->pam.second);
    free(work->pam.owner);
    free(work->pam.medoids);
    free(work->pam.costs);
    free(work->sample);
    free(work->medoids);
    free(work->clusters);
}

static bool is_line(const struct clara_points *points, enum clara_metric metric)
{
    bool ascends = points->dimensions == 1 && metric == CLARA_MANHATTAN;
    for (size_t i = 1; i < points->count && ascends; i++)
        ascends = points->coordinates[i] >= points->coordinates[i - 1];
    return ascends && isfinite(4 * (double)points->count * (points->coordinates[points->count - 1] - points->coordinates[0]));
}

static bool pam_init(struct pam *pam, size_t sample_size, size_t clusters)
{
    *pam = (struct pam){.count = sample_size,
                        .clusters = clusters,
                        .dissimilarity = malloc(sample_size * sample_size * sizeof(double)),
                        .is_medoid = malloc(sample_size * sizeof(bool)),
                        .nearest = malloc(sample_size * sizeof(double)),
                        .second = malloc(sample_size * sizeof(double)),
                        .owner = calloc(sample_size, sizeof(size_t)),
                        .medoids = malloc(clusters * sizeof(size_t)),
                        .costs = malloc(clusters * sizeof(double))};
    return pam->dissimilarity && pam->is_medoid && pam->nearest && pam->second && pam->owner && pam->medoids && pam->costs;
}

static bool work_init(struct clara_work *work, const struct clara_points *points, enum clara_metric metric, size_t sample_size, size_t clusters)
{
    *work = (struct clara_work){.on_line = is_line(points, metric), .sample = malloc(sample_size * sizeof(size_t)), .medoids = malloc(clusters * sizeof(size_t))};
    bool enough = work->sample && work->medoids;
    if (work->on_line) {
        work->ends = malloc(clusters * sizeof(size_t));
        return line_init(&work->line, sample_size, clusters) && work->ends && enough;
    }
    work->clusters = malloc(points->count * sizeof(uint32_t));
    return pam_init(&work->pam, sample_size, clusters) && work->clusters && enough;
}

void clara_result_done(struct clara_result *result)
{
    free(result->medoids);
    free(result->sizes);
    free(result->clusters);
    free(result->sample);
    *result = (struct clara_result){0};
}

/* The current sample's medoids in work->medoids: ascending, since the sample is. Returns the mean dissimilarity of all points. */
static double sample_cluster(struct clara_work *work, const struct clara_points *points, enum clara_metric metric, size_t clusters)
{
    if (work->on_line)
        return line_cluster(work, points, clusters);
    pam_measure(&work->pam, points, metric, work->sample);
    pam_build(&work->pam);
    pam_swap(&work->pam);
    size_t found = 0;
    for (size_t i = 0; i < work->pam.count; i++)
        if (work->pam.is_medoid[i])
            work->medoids[found++] = work->sample[i];
    return points_assign(points, metric, work->medoids, clusters, work->clusters);
}

/* Keep the current sample as the best; the result's arrays have their final sizes. */
static void result_take(struct clara_result *result, struct clara_work *work, double objective, double *sums)
{
    size_t *medoids = result->medoids;
    result->medoids = work->medoids;
    work->medoids = medoids;
    memcpy(result->sample, work->sample, result->sample_count * sizeof *result->sample);
    result->objective = objective;
    if (work->on_line)
        return;
    uint32_t *clusters = result->clusters;
    result->clusters = work->clusters;
    work->clusters = clusters;
    result->silhouette = sample_silhouette(&work->pam, work->sample, result->clusters, sums, result->sizes);
}

/* Clusters and silhouette, for the medoids that were kept. */
static void line_result(struct clara_result *result, struct clara_work *work, const struct clara_points *points)
{
    size_t k = result->cluster_count;
    line_divide(points->coordinates, points->count, k, result->medoids, work->ends);
    for (size_t c = 0, i = 0, s = 0; c < k; c++) {
        while (i < work->ends[c])
            result->clusters[i++] = (uint32_t)c;
        while (s < result->sample_count && result->sample[s] < i)
            s++;
        work->ends[c] = s;
    }
    line_take(work, points, result->sample);
    result->silhouette = k < 2 ? 0 : line_silhouette(&work->line, k, work->ends);
}

static void result_finish(struct clara_result *result, struct clara_work *work, const struct clara_points *points)
{
    if (work->on_line)
        line_result(result, work, points);
    memset(result->sizes, 0, result->cluster_count * sizeof *result->sizes);
    for (size_t i = 0; i < points->count; i++)
        result->sizes[result->clusters[i]]++;
}

enum pcere_status clara_run(const struct clara_points *points, const struct clara_options *options, struct clara_result *ret_result,
                            struct pcere_error *error)
{
    size_t sample_size = options->sample_size ? options->sample_size : 40 + 2 * options->clusters;
    size_t samples = options->samples ? options->samples : 5;
    if (sample_size >= points->count) {
        sample_size = points->count;
        if (!options->given)
            samples = 1;
    }
    enum pcere_status status = options_check(points, options, sample_size, samples, error);
    if (status != PCERE_OK)
        return status;

    struct clara_work work;
    struct clara_result best = {
        .cluster_count = options->clusters,
        .medoids = malloc(options->clusters * sizeof(size_t)),
        .sizes = malloc(options->clusters * sizeof(size_t)),
        .clusters = malloc(points->count * sizeof(uint32_t)),
        .sample = malloc(sample_size * sizeof(size_t)),
        .sample_count = sample_size,
    };
    double *sums = malloc(options->clusters * sizeof *sums);
    if (!work_init(&work, points, options->metric, sample_size, options->clusters) || !best.medoids || !best.sizes || !best.clusters ||
        !best.sample || !sums) {
        status = pcere_fail_memory(error, "clustering");
        clara_result_done(&best);
    } else {
        uint64_t state = options->seed;
        for (size_t s = 0; s < samples; s++) {
            if (options->given)
                memcpy(work.sample, options->given + s * sample_size, sample_size * sizeof *work.sample);
            else
                sample_draw(&work, points->count, sample_size, best.medoids, s == 0 ? 0 : best.cluster_count, &state);
            double objective = sample_cluster(&work, points, options->metric, options->clusters);
            if (s == 0 || objective < best.objective)
                result_take(&best, &work, objective, sums);
        }
        result_finish(&best, &work, points);
        *ret_result = best;
    }
    free(sums);
    work_done(&work);
    return status;
}
