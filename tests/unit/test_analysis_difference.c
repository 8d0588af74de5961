/* tests/unit/test_analysis_difference.c - two profiles by label: pairs, confidence, groups. */
#include "analysis/difference.h"
#include "tests/unit/profile_sample.h"

#include <math.h>
#include <stdlib.h>

static const char *const names[] = {"A1", "A2", "A3", "A4"};

static void confidence_by_hand(void)
{
    const double low[] = {1, 2}, high[] = {3, 4}, touching[] = {2, 5};
    CU_ASSERT_DOUBLE_EQUAL(difference_confidence(true, low, 1, high, 1), 1, 0);
    CU_ASSERT_DOUBLE_EQUAL(difference_confidence(true, low, 2, touching, 1), 0, 0);
    CU_ASSERT(isnan(difference_confidence(false, low, 1, high, 1)));
    CU_ASSERT_DOUBLE_EQUAL(difference_confidence(false, low, 3, high, 3), 1 - 2.0 / 20, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(difference_confidence(false, high, 4, low, 4), 1 - 2.0 / 70, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(difference_confidence(false, low, 4, touching, 4), 0, 0);
}

static void exact_counts_are_sure(void)
{
    const struct sample_xu before[] = {{"0/1", 0, 1, {10, 5}}, {"0/2", 0, 2, {20, 5}}, {"0/3", 1, 3, {30, 5}}};
    const struct sample_xu after[] = {{"0/2", 0, 2, {25, 5}}, {"0/3", 1, 3, {10, 5}}, {"0/4", 1, 4, {7, 5}}};
    struct pcere_error error = {0};
    struct profile *a = SAMPLE("i l", before), *b = SAMPLE("i l", after);
    struct difference_side left = {&a, names, 1}, right = {&b, names + 1, 1};
    struct difference difference;
    CU_ASSERT_EQUAL_FATAL(difference_make(&left, &right, DIFFERENCE_BY_CONSTRUCT, 1, &difference, &error), PCERE_OK);
    CU_ASSERT(difference.only_a == 1 && difference.only_b == 1 && difference.event_count == 2);
    const struct difference_event *i = &difference.events[0];
    CU_ASSERT(i->matched == 2 && i->changed == 2 && i->sure == 2 && i->top_count == 1);
    CU_ASSERT(i->a_sum == 60 && i->b_sum == 42 && i->expected_by_chance == 0);
    CU_ASSERT(i->top[0].a == 30 && i->top[0].b == 10 && i->top[0].a_row == 2 && i->top[0].b_row == 1);
    CU_ASSERT_EQUAL(difference.events[1].changed, 0);
    CU_ASSERT_EQUAL_FATAL(difference.group_count, 2);
    CU_ASSERT_STRING_EQUAL(difference.groups[0].name, "a@x.c:1");       /* 30 and 25, and 30 and 17: in the order of names then */
    CU_ASSERT(difference.groups[0].a_sums[0] == 30 && difference.groups[0].b_sums[0] == 25 && difference.groups[1].b_xus == 2);
    difference_done(&difference);
    profile_free(a);
    profile_free(b);
}

static void groups_by_node(void)
{
    const struct sample_xu xus[] = {{"0/1", 0, 1, {10}}, {"0/2", 0, 2, {20}}, {"0/3", 1, 3, {30}}};
    struct pcere_error error = {0};
    struct profile *a = SAMPLE("i", xus);
    a->nodes = calloc(2, sizeof *a->nodes);
    a->node_count = 2;
    a->nodes[1] = 4;
    a->cpu[0] = 0;
    a->cpu[1] = 1;
    struct difference_side side = {&a, names, 1};
    struct difference difference;
    CU_ASSERT_EQUAL_FATAL(difference_make(&side, &side, DIFFERENCE_BY_NODE, 5, &difference, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(difference.group_count, 3);
    CU_ASSERT_STRING_EQUAL(difference.groups[0].name, "unknown");
    CU_ASSERT_STRING_EQUAL(difference.groups[1].name, "node 4");
    CU_ASSERT_STRING_EQUAL(difference.groups[2].name, "node 0");
    CU_ASSERT_EQUAL(difference.groups[1].a_sums[0], 20);
    difference_done(&difference);
    profile_free(a);
}

static void repeats_must_be_repeats(void)
{
    const struct sample_xu xus[] = {{"0/1", 0, 1, {10}}};
    struct pcere_error error = {0};
    struct profile *a[] = {SAMPLE("i", xus), SAMPLE("i", xus)}, *other = SAMPLE("s", xus);
    a[1]->runs[0].threads = 3;
    struct difference_side two = {a, names, 2}, one = {a, names, 1}, none = {a, names, 0}, apart = {&other, names + 2, 1};
    struct difference difference;
    CU_ASSERT_EQUAL(difference_make(&two, &one, DIFFERENCE_BY_THREAD, 1, &difference, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "2 and 3 threads"));
    CU_ASSERT_EQUAL(difference_make(&one, &none, DIFFERENCE_BY_THREAD, 1, &difference, &error), PCERE_USAGE);
    CU_ASSERT_EQUAL(difference_make(&one, &apart, DIFFERENCE_BY_THREAD, 1, &difference, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no event in common"));
    profile_free(a[0]);
    profile_free(a[1]);
    profile_free(other);
}

static const struct unit_test tests[] = {
    {"confidence is how rarely chance orders two sides", confidence_by_hand},
    {"exact counts that differ are sure, and sums are over all XUs", exact_counts_are_sure},
    {"sums by NUMA node follow the processors", groups_by_node},
    {"sides are repeats of one run with an event in common", repeats_must_be_repeats},
};

UNIT_MAIN("differences of profiles", tests)
