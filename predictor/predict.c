/* predictor/predict.c - see predict.h. */
#include "predictor/predict.h"

#include "core/host.h"
#include "core/text.h"
#include "predictor/amdahl.h"
#include "predictor/measured.h"
#include "predictor/random.h"
#include "predictor/replays.h"
#include "predictor/runs.h"
#include "predictor/siblings.h"
#include "predictor/statistics.h"
#include "predictor/unmeasured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOW_PROBABILITY 0.025
#define HIGH_PROBABILITY 0.975

const char *predict_basis_name(enum predict_basis basis)
{
    static const char *const names[] = {"in_vivo", "replay", "sample", "nested", "model", "run", "scaled"};
    return names[basis];
}

static uint64_t whole_ns(double time_ns)
{
    return time_ns >= 0x1p63 ? (uint64_t)1 << 63 : time_ns > 0 ? (uint64_t)(time_ns + 0.5) : 0;
}

/* ---- one class ----------------------------------------------------------------------------------------------------------------- */

struct predictor {
    const struct predict_request *request;
    struct replays replays;          /* room for all samples */
    struct statistics_group *groups; /* room for all processes of all samples */
    double *values, *scratch;        /* room for all repetitions, and for processes x the longest sample */
    double *draws;                   /* [PREDICT_DRAWS] of a class */
    double *region_draws, *point_draws;       /* [PREDICT_DRAWS] sums */
    double *residual_draws, *run_draws;       /* [PREDICT_DRAWS]: standard normal, common to all classes; factors, common to all of a run */
    struct amdahl_forks forks;       /* at the point's threads */
    bool any_replayed;               /* some class was, at the point's threads */
    double scaling;                  /* of all that was replayed, from the capture's threads to the point's; 0: nothing was */
    double run_ratio;                /* standard deviation of runs of the program */
    size_t run_count;                /* that say so */
    enum predict_basis serial_basis;
    double *sibling_ratios;          /* of the region's classes; 0: unknown */
    bool alone;                      /* a region is compared with itself: what is common to all its replays does not count */
    bool own;                        /* the program's own code on the machine that captured it */
    uint64_t state;
};

/* Draws of the mean of all shots. */
static void shots_measure(struct predictor *predictor, size_t count)
{
    double mean = statistics_mean(predictor->values, count), half = statistics_shots_half(predictor->values, count);
    for (size_t d = 0; d < PREDICT_DRAWS; d++)
        predictor->draws[d] = mean + half / 1.96 * random_normal(&predictor->state);
}

/* Samples of slow processors: the region lost anything between nothing and what known work lost beside them. What was taken off interrupted ones is what they lost at most. */
static void disturbed_spread(struct predictor *predictor)
{
    double slow_ratio = replays_slow_ratio(&predictor->replays), held_ratio = replays_held_ratio(&predictor->replays);
    for (size_t d = 0; slow_ratio > 0 && d < PREDICT_DRAWS; d++)
        predictor->draws[d] *= exp(-log1p(slow_ratio) * random_uniform(&predictor->state));
    for (size_t d = 0; held_ratio > 0 && d < PREDICT_DRAWS; d++)
        predictor->draws[d] *= 1 + held_ratio / (1 - held_ratio) * random_uniform(&predictor->state);
}

/* What one run takes by the chosen replays, into ret_class, and draws of it. */
static void replays_measure(struct predictor *predictor, struct predict_class *ret_class)
{
    const struct replays *replays = &predictor->replays;
    size_t filled = 0, processes = 0;
    for (size_t s = 0; s < replays->count; s++) {
        const struct store_sample *sample = replays->samples[s];
        size_t count;
        processes += measured_groups(sample, predictor->values + filled, predictor->groups + processes, &count);
        filled += count;
    }
    bool shots = replays->samples[0]->sampled_ratio > 0;
    if (shots)
        shots_measure(predictor, filled);
    else
        statistics_bootstrap(predictor->groups, processes, measured_is_crowded(replays->samples[replays->count - 1]), &predictor->state, predictor->scratch, predictor->draws, PREDICT_DRAWS);
    if (filled == 1 && !shots)
        for (size_t d = 0; d < PREDICT_DRAWS; d++)
            predictor->draws[d] *= 1 + STATISTICS_SINGLE_RATIO * random_normal(&predictor->state);
    if (processes < MEASURED_PROCESSES_ENOUGH)
        for (size_t d = 0; d < PREDICT_DRAWS; d++)
            predictor->draws[d] *= 1 + STATISTICS_PROCESS_RATIO / sqrt((double)processes) * random_normal(&predictor->state);
    disturbed_spread(predictor);
    ret_class->basis = shots ? PREDICT_SAMPLE : PREDICT_REPLAY;
    ret_class->vitro_ns = whole_ns(replays_vitro_ns(replays, predictor->values, filled));
    ret_class->process_count = processes;
    ret_class->repetition_count = filled;
}

