/* analysis/combine.c - see combine.h: what all strategies share. Types and events by name over several profiles, and the profile that a matching
 * stands for. */
#include "analysis/combine.h"
#include "analysis/matching.h"

#include <stdlib.h>
#include <string.h>

static const char *const strategy_names[COMBINE_STRATEGY_COUNT] = {"ctc", "lgl", "bc", "bc-unlabeled", "assignment"};

const char *combine_strategy_name(enum combine_strategy strategy)
{
    return strategy_names[strategy];
}

enum combine_strategy combine_strategy_find(const char *name)
{
    int strategy = 0;
    while (strategy < COMBINE_STRATEGY_COUNT && strcmp(strategy_names[strategy], name) != 0)
        strategy++;
    return (enum combine_strategy)strategy;
}

/* ---- types over all profiles --------------------------------------------------------------------------------------------------- */

struct construct_key { uint64_t id; const char *name; };

struct types {                             /* type number = construct * PROFILE_KIND_COUNT + kind */
    struct construct_key *constructs;
    size_t construct_count, capacity;
    uint32_t **rows;                       /* [profile][row] */
    uint32_t **maps;                       /* [profile][construct] */
    size_t profile_count;
};

static void types_done(struct types *types)
{
    for (size_t i = 0; i < types->profile_count; i++) {
        free(types->rows ? types->rows[i] : NULL);
        free(types->maps ? types->maps[i] : NULL);
    }
    free(types->rows);
    free(types->maps);
    free(types->constructs);
}

static uint32_t construct_number(struct types *types, const struct profile_construct *construct, size_t near)
{
    for (size_t k = 0; k < types->construct_count; k++) {
        size_t i = (near + k) % types->construct_count;
        if (types->constructs[i].id == construct->id && strcmp(types->constructs[i].name, construct->name) == 0)
            return (uint32_t)i;
    }
    types->constructs[types->construct_count] = (struct construct_key){.id = construct->id, .name = construct->name};
    return (uint32_t)types->construct_count++;
}

static enum pcere_status types_init(struct profile *const *profiles, size_t count, struct types *types, struct pcere_error *error)
{
    size_t constructs = 0;
    for (size_t i = 0; i < count; i++)
        constructs += profiles[i]->construct_count;
    *types = (struct types){
        .constructs = calloc(constructs + 1, sizeof *types->constructs), .rows = calloc(count, sizeof *types->rows),
        .maps = calloc(count, sizeof *types->maps), .profile_count = count,
    };
    if (!types->constructs || !types->rows || !types->maps)
        return pcere_fail_memory(error, "the types of XUs");
    for (size_t p = 0; p < count; p++) {
        const struct profile *profile = profiles[p];
        uint32_t *map = types->maps[p] = calloc(profile->construct_count + 1, sizeof *map);
        uint32_t *rows = types->rows[p] = malloc(profile->count * sizeof *rows + 1);
        if (!map || !rows)
            return pcere_fail_memory(error, "the types of XUs");
        for (size_t i = 0; i < profile->construct_count; i++)
            map[i] = construct_number(types, &profile->constructs[i], i);
        for (size_t i = 0; i < profile->count; i++)
            rows[i] = map[profile->construct[i]] * PROFILE_KIND_COUNT + profile->kinds[i];
    }
    return PCERE_OK;
}

/* ---- the result ---------------------------------------------------------------------------------------------------------------- */

static enum pcere_status runs_add(struct profile *combined, struct profile *const *profiles, size_t count, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < count && status == PCERE_OK; i++)
        status = profile_add_run(combined, &profiles[i]->runs[0], NULL, error);
    return status;
}

static enum pcere_status events_add(struct profile *combined, struct profile *const *profiles, size_t count, struct pcere_error *error)
{
    for (size_t p = 0; p < count; p++)
        for (size_t i = 0; i < profiles[p]->event_count; i++) {
            struct profile_event event = profiles[p]->events[i];
            if (profile_event_find(combined, event.name) < combined->event_count)
                continue;
            event.run = (uint32_t)p;
            enum pcere_status status = profile_add_event(combined, &event, NULL, error);
            if (status != PCERE_OK)
                return status;
        }
    return PCERE_OK;
}

static enum pcere_status constructs_add(struct profile *combined, const struct types *types, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < types->construct_count && status == PCERE_OK; i++)
        status = profile_add_construct(combined, types->constructs[i].id, types->constructs[i].name, NULL, error);
    return status;
}

static void gather(uint64_t *to, const uint64_t *from, const uint32_t *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[rows[i]];
}

