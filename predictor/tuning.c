/* predictor/tuning.c - see tuning.h. */
#include "predictor/tuning.h"

#include <string.h>

static uint64_t combinations(const struct tuning_space *space)
{
    uint64_t count = 1;
    for (size_t i = 0; i < TUNING_DIMENSIONS; i++)
        count *= space->counts[i];
    return count;
}

bool tuning_is_exhaustive(const struct tuning_space *space)
{
    return combinations(space) <= TUNING_EXHAUSTIVE_MOST;
}

uint32_t tuning_stages(const struct tuning_space *space)
{
    return tuning_is_exhaustive(space) ? 1 : TUNING_STAGES;
}

size_t tuning_stage_most(const struct tuning_space *space)
{
    size_t most = TUNING_EXHAUSTIVE_MOST;
    for (size_t i = 0; i < TUNING_DIMENSIONS; i++)
        most = space->counts[i] > most ? space->counts[i] : most;
    return most;
}

bool tuning_same(const struct tuning_setting *a, const struct tuning_setting *b)
{
    return memcmp(a->values, b->values, sizeof a->values) == 0;
}

static size_t all_combinations(const struct tuning_space *space, struct tuning_setting *settings)
{
    size_t count = (size_t)combinations(space);
    for (size_t i = 0; i < count; i++) {
        size_t rest = i;
        for (size_t d = 0; d < TUNING_DIMENSIONS; d++) {
            settings[i].values[d] = (uint32_t)(rest % space->counts[d]);
            rest /= space->counts[d];
        }
    }
    return count;
}

/* All values of one dimension, the others as in `best`; with `others_only` without the value that `best` has. */
static size_t one_dimension(const struct tuning_space *space, enum tuning_dimension dimension, const struct tuning_setting *best, bool others_only,
                            struct tuning_setting *settings)
{
    size_t count = 0;
    for (uint32_t value = 0; value < space->counts[dimension]; value++) {
        if (others_only && value == best->values[dimension])
            continue;
        settings[count] = *best;
        settings[count++].values[dimension] = value;
    }
    return count;
}

size_t tuning_stage(const struct tuning_space *space, uint32_t stage, const struct tuning_setting *best, struct tuning_setting *settings)
{
    if (tuning_is_exhaustive(space))
        return stage ? 0 : all_combinations(space, settings);
    const struct tuning_setting now = {{0}};
    bool changed = best->values[TUNING_FLAGS] || best->values[TUNING_SCHEDULE] || best->values[TUNING_BIND];
    switch (stage) {
    case 0: return one_dimension(space, TUNING_THREADS, &now, false, settings);
    case 1: return one_dimension(space, TUNING_SCHEDULE, best, true, settings);
    case 2: return one_dimension(space, TUNING_BIND, best, true, settings);
    case 3: return one_dimension(space, TUNING_FLAGS, best, true, settings);
    case 4: return changed ? one_dimension(space, TUNING_THREADS, best, true, settings) : 0;
    default: return 0;
    }
}

static uint32_t changes(const struct tuning_setting *setting)
{
    uint32_t count = 0;
    for (size_t i = 0; i < TUNING_DIMENSIONS; i++)
        count += i != TUNING_THREADS && setting->values[i];
    return count;
}

static bool simpler(const struct tuning_trial *a, const struct tuning_trial *b, const uint32_t *threads)
{
    uint32_t a_changes = changes(&a->setting), b_changes = changes(&b->setting);
    uint32_t a_threads = threads[a->setting.values[TUNING_THREADS]], b_threads = threads[b->setting.values[TUNING_THREADS]];
    if (a_changes != b_changes)
        return a_changes < b_changes;
    if (a_threads != b_threads)
        return a_threads < b_threads;
    return a->time_ns < b->time_ns;
}

const struct tuning_trial *tuning_best(const struct tuning_trial *trials, size_t count, const uint32_t *threads)
{
    uint64_t shortest_ns = UINT64_MAX;
    const struct tuning_trial *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (!trials[i].failed && trials[i].time_ns < shortest_ns)
            shortest_ns = trials[i].time_ns;
    for (size_t i = 0; i < count; i++) {
        bool near = !trials[i].failed && (double)trials[i].time_ns <= (1 + TUNING_ALIKE_RATIO) * (double)shortest_ns;
        if (near && (!best || simpler(&trials[i], best, threads)))
            best = &trials[i];
    }
    return best;
}

bool tuning_clearly_faster(const struct tuning_trial *trial, const struct tuning_trial *than)
{
    return trial->high_ns < than->low_ns;
}
