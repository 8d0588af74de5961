/* tests/unit/test_analysis_combine.c - the strategies, on examples worked by hand. */
#include "analysis/combine.h"
#include "analysis/matching.h"
#include "predictor/random.h"
#include "tests/unit/profile_sample.h"

#include <math.h>
#include <stdlib.h>

static const char *const names[] = {"A", "B", "C"};

static struct profile *combined(struct profile **profiles, size_t count, struct combine_options options)
{
    struct pcere_error error = {0};
    struct profile *result = NULL;
    enum pcere_status status = combine_profiles(profiles, names, count, &options, &result, &error);
    if (status != PCERE_OK)
        puts(error.message);
    CU_ASSERT_EQUAL_FATAL(status, PCERE_OK);
    CU_ASSERT_EQUAL(profile_check(result, "the result", &error), PCERE_OK);
    return result;
}

static void expect_row(const struct profile *profile, size_t row, const char *label, uint64_t first, uint64_t second)
{
    char digits[33];
    CU_ASSERT_FATAL(row < profile->count);
    CU_ASSERT_STRING_EQUAL(profile_label_text(profile, row, digits), label);
    CU_ASSERT_EQUAL(profile->counts[0][row], first);
    CU_ASSERT_EQUAL(profile->counts[1][row], second);
}

static void all_free(struct profile **profiles, size_t count, struct profile *result)
{
    for (size_t i = 0; i < count; i++)
        profile_free(profiles[i]);
    profile_free(result);
}

/* Type a begins at 10, 20, 30 as 0/2, 0/3, 0/1 in the first run, and as 0/1, 0/2 in the second: 0/2 with 0/1, 0/3 with 0/2, and 0/1 is left. Type b has
 * 0/9 in both, which begins at 5 and at 1, and 0/10 in the second alone. */
static const struct sample_xu first_i[] = {{"0/1", 0, 30, {1}}, {"0/2", 0, 10, {2}}, {"0/3", 0, 20, {3}}, {"0/9", 1, 5, {4}}};
static const struct sample_xu second_l[] = {{"0/1", 0, 10, {10}}, {"0/2", 0, 20, {20}}, {"0/9", 1, 1, {40}}, {"0/10", 1, 2, {50}}};

static void ctc_by_hand(void)
{
    struct profile *profiles[] = {SAMPLE("i", first_i), SAMPLE("l", second_l)};
    struct profile *result = combined(profiles, 2, (struct combine_options){.strategy = COMBINE_CTC});
    CU_ASSERT_EQUAL(result->count, 3);
    expect_row(result, 0, "0/2", 2, 10);
    expect_row(result, 1, "0/3", 3, 20);
    expect_row(result, 2, "0/9", 4, 40);
    CU_ASSERT_EQUAL(result->events[0].run, 0);
    CU_ASSERT_EQUAL(result->events[1].run, 1);
    CU_ASSERT_EQUAL(result->sources[1][0], 0);
    CU_ASSERT_EQUAL_FATAL(result->dropped_count, 2);
    CU_ASSERT(result->dropped[0].run == 0 && result->dropped[0].construct == 0 && result->dropped[0].xus == 1);
    CU_ASSERT(result->dropped[1].run == 1 && result->dropped[1].construct == 1 && result->dropped[1].xus == 1);
    all_free(profiles, 2, result);
}

/* Labels in both: 0/1, 0/2, 0/9. */
static void lgl_by_hand(void)
{
    struct profile *profiles[] = {SAMPLE("i", first_i), SAMPLE("l", second_l)};
    struct profile *result = combined(profiles, 2, (struct combine_options){.strategy = COMBINE_LGL});
    CU_ASSERT_EQUAL(result->count, 3);
    expect_row(result, 0, "0/1", 1, 10);
    expect_row(result, 1, "0/2", 2, 20);
    expect_row(result, 2, "0/9", 4, 40);
    CU_ASSERT_EQUAL(result->dropped_count, 2);
    all_free(profiles, 2, result);
}

