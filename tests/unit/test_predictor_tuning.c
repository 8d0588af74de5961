/* tests/unit/test_predictor_tuning.c - the search finds the best of made-up times, with few trials, and prefers what changes less. */
#include "predictor/tuning.h"
#include "tests/unit/unit.h"

static const uint32_t threads[] = {1, 2, 4, 8};

/* Runs the search as tune does; returns the number of trials. */
static size_t search(const struct tuning_space *space, uint64_t (*time_of)(const struct tuning_setting *), struct tuning_trial *trials, const struct tuning_trial **ret_best)
{
    struct tuning_setting settings[64];
    const struct tuning_setting now = {{0}};
    size_t count = 0;
    *ret_best = NULL;
    for (uint32_t stage = 0; stage < tuning_stages(space); stage++) {
        size_t wanted = tuning_stage(space, stage, *ret_best ? &(*ret_best)->setting : &now, settings);
        CU_ASSERT_TRUE(wanted <= tuning_stage_most(space));
        for (size_t i = 0; i < wanted; i++) {
            bool known = false;
            for (size_t j = 0; j < count; j++)
                known = known || tuning_same(&trials[j].setting, &settings[i]);
            uint64_t time_ns = time_of(&settings[i]);
            if (!known)
                trials[count++] = (struct tuning_trial){settings[i], time_ns, time_ns - time_ns / 50, time_ns + time_ns / 50, time_ns == 0};
        }
        *ret_best = tuning_best(trials, count, threads);
    }
    return count;
}

static uint64_t separable(const struct tuning_setting *s)
{
    static const uint64_t by_threads[] = {1000, 600, 400, 500}, by_flags[] = {100, 90, 120, 50, 99}, by_bind[] = {100, 110};
    return by_threads[s->values[TUNING_THREADS]] * by_flags[s->values[TUNING_FLAGS]] * by_bind[s->values[TUNING_BIND]];
}

static void test_coordinates_find_what_is_separable(void)
{
    const struct tuning_space space = {{4, 5, 1, 2}};
    struct tuning_trial trials[64];
    const struct tuning_trial *best;
    CU_ASSERT_FALSE(tuning_is_exhaustive(&space));
    CU_ASSERT_TRUE(search(&space, separable, trials, &best) <= 4 + 4 + 0 + 1 + 3);
    CU_ASSERT_EQUAL(best->setting.values[TUNING_THREADS], 2);
    CU_ASSERT_EQUAL(best->setting.values[TUNING_FLAGS], 3);
    CU_ASSERT_EQUAL(best->setting.values[TUNING_BIND], 0);
}

/* Faster code needs fewer threads: found because thread counts are tried again. */
static uint64_t coupled(const struct tuning_setting *s)
{
    static const uint64_t plain[] = {1000, 600, 400, 350}, fast[] = {300, 200, 250, 300};
    return s->values[TUNING_FLAGS] == 1 ? fast[s->values[TUNING_THREADS]] : plain[s->values[TUNING_THREADS]] + 10 * s->values[TUNING_FLAGS];
}

static void test_threads_are_tried_again(void)
{
    const struct tuning_space space = {{4, 4, 1, 1}};
    struct tuning_trial trials[64];
    const struct tuning_trial *best;
    search(&space, coupled, trials, &best);
    CU_ASSERT_EQUAL(best->setting.values[TUNING_FLAGS], 1);
    CU_ASSERT_EQUAL(best->setting.values[TUNING_THREADS], 1);
}

static void test_few_are_all_tried(void)
{
    const struct tuning_space space = {{4, 3, 1, 1}};
    struct tuning_trial trials[64];
    const struct tuning_trial *best;
    CU_ASSERT_TRUE(tuning_is_exhaustive(&space));
    CU_ASSERT_EQUAL(search(&space, coupled, trials, &best), 12);
    CU_ASSERT_EQUAL(best->time_ns, 200);
}

static void test_less_change_is_better(void)
{
    const struct tuning_trial trials[] = {
        {{{2, 1, 0, 0}}, 1000, 990, 1010, false}, {{{2, 0, 0, 0}}, 1008, 990, 1010, false}, {{{1, 0, 0, 0}}, 1009, 990, 1010, false},
        {{{0, 0, 0, 0}}, 1200, 1190, 1210, false}, {{{3, 0, 0, 0}}, 1, 1, 1, true},
    };
    CU_ASSERT_PTR_EQUAL(tuning_best(trials, 5, threads), &trials[2]);
    CU_ASSERT_PTR_EQUAL(tuning_best(trials, 1, threads), &trials[0]);
    CU_ASSERT_PTR_NULL(tuning_best(&trials[4], 1, threads));
    CU_ASSERT_PTR_NULL(tuning_best(NULL, 0, threads));
    CU_ASSERT_TRUE(tuning_clearly_faster(&trials[0], &trials[3]));
    CU_ASSERT_FALSE(tuning_clearly_faster(&trials[0], &trials[1]));
}

static const struct unit_test tests[] = {
    {"coordinates find the best where dimensions do not work against each other", test_coordinates_find_what_is_separable},
    {"thread counts are tried again with other flags", test_threads_are_tried_again},
    {"few combinations are all tried", test_few_are_all_tried},
    {"of equal times the one that changes less is taken, and none that failed", test_less_change_is_better},
};

UNIT_MAIN("predictor: tuning", tests)
