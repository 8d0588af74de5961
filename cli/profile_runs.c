/* cli/profile_runs.c - see profile_runs.h: the planner asked for this machine's counters, and the strategies for what the runs gave. */
#include "cli/profile_runs.h"
#include "analysis/combine.h"
#include "analysis/planner.h"
#include "analysis/virtual_pmu.h"
#include "analysis/virtual_runs.h"
#include "core/json.h"
#include "core/text.h"
#include "profiler/host/events.h"

#include <stdlib.h>
#include <string.h>

struct profile_runs {
    struct profile_runs_options options;
    struct planner_plan plan;
    bool turns;                              /* one run, in which events take turns */
    uint32_t (*conflicts)[2];                /* events */
    size_t conflict_count;
    size_t count, current;                   /* plan.run_count × repeats */
    struct trace_event events[TRACE_EVENTS_MOST];       /* of the current run */
    struct profile **profiles;               /* [count] */
    char **names;                            /* [count] for messages; of references: files */
};

static bool events_fit(void *context, const uint32_t *numbers, size_t count)
{
    const struct profile_runs *runs = context;
    struct trace_event hardware[PLANNER_COUNTERS_MOST];
    size_t many = 0;
    for (size_t i = 0; i < count; i++)
        if (runs->options.events[numbers[i]].backend == TRACE_BACKEND_PMU)
            hardware[many++] = runs->options.events[numbers[i]];
    const struct planner_table table = {.counters = PLANNER_COUNTERS_MOST, .conflicts = (const uint32_t (*)[2])runs->conflicts, .conflict_count = runs->conflict_count};
    return planner_table_fits((void *)(uintptr_t)&table, numbers, count) && (!many || event_hardware_fits(hardware, many));
}

static bool event_number(const struct profile_runs_options *options, const char *name, uint32_t *ret_number)
{
    for (size_t i = 0; i < options->event_count; i++)
        if (strcmp(options->events[i].name, name) == 0) {
            *ret_number = (uint32_t)i;
            return true;
        }
    return false;
}

static enum pcere_status conflicts_parse(struct profile_runs *runs, struct pcere_error *error)
{
    if (!runs->options.conflicts)
        return PCERE_OK;
    char *copy = strdup(runs->options.conflicts), *rest = copy;
    runs->conflicts = calloc(strlen(runs->options.conflicts) + 1, sizeof *runs->conflicts);
    enum pcere_status status = copy && runs->conflicts ? PCERE_OK : pcere_fail_memory(error, "the conflicts");
    for (char *second; status == PCERE_OK && (second = strsep(&rest, ","));) {
        const char *first = strsep(&second, "+");
        uint32_t *pair = runs->conflicts[runs->conflict_count];
        if (!second)
            status = pcere_fail(error, PCERE_USAGE, 0, "--conflicts ir-loads+ir-stores,ir-loads+page-faults", "--conflicts: '%.100s' is no pair of events", first);
        else if (!event_number(&runs->options, first, &pair[0]) || !event_number(&runs->options, second, &pair[1]) || pair[0] == pair[1])
            status = pcere_fail(error, PCERE_USAGE, 0, "--events lists them", "--conflicts: '%.60s' and '%.60s' are not two of the events", first, second);
        else
            runs->conflict_count++;
    }
    free(copy);
    return status;
}

/* Which two cannot be in one run is said; of larger sets how many there are. */
static enum pcere_status one_run_judge(const struct profile_runs *runs, struct pcere_error *error)
{
    static const char hint[] = "--combine lgl counts them in several runs";
    uint32_t all[TRACE_EVENTS_MOST], hardware = 0;
    size_t count = runs->options.event_count;
    const struct trace_event *events = runs->options.events;
    for (uint32_t i = 0; i < count; i++) {
        all[i] = i;
        hardware += events[i].backend == TRACE_BACKEND_PMU;
    }
    if (count < 2 || (hardware < 2 && !runs->conflict_count) || events_fit((void *)(uintptr_t)runs, all, count))
        return PCERE_OK;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++)
            if (!events_fit((void *)(uintptr_t)runs, (const uint32_t[]){i, j}, 2))
                return pcere_fail(error, PCERE_REFUSED, 0, hint, "%.60s and %.60s cannot be counted together", events[i].name, events[j].name);
    return pcere_fail(error, PCERE_REFUSED, 0, hint, "these %u events of the processor cannot be counted together", hardware);
}