/* Twice the same label: the earlier with the earlier. */
static void lgl_equal_labels(void)
{
    const struct sample_xu a[] = {{"0/1", 0, 20, {2}}, {"0/1", 0, 10, {1}}, {"0/2", 0, 1, {9}}}, b[] = {{"0/1", 0, 7, {70}}, {"0/1", 0, 8, {80}}, {"0/1", 0, 9, {90}}};
    struct profile *profiles[] = {SAMPLE("i", a), SAMPLE("l", b)};
    struct profile *result = combined(profiles, 2, (struct combine_options){.strategy = COMBINE_LGL});
    CU_ASSERT_EQUAL(result->count, 2);
    expect_row(result, 0, "0/1", 1, 70);
    expect_row(result, 1, "0/1", 2, 80);
    all_free(profiles, 2, result);
}

/* c lies in 0 to 10. With d = 2 the cells are below 5 and from 5 on: {0/1, 0/2} of the first with {0/2, 0/3, 0/4} of the second, by labels 0/1 with 0/2 and 0/2 with
 * 0/3; {0/3, 0/4} with {0/1}: 0/3 with 0/1. What is left is paired with d = 1: 0/4 with 0/4. */
static const struct sample_xu first_ci[] = {{"0/1", 0, 1, {0, 1}}, {"0/2", 0, 2, {4, 2}}, {"0/3", 0, 3, {10, 3}}, {"0/4", 0, 4, {9, 4}}};
static const struct sample_xu second_cl[] = {{"0/1", 0, 1, {8, 10}}, {"0/2", 0, 2, {1, 20}}, {"0/3", 0, 3, {2, 30}}, {"0/4", 0, 4, {3, 40}}};

static void bc_by_hand(void)
{
    struct profile *profiles[] = {SAMPLE("c i", first_ci), SAMPLE("c l", second_cl)};
    struct profile *result = combined(profiles, 2, (struct combine_options){.strategy = COMBINE_BC, .divisions = 2});
    const uint64_t expected[] = {20, 30, 10, 40};
    CU_ASSERT_EQUAL_FATAL(result->count, 4);
    CU_ASSERT_EQUAL_FATAL(result->event_count, 3);
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(result->counts[0][i], first_ci[i].counts[0]);
        CU_ASSERT_EQUAL(result->counts[1][i], first_ci[i].counts[1]);
        CU_ASSERT_EQUAL(result->counts[2][i], expected[i]);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(result->low[0]);
    CU_ASSERT_PTR_NULL(result->low[1]);
    CU_ASSERT(result->low[0][0] == 0 && result->high[0][0] == 1);
    CU_ASSERT(result->low[0][2] == 8 && result->high[0][2] == 10);
    CU_ASSERT_EQUAL(result->dropped_count, 0);
    all_free(profiles, 2, result);
}

static void bc_one_division_pairs_all(void)
{
    struct profile *profiles[] = {SAMPLE("c i", first_ci), SAMPLE("c l", second_cl)};
    struct profile *result = combined(profiles, 2, (struct combine_options){.strategy = COMBINE_BC, .divisions = 1});
    CU_ASSERT_EQUAL_FATAL(result->count, 4);
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(result->counts[2][i], 10 * (i + 1));
    all_free(profiles, 2, result);
}

/* The third run is joined by l, which only the second has: its grid is over the derived XUs' l of 20, 30, 10, 40. With d = 3 the cells end at 20 and 30:
 * 0/3 (10), 0/1 (20), {0/2 (30), 0/4 (40)} with 0/7 (12), 0/6 (21), {0/5 (38), 0/8 (31)}. */
static void bc_goes_on_with_what_was_combined(void)
{
    const struct sample_xu third[] = {{"0/5", 0, 1, {38, 5}}, {"0/6", 0, 2, {21, 6}}, {"0/7", 0, 3, {12, 7}}, {"0/8", 0, 4, {31, 8}}};
    struct profile *profiles[] = {SAMPLE("c i", first_ci), SAMPLE("c l", second_cl), SAMPLE("l s", third)};
    struct profile *result = combined(profiles, 2, (struct combine_options){.strategy = COMBINE_BC, .divisions = 2});
    profile_free(result);
    /* with d = 3 the first step changes, too: the cells of c end at 3.33 and 6.67. {0/1} with {0/2, 0/3, 0/4}: 0/2; {0/2} with none; {0/3, 0/4} with {0/1}:
     * 0/3 with 0/1. Then d = 2: {0/2} with {0/3, 0/4}: 0/3. Then d = 1: 0/4 with 0/4. So l is 20, 30, 10, 40 again. */
    result = combined(profiles, 3, (struct combine_options){.strategy = COMBINE_BC, .divisions = 3});
    const uint64_t l[] = {20, 30, 10, 40}, s[] = {6, 5, 7, 8};
    CU_ASSERT_EQUAL_FATAL(result->count, 4);
    for (size_t i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(result->counts[2][i], l[i]);
        CU_ASSERT_EQUAL(result->counts[3][i], s[i]);
    }
    CU_ASSERT_EQUAL(result->events[3].run, 2);
    all_free(profiles, 3, result);
}