static void residual_spread(struct predictor *predictor, uint32_t threads, bool unseen)
{
    double residual = replays_residual(&predictor->replays, unseen);
    if (threads != predictor->request->manifest->threads)
        residual = copysign(fmax(fabs(residual), PREDICT_UNKNOWN_RATIO), residual);
    double log_ratio = log1p(residual);
    for (size_t d = 0; d < PREDICT_DRAWS; d++)
        predictor->draws[d] *= exp(log_ratio * (predictor->residual_draws[d] + random_normal(&predictor->state)));
}

static bool anything_replayed(struct predictor *predictor, uint32_t threads)
{
    const struct store_manifest *manifest = predictor->request->manifest;
    predictor->replays.count = 0;
    for (size_t r = 0; r < manifest->region_count && !predictor->replays.count; r++)
        for (size_t c = 0; c < manifest->regions[r].class_count && !predictor->replays.count; c++)
            replays_choose(predictor->request, manifest->regions[r].name, manifest->regions[r].classes[c].representative, threads, &predictor->replays);
    return predictor->replays.count > 0;
}

/* What is common to all regions at these threads. */
static void scaling_prepare(struct predictor *predictor, uint32_t threads)
{
    predictor->forks = (struct amdahl_forks){0, 0};
    predictor->scaling = 0;
    if (predictor->request->model)
        return;
    predictor->any_replayed = anything_replayed(predictor, threads);
    predictor->forks = replays_forks(predictor->request, threads, predictor->values);
    predictor->scaling = replays_scaling(predictor->request, NULL, threads, &predictor->forks, &predictor->replays, predictor->values);
}

struct kept { uint64_t time_ns; enum predict_basis basis; };

/* What was not replayed, into the draws as well. */
static struct kept kept_add(struct predictor *predictor, const struct store_region *region, uint64_t time_ns, uint64_t invocations, uint32_t threads)
{
    uint32_t captured = predictor->request->manifest->threads ? predictor->request->manifest->threads : threads;
    double scaling = 0;
    if (threads != captured && predictor->scaling > 0) {
        scaling = replays_scaling(predictor->request, region, threads, &predictor->forks, &predictor->replays, predictor->values);
        scaling = scaling > 0 ? scaling : predictor->scaling;
    }
    struct kept kept = {time_ns, PREDICT_IN_VIVO};
    if (scaling > 0)
        kept = (struct kept){whole_ns(amdahl_kept_time((double)time_ns, invocations, scaling, &predictor->forks)), PREDICT_SCALED};
    double ends[] = {(double)time_ns, (double)time_ns * captured / threads};
    for (size_t d = 0; d < PREDICT_DRAWS; d++)
        predictor->region_draws[d] += (double)kept.time_ns + (ends[d % 2] - (double)kept.time_ns) * random_uniform(&predictor->state);
    return kept;
}

/* Of what keeps the capture's time, how long that is on the machine asked for. */
static uint64_t kept_ns(const struct predictor *predictor, uint64_t time_ns)
{
    const struct predict_request *request = predictor->request;
    return request->model && request->kept_ratio > 0 ? whole_ns((double)time_ns * request->kept_ratio) : time_ns;
}