static enum pcere_status rows_add(struct profile *combined, const struct profile *first, const struct types *types, const struct matching *matching,
                                  struct pcere_error *error)
{
    enum pcere_status status = profile_reserve(combined, matching->count, error);
    if (status == PCERE_OK && first->text_at && matching->count) {
        combined->texts = malloc(first->texts_bytes);
        if (!combined->texts)
            return pcere_fail_memory(error, "the labels of a profile");
        memcpy(combined->texts, first->texts, first->texts_bytes);
        combined->texts_bytes = combined->texts_capacity = first->texts_bytes;
    } else {
        free(combined->text_at);
        combined->text_at = NULL;
    }
    for (size_t i = 0; i < matching->count && status == PCERE_OK; i++) {
        size_t row = matching->rows[0][i];
        combined->labels[i] = first->labels[row];
        if (combined->text_at)
            combined->text_at[i] = first->text_at[row];
        combined->kinds[i] = first->kinds[row];
        combined->construct[i] = types->maps[0][first->construct[row]];
        combined->thread[i] = first->thread[row];
        combined->cpu[i] = first->cpu[row];
        combined->start_ns[i] = first->start_ns[row];
        combined->active_ns[i] = first->active_ns[row];
    }
    combined->count = status == PCERE_OK ? matching->count : 0;
    combined->in_label_order = true;
    return status;
}

static enum pcere_status counts_add(struct profile *combined, struct profile *const *profiles, size_t count, const struct matching *matching,
                                    struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t event = 0; event < combined->event_count; event++) {
        bool taken = false;
        for (size_t p = combined->events[event].run; p < count && status == PCERE_OK; p++) {
            size_t own = profile_event_find(profiles[p], combined->events[event].name);
            if (own == profiles[p]->event_count)
                continue;
            const uint64_t *column = profiles[p]->counts[own];
            const uint32_t *rows = matching->rows[p];
            if (!taken) {
                gather(combined->counts[event], column, rows, combined->count);
                taken = true;
                continue;
            }
            if (!combined->low[event])
                status = profile_add_interval(combined, (uint32_t)event, error);
            for (size_t i = 0; i < combined->count && status == PCERE_OK; i++) {
                uint64_t value = column[rows[i]];
                combined->low[event][i] = value < combined->low[event][i] ? value : combined->low[event][i];
                combined->high[event][i] = value > combined->high[event][i] ? value : combined->high[event][i];
            }
        }
    }
    return status;
}

static enum pcere_status sources_add(struct profile *combined, const struct matching *matching, struct pcere_error *error)
{
    enum pcere_status status = profile_add_sources(combined, error);
    for (size_t p = 0; p < combined->run_count && status == PCERE_OK && combined->count; p++)
        memcpy(combined->sources[p], matching->rows[p], combined->count * sizeof(uint32_t));
    return status;
}

static enum pcere_status dropped_add(struct profile *combined, struct profile *const *profiles, const struct types *types,
                                     const struct matching *matching, struct pcere_error *error)
{
    size_t type_count = types->construct_count * PROFILE_KIND_COUNT;
    uint64_t *left = malloc((type_count + 1) * sizeof *left);
    if (!left)
        return pcere_fail_memory(error, "what was dropped");
    enum pcere_status status = PCERE_OK;
    for (size_t p = 0; p < types->profile_count; p++) {
        memset(left, 0, type_count * sizeof *left);
        for (size_t i = 0; i < profiles[p]->count; i++)
            left[types->rows[p][i]]++;
        for (size_t i = 0; i < matching->count; i++)
            left[types->rows[p][matching->rows[p][i]]]--;
        for (size_t type = 0; type < type_count && status == PCERE_OK; type++)
            if (left[type]) {
                struct profile_dropped dropped = {
                    .run = (uint32_t)p, .construct = (uint32_t)(type / PROFILE_KIND_COUNT), .kind = (enum profile_kind)(type % PROFILE_KIND_COUNT),
                    .xus = left[type],
                };
                status = profile_add_dropped(combined, &dropped, error);
            }
    }
    free(left);
    return status;
}

static enum pcere_status nodes_copy(struct profile *combined, const struct profile *first, struct pcere_error *error)
{
    if (!first->nodes)
        return PCERE_OK;
    combined->nodes = malloc(first->node_count * sizeof *first->nodes + 1);
    if (!combined->nodes)
        return pcere_fail_memory(error, "the nodes");
    memcpy(combined->nodes, first->nodes, first->node_count * sizeof *first->nodes);
    combined->node_count = first->node_count;
    return PCERE_OK;
}

static enum pcere_status combined_build(struct profile *const *profiles, size_t count, const struct types *types, const struct matching *matching,
                                        enum combine_strategy strategy, struct profile **ret_combined, struct pcere_error *error)
{
    struct profile *combined = profile_new();
    enum pcere_status status = combined ? PCERE_OK : pcere_fail_memory(error, "a profile");
    if (status == PCERE_OK && !(combined->strategy = strdup(strategy_names[strategy])))
        status = pcere_fail_memory(error, "a profile");
    if (status == PCERE_OK)
        status = runs_add(combined, profiles, count, error);
    if (status == PCERE_OK)
        status = events_add(combined, profiles, count, error);
    if (status == PCERE_OK)
        status = constructs_add(combined, types, error);
    if (status == PCERE_OK)
        status = profile_names_copy(combined, profiles[0], error);        /* labels are the first's, too */
    if (status == PCERE_OK)
        status = nodes_copy(combined, profiles[0], error);
    if (status == PCERE_OK)
        status = rows_add(combined, profiles[0], types, matching, error);
    if (status == PCERE_OK)
        status = counts_add(combined, profiles, count, matching, error);
    if (status == PCERE_OK)
        status = sources_add(combined, matching, error);
    if (status == PCERE_OK)
        status = dropped_add(combined, profiles, types, matching, error);
    if (status != PCERE_OK) {
        profile_free(combined);
        return status;
    }
    *ret_combined = combined;
    return PCERE_OK;
}