static void bc_needs_an_overlap(void)
{
    struct pcere_error error = {0};
    struct profile *profiles[] = {SAMPLE("i", first_i), SAMPLE("l", second_l)}, *result;
    struct combine_options options = {.strategy = COMBINE_BC};
    CU_ASSERT_EQUAL(combine_profiles(profiles, names, 2, &options, &result, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "B shares no event"));
    CU_ASSERT(error.hint[0]);
    all_free(profiles, 2, NULL);
}

/* Cells as in bc_by_hand: which of a cell is paired is random, but never over cells while both have XUs. */
static void unlabeled_pairs_within_cells(void)
{
    bool other = false;
    uint64_t before[4] = {0};
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct profile *profiles[] = {SAMPLE("c i", first_ci), SAMPLE("c l", second_cl)};
        struct combine_options options = {.strategy = COMBINE_BC_UNLABELED, .divisions = 2, .seed = seed};
        struct profile *result = combined(profiles, 2, options), *again = combined(profiles, 2, options);
        CU_ASSERT_EQUAL_FATAL(result->count, 4);
        CU_ASSERT_EQUAL(memcmp(result->counts[2], again->counts[2], 4 * sizeof(uint64_t)), 0);
        CU_ASSERT(result->counts[2][0] != 10 && result->counts[2][1] != 10);
        CU_ASSERT(result->counts[2][2] == 10 || result->counts[2][3] == 10);
        other = other || (seed && memcmp(before, result->counts[2], sizeof before) != 0);
        memcpy(before, result->counts[2], sizeof before);
        profile_free(again);
        all_free(profiles, 2, result);
    }
    CU_ASSERT_TRUE(other);
}

/* c of 0, 5, 10 with 5, 10, 1 and 40: 0 with 1, 5 with 5, 10 with 10 costs 1 in all, and 40 is left. */
static void assignment_by_hand(void)
{
    const struct sample_xu a[] = {{"0/1", 0, 1, {0, 1}}, {"0/2", 0, 2, {5, 2}}, {"0/3", 0, 3, {10, 3}}};
    const struct sample_xu b[] = {{"0/1", 0, 1, {5, 10}}, {"0/2", 0, 2, {10, 20}}, {"0/3", 0, 3, {1, 30}}, {"0/4", 0, 4, {40, 40}}};
    struct profile *profiles[] = {SAMPLE("c i", a), SAMPLE("c l", b)};
    struct profile *result = combined(profiles, 2, (struct combine_options){.strategy = COMBINE_ASSIGNMENT});
    CU_ASSERT_EQUAL_FATAL(result->count, 3);
    CU_ASSERT(result->counts[2][0] == 30 && result->counts[2][1] == 10 && result->counts[2][2] == 20);
    CU_ASSERT_EQUAL(result->dropped_count, 1);
    all_free(profiles, 2, result);
}

static double cost_of(const struct matching_side *a, const struct matching_side *b, const uint32_t *partner)
{
    double cost = 0;
    for (size_t i = 0; i < a->count; i++)
        if (partner[i] != UINT32_MAX)
            cost += hypot(a->values[0][i] - b->values[0][partner[i]], a->values[1][i] - b->values[1][partner[i]]);
    return cost;
}

static double least_cost(const struct matching_side *a, const struct matching_side *b, size_t at, unsigned used)
{
    double least = at == a->count ? 0 : INFINITY;
    for (size_t j = 0; j < b->count && at < a->count; j++)
        if (!(used >> j & 1)) {
            double cost = hypot(a->values[0][at] - b->values[0][j], a->values[1][at] - b->values[1][j]) + least_cost(a, b, at + 1, used | 1u << j);
            least = cost < least ? cost : least;
        }
    return least;
}