static void model_take(struct predictor *predictor, const struct predict_estimate *estimate, struct predict_class *ret_class)
{
    double low = estimate->low_ns > 0 ? estimate->low_ns : 1, high = estimate->high_ns > low ? estimate->high_ns : low;
    double deviation = log(high / low) / (2 * 1.96);
    for (size_t d = 0; d < PREDICT_DRAWS; d++)
        predictor->draws[d] = estimate->time_ns * exp(deviation * predictor->residual_draws[d]);
    ret_class->basis = PREDICT_MODEL;
    ret_class->vitro_ns = whole_ns(estimate->time_ns);
}

/* Not by replays. Those that there are cost what they cost. */
static enum pcere_status class_keep(struct predictor *predictor, const struct store_region *region, const struct store_class *class, uint32_t threads,
                                    struct predict_class *ret_class, uint64_t *cost_ns)
{
    for (size_t s = 0; s < predictor->replays.count; s++)
        *cost_ns += predictor->replays.samples[s]->cost_ns;
    struct kept kept = kept_add(predictor, region, ret_class->time_ns, class->members, threads);
    ret_class->basis = kept.basis;
    ret_class->time_ns = kept.time_ns;
    return PCERE_OK;
}

/* Whether the class holds at these threads. */
static void members_spread(struct predictor *predictor, const struct store_region *region, const struct store_class *class, uint32_t threads, struct predict_class *ret_class)
{
    double runs = replays_members(predictor->request, region->name, class, threads, predictor->values);
    double siblings = predictor->sibling_ratios[class - region->classes];
    ret_class->check = runs > 0 ? PREDICT_CHECKED_BY_RUNS : siblings > 0 ? PREDICT_CHECKED_BY_CLASSES : PREDICT_UNCHECKED;
    ret_class->members_ratio = runs > 0 ? runs : siblings > 0 ? siblings : 1;
    for (size_t d = 0; d < PREDICT_DRAWS && !predictor->alone; d++)
        predictor->draws[d] *= 1 + (ret_class->members_ratio - 1) * random_uniform(&predictor->state);
}

/* What a class adds; its draws are added to region_draws. */
static enum pcere_status class_predict(struct predictor *predictor, const struct store_region *region, const struct store_class *class,
                                       uint32_t threads, struct predict_class *ret_class, uint64_t *cost_ns, struct pcere_error *error)
{
    *ret_class = (struct predict_class){
        .representative = class->representative, .basis = PREDICT_IN_VIVO, .weight = 1, .time_ns = kept_ns(predictor, class->time_ns)};
    struct predict_estimate estimate;
    if (class->nested) {
        *ret_class = (struct predict_class){.representative = class->representative, .basis = PREDICT_NESTED};
        return PCERE_OK;
    }
    const struct predict_request *request = predictor->request;
    bool modelled = class->captured && request->model && request->model(request->model_context, region->name, class->representative, threads, &estimate);
    predictor->replays.count = 0;
    if (!class->captured || (request->model && !modelled))
        return class_keep(predictor, region, class, threads, ret_class, cost_ns);
    if (modelled)
        model_take(predictor, &estimate, ret_class);
    else {
        replays_choose(request, region->name, class->representative, threads, &predictor->replays);
        bool light = predictor->replays.count == 0 && !predictor->alone
                     && (measured_is_light(request->manifest, class) || (predictor->own && measured_is_known(request->manifest, class, threads)));
        ret_class->missing = predictor->replays.count == 0 && request->partial && predictor->any_replayed && (!light || !store_region_may_have(region, request->manifest->threads, threads));      /* that is told, however light it is */
        if (light || ret_class->missing)
            return class_keep(predictor, region, class, threads, ret_class, cost_ns);
        if (predictor->replays.count == 0)
            return unmeasured_class(request, &predictor->replays, predictor->own, region->name, class->representative, threads, error);
        ret_class->alien_ratio = predictor->alone ? 0 : replays_alien_ratio(request, region->name, class, true);
        if (fabs(ret_class->alien_ratio) > 0)
            return class_keep(predictor, region, class, threads, ret_class, cost_ns);
        replays_measure(predictor, ret_class);
        ret_class->unseen = !predictor->alone && replays_are_unseen(request, region->name, class->representative, &predictor->replays);
        if (!predictor->alone)
            residual_spread(predictor, threads, ret_class->unseen);
        members_spread(predictor, region, class, threads, ret_class);
    }
    uint64_t reference_ns = modelled ? class->representative_ns : replays_reference_ns(request, region->name, class);
    double time_ns = amdahl_class_time(class->members, class->time_ns, reference_ns, (double)ret_class->vitro_ns, &predictor->forks);
    ret_class->weight = ret_class->vitro_ns ? time_ns / (double)ret_class->vitro_ns : (double)class->members;
    ret_class->time_ns = whole_ns(time_ns);
    for (size_t d = 0; d < PREDICT_DRAWS; d++)
        predictor->region_draws[d] += predictor->draws[d] * ret_class->weight;
    for (size_t s = 0; s < predictor->replays.count; s++)
        *cost_ns += predictor->replays.samples[s]->cost_ns;
    return PCERE_OK;
}

