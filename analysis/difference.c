/* analysis/difference.c - see difference.h: pairs of XUs. Groups are in difference_groups.c. */
#include "analysis/difference_groups.h"
#include "analysis/matching.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const by_names[DIFFERENCE_BY_COUNT] = {"construct", "thread", "core", "node"};

const char *difference_by_name(enum difference_by by)
{
    return by_names[by];
}

enum difference_by difference_by_find(const char *name)
{
    int by = 0;
    while (by < DIFFERENCE_BY_COUNT && strcmp(by_names[by], name) != 0)
        by++;
    return (enum difference_by)by;
}

static double chance_of_order(size_t a_count, size_t b_count)
{
    return 2 * exp(lgamma((double)a_count + 1) + lgamma((double)b_count + 1) - lgamma((double)(a_count + b_count) + 1));
}

double difference_confidence(bool exact, const double a[2], size_t a_count, const double b[2], size_t b_count)
{
    bool apart = a[1] < b[0] || b[1] < a[0];
    if (exact)
        return apart ? 1 : 0;
    if (a_count + b_count <= 2)
        return NAN;
    return apart ? 1 - chance_of_order(a_count, b_count) : 0;
}

struct work {
    const struct difference_side *sides[2];
    struct profile **profiles;         /* of both sides, a's first */
    const char **names;
    size_t count;
    struct matching matching;
    struct difference *difference;
};

static enum pcere_status sides_gather(struct work *work, struct pcere_error *error)
{
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < work->sides[s]->count; i++) {
            struct profile *profile = work->sides[s]->profiles[i];
            const char *name = work->sides[s]->names[i];
            enum pcere_status status = PCERE_OK;
            if (!profile->count)
                return pcere_fail(error, PCERE_DATA, 0, "profile a program whose work is in tasks, loops or sections", "%.100s has no XUs", name);
            if (i)
                status = profile_same_run(work->sides[s]->profiles[0]->runs, work->sides[s]->names[0], profile->runs, name, error);
            if (status == PCERE_OK)
                status = profile_sort(profile, error);
            if (status != PCERE_OK)
                return status;
            work->profiles[work->count] = profile;
            work->names[work->count++] = name;
        }
    return PCERE_OK;
}

static enum pcere_status labels_match(struct work *work, struct pcere_error *error)
{
    size_t most = 0;
    for (size_t p = 0; p < work->count; p++)
        most = work->profiles[p]->count > most ? work->profiles[p]->count : most;
    for (size_t p = 0; p < work->count; p++)
        if (!(work->matching.rows[p] = malloc(most * sizeof(uint32_t) + 1)))
            return pcere_fail_memory(error, "a matching");
    struct matching_input input = {.profiles = work->profiles, .names = work->names, .profile_count = work->count};
    struct difference *difference = work->difference;
    enum pcere_status status = matching_ids(&input, &work->matching, &difference->by_ids, &difference->renamed, error);
    if (status == PCERE_OK && !difference->by_ids)
        status = matching_lgl(&input, &work->matching, error);
    difference->only_a = work->profiles[0]->count - work->matching.count;
    difference->only_b = work->profiles[work->sides[0]->count]->count - work->matching.count;
    return status;
}

static bool is_everywhere(const struct work *work, const char *name)
{
    for (size_t p = 0; p < work->count; p++)
        if (profile_event_find(work->profiles[p], name) == work->profiles[p]->event_count)
            return false;
    return true;
}

static enum pcere_status events_find(struct work *work, struct pcere_error *error)
{
    struct difference *difference = work->difference;
    const struct profile *first = work->profiles[0];
    difference->events = calloc(first->event_count + 1, sizeof *difference->events);
    for (size_t i = 0; difference->events && i < first->event_count; i++) {
        if (!is_everywhere(work, first->events[i].name))
            continue;
        struct difference_event *event = &difference->events[difference->event_count++];
        event->name = strdup(first->events[i].name);
        event->unit = strdup(first->events[i].unit);
        if (!event->name || !event->unit)
            return pcere_fail_memory(error, "the events");
    }
    if (!difference->events)
        return pcere_fail_memory(error, "the events");
    return difference->event_count ? PCERE_OK
                                   : pcere_fail(error, PCERE_DATA, 0, "profile both with one event or more in common", "%.100s and %.100s have no event in common",
                                                work->names[0], work->names[work->sides[0]->count]);
}

struct column { const uint64_t *counts, *low, *high; const uint32_t *rows; };

/* Mean over one side's repeats of an XU, and the least and largest count seen. */
static double side_read(const struct column *columns, size_t count, size_t at, double range[2])
{
    double sum = 0;
    for (size_t p = 0; p < count; p++) {
        size_t row = columns[p].rows[at];
        double value = (double)columns[p].counts[row];
        double low = columns[p].low ? (double)columns[p].low[row] : value, high = columns[p].high ? (double)columns[p].high[row] : value;
        sum += value;
        range[0] = !p || low < range[0] ? low : range[0];
        range[1] = !p || high > range[1] ? high : range[1];
    }
    return sum / (double)count;
}