/* ---- the work ------------------------------------------------------------------------------------------------------------------ */

static enum pcere_status matching_make(const struct matching_input *input, struct matching *matching, struct pcere_error *error)
{
    size_t most = 0;
    for (size_t p = 0; p < input->profile_count; p++)
        most = input->profiles[p]->count > most ? input->profiles[p]->count : most;
    for (size_t p = 0; p < input->profile_count; p++)
        if (!(matching->rows[p] = malloc(most * sizeof(uint32_t) + 1)))
            return pcere_fail_memory(error, "a matching");
    switch (input->options.strategy) {
    case COMBINE_CTC: return matching_ctc(input, matching, error);
    case COMBINE_LGL: return matching_lgl(input, matching, error);
    default: return matching_bc(input, matching, error);
    }
}

static enum pcere_status input_check(struct profile *const *profiles, const char *const *names, size_t count, struct pcere_error *error)
{
    if (count < 2)
        return pcere_fail(error, PCERE_USAGE, 0, "name the profiles of two runs or more", "there is nothing to combine: %zu profile%s", count,
                          count == 1 ? "" : "s");
    for (size_t p = 0; p < count; p++) {
        if (profiles[p]->run_count != 1)
            return pcere_fail(error, PCERE_DATA, 0, "combine the profiles that it was made of, and the new ones, in one call",
                              "%.100s is a combined profile", names[p]);
        if (!profiles[p]->count)
            return pcere_fail(error, PCERE_DATA, 0, "profile a program whose work is in tasks, loops or sections", "%.100s has no XUs", names[p]);
        enum pcere_status status = p ? profile_same_run(profiles[0]->runs, names[0], profiles[p]->runs, names[p], error) : PCERE_OK;
        for (size_t q = 0; status == PCERE_OK && q < p; q++)
            status = profile_same_events(profiles[q], names[q], profiles[p], names[p], error);
        if (status != PCERE_OK)
            return status;
        status = profile_sort(profiles[p], error);
        if (status != PCERE_OK)
            return status;
    }
    return PCERE_OK;
}

static size_t first_with(struct profile *const *profiles, size_t count, const char *name)
{
    size_t p = 0;
    while (p < count && profile_event_find(profiles[p], name) == profiles[p]->event_count)
        p++;
    return p;
}

static enum pcere_status first_with_new(struct profile *const *profiles, size_t count, size_t *ret_stride, uint32_t **ret_table,
                                        struct pcere_error *error)
{
    size_t stride = 1;
    for (size_t p = 0; p < count; p++)
        stride = profiles[p]->event_count > stride ? profiles[p]->event_count : stride;
    uint32_t *table = calloc(count * stride, sizeof *table);
    if (!table)
        return pcere_fail_memory(error, "the events of profiles");
    for (size_t p = 0; p < count; p++)
        for (size_t i = 0; i < profiles[p]->event_count; i++)
            table[p * stride + i] = (uint32_t)first_with(profiles, p, profiles[p]->events[i].name);
    *ret_stride = stride;
    *ret_table = table;
    return PCERE_OK;
}

enum pcere_status combine_profiles(struct profile *const *profiles, const char *const *names, size_t count, const struct combine_options *options,
                                   struct profile **ret_combined, struct pcere_error *error)
{
    enum pcere_status status = input_check(profiles, names, count, error);
    if (status != PCERE_OK)
        return status;
    struct types types = {0};
    struct matching matching = {.rows = calloc(count, sizeof *matching.rows)};
    uint32_t *table = NULL;
    struct matching_input input = {.profiles = profiles, .names = names, .profile_count = count, .options = *options};
    if (!input.options.divisions)
        input.options.divisions = COMBINE_DIVISIONS;
    status = matching.rows ? types_init(profiles, count, &types, error) : pcere_fail_memory(error, "a matching");
    if (status == PCERE_OK)
        status = first_with_new(profiles, count, &input.event_stride, &table, error);
    input.first_with = table;
    input.types = types.rows;
    input.type_count = types.construct_count * PROFILE_KIND_COUNT;
    if (status == PCERE_OK)
        status = matching_make(&input, &matching, error);
    if (status == PCERE_OK && !matching.count)
        status = pcere_fail(error, PCERE_DATA, 0, "compare their labels with 'pcere compare', or combine them by ctc",
                            "nothing could be combined: the profiles have no XU in common");
    if (status == PCERE_OK)
        status = combined_build(profiles, count, &types, &matching, options->strategy, ret_combined, error);
    for (size_t p = 0; p < count && matching.rows; p++)
        free(matching.rows[p]);
    free(matching.rows);
    free(table);
    types_done(&types);
    return status;
}