/* ---- regions and the program ------------------------------------------------------------------------------------------------ */

/* The interval of sorted draws; it holds the prediction itself. */
static void interval_read(double *draws, uint64_t time_ns, uint64_t *ret_low_ns, uint64_t *ret_high_ns)
{
    statistics_sort(draws, PREDICT_DRAWS);
    uint64_t low_ns = whole_ns(statistics_quantile(draws, PREDICT_DRAWS, LOW_PROBABILITY));
    uint64_t high_ns = whole_ns(statistics_quantile(draws, PREDICT_DRAWS, HIGH_PROBABILITY));
    *ret_low_ns = low_ns < time_ns ? low_ns : time_ns;
    *ret_high_ns = high_ns > time_ns ? high_ns : time_ns;
}

/* Its draws, with what is common to a run, are added to the point's. */
static void region_finish(struct predictor *predictor, struct predict_region *region)
{
    for (size_t d = 0; d < PREDICT_DRAWS && !predictor->alone; d++) {
        predictor->region_draws[d] *= predictor->run_draws[d];
        predictor->point_draws[d] += predictor->region_draws[d];
    }
    interval_read(predictor->region_draws, region->time_ns, &region->low_ns, &region->high_ns);
}

static enum pcere_status region_predict(struct predictor *predictor, const struct store_region *region, uint32_t threads,
                                        struct predict_region *ret_region, uint64_t *cost_ns, struct pcere_error *error)
{
    bool nested = region->invocations > 0 && region->nested == region->invocations;
    *ret_region = (struct predict_region){.name = region->name, .basis = nested ? PREDICT_NESTED : PREDICT_IN_VIVO};
    bool captured = text_equal(region->status, "captured") && region->class_count > 0;
    memset(predictor->region_draws, 0, PREDICT_DRAWS * sizeof(double));
    if (!captured) {
        struct kept kept = kept_add(predictor, region, kept_ns(predictor, region->time_ns),
                                    region->invocations > region->nested ? region->invocations - region->nested : 0, threads);
        ret_region->time_ns = ret_region->in_vivo_ns = kept.time_ns;
        ret_region->basis = nested ? PREDICT_NESTED : kept.basis;
        region_finish(predictor, ret_region);
        return PCERE_OK;
    }
    ret_region->classes = calloc(region->class_count, sizeof *ret_region->classes);
    if (!ret_region->classes)
        return pcere_fail_memory(error, "a prediction");
    ret_region->class_count = region->class_count;
    struct siblings_span span;
    enum pcere_status status = siblings_check(predictor->request, region, threads, predictor->sibling_ratios, &span, error);
    if (status != PCERE_OK)
        return status;
    ret_region->scaling_classes = span.classes;
    ret_region->scaling_low_ratio = span.low_ratio;
    ret_region->scaling_high_ratio = span.high_ratio;
    for (size_t c = 0; c < region->class_count; c++) {
        struct predict_class *class = &ret_region->classes[c];
        status = class_predict(predictor, region, &region->classes[c], threads, class, cost_ns, error);
        if (status != PCERE_OK)
            return status;
        ret_region->time_ns += class->time_ns;
        bool replayed = class->basis == PREDICT_REPLAY || class->basis == PREDICT_SAMPLE || class->basis == PREDICT_MODEL;
        if ((replayed && ret_region->basis != PREDICT_SAMPLE) || (class->basis == PREDICT_SCALED && ret_region->basis == PREDICT_IN_VIVO))
            ret_region->basis = class->basis;
        if (!replayed)
            ret_region->in_vivo_ns += class->time_ns;
    }
    region_finish(predictor, ret_region);
    return PCERE_OK;
}