static bool is_hem(const struct profile_runs_options *options)
{
    return options->combine && strcmp(options->combine, "hem") == 0;
}

/* Multiplexing: the kernel's, of the processor's events, of which it must be able to count each alone; of all others it is simulated when they were counted. */
static enum pcere_status turns_plan(struct profile_runs *runs, struct pcere_error *error)
{
    const struct profile_runs_options *options = &runs->options;
    uint32_t hardware = 0;
    if (options->event_count > TRACE_EVENTS_MOST || !options->event_count)
        return pcere_fail(error, PCERE_USAGE, 0, "--events lists them", "--combine hem is one run of 1 to %u events", TRACE_EVENTS_MOST);
    for (size_t i = 0; i < options->event_count; i++) {
        runs->events[i] = options->events[i];
        if (options->events[i].backend != TRACE_BACKEND_PMU)
            continue;
        hardware++;
        runs->events[i].flags |= TRACE_EVENT_TURNS;
        if (!event_hardware_fits(&options->events[i], 1))
            return pcere_fail(error, PCERE_REFUSED, 0, "leave it out", "the kernel does not count %.60s, not even alone", options->events[i].name);
    }
    if (hardware && options->counters)
        return pcere_fail(error, PCERE_USAGE, 0, "leave --counters out", "the kernel knows how many counters the processor has");
    if (!hardware && !options->counters)
        return pcere_fail(error, PCERE_USAGE, 0, "--counters 4, of a processor that could count 4 of them at a time",
                          "none of these is an event of the processor: that they take turns can only be simulated, which needs --counters");
    runs->turns = true;
    return PCERE_OK;
}

/* The run's profile as one with `counters` counters would have had it. */
static enum pcere_status turns_simulate(const struct profile_runs *runs, struct profile **profile, struct pcere_error *error)
{
    const struct virtual_runs_options how = {.counters = runs->options.counters};
    struct profile *seen = NULL;
    char sentence[160];
    snprintf(sentence, sizeof sentence, "that events take turns is simulated: groups of %u on each thread, for %u ms each", how.counters, VIRTUAL_PMU_PERIOD_NS / 1000000);
    enum pcere_status status = virtual_runs_rotate(*profile, &how, VIRTUAL_PMU_PERIOD_NS, &seen, error);
    if (status == PCERE_OK)
        status = profile_add_blind(seen, 0, sentence, error);
    if (status == PCERE_OK) {
        profile_free(*profile);
        *profile = seen;
    } else {
        profile_free(seen);
    }
    return status;
}

static enum pcere_status words_check(const struct profile_runs_options *options, struct pcere_error *error)
{
    if (options->combine && options->references)
        return pcere_fail(error, PCERE_USAGE, 0, "--references writes a profile for each run, --combine one for all", "--combine and --references exclude each other");
    if (is_hem(options) && (options->repeats > 1 || options->conflicts))
        return pcere_fail(error, PCERE_USAGE, 0, "without it, or with another strategy", "--combine hem is one run: --%s does not go with it", options->conflicts ? "conflicts" : "repeat");
    if (options->combine && !is_hem(options) && combine_strategy_find(options->combine) == COMBINE_STRATEGY_COUNT)
        return pcere_fail(error, PCERE_USAGE, 0, "lgl, ctc, bc, bc-unlabeled, assignment or hem", "--combine: there is no strategy '%.60s'", options->combine);
    if (!options->combine && !options->references && (options->counters || options->repeats > 1))
        return pcere_fail(error, PCERE_USAGE, 0, "--combine lgl makes one profile of several runs", "--%s is about several runs", options->counters ? "counters" : "repeat");
    if (!options->combine && !options->references && options->event_count > TRACE_EVENTS_MOST)
        return pcere_fail(error, PCERE_USAGE, 0, "--combine lgl counts them in several runs", "--events: more than %u", TRACE_EVENTS_MOST);
    return PCERE_OK;
}

