/* analysis/virtual_pmu.c - see virtual_pmu.h. */
#include "analysis/virtual_pmu.h"
#include "predictor/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum pcere_status shell_new(const struct profile *truth, const uint32_t *events, size_t event_count, struct profile **ret_profile,
                                   struct pcere_error *error)
{
    struct profile *profile = profile_new();
    enum pcere_status status = profile ? PCERE_OK : pcere_fail_memory(error, "a profile");
    for (size_t i = 0; i < truth->run_count && status == PCERE_OK; i++)
        status = profile_add_run(profile, &truth->runs[i], NULL, error);
    for (size_t i = 0; i < event_count && status == PCERE_OK; i++)
        status = profile_add_event(profile, &truth->events[events[i]], NULL, error);
    for (size_t i = 0; i < truth->construct_count && status == PCERE_OK; i++)
        status = profile_add_construct(profile, truth->constructs[i].id, truth->constructs[i].name, NULL, error);
    if (status == PCERE_OK)
        status = profile_names_copy(profile, truth, error);
    if (status == PCERE_OK)
        status = profile_reserve(profile, truth->count, error);
    for (size_t row = 0; row < truth->count && status == PCERE_OK; row++) {
        struct profile_xu xu = {
            .label = truth->text_at ? truth->texts + truth->text_at[row] : NULL, .hash = truth->labels[row], .kind = truth->kinds[row],
            .construct = truth->construct[row], .thread = truth->thread[row], .cpu = truth->cpu[row], .start_ns = truth->start_ns[row],
            .active_ns = truth->active_ns[row],
        };
        status = profile_add_xu(profile, &xu, error);
    }
    if (status != PCERE_OK) {
        profile_free(profile);
        return status;
    }
    *ret_profile = profile;
    return PCERE_OK;
}

static uint64_t count_round(double count)
{
    return count < 0.5 ? 0 : count >= 9.2e18 ? (uint64_t)INT64_MAX : (uint64_t)(count + 0.5);
}

enum pcere_status virtual_pmu_show(const struct profile *truth, const uint32_t *events, size_t event_count, double noise_ratio, uint64_t seed,
                                   struct profile **ret_profile, struct pcere_error *error)
{
    struct profile *profile;
    enum pcere_status status = shell_new(truth, events, event_count, &profile, error);
    if (status != PCERE_OK)
        return status;
    for (size_t i = 0; i < event_count; i++)
        for (size_t row = 0; row < truth->count; row++) {
            uint64_t count = truth->counts[events[i]][row];
            if (noise_ratio > 0)
                count = count_round((double)count * (1 + noise_ratio * random_normal(&seed)));
            profile->counts[i][row] = count;
            profile->events[i].exact = profile->events[i].exact && noise_ratio <= 0;
        }
    *ret_profile = profile;
    return PCERE_OK;
}

/* ---- multiplexing ------------------------------------------------------------------------------------------------------------- */

struct part { uint64_t begin_ns, active_ns; uint32_t thread, xu; size_t segment; };

static int parts_compare(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->xu < y->xu ? -1 : x->xu > y->xu;
}

static enum pcere_status parts_new(const struct profile *truth, struct part **ret_parts, size_t *ret_count, struct pcere_error *error)
{
    const struct profile_segments *segments = &truth->segments;
    size_t count = segments->count ? segments->count : truth->count;
    struct part *parts = malloc(count * sizeof *parts + 1);
    if (!parts)
        return pcere_fail_memory(error, "the parts of XUs");
    for (size_t i = 0; i < count; i++)
        parts[i] = segments->count ? (struct part){.begin_ns = segments->begin_ns[i], .active_ns = segments->active_ns[i], .thread = segments->thread[i],
                                                   .xu = segments->xu[i], .segment = i}
                                   : (struct part){.begin_ns = truth->start_ns[i], .active_ns = truth->active_ns[i], .thread = truth->thread[i],
                                                   .xu = (uint32_t)i, .segment = i};
    qsort(parts, count, sizeof *parts, parts_compare);
    *ret_parts = parts;
    *ret_count = count;
    return PCERE_OK;
}

