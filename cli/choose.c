/* cli/choose.c - classes of a region's invocations. */
#include "cli/choose.h"
#include "core/text.h"
#include "core/workers.h"
#include "predictor/classes.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct series {                  /* finished invocations, one array a property; position i is list[position[i]] */
    size_t count;
    uint64_t *time_ns, *begin_ns, *arguments_hash, *calls_hash, *number;
    uint32_t *faults, *switches, *team;
    bool *captured;
    bool measured_cpu, switched;
};

static void series_done(struct series *series)
{
    free(series->time_ns);
    free(series->begin_ns);
    free(series->arguments_hash);
    free(series->calls_hash);
    free(series->number);
    free(series->faults);
    free(series->switches);
    free(series->team);
    free(series->captured);
}

/* Of the invocations inside other regions, or of the others. */
static enum pcere_status series_init(const struct capture_region *region, bool nested, struct series *ret_series, struct pcere_error *error)
{
    size_t most = region->list_count + 1;
    struct series series = {
        .time_ns = calloc(most, sizeof(uint64_t)), .begin_ns = calloc(most, sizeof(uint64_t)), .arguments_hash = calloc(most, sizeof(uint64_t)),
        .calls_hash = calloc(most, sizeof(uint64_t)),
        .number = calloc(most, sizeof(uint64_t)), .faults = calloc(most, sizeof(uint32_t)), .switches = calloc(most, sizeof(uint32_t)),
        .team = calloc(most, sizeof(uint32_t)), .captured = calloc(most, sizeof(bool)),
    };
    if (!series.time_ns || !series.begin_ns || !series.arguments_hash || !series.calls_hash || !series.number || !series.faults || !series.switches ||
        !series.team || !series.captured) {
        series_done(&series);
        return pcere_fail_memory(error, "the invocations");
    }
    for (size_t i = 0; i < region->list_count; i++) {
        const struct capture_invocation *invocation = &region->list[i];
        if (!invocation->end_ns || invocation->nested != nested)
            continue;
        size_t at = series.count++;
        series.time_ns[at] = invocation->time_ns;
        series.begin_ns[at] = invocation->begin_ns;
        series.arguments_hash[at] = invocation->words_hash;
        series.calls_hash[at] = invocation->words_hash + ((uint64_t)invocation->caller << 48);
        series.number[at] = invocation->number;
        series.captured[at] = invocation->captured;
        series.team[at] = invocation->team;
        series.faults[at] = invocation->measured_cpu ? invocation->faults : 0;
        series.switches[at] = invocation->switches;
        series.switched |= invocation->switches > 0;
        series.measured_cpu = series.measured_cpu || invocation->measured_cpu;
    }
    *ret_series = series;
    return PCERE_OK;
}

/* When the region that takes most time had run three times: memory has been touched by then, and the later a dump, the more of memory has
 * changed since the dumps of first invocations. */
static uint64_t settled_at(const struct capture_run *run)
{
    const struct capture_region *heaviest = NULL;
    for (size_t i = 0; i < run->region_count; i++)
        if (run->regions[i].list_count && (!heaviest || run->regions[i].time_ns > heaviest->time_ns))
            heaviest = &run->regions[i];
    return heaviest ? heaviest->list[heaviest->list_count > 3 ? 3 : 0].begin_ns : 0;
}

/* Invocations beyond the log's end have no record of their own: they count with the largest class, so that members and times add up. */
static void rest_add(const struct capture_region *region, bool nested, struct store_class *classes, size_t count)
{
    uint64_t members = 0, time_ns = 0;
    size_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        members += classes[i].members;
        time_ns += classes[i].time_ns;
        if (classes[i].members > classes[largest].members)
            largest = i;
    }
    uint64_t all = nested ? region->nested : region->invocations - region->nested;
    uint64_t all_ns = nested ? region->nested_ns : region->time_ns + region->overlap_ns;
    uint64_t finished = all - (region->unfinished < all ? region->unfinished : all);
    if (finished > members)
        classes[largest].members += finished - members;
    if (all_ns > time_ns)
        classes[largest].time_ns += all_ns - time_ns;
}

/* What other threads' regions cover already is not counted a second time. */
static void overlap_remove(const struct capture_region *region, struct store_class *classes, size_t count)
{
    double counted = (double)region->time_ns / (double)(region->time_ns + region->overlap_ns);
    for (size_t i = 0; i < count; i++)
        classes[i].time_ns = (uint64_t)((double)classes[i].time_ns * counted), classes[i].between_ns = (uint64_t)((double)classes[i].between_ns * counted);
}