/* On what the region's time rests, and what of it should have been replayed. */
static void parts_add(const struct predict_region *region, struct predict_point *point)
{
    if (!region->class_count)
        point->parts_ns[region->basis] += region->time_ns;
    for (size_t c = 0; c < region->class_count; c++) {
        point->parts_ns[region->classes[c].basis] += region->classes[c].time_ns;
        point->missing_ns += region->classes[c].missing ? region->classes[c].time_ns : 0;
        point->missing_count += region->classes[c].missing;
    }
}

/* The program makes its team once. What was replayed had one already, and the captured run's was made before its first region. */
static void start_add(struct predictor *predictor, struct predict_point *point)
{
    if (predictor->request->model)
        return;
    size_t count = replays_starts(predictor->request, point->threads, predictor->values);
    if (!count)
        return;
    point->start_ns = whole_ns(statistics_median(predictor->values, count));
    point->time_ns += point->start_ns;
    for (size_t d = 0; d < PREDICT_DRAWS; d++)
        predictor->point_draws[d] += predictor->values[random_next(&predictor->state) % count];
}

/* The program runs on such processors, too, and longer: it loses anything between nothing and what known work lost beside all replays. */
static void loud_spread(struct predictor *predictor, uint32_t threads)
{
    double loud_ratio = predictor->request->model ? 0 : replays_loud_ratio(predictor->request, threads);
    for (size_t d = 0; loud_ratio > 0 && d < PREDICT_DRAWS; d++)
        predictor->point_draws[d] *= 1 + loud_ratio * random_uniform(&predictor->state);
}

/* Replays are over before the clock falls, the program is not. */
static void clock_add(struct predictor *predictor, double falls, struct predict_point *point)
{
    point->clock_falls = 1;
    if (predictor->request->model || falls <= 1 || point->time_ns < PREDICT_CLOCK_LEAST_NS)
        return;
    double whole_clock_ns = (double)(point->parts_ns[PREDICT_REPLAY] + point->parts_ns[PREDICT_SAMPLE]) * (falls - 1);
    point->clock_falls = falls;
    point->clock_ns = whole_ns(whole_clock_ns / 2);
    point->time_ns += point->clock_ns;
    for (size_t d = 0; d < PREDICT_DRAWS; d++)
        predictor->point_draws[d] += whole_clock_ns * random_uniform(&predictor->state);
}

/* Where the program goes with these threads, and the capture did not. */
static void strange_find(const struct predictor *predictor, struct predict_point *point)
{
    size_t runs;
    uint64_t strange_ns = runs_strange(predictor->request, point->threads, &point->strange_count, &point->strange_most);
    if ((double)strange_ns >= PREDICT_STRANGE_RATIO * (double)runs_median(predictor->request, point->threads, false, predictor->values, &runs))
        point->strange_ns = strange_ns;
    if (!point->strange_ns) {
        point->strange_count = 0;
        point->strange_most = NULL;
    }
}