static void assignments_are_the_cheapest(void)
{
    uint64_t state = 5;
    for (int turn = 0; turn < 100; turn++) {
        double values[4][7];
        struct matching_side a = {.count = 2 + random_below(&state, 4), .values = (double *[]){values[0], values[1]}};
        struct matching_side b = {.count = a.count + random_below(&state, 2), .values = (double *[]){values[2], values[3]}};
        for (size_t i = 0; i < 28; i++)
            values[i / 7][i % 7] = (double)random_below(&state, 1000) / 1000;
        uint32_t partner[7];
        struct pcere_error error = {0};
        CU_ASSERT_EQUAL_FATAL(matching_assign(&a, &b, 2, partner, &error), PCERE_OK);
        CU_ASSERT_DOUBLE_EQUAL(cost_of(&a, &b, partner), least_cost(&a, &b, 0, 0), 1e-6);
    }
}

/* In one dimension the best pairs are those of equal rank: they are found over blocks, too. */
static void large_assignments_pair_all(void)
{
    enum { COUNT = 3000 };
    double *values = malloc(2 * COUNT * sizeof *values);
    uint64_t state = 9;
    for (size_t i = 0; i < COUNT; i++) {
        values[i] = (double)i / (double)COUNT;
        values[COUNT + i] = values[i];
    }
    for (size_t i = COUNT; i > 1; i--) {
        size_t j = random_below(&state, i);
        double swap = values[COUNT + i - 1];
        values[COUNT + i - 1] = values[COUNT + j];
        values[COUNT + j] = swap;
    }
    struct matching_side a = {.count = COUNT, .values = (double *[]){values}}, b = {.count = COUNT, .values = (double *[]){values + COUNT}};
    uint32_t *partner = malloc(COUNT * sizeof *partner);
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(matching_assign(&a, &b, 1, partner, &error), PCERE_OK);
    for (size_t i = 0; i < COUNT; i++)
        CU_ASSERT_DOUBLE_EQUAL(values[COUNT + partner[i]], values[i], 0);
    b.count = 7;
    size_t pairs = 0;
    CU_ASSERT_EQUAL_FATAL(matching_assign(&a, &b, 1, partner, &error), PCERE_OK);
    for (size_t i = 0; i < COUNT; i++)
        pairs += partner[i] != UINT32_MAX;
    CU_ASSERT_EQUAL(pairs, 7);
    free(values);
    free(partner);
}

static void what_does_not_belong_is_refused(void)
{
    struct pcere_error error = {0};
    struct profile *profiles[] = {SAMPLE("i", first_i), SAMPLE("l", second_l)}, *result = NULL;
    struct combine_options options = {.strategy = COMBINE_LGL};
    CU_ASSERT_EQUAL(combine_profiles(profiles, names, 1, &options, &result, &error), PCERE_USAGE);
    profiles[1]->runs[0].build_id[0] = 'f';
    CU_ASSERT_EQUAL(combine_profiles(profiles, names, 2, &options, &result, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "different programs"));
    struct profile *empty[] = {profiles[0], sample_profile("l", NULL, 0)};
    CU_ASSERT_EQUAL(combine_profiles(empty, names, 2, &options, &result, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "B has no XUs"));
    profile_free(empty[1]);
    const struct sample_xu others[] = {{"1/1", 0, 1, {1}}};
    empty[1] = SAMPLE("l", others);
    CU_ASSERT_EQUAL(combine_profiles(empty, names, 2, &options, &result, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "nothing could be combined"));
    profile_free(empty[1]);
    CU_ASSERT_PTR_NULL(result);
    all_free(profiles, 2, NULL);
}

static const struct unit_test tests[] = {
    {"CTC pairs by type in order of start, and counts what is left", ctc_by_hand},
    {"LGL pairs equal labels", lgl_by_hand},
    {"LGL pairs labels that are there twice in order of start", lgl_equal_labels},
    {"BC pairs in cells by labels, then in larger cells", bc_by_hand},
    {"BC with one division pairs all", bc_one_division_pairs_all},
    {"BC goes on with what was combined", bc_goes_on_with_what_was_combined},
    {"BC without an overlap is refused", bc_needs_an_overlap},
    {"BC unlabeled pairs at random within cells, the same for the same seed", unlabeled_pairs_within_cells},
    {"an assignment pairs with the least sum of distances", assignment_by_hand},
    {"small assignments are as cheap as the cheapest of all", assignments_are_the_cheapest},
    {"large assignments pair equal ranks, and all of the smaller side", large_assignments_pair_all},
    {"what does not belong together is refused with the reason", what_does_not_belong_is_refused},
};

UNIT_MAIN("combining profiles", tests)