/* How long group `group` was visible from 0 to `at_ns`. */
static double visible_ns(uint64_t at_ns, size_t group, size_t groups, uint64_t period_ns)
{
    uint64_t cycle_ns = period_ns * groups, rest_ns = at_ns % cycle_ns, begin_ns = period_ns * group;
    uint64_t in_cycle_ns = rest_ns <= begin_ns ? 0 : rest_ns - begin_ns < period_ns ? rest_ns - begin_ns : period_ns;
    return (double)(at_ns / cycle_ns) * (double)period_ns + (double)in_cycle_ns;
}

struct rotation { size_t group, groups; uint64_t period_ns; };

static double scaled(double seen, uint64_t at_ns, const struct rotation *rotation)
{
    double running_ns = visible_ns(at_ns, rotation->group, rotation->groups, rotation->period_ns);
    return running_ns > 0 ? seen * ((double)at_ns / running_ns) : 0;
}

static void event_rotate(const struct part *parts, size_t count, const uint64_t *truth, double *sums, const struct rotation *rotation)
{
    double seen = 0;
    uint64_t origin_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const struct part *part = &parts[i];
        if (!i || part->thread != parts[i - 1].thread) {
            seen = 0;
            origin_ns = part->begin_ns;
        }
        uint64_t begin_ns = part->begin_ns - origin_ns, end_ns = begin_ns + part->active_ns;
        double visible = visible_ns(end_ns, rotation->group, rotation->groups, rotation->period_ns) -
                         visible_ns(begin_ns, rotation->group, rotation->groups, rotation->period_ns);
        double before = scaled(seen, begin_ns, rotation);
        if (part->active_ns)
            seen += (double)truth[part->segment] * visible / (double)part->active_ns;
        double difference = scaled(seen, end_ns, rotation) - before;
        sums[part->xu] += difference > 0 ? difference : 0;
    }
}

static size_t group_of(const struct virtual_pmu_groups *groups, size_t event)
{
    for (size_t group = 0; group < groups->group_count; group++)
        for (size_t i = 0; i < groups->counts[group]; i++)
            if (groups->events[group][i] == event)
                return group;
    return 0;
}

static enum pcere_status rotate_all(const struct profile *truth, struct profile *profile, const struct virtual_pmu_groups *groups, uint64_t period_ns,
                                    struct pcere_error *error)
{
    struct part *parts = NULL;
    size_t count = 0;
    enum pcere_status status = parts_new(truth, &parts, &count, error);
    if (status != PCERE_OK)
        return status;
    double *sums = malloc(truth->count * sizeof *sums + 1);
    for (size_t event = 0; event < truth->event_count && sums; event++) {
        struct rotation rotation = {.group = group_of(groups, event), .groups = groups->group_count, .period_ns = period_ns};
        memset(sums, 0, truth->count * sizeof *sums);
        event_rotate(parts, count, truth->segments.count ? truth->segments.counts[event] : truth->counts[event], sums, &rotation);
        for (size_t row = 0; row < truth->count; row++)
            profile->counts[event][row] = count_round(sums[row]);
    }
    status = sums ? PCERE_OK : pcere_fail_memory(error, "the counts of XUs");
    free(sums);
    free(parts);
    return status;
}

enum pcere_status virtual_pmu_rotate(const struct profile *truth, const struct virtual_pmu_groups *groups, uint64_t period_ns,
                                     struct profile **ret_profile, struct pcere_error *error)
{
    if (!groups->group_count || !period_ns || period_ns > INT64_MAX / groups->group_count)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "multiplexing needs a group of events, and a period above 0");
    uint32_t *all = malloc(truth->event_count * sizeof *all + 1);
    if (!all)
        return pcere_fail_memory(error, "the events");
    for (size_t i = 0; i < truth->event_count; i++)
        all[i] = (uint32_t)i;
    struct profile *profile = NULL;
    enum pcere_status status = shell_new(truth, all, truth->event_count, &profile, error);
    free(all);
    if (status == PCERE_OK)
        status = rotate_all(truth, profile, groups, period_ns, error);
    if (status == PCERE_OK && !(profile->strategy = strdup("hem")))
        status = pcere_fail_memory(error, "a profile");
    if (status != PCERE_OK) {
        profile_free(profile);
        return status;
    }
    for (size_t i = 0; i < profile->event_count; i++)
        profile->events[i].exact = profile->events[i].exact && groups->group_count == 1;
    *ret_profile = profile;
    return PCERE_OK;
}
