/* analysis/virtual_runs.c - see virtual_runs.h: planner and virtual PMU together. */
#include "analysis/virtual_runs.h"
#include "analysis/planner.h"
#include "analysis/virtual_pmu.h"

#include <stdlib.h>
#include <string.h>

void virtual_runs_done(struct virtual_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++) {
        profile_free(runs->profiles[i]);
        free(runs->names[i]);
    }
    free(runs->profiles);
    free(runs->names);
    *runs = (struct virtual_runs){0};
}

static enum pcere_status plan_make(const struct profile *truth, const struct virtual_runs_options *options, bool overlap, struct planner_plan *ret_plan,
                                   struct pcere_error *error)
{
    const char *names[PLANNER_EVENTS_MOST];
    for (size_t i = 0; i < truth->event_count && i < PLANNER_EVENTS_MOST; i++)
        names[i] = truth->events[i].name;
    struct planner_problem problem = {.event_count = truth->event_count, .counters = options->counters, .seed = options->seed, .names = names};
    return planner_cover(&problem, overlap, ret_plan, error);
}

static enum pcere_status run_show(const struct profile *first, const struct profile *truth, const char *name, const struct planner_plan *plan, size_t run,
                                  const struct virtual_runs_options *options, struct virtual_runs *runs, struct pcere_error *error)
{
    uint32_t events[PLANNER_COUNTERS_MOST];
    for (size_t i = 0; i < plan->counts[run]; i++) {
        const char *event = first->events[plan->events[run][i]].name;
        events[i] = (uint32_t)profile_event_find(truth, event);
        if (events[i] == truth->event_count)
            return pcere_fail(error, PCERE_DATA, 0, "profile all runs with the same events", "%.100s does not have the event '%.100s'", name, event);
    }
    if (asprintf(&runs->names[run], "run %zu (of %s)", run + 1, name) < 0) {
        runs->names[run] = NULL;
        return pcere_fail_memory(error, "a name");
    }
    return virtual_pmu_show(truth, events, plan->counts[run], options->noise_ratio, options->seed + 1000003 * (run + 1), &runs->profiles[run], error);
}

enum pcere_status virtual_runs_make(struct profile *const *truths, const char *const *names, size_t count, const struct virtual_runs_options *options,
                                    struct virtual_runs *ret_runs, struct pcere_error *error)
{
    if (!count)
        return pcere_fail(error, PCERE_USAGE, 0, "name profiles that have all events", "there is no run to look at");
    struct planner_plan plan;
    enum pcere_status status = plan_make(truths[0], options, options->overlap, &plan, error);
    if (status != PCERE_OK)
        return status;
    struct virtual_runs runs = {.profiles = calloc(plan.run_count, sizeof *runs.profiles), .names = calloc(plan.run_count, sizeof *runs.names)};
    if (!runs.profiles || !runs.names)
        status = pcere_fail_memory(error, "the runs");
    else
        runs.count = plan.run_count;
    for (size_t run = 0; run < runs.count && status == PCERE_OK; run++)
        status = run_show(truths[0], truths[run % count], names[run % count], &plan, run, options, &runs, error);
    planner_plan_done(&plan);
    if (status != PCERE_OK) {
        virtual_runs_done(&runs);
        return status;
    }
    *ret_runs = runs;
    return PCERE_OK;
}

enum pcere_status virtual_runs_rotate(const struct profile *truth, const struct virtual_runs_options *options, uint64_t period_ns,
                                      struct profile **ret_profile, struct pcere_error *error)
{
    struct planner_plan plan;
    enum pcere_status status = plan_make(truth, options, false, &plan, error);
    if (status != PCERE_OK)
        return status;
    struct profile *noisy = NULL;
    if (options->noise_ratio > 0) {
        uint32_t all[PLANNER_EVENTS_MOST];
        for (uint32_t i = 0; i < truth->event_count; i++)
            all[i] = i;
        status = virtual_pmu_show(truth, all, truth->event_count, options->noise_ratio, options->seed, &noisy, error);
    }
    struct virtual_pmu_groups groups = {.events = (const uint32_t *const *)plan.events, .counts = plan.counts, .group_count = plan.run_count};
    if (status == PCERE_OK)
        status = virtual_pmu_rotate(noisy ? noisy : truth, &groups, period_ns, ret_profile, error);
    profile_free(noisy);
    planner_plan_done(&plan);
    return status;
}