static enum pcere_status plan_make(struct profile_runs *runs, struct pcere_error *error)
{
    const struct profile_runs_options *options = &runs->options;
    uint32_t most = options->counters ? options->counters : PLANNER_COUNTERS_MOST;
    const char *names[PLANNER_EVENTS_MOST];
    for (size_t i = 0; i < options->event_count; i++)
        names[i] = options->events[i].name;
    struct planner_problem problem = {.event_count = options->event_count, .counters = most < TRACE_EVENTS_MOST ? most : TRACE_EVENTS_MOST, .fits = events_fit, .context = runs,
                                      .names = names};
    if (options->references)
        return planner_pairs(&problem, 0, &runs->plan, error);
    bool overlap = combine_strategy_find(options->combine) >= COMBINE_BC;
    enum pcere_status status = planner_cover(&problem, false, &runs->plan, error);
    if (status != PCERE_OK || !overlap || runs->plan.run_count == 1)      /* one run overlaps with none */
        return status;
    planner_plan_done(&runs->plan);
    return planner_cover(&problem, true, &runs->plan, error);
}

enum pcere_status profile_runs_plan(const struct profile_runs_options *options, struct profile_runs **ret_runs, struct pcere_error *error)
{
    enum pcere_status status = words_check(options, error);
    struct profile_runs *runs = status == PCERE_OK ? calloc(1, sizeof *runs) : NULL;
    if (!runs)
        return status != PCERE_OK ? status : pcere_fail_memory(error, "the runs");
    runs->options = *options;
    runs->count = 1;
    status = conflicts_parse(runs, error);
    if (status == PCERE_OK && !options->combine && !options->references)
        status = one_run_judge(runs, error);
    if (status == PCERE_OK && is_hem(options))
        status = turns_plan(runs, error);
    else if (status == PCERE_OK && (options->combine || options->references) && options->event_count) {
        status = plan_make(runs, error);
        runs->count = runs->plan.run_count;
    }
    runs->count *= options->repeats ? options->repeats : 1;
    runs->profiles = calloc(runs->count + 1, sizeof *runs->profiles);
    runs->names = calloc(runs->count + 1, sizeof *runs->names);
    if (status == PCERE_OK && (!runs->profiles || !runs->names))
        status = pcere_fail_memory(error, "the runs");
    if (status != PCERE_OK) {
        profile_runs_free(runs);
        return status;
    }
    *ret_runs = runs;
    return PCERE_OK;
}

void profile_runs_free(struct profile_runs *runs)
{
    if (!runs)
        return;
    for (size_t i = 0; runs->profiles && runs->names && i < runs->count; i++) {
        profile_free(runs->profiles[i]);
        free(runs->names[i]);
    }
    free(runs->profiles);
    free(runs->names);
    free(runs->conflicts);
    planner_plan_done(&runs->plan);
    free(runs);
}

size_t profile_runs_count(const struct profile_runs *runs)
{
    return runs->count;
}

/* "a.pcx" becomes "a.3.pcx". */
static int reference_name(const char *path, size_t run, char **ret_name)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = dot && (!slash || dot > slash + 1) && dot > path ? (size_t)(dot - path) : strlen(path);
    return asprintf(ret_name, "%.*s.%zu%s", (int)stem, path, run + 1, path + stem);
}

enum pcere_status profile_runs_begin(struct profile_runs *runs, size_t run, const char *path, struct profile_request *request, struct pcere_error *error)
{
    free(runs->names[run]);
    runs->current = run;
    if ((runs->options.references ? reference_name(path, run, &runs->names[run]) : asprintf(&runs->names[run], "run %zu", run + 1)) < 0) {
        runs->names[run] = NULL;
        return pcere_fail_memory(error, "a name");
    }
    request->runs = runs;
    request->path = runs->options.references ? runs->names[run] : path;
    request->quiet = runs->options.references;
    request->events = runs->options.events;
    request->event_count = runs->options.event_count;
    if (runs->turns)
        request->events = runs->events;
    if (!runs->plan.run_count)
        return PCERE_OK;
    size_t planned = run % runs->plan.run_count;
    for (size_t i = 0; i < runs->plan.counts[planned]; i++)
        runs->events[i] = runs->options.events[runs->plan.events[planned][i]];
    request->events = runs->events;
    request->event_count = runs->plan.counts[planned];
    return PCERE_OK;
}

