/* analysis/epd.c - see epd.h: histograms, and means over references and pairs. The distance itself is emd.h's. */
#include "analysis/epd.h"
#include "analysis/emd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct axis { double origin, interval; };

static struct axis axis_of(const uint64_t *values, size_t count, uint32_t bins)
{
    uint64_t least = values[0], most = values[0];
    for (size_t i = 1; i < count; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    return (struct axis){.origin = (double)least, .interval = most > least ? (double)(most - least) / bins : 1};
}

/* 0 is below the range, 1 to `bins` are in it, one more is above; the range's end belongs to the last interval. */
static size_t bin_of(double place, uint32_t bins)
{
    return place < 0 ? 0 : place > bins ? bins + 1 : place >= bins ? bins : (size_t)place + 1;
}

/* Only bins with XUs. `points` and `cells` have room for (bins + 2)^2. */
static size_t histogram(const uint64_t *x, const uint64_t *y, size_t count, const struct axis axes[2], uint32_t bins, struct emd_point *points)
{
    size_t width = bins + 2, used = 0;
    memset(points, 0, width * width * sizeof *points);
    for (size_t i = 0; i < count; i++) {
        double px = ((double)x[i] - axes[0].origin) / axes[0].interval, py = ((double)y[i] - axes[1].origin) / axes[1].interval;
        struct emd_point *point = &points[bin_of(px, bins) * width + bin_of(py, bins)];
        point->x += px;
        point->y += py;
        point->weight++;
    }
    for (size_t i = 0; i < width * width; i++)
        if (points[i].weight) {
            double weight = (double)points[i].weight;
            points[used++] = (struct emd_point){.x = points[i].x / weight, .y = points[i].y / weight, .weight = points[i].weight};
        }
    return used;
}

enum pcere_status epd_distance(const struct profile *profile, const uint32_t events[2], const struct profile *reference, const uint32_t reference_events[2],
                               uint32_t bins, double *ret_distance, struct pcere_error *error)
{
    size_t cells = (size_t)(bins + 2) * (bins + 2);
    struct emd_point *a = malloc(cells * sizeof *a), *b = malloc(cells * sizeof *b);
    if (!a || !b) {
        free(a);
        free(b);
        return pcere_fail_memory(error, "a histogram");
    }
    const uint64_t *x = reference->counts[reference_events[0]], *y = reference->counts[reference_events[1]];
    struct axis axes[2] = {axis_of(x, reference->count, bins), axis_of(y, reference->count, bins)};
    size_t a_count = histogram(profile->counts[events[0]], profile->counts[events[1]], profile->count, axes, bins, a);
    size_t b_count = histogram(x, y, reference->count, axes, bins, b);
    enum pcere_status status = PCERE_OK;
    if (a_count == b_count && memcmp(a, b, a_count * sizeof *a) == 0)
        *ret_distance = 0;
    else
        status = emd_distance(a, a_count, b, b_count, ret_distance, error);
    free(a);
    free(b);
    return status;
}

static bool rows_of(const struct profile *profile, const struct epd_pair *pair, uint32_t events[2])
{
    events[0] = (uint32_t)profile_event_find(profile, pair->x);
    events[1] = (uint32_t)profile_event_find(profile, pair->y);
    return events[0] < profile->event_count && events[1] < profile->event_count;
}

void epd_calibration_done(struct epd_calibration *calibration)
{
    for (size_t i = 0; i < calibration->pair_count; i++) {
        free(calibration->pairs[i].x);
        free(calibration->pairs[i].y);
    }
    free(calibration->pairs);
    *calibration = (struct epd_calibration){0};
}

static bool pair_known(const struct epd_calibration *calibration, const char *x, const char *y)
{
    for (size_t i = 0; i < calibration->pair_count; i++) {
        const struct epd_pair *pair = &calibration->pairs[i];
        if ((strcmp(pair->x, x) == 0 && strcmp(pair->y, y) == 0) || (strcmp(pair->x, y) == 0 && strcmp(pair->y, x) == 0))
            return true;
    }
    return false;
}

static enum pcere_status pairs_collect(struct profile *const *references, size_t count, struct epd_calibration *calibration, struct pcere_error *error)
{
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < references[r]->event_count; i++)
            for (size_t j = i + 1; j < references[r]->event_count; j++) {
                const char *x = references[r]->events[i].name, *y = references[r]->events[j].name;
                if (pair_known(calibration, x, y))
                    continue;
                struct epd_pair *pairs = realloc(calibration->pairs, (calibration->pair_count + 1) * sizeof *pairs);
                if (!pairs)
                    return pcere_fail_memory(error, "the pairs of events");
                calibration->pairs = pairs;
                struct epd_pair *pair = &pairs[calibration->pair_count++];
                *pair = (struct epd_pair){.x = strdup(x), .y = strdup(y), .calibration = NAN};
                if (!pair->x || !pair->y)
                    return pcere_fail_memory(error, "the pairs of events");
            }
    return PCERE_OK;
}

static enum pcere_status pair_calibrate(struct profile *const *references, size_t count, uint32_t bins, struct epd_pair *pair, struct pcere_error *error)
{
    double sum = 0;
    size_t terms = 0;
    for (size_t r = 0; r < count; r++) {
        uint32_t events[2], others[2];
        if (!rows_of(references[r], pair, events))
            continue;
        pair->references++;
        for (size_t other = 0; other < count; other++) {
            double distance;
            if (other == r || !rows_of(references[other], pair, others))
                continue;
            enum pcere_status status = epd_distance(references[other], others, references[r], events, bins, &distance, error);
            if (status != PCERE_OK)
                return status;
            sum += distance;
            terms++;
        }
    }
    pair->calibration = terms ? sum / (double)terms : NAN;
    return PCERE_OK;
}