static enum pcere_status point_predict(struct predictor *predictor, uint64_t serial_ns, uint32_t threads, double clock_falls,
                                       struct predict_point *ret_point, struct pcere_error *error)
{
    const struct store_manifest *manifest = predictor->request->manifest;
    *ret_point = (struct predict_point){.threads = threads};
    ret_point->serial_ns = serial_ns;
    ret_point->serial_basis = predictor->serial_basis;
    if (predictor->request->measured_serial && runs_serial(predictor->request, threads, predictor->values, &ret_point->serial_ns))
        ret_point->serial_basis = PREDICT_RUN;
    strange_find(predictor, ret_point);
    bool by_runs = predictor->request->measured_serial && ret_point->serial_basis == PREDICT_RUN;
    if (by_runs)
        ret_point->serial_ns += ret_point->strange_ns;
    ret_point->time_ns = serial_ns = ret_point->serial_ns;
    ret_point->regions = calloc(manifest->region_count + 1, sizeof *ret_point->regions);
    if (!ret_point->regions)
        return pcere_fail_memory(error, "a prediction");
    ret_point->region_count = manifest->region_count;
    ret_point->preempted_ratio = predictor->request->model ? 0 : replays_preempted_ratio(predictor->request, threads);
    scaling_prepare(predictor, threads);
    size_t told, usual;
    ret_point->real_serial_ns = runs_median(predictor->request, threads, true, predictor->values, &told);
    double serial_ratio = threads == manifest->threads || by_runs ? 0 : PREDICT_SERIAL_RATIO;
    uint64_t base_ns = runs_median(predictor->request, manifest->threads, true, predictor->values, &usual);
    base_ns = usual ? base_ns : serial_ns;
    if (told && serial_ratio > 0 && base_ns)
        ret_point->serial_change_ratio = (double)ret_point->real_serial_ns / (double)base_ns - 1;
    if (fabs(ret_point->serial_change_ratio) <= PREDICT_SERIAL_RATIO)
        ret_point->serial_change_ratio = 0;
    double other_ns = ret_point->serial_change_ratio * (double)serial_ns + (by_runs ? 0 : (double)ret_point->strange_ns);
    for (size_t d = 0; d < PREDICT_DRAWS; d++) {
        predictor->residual_draws[d] = random_normal(&predictor->state);
        predictor->run_draws[d] = exp(M_SQRT2 * predictor->run_ratio * random_normal(&predictor->state));
        double drawn_ns = (double)serial_ns + other_ns * (other_ns != 0 ? random_uniform(&predictor->state) : 0);
        predictor->point_draws[d] = drawn_ns * fmax(1 + serial_ratio * random_normal(&predictor->state), 0) * predictor->run_draws[d];
    }
    for (size_t r = 0; r < manifest->region_count; r++) {
        enum pcere_status status = region_predict(predictor, &manifest->regions[r], threads, &ret_point->regions[r],
                                                  &ret_point->cost_ns, error);
        if (status != PCERE_OK)
            return status;
        ret_point->time_ns += ret_point->regions[r].time_ns;
        parts_add(&ret_point->regions[r], ret_point);
    }
    start_add(predictor, ret_point);
    clock_add(predictor, clock_falls, ret_point);
    loud_spread(predictor, threads);
    interval_read(predictor->point_draws, ret_point->time_ns, &ret_point->low_ns, &ret_point->high_ns);
    ret_point->real_ns = runs_median(predictor->request, threads, false, predictor->values, &ret_point->real_count);
    ret_point->has_real = ret_point->real_count > 0;
    if (ret_point->has_real)
        ret_point->error_ratio = amdahl_error_ratio((double)ret_point->time_ns, (double)ret_point->real_ns);
    ret_point->real_waited_ratio = runs_waited_ratio(predictor->request, threads);
    ret_point->fixed_count = runs_fixed(predictor->request, threads, &ret_point->fixed_most);
    if (ret_point->has_real)         /* runs_median left them sorted */
        ret_point->real_spread_ratio = statistics_spread_ratio(predictor->values, ret_point->real_count);
    ret_point->real_pair_ratio = runs_pairs(predictor->request, threads, predictor->values, &ret_point->real_pairs);
    ret_point->has_acceleration = ret_point->cost_ns > 0;
    ret_point->acceleration = amdahl_acceleration((double)(ret_point->has_real ? ret_point->real_ns : ret_point->time_ns),
                                                  (double)ret_point->cost_ns);
    return PCERE_OK;
}