static int by_change(const void *a, const void *b)
{
    const struct difference_xu *x = a, *y = b;
    double left = fabs(x->b - x->a), right = fabs(y->b - y->a);
    if (left != right)
        return left > right ? -1 : 1;
    return x->a_row < y->a_row ? -1 : x->a_row > y->a_row;
}

static double column_sum(const uint64_t *column, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)column[i];
    return sum;
}

static void xus_compare(const struct work *work, const struct column *columns, bool exact, struct difference_event *event)
{
    size_t a_count = work->sides[0]->count, b_count = work->sides[1]->count;
    event->matched = work->matching.count;
    for (size_t i = 0; i < work->matching.count; i++) {
        double a[2] = {0}, b[2] = {0};
        struct difference_xu xu = {
            .a_row = work->matching.rows[0][i], .b_row = work->matching.rows[a_count][i], .a = side_read(columns, a_count, i, a),
            .b = side_read(columns + a_count, b_count, i, b),
        };
        if (xu.a == xu.b)
            continue;
        xu.confidence = difference_confidence(exact, a, a_count, b, b_count);
        event->changed++;
        event->sure += xu.confidence >= DIFFERENCE_SURE ? 1 : 0;
        event->top[event->top_count++] = xu;
    }
    double chance = a_count + b_count > 2 ? chance_of_order(a_count, b_count) : NAN;
    event->expected_by_chance = exact ? 0 : isnan(chance) ? NAN : 1 - chance >= DIFFERENCE_SURE ? chance * (double)event->matched : 0;
}

static enum pcere_status event_compare(const struct work *work, size_t top, struct difference_event *event, struct pcere_error *error)
{
    struct column *columns = calloc(work->count, sizeof *columns);
    event->top = malloc((work->matching.count + 1) * sizeof *event->top);
    if (!columns || !event->top) {
        free(columns);
        return pcere_fail_memory(error, "the differences");
    }
    bool exact = true;
    for (size_t p = 0; p < work->count; p++) {
        const struct profile *profile = work->profiles[p];
        size_t own = profile_event_find(profile, event->name);
        columns[p] = (struct column){profile->counts[own], profile->low[own], profile->high[own], work->matching.rows[p]};
        exact = exact && profile->events[own].exact;
        double *sum = p < work->sides[0]->count ? &event->a_sum : &event->b_sum;
        *sum += column_sum(profile->counts[own], profile->count) / (double)work->sides[p < work->sides[0]->count ? 0 : 1]->count;
    }
    xus_compare(work, columns, exact, event);
    free(columns);
    qsort(event->top, event->top_count, sizeof *event->top, by_change);
    event->top_count = event->top_count < top ? event->top_count : top;
    return PCERE_OK;
}

void difference_done(struct difference *difference)
{
    for (size_t i = 0; i < difference->event_count; i++) {
        free(difference->events[i].name);
        free(difference->events[i].unit);
        free(difference->events[i].top);
    }
    for (size_t i = 0; i < difference->group_count; i++) {
        free(difference->groups[i].name);
        free(difference->groups[i].a_sums);
        free(difference->groups[i].b_sums);
    }
    free(difference->events);
    free(difference->groups);
    *difference = (struct difference){0};
}

static void work_done(struct work *work)
{
    for (size_t p = 0; work->matching.rows && p < work->sides[0]->count + work->sides[1]->count; p++)
        free(work->matching.rows[p]);
    free(work->matching.rows);
    free(work->profiles);
    free(work->names);
}

enum pcere_status difference_make(const struct difference_side *a, const struct difference_side *b, enum difference_by by, size_t top,
                                  struct difference *ret_difference, struct pcere_error *error)
{
    if (!a->count || !b->count)
        return pcere_fail(error, PCERE_USAGE, 0, "name a profile for each side", "two sides are compared");
    struct difference difference = {0};
    size_t count = a->count + b->count;
    struct work work = {
        .sides = {a, b}, .profiles = calloc(count, sizeof *work.profiles), .names = calloc(count, sizeof *work.names),
        .matching = {.rows = calloc(count, sizeof(uint32_t *))}, .difference = &difference,
    };
    enum pcere_status status = work.profiles && work.names && work.matching.rows ? sides_gather(&work, error) : pcere_fail_memory(error, "two sides");
    if (status == PCERE_OK)
        status = events_find(&work, error);
    if (status == PCERE_OK)
        status = labels_match(&work, error);
    for (size_t i = 0; i < difference.event_count && status == PCERE_OK; i++)
        status = event_compare(&work, top, &difference.events[i], error);
    if (status == PCERE_OK)
        status = difference_groups_make(a, b, by, &difference, error);
    work_done(&work);
    if (status != PCERE_OK) {
        difference_done(&difference);
        return status;
    }
    *ret_difference = difference;
    return PCERE_OK;
}