static struct store_class class_convert(const struct series *series, const struct classes_class *class)
{
    return (struct store_class){
        .representative = series->number[class->representative - 1],
        .members = class->members,
        .time_ns = class->time_ns,
        .time_ns_median = class->time_ns_median,
        .representative_ns = class->representative_ns,
        .between_members = class->between_members,
        .between_ns = class->between_ns,
        .captured = class->wanted,
        .by_chance = class->kind == CLASSES_NOISE,
        .reason = class->wanted ? NULL : strdup(class->reason),
    };
}

#define SERIES_MOST 10000u               /* invocations of a region that the store lists */

/* Of one region: classes of its outer invocations and, behind them, of its nested ones. */
struct choose_found {
    struct store_class *classes;
    size_t outer_count, count;
    struct store_series series;  /* of the outer ones, for the store: what was seen, thinned; no region: none */
    enum pcere_status status;
    struct pcere_error error;
};

static void found_done(struct choose_context *choose)
{
    for (size_t i = 0; i < choose->found_count; i++) {
        struct choose_found *found = &choose->found[i];
        for (size_t j = 0; j < found->count; j++)
            free(found->classes[j].reason);
        free(found->classes);
        store_series_done(&found->series);
    }
    free(choose->found);
    choose->found = NULL;
    choose->found_count = 0;
}

void choose_done(struct choose_context *context)
{
    found_done(context);
    store_series_free(context->series, context->series_count);
    context->series = NULL;
    context->series_count = context->series_capacity = 0;
}

/* Marks what is listed: everything, or of each group of neighbours the extremes, and the representatives. Returns how many. */
static size_t series_mark(const struct series *series, const struct classes_result *found, bool *marks)
{
    size_t group = series->count <= SERIES_MOST ? 1 : (2 * series->count + SERIES_MOST - 1) / SERIES_MOST, marked = 0;
    for (size_t start = 0; start < series->count; start += group) {
        size_t least = start, most = start;
        for (size_t i = start; i < start + group && i < series->count; i++) {
            least = series->time_ns[i] < series->time_ns[least] ? i : least;
            most = series->time_ns[i] > series->time_ns[most] ? i : most;
        }
        marks[least] = marks[most] = true;
    }
    for (size_t i = 0; i < found->class_count; i++)
        marks[found->classes[i].representative - 1] = true;
    for (size_t i = 0; i < series->count; i++)
        marked += marks[i];
    return marked;
}

/* The run's first invocation of any region; where threads race, one with a higher number may have begun a little earlier. */
static uint64_t first_begin_ns(const struct capture_run *run)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < run->region_count; i++)
        if (run->regions[i].list_count && run->regions[i].list[0].begin_ns < first)
            first = run->regions[i].list[0].begin_ns;
    return first;
}

static enum pcere_status series_make(const struct capture_region *measured, uint64_t origin_ns, const struct series *series,
                                     const struct classes_result *found, struct store_series *ret_series, struct pcere_error *error)
{
    bool *marks = calloc(series->count + 1, sizeof *marks);
    size_t count = marks ? series_mark(series, found, marks) : 0, at = 0;
    struct store_series kept = {
        .region = strdup(measured->name), .invocations = measured->invocations,
        .number = calloc(count + 1, sizeof(uint64_t)), .begin_ns = calloc(count + 1, sizeof(uint64_t)),
        .time_ns = calloc(count + 1, sizeof(uint64_t)), .representative = calloc(count + 1, sizeof(uint64_t)),
    };
    bool whole = marks && kept.region && kept.number && kept.begin_ns && kept.time_ns && kept.representative;
    for (size_t i = 0; whole && i < series->count; i++)
        if (marks[i]) {
            kept.number[at] = series->number[i];
            kept.begin_ns[at] = series->begin_ns[i] > origin_ns ? series->begin_ns[i] - origin_ns : 0;
            kept.time_ns[at] = series->time_ns[i];
            kept.representative[at++] = series->number[found->classes[found->class_of[i]].representative - 1];
        }
    kept.count = at;
    free(marks);
    if (!whole) {
        store_series_done(&kept);
        return pcere_fail_memory(error, "the invocations");
    }
    *ret_series = kept;
    return PCERE_OK;
}

/* A region that is classified again replaces itself. */
static enum pcere_status series_keep(struct choose_context *choose, struct store_series *series, struct pcere_error *error)
{
    size_t at = 0;
    if (!series->region)
        return PCERE_OK;
    if (!array_reserve(&choose->series, &choose->series_capacity, choose->series_count + 1, sizeof *choose->series))
        return pcere_fail_memory(error, "the invocations");
    while (at < choose->series_count && strcmp(choose->series[at].region, series->region) != 0)
        at++;
    if (at < choose->series_count)
        store_series_done(&choose->series[at]);
    else
        choose->series_count++;
    choose->series[at] = *series;
    *series = (struct store_series){0};
    return PCERE_OK;
}