enum pcere_status profile_runs_join(struct profile_runs *runs, struct profile **profile, bool *ret_deliver, struct pcere_error *error)
{
    *ret_deliver = true;
    if (runs->turns && runs->options.counters)
        return turns_simulate(runs, profile, error);
    if (runs->turns)
        return ((*profile)->strategy = strdup("hem")) ? PCERE_OK : pcere_fail_memory(error, "a profile");
    if (runs->options.references || runs->count == 1)
        return PCERE_OK;
    runs->profiles[runs->current] = *profile;
    *profile = NULL;
    *ret_deliver = runs->current + 1 == runs->count;
    if (!*ret_deliver)
        return PCERE_OK;
    const struct combine_options how = {.strategy = combine_strategy_find(runs->options.combine)};
    return combine_profiles(runs->profiles, (const char *const *)runs->names, runs->count, &how, profile, error);
}

static size_t most_events(const struct profile_runs *runs)
{
    size_t most = 0;
    for (size_t i = 0; i < runs->plan.run_count; i++)
        most = runs->plan.counts[i] > most ? runs->plan.counts[i] : most;
    return most;
}

void profile_runs_describe(const struct profile_runs *runs, json_t *document, bool *failed)
{
    if (!runs->plan.run_count)
        return;
    json_t *plan = json_object(), *files = json_array();
    json_put(plan, "runs", json_from_u64(runs->count), failed);
    json_put(plan, "bound", json_from_u64(runs->plan.bound), failed);
    json_put(plan, "events_per_run", json_from_u64(most_events(runs)), failed);
    json_put(plan, "pairs_impossible", json_from_u64(runs->plan.pairs_impossible), failed);
    json_put(document, "plan", plan, failed);
    for (size_t i = 0; runs->options.references && i < runs->count; i++) {
        size_t planned = i % runs->plan.run_count;
        json_t *file = json_object(), *events = json_array();
        for (size_t j = 0; j < runs->plan.counts[planned]; j++)
            *failed = json_array_append_new(events, json_from_string(runs->options.events[runs->plan.events[planned][j]].name)) != 0 || *failed;
        json_put(file, "file", json_from_string(runs->names[i]), failed);
        json_put(file, "events", events, failed);
        *failed = json_array_append_new(files, file) != 0 || *failed;
    }
    if (runs->options.references)
        json_put(document, "files", files, failed);
    else
        json_decref(files);
}

void profile_runs_print(const struct profile_runs *runs, FILE *out)
{
    if (!runs->plan.run_count)
        return;
    fprintf(out, "%s%zu events in ", runs->options.references ? "" : "\n", runs->options.event_count);
    if (runs->options.repeats > 1)
        fprintf(out, "%zu set%s x %u repeats = ", runs->plan.run_count, runs->plan.run_count == 1 ? "" : "s", runs->options.repeats);
    fprintf(out, "%zu run%s of at most %zu events", runs->count, runs->count == 1 ? "" : "s", most_events(runs));
    const char *sets = runs->options.repeats > 1 ? " sets" : "";
    if (runs->plan.bound == runs->plan.run_count)
        fprintf(out, "; fewer%s are not possible\n", sets);
    else
        fprintf(out, "; fewer than %zu%s are not possible\n", runs->plan.bound, sets);
    if (!runs->options.references)
        return;
    if (runs->plan.pairs_impossible)
        fprintf(out, "%zu pairs of events cannot be counted together\n", runs->plan.pairs_impossible);
    for (size_t i = 0; i < runs->count; i++)
        fprintf(out, "%s\n", runs->names[i]);
}