/* T_seq: the capture's, or where that was on another host, what this host's runs say, if there are any. */
static void serial_choose(struct predictor *predictor, struct predict_result *result)
{
    const struct predict_request *request = predictor->request;
    result->serial_ns = kept_ns(predictor, request->manifest->serial_ns);
    result->serial_basis = PREDICT_IN_VIVO;
    uint32_t fewest = UINT32_MAX;
    for (size_t i = 0; i < request->sample_count; i++)
        if (runs_is(request, &request->samples[i]) && request->samples[i].threads < fewest)
            fewest = request->samples[i].threads;
    if (!result->foreign || fewest == UINT32_MAX)
        return;
    size_t count;
    result->serial_ns = runs_median(request, fewest, true, predictor->values, &count);
    result->serial_basis = PREDICT_RUN;
}

static enum pcere_status predictor_init(struct predictor *predictor, const struct predict_request *request,
                                        struct pcere_error *error)
{
    *predictor = (struct predictor){.request = request, .state = request->seed};
    size_t count = request->sample_count, repetitions = count, longest = 1, processes = 0;
    for (size_t i = 0; i < count; i++) {
        const struct store_sample *sample = &request->samples[i];
        if (text_equal(sample->kind, "replay") && sample->sample_count == 0)
            return pcere_fail(error, PCERE_DATA, 0, "delete that line of samples.jsonl", "sample %zu has no repetitions", i + 1);
        repetitions += sample->sample_count;
        processes += sample->process_counts ? sample->process_count : 1;
        longest = sample->sample_count > longest ? sample->sample_count : longest;
    }
    predictor->replays.samples = calloc(count + 1, sizeof *predictor->replays.samples);
    predictor->groups = calloc(processes + 1, sizeof *predictor->groups);
    predictor->values = calloc(repetitions + 1, sizeof *predictor->values);
    predictor->scratch = calloc(processes + 1, longest * sizeof *predictor->scratch);
    predictor->draws = calloc(PREDICT_DRAWS, sizeof *predictor->draws);
    predictor->region_draws = calloc(PREDICT_DRAWS, sizeof *predictor->region_draws);
    predictor->point_draws = calloc(PREDICT_DRAWS, sizeof *predictor->point_draws);
    predictor->residual_draws = calloc(PREDICT_DRAWS, sizeof *predictor->residual_draws);
    predictor->run_draws = calloc(PREDICT_DRAWS, sizeof *predictor->run_draws);
    size_t classes = 1;
    for (size_t r = 0; r < request->manifest->region_count; r++)
        classes = request->manifest->regions[r].class_count > classes ? request->manifest->regions[r].class_count : classes;
    predictor->sibling_ratios = calloc(classes, sizeof *predictor->sibling_ratios);
    if (!predictor->replays.samples || !predictor->groups || !predictor->values || !predictor->scratch || !predictor->draws ||
        !predictor->region_draws || !predictor->point_draws || !predictor->residual_draws || !predictor->run_draws || !predictor->sibling_ratios)
        return pcere_fail_memory(error, "a prediction");
    predictor->run_ratio = runs_spread(request, predictor->values, &predictor->run_count);
    return PCERE_OK;
}

static void predictor_done(struct predictor *predictor)
{
    free(predictor->replays.samples);
    free(predictor->groups);
    free(predictor->values);
    free(predictor->scratch);
    free(predictor->draws);
    free(predictor->region_draws);
    free(predictor->point_draws);
    free(predictor->residual_draws);
    free(predictor->run_draws);
    free(predictor->sibling_ratios);
}

static void point_done(struct predict_point *point)
{
    for (size_t r = 0; r < point->region_count; r++)
        free(point->regions[r].classes);
    free(point->regions);
}

void predict_result_done(struct predict_result *result)
{
    for (size_t p = 0; p < result->point_count; p++)
        point_done(&result->points[p]);
    free(result->points);
    free(result->absent);
    *result = (struct predict_result){0};
}