#define CLASSES_FEW 10                   /* so many invocations are grouped without clustering */
#define STOP_NS 700000.0                 /* of a stop, whatever it reads */
#define STOP_NS_PER_BYTE 0.25
#define LIGHT_NS 60000000u               /* stops for light regions, all together: this, or LIGHT_RATIO of the run if that is more */
#define LIGHT_RATIO 0.02
#define AGAIN_NS 500000000u              /* the same in another run, that has no other use */
#define AGAIN_RATIO 0.2
#define LEFT_RATIO 0.005                 /* of the regions' time */

static bool is_captured(const struct capture_region *region, uint64_t number)
{
    for (size_t i = 0; i < region->list_count; i++)
        if (region->list[i].number == number)
            return region->list[i].captured;
    return false;
}

/* True: it has a codelet, or will have one. A run that is over has those of its stops, which cost nothing any more; `again`: another would have to stop for it. */
static bool class_keep(struct choose_context *choose, const struct capture_run *run, const struct capture_region *region, bool again, struct store_class *class)
{
    uint64_t cost_ns = (uint64_t)(2 * (STOP_NS + STOP_NS_PER_BYTE * (double)run->peak_bytes));
    uint64_t least_ns = again ? AGAIN_NS : LIGHT_NS, most_ns = (uint64_t)((again ? AGAIN_RATIO : LIGHT_RATIO) * (double)run->wall_ns);
    bool over = run->stopped && !again;
    if (over ? !is_captured(region, class->representative) : choose->light_ns + cost_ns > (most_ns > least_ns ? most_ns : least_ns))
        return false;
    choose->light_ns += over ? 0 : cost_ns;
    class->captured = true;
    class->by_chance = false;
    free(class->reason);
    class->reason = NULL;
    return true;
}

/* Where a stop costs next to nothing, a region that is too light to matter for prediction is kept all the same, so that it can be looked
 * at: by the class with most members. */
static void light_keep(struct choose_context *choose, const struct capture_run *run, const struct capture_region *region,
                       struct store_class *classes, size_t count)
{
    size_t largest = count;
    for (size_t i = 0; i < count; i++) {
        if (classes[i].captured)
            return;
        if ((largest == count || classes[i].members > classes[largest].members) &&
            (!run->stopped || is_captured(region, classes[i].representative)))
            largest = i;
    }
    if (largest < count)
        class_keep(choose, run, region, false, &classes[largest]);
}

struct light {
    struct store_class *class;
    const struct capture_region *region;
};

static int compare_light(const void *left, const void *right)
{
    const struct light *a = left, *b = right;
    if (a->class->time_ns != b->class->time_ns)
        return a->class->time_ns < b->class->time_ns ? 1 : -1;
    return a->region != b->region ? (a->region > b->region) - (a->region < b->region)
                                  : (a->class->representative > b->class->representative) - (a->class->representative < b->class->representative);
}

/* Light classes may weigh something together: the heaviest are kept until those that are not take LEFT_RATIO of the regions' time, as far as stops for them
 * cost next to nothing: first those that the run has, then those for which another would stop. Nested ones count in the regions around them. */
static enum pcere_status share_keep(struct choose_context *choose, const struct capture_run *run, struct pcere_error *error)
{
    size_t most = 0, count = 0;
    uint64_t all_ns = 0, left_ns = 0;
    for (size_t i = 0; i < choose->found_count; i++)
        most += choose->found[i].outer_count;
    struct light *lights = calloc(most + 1, sizeof *lights);
    if (!lights)
        return pcere_fail_memory(error, "the classes");
    for (size_t i = 0; i < choose->found_count; i++)
        for (size_t j = 0; j < choose->found[i].outer_count; j++) {
            struct store_class *class = &choose->found[i].classes[j];
            all_ns += class->time_ns;
            if (class->captured || class->by_chance)
                continue;
            left_ns += class->time_ns;
            lights[count++] = (struct light){class, &run->regions[i]};
        }
    qsort(lights, count, sizeof *lights, compare_light);
    for (int again = 0; again <= (run->stopped ? 1 : 0); again++)
        for (size_t i = 0; i < count && (double)left_ns > LEFT_RATIO * (double)all_ns; i++)
            if (!lights[i].class->captured && class_keep(choose, run, lights[i].region, again, lights[i].class))
                left_ns -= lights[i].class->time_ns;
    free(lights);
    return PCERE_OK;
}

/* ---- all regions, side by side --------------------------------------------------------------------------------------------- */

struct choosing {
    const struct choose_context *choose;
    const struct capture_run *run;
    uint64_t settled_ns, origin_ns;
    struct choose_found *found;  /* [run->region_count] */
    atomic_size_t next;
};