static enum pcere_status references_check(struct profile *const *references, const char *const *names, size_t count, const struct epd_options *options,
                                          struct pcere_error *error)
{
    if (!count || options->bins > EPD_BINS_MOST)
        return pcere_fail(error, PCERE_USAGE, 0, "three runs of the program with the same events are a good reference",
                          "a dissimilarity is over one reference run at least, and %u intervals at most", EPD_BINS_MOST);
    for (size_t r = 0; r < count; r++) {
        if (!references[r]->count)
            return pcere_fail(error, PCERE_DATA, 0, "profile a program whose work is in tasks, loops or sections", "%.100s has no XUs", names[r]);
        enum pcere_status status = r ? profile_same_run(references[0]->runs, names[0], references[r]->runs, names[r], error) : PCERE_OK;
        if (status != PCERE_OK)
            return status;
    }
    return PCERE_OK;
}

enum pcere_status epd_calibrate(struct profile *const *references, const char *const *names, size_t count, const struct epd_options *options,
                                struct epd_calibration *ret_calibration, struct pcere_error *error)
{
    struct epd_calibration calibration = {.options = *options};
    if (!calibration.options.bins)
        calibration.options.bins = EPD_BINS;
    if (!(calibration.options.floor > 0))
        calibration.options.floor = EPD_FLOOR;
    enum pcere_status status = references_check(references, names, count, options, error);
    if (status == PCERE_OK)
        status = pairs_collect(references, count, &calibration, error);
    if (status == PCERE_OK && !calibration.pair_count)
        status = pcere_fail(error, PCERE_DATA, 0, "profile the references with two events or more", "no reference has two events");
    for (size_t i = 0; i < calibration.pair_count && status == PCERE_OK; i++) {
        struct epd_pair *pair = &calibration.pairs[i];
        status = pair_calibrate(references, count, calibration.options.bins, pair, error);
        calibration.alone += isnan(pair->calibration) ? 1 : 0;
        calibration.zero += pair->calibration <= 0;
    }
    if (status != PCERE_OK) {
        epd_calibration_done(&calibration);
        return status;
    }
    *ret_calibration = calibration;
    return PCERE_OK;
}

static enum pcere_status pair_evaluate(const struct profile *profile, struct profile *const *references, size_t count, uint32_t bins,
                                       const struct epd_pair *pair, double *ret_distance, struct pcere_error *error)
{
    uint32_t own[2], events[2];
    double sum = 0;
    size_t terms = 0;
    *ret_distance = NAN;
    if (!rows_of(profile, pair, own))
        return PCERE_OK;
    for (size_t r = 0; r < count; r++) {
        double distance;
        if (!rows_of(references[r], pair, events))
            continue;
        enum pcere_status status = epd_distance(profile, own, references[r], events, bins, &distance, error);
        if (status != PCERE_OK)
            return status;
        sum += distance;
        terms++;
    }
    *ret_distance = sum / (double)terms;
    return PCERE_OK;
}

static double at_least(double value, double floor)
{
    return value > floor ? value : floor;
}

static void result_sum(const struct epd_calibration *calibration, struct epd_result *result)
{
    double sum = 0, floored = 0, floor = calibration->options.floor;
    for (size_t i = 0; i < calibration->pair_count; i++) {
        double own = result->distances[i], usual = calibration->pairs[i].calibration;
        result->missing += isnan(own) ? 1 : 0;
        if (isnan(own) || isnan(usual))
            continue;
        floored += log(at_least(own, floor) / at_least(usual, floor));
        result->floored_pairs++;
        if (usual > 0) {
            sum += log(at_least(own, fmin(floor, usual)) / usual);
            result->pairs++;
        } else if (own > 0) {
            result->zero_other++;
        } else {
            result->zero_same++;
        }
    }
    result->epd = result->pairs ? exp(sum / (double)result->pairs) : NAN;
    result->floored = result->floored_pairs ? exp(floored / (double)result->floored_pairs) : NAN;
}

void epd_result_done(struct epd_result *result)
{
    free(result->distances);
    result->distances = NULL;
}

enum pcere_status epd_evaluate(const struct profile *profile, const char *name, struct profile *const *references, const char *const *names, size_t count,
                               const struct epd_calibration *calibration, struct epd_result *ret_result, struct pcere_error *error)
{
    if (!profile->count)
        return pcere_fail(error, PCERE_DATA, 0, "profile a program whose work is in tasks, loops or sections", "%.100s has no XUs", name);
    enum pcere_status status = profile_same_run(references[0]->runs, names[0], profile->runs, name, error);
    if (status != PCERE_OK)
        return status;
    struct epd_result result = {.distances = malloc(calibration->pair_count * sizeof(double) + 1)};
    if (!result.distances)
        return pcere_fail_memory(error, "the distances");
    for (size_t i = 0; i < calibration->pair_count && status == PCERE_OK; i++)
        status = pair_evaluate(profile, references, count, calibration->options.bins, &calibration->pairs[i], &result.distances[i], error);
    if (status == PCERE_OK)
        result_sum(calibration, &result);
    if (status == PCERE_OK && result.missing == calibration->pair_count)
        status = pcere_fail(error, PCERE_DATA, 0, "profile it with the events of the references", "%.100s has no pair of events that the references have", name);
    if (status != PCERE_OK) {
        epd_result_done(&result);
        return status;
    }
    *ret_result = result;
    return PCERE_OK;
}