static enum pcere_status request_check(const struct predict_request *request, bool *ret_foreign, struct pcere_error *error)
{
    if (request->thread_count == 0)
        return pcere_fail(error, PCERE_USAGE, 0, "give --threads 1,2,4", "there is no thread count to predict for");
    for (size_t t = 0; t < request->thread_count; t++)
        if (request->threads[t] == 0)
            return pcere_fail(error, PCERE_USAGE, 0, "thread counts start at 1", "no program runs on 0 threads");
    char *captured_on = host_described_name(request->manifest->host);
    bool known = captured_on && strcmp(captured_on, request->arch) == 0;
    *ret_foreign = !known;
    known |= request->model != NULL;
    for (size_t i = 0; i < request->sample_count && !known; i++)
        known = request->samples[i].host_name && strcmp(request->samples[i].host_name, request->arch) == 0;
    enum pcere_status status = known ? PCERE_OK : unmeasured_host(request, captured_on, error);
    free(captured_on);
    return status;
}

/* All thread counts. With `partial`, one at which nothing was replayed does not keep the others from being predicted. */
static enum pcere_status points_predict(struct predictor *predictor, struct predict_result *result, struct pcere_error *error)
{
    const struct predict_request *request = predictor->request;
    result->points = calloc(request->thread_count, sizeof *result->points);
    result->absent = calloc(request->thread_count, sizeof *result->absent);
    if (!result->points || !result->absent)
        return pcere_fail_memory(error, "a prediction");
    for (size_t t = 0; t < request->thread_count; t++) {
        struct predict_point *point = &result->points[result->point_count];
        struct predict_absent *absent = &result->absent[result->absent_count];
        uint64_t state = predictor->state;
        double clock_falls = request->clock_falls ? request->clock_falls[t] : 1;
        enum pcere_status status = point_predict(predictor, result->serial_ns, request->threads[t], clock_falls, point, &absent->why);
        if (status == PCERE_OK) {
            result->point_count++;
            continue;
        }
        point_done(point);
        predictor->state = state;
        absent->threads = request->threads[t];
        result->absent_count++;
        bool unknown = status == PCERE_DATA || status == PCERE_NO, others = result->point_count > 0 || t + 1 < request->thread_count;
        if (request->partial && unknown && others)
            continue;
        const struct predict_absent *told = unknown ? &result->absent[0] : absent;
        if (error)
            *error = told->why;
        return told->why.status;
    }
    return PCERE_OK;
}

enum pcere_status predict_run(const struct predict_request *request, struct predict_result *ret_result, struct pcere_error *error)
{
    struct predict_result result = {0};
    enum pcere_status status = request_check(request, &result.foreign, error);
    if (status != PCERE_OK)
        return status;
    struct predictor predictor;
    status = predictor_init(&predictor, request, error);
    predictor.own = !result.foreign && text_equal(request->flags, "") && text_equal(request->settings, "");
    if (status == PCERE_OK) {
        serial_choose(&predictor, &result);
        predictor.serial_basis = result.serial_basis;
        size_t count;
        result.drift_ns = result.foreign ? 0 : runs_median(request, request->manifest->threads, false, predictor.values, &count);
        if (result.drift_ns && request->manifest->wall_ns)
            result.drift_ratio = (double)result.drift_ns / (double)request->manifest->wall_ns - 1;
        result.run_ratio = predictor.run_ratio;
        result.run_count = predictor.run_count;
        status = points_predict(&predictor, &result, error);
    }
    if (status == PCERE_OK)
        *ret_result = result;
    else
        predict_result_done(&result);
    predictor_done(&predictor);
    return status;
}

enum pcere_status predict_one_region(const struct predict_request *request, size_t region, struct predict_region *ret_region, uint64_t *ret_cost_ns,
                                     struct pcere_error *error)
{
    bool foreign;
    struct predictor predictor = {0};
    struct predict_region result = {0};
    uint64_t cost_ns = 0;
    enum pcere_status status = request_check(request, &foreign, error);
    if (status != PCERE_OK)
        return status;
    status = predictor_init(&predictor, request, error);
    predictor.alone = true;
    if (status == PCERE_OK)
        scaling_prepare(&predictor, request->threads[0]);
    if (status == PCERE_OK)
        status = region_predict(&predictor, &request->manifest->regions[region], request->threads[0], &result, &cost_ns, error);
    predictor_done(&predictor);
    if (status != PCERE_OK) {
        free(result.classes);
        return status;
    }
    *ret_region = result;
    *ret_cost_ns = cost_ns;
    return PCERE_OK;
}