static enum pcere_status classes_append(struct choose_found *found, const struct series *series, const struct classes_result *result,
                                        struct pcere_error *error)
{
    struct store_class *all = realloc(found->classes, (found->count + result->class_count) * sizeof *all);
    if (!all)
        return pcere_fail_memory(error, "the classes");
    found->classes = all;
    for (size_t i = 0; i < result->class_count; i++)
        all[found->count++] = class_convert(series, &result->classes[i]);
    return PCERE_OK;
}

/* Of the invocations inside other regions, or of the others: they never share a class, since only the latter count for the program's time. */
static enum pcere_status find_some(const struct choosing *choosing, size_t region, bool nested, struct choose_found *found, struct pcere_error *error)
{
    const struct capture_run *run = choosing->run;
    const struct capture_region *measured = &run->regions[region];
    struct series series = {0};
    enum pcere_status status = series_init(measured, nested, &series, error);
    if (status != PCERE_OK || !series.count) {
        series_done(&series);
        return status;
    }
    struct classes_input input = {
        .count = series.count, .time_ns = series.time_ns, .arguments_hash = series.arguments_hash, .calls_hash = series.calls_hash,
        .minor_faults = series.measured_cpu ? series.faults : NULL, .preemptions = series.measured_cpu || series.switched ? series.switches : NULL,
        .begin_ns = series.begin_ns, .near_ns = choosing->settled_ns, .kinds = series.team, .at_hand = run->stopped ? series.captured : NULL,
    };
    struct classes_options options = {
        .max_classes = choosing->choose->max_classes, .min_share_ratio = choosing->choose->min_share_ratio, .wall_ns = run->wall_ns, .seed = 1,
    };
    if (series.count > CLASSES_FEW && (double)(nested ? measured->nested_ns : measured->time_ns) < options.min_share_ratio * (double)run->wall_ns)
        options.max_classes = 1;         /* none of its classes could weigh enough */
    struct classes_result result;
    status = classes_find(&input, &options, &result, error);
    if (status == PCERE_OK) {
        size_t first = found->count;
        status = classes_append(found, &series, &result, error);
        if (status == PCERE_OK) {
            struct store_class *classes = found->classes + first;
            rest_add(measured, nested, classes, result.class_count);
            if (!nested && measured->overlap_ns)
                overlap_remove(measured, classes, result.class_count);
            for (size_t i = 0; i < result.class_count; i++)
                classes[i].nested = nested;
            if (!nested)
                status = series_make(measured, choosing->origin_ns, &series, &result, &found->series, error);
        }
        classes_result_done(&result);
    }
    series_done(&series);
    return status;
}

static void *regions_find(void *context)
{
    struct choosing *choosing = context;
    for (size_t i; (i = atomic_fetch_add(&choosing->next, 1)) < choosing->run->region_count;) {
        struct choose_found *found = &choosing->found[i];
        if (!choosing->run->regions[i].list_count)
            continue;
        found->status = find_some(choosing, i, false, found, &found->error);
        found->outer_count = found->count;
        if (found->status == PCERE_OK && choosing->run->regions[i].nested)
            found->status = find_some(choosing, i, true, found, &found->error);
    }
    return NULL;
}

enum pcere_status choose_begin(void *context, const struct capture_run *run, struct pcere_error *error)
{
    struct choose_context *choose = context;
    found_done(choose);
    struct choosing choosing = {.choose = choose, .run = run, .settled_ns = settled_at(run), .origin_ns = first_begin_ns(run),
                                .found = calloc(run->region_count + 1, sizeof *choosing.found)};
    if (!choosing.found)
        return pcere_fail_memory(error, "the classes");
    workers_run(regions_find, &choosing, run->region_count);
    choose->found = choosing.found;
    choose->found_count = run->region_count;
    return share_keep(choose, run, error);
}

enum pcere_status choose_classes(void *context, const struct capture_run *run, size_t region, struct store_class **ret_classes,
                                 size_t *ret_count, struct pcere_error *error)
{
    struct choose_context *choose = context;
    struct choose_found *found = &choose->found[region];
    if (found->status != PCERE_OK) {
        if (error)
            *error = found->error;
        return found->status;
    }
    enum pcere_status status = series_keep(choose, &found->series, error);
    if (status != PCERE_OK)
        return status;
    light_keep(choose, run, &run->regions[region], found->classes, found->outer_count);
    light_keep(choose, run, &run->regions[region], found->classes + found->outer_count, found->count - found->outer_count);
    *ret_classes = found->classes;
    *ret_count = found->count;
    *found = (struct choose_found){0};
    return PCERE_OK;
}
