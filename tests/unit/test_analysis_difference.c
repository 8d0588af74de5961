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

/* Builds with other names for constructs. Constructs 0 and 1 of a sample have the ids 1 and 2. */

struct named { const char *name; uint64_t id; };

static struct profile *build(const struct sample_xu *xus, size_t xu_count, const struct named *list, size_t count)
{
    struct pcere_error error = {0};
    struct profile *profile = sample_profile("i", xus, xu_count);
    for (size_t i = 0; i < count; i++)
        CU_ASSERT_EQUAL(profile_add_name(profile, list[i].name, list[i].id, &error), PCERE_OK);
    return profile;
}

#define BUILD(xus, list) build(xus, sizeof(xus) / sizeof *(xus), list, sizeof(list) / sizeof *(list))

/* Frees both. With all differences: a pair is told by its counts. */
static struct difference compared(struct profile *a, struct profile *b)
{
    struct pcere_error error = {0};
    struct difference_side left = {&a, names, 1}, right = {&b, names + 1, 1};
    struct difference difference = {0};
    CU_ASSERT_EQUAL_FATAL(difference_make(&left, &right, DIFFERENCE_BY_CONSTRUCT, 100, &difference, &error), PCERE_OK);
    profile_free(a);
    profile_free(b);
    return difference;
}

static bool has_pair(const struct difference *difference, double a, double b)
{
    const struct difference_event *event = &difference->events[0];
    for (size_t i = 0; i < event->top_count; i++)
        if (event->top[i].a == a && event->top[i].b == b)
            return true;
    return false;
}

static void moved_lines_match_by_ids(void)
{
    const struct sample_xu before[] = {{"0.1@x.c:1.0", 0, 1, {10}}, {"0.1@x.c:1.5.1@x.c:2", 1, 2, {20}}, {"0.2@x.c:2", 1, 3, {30}}, {"0.3@x.c:2", 1, 4, {40}}};
    const struct sample_xu after[] = {{"0.1@x.c:2.0", 0, 1, {11}}, {"0.1@x.c:2.5.1@x.c:9", 1, 2, {21}}, {"0.2@x.c:9", 1, 3, {31}}, {"0.3@x.c:2", 0, 4, {99}}};
    const struct named old[] = {{"x.c:1", 1}, {"x.c:2", 2}}, new[] = {{"x.c:2", 1}, {"x.c:9", 2}};
    struct profile *b = BUILD(after, new);
    free(b->constructs[0].name);
    free(b->constructs[1].name);
    b->constructs[0].name = strdup("b@x.c:2");
    b->constructs[1].name = strdup("b@x.c:9");
    struct difference difference = compared(BUILD(before, old), b);
    CU_ASSERT(difference.by_ids && difference.renamed == 2);
    CU_ASSERT(difference.events[0].matched == 3 && difference.only_a == 1 && difference.only_b == 1);
    CU_ASSERT(has_pair(&difference, 10, 11) && has_pair(&difference, 20, 21) && has_pair(&difference, 30, 31));
    CU_ASSERT_EQUAL_FATAL(difference.group_count, 2);                   /* A's names, though 'b@x.c:2' is another construct in B */
    CU_ASSERT_STRING_EQUAL(difference.groups[0].name, "a@x.c:1");
    CU_ASSERT(difference.groups[0].a_sums[0] == 10 && difference.groups[0].b_sums[0] == 110);
    CU_ASSERT_STRING_EQUAL(difference.groups[1].name, "b@x.c:2");
    CU_ASSERT(difference.groups[1].a_sums[0] == 90 && difference.groups[1].b_sums[0] == 52);
    difference_done(&difference);
}

/* Constructs 1 and 2 share a line with -g. Their XUs have one label there where order is forced. */
static void constructs_of_one_line_stay_apart(void)
{
    const struct sample_xu lines[] = {{"0.0.0@x.c:1", 0, 1, {10}}, {"0.0.0@x.c:1", 1, 2, {20}}, {"0.1@x.c:1.4", 0, 3, {30}}, {"0.2@x.c:1.4", 1, 4, {40}},
                                      {"0.2@x.c:1.4.1@x.c:7", 1, 5, {50}}};
    const struct sample_xu ids[] = {{"0.0.0@pcere:1", 0, 2, {11}}, {"0.0.0@pcere:2", 1, 1, {21}}, {"0.1@pcere:1.4", 0, 3, {31}}, {"0.2@pcere:2.4", 1, 4, {41}},
                                    {"0.2@pcere:2.4.1@pcere:7", 1, 5, {51}}};
    const struct named shared[] = {{"x.c:1", 1}, {"x.c:1", 2}, {"x.c:7", 7}}, own[] = {{"pcere:1", 1}, {"pcere:2", 2}, {"pcere:7", 7}};
    for (int turn = 0; turn < 2; turn++) {
        struct profile *a = BUILD(lines, shared), *b = BUILD(ids, own);
        struct difference difference = compared(turn ? b : a, turn ? a : b);
        CU_ASSERT(difference.by_ids && difference.renamed == 3 && difference.events[0].matched == 5);
        for (double count = 10; count < 60; count += 10)
            CU_ASSERT(turn ? has_pair(&difference, count + 1, count) : has_pair(&difference, count, count + 1));
        difference_done(&difference);
    }
}

/* What lies in such XUs cannot be told apart with -g: no partner is better than a wrong one. */
static void what_a_line_hides_has_no_partner(void)
{
    const struct sample_xu lines[] = {{"0.0.0@x.c:1.1@x.c:7", 1, 1, {10}}, {"0.0.0@x.c:1.1@x.c:7", 1, 2, {20}}, {"0.1@x.c:7", 1, 3, {30}}};
    const struct sample_xu ids[] = {{"0.0.0@pcere:1.1@pcere:7", 1, 1, {11}}, {"0.0.0@pcere:2.1@pcere:7", 1, 2, {21}}, {"0.1@pcere:7", 1, 3, {31}}};
    const struct named shared[] = {{"x.c:1", 1}, {"x.c:1", 2}, {"x.c:7", 7}}, own[] = {{"pcere:1", 1}, {"pcere:2", 2}, {"pcere:7", 7}};
    struct difference difference = compared(BUILD(lines, shared), BUILD(ids, own));
    CU_ASSERT(difference.by_ids && difference.events[0].matched == 1 && difference.only_a == 2 && difference.only_b == 2);
    CU_ASSERT(has_pair(&difference, 30, 31));
    difference_done(&difference);
}

static void names_serve_where_ids_do_not(void)
{
    const struct sample_xu xus[] = {{"0.1@x.c:1", 0, 1, {10}}, {"0.2@x.c:2", 1, 2, {20}}}, more[] = {{"0.1@x.c:1", 0, 1, {11}}, {"0.2@x.c:2", 1, 2, {21}}};
    const struct named known[] = {{"x.c:1", 1}, {"x.c:2", 2}}, other_folder[] = {{"x.c:1", 3}, {"x.c:2", 4}}, without[] = {{"x.c:1", 0}, {"x.c:2", 0}};
    const struct named part[] = {{"x.c:1", 0}, {"x.c:3", 2}};
    const struct { const struct named *list; size_t count, matched; bool by_ids; } cases[] = {
        {known, 2, 2, false}, {other_folder, 2, 2, false}, {without, 2, 2, false}, {NULL, 0, 2, false}, {part, 2, 1, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct difference difference = compared(BUILD(xus, known), build(more, 2, cases[i].list, cases[i].count));
        CU_ASSERT(difference.by_ids == cases[i].by_ids && difference.events[0].matched == cases[i].matched);
        CU_ASSERT(has_pair(&difference, 10, 11));                       /* in `part`: by its name, beside one that ids tell */
        difference_done(&difference);
    }
}

static void another_construct_on_the_line_is_none_of_before(void)
{
    const struct sample_xu before[] = {{"0.1@x.c:1", 0, 1, {10}}, {"0.2@x.c:2", 1, 2, {20}}}, after[] = {{"0.1@x.c:1", 0, 1, {11}}, {"0.2@x.c:2", 1, 2, {21}}};
    const struct named old[] = {{"x.c:1", 1}, {"x.c:2", 2}}, new[] = {{"x.c:1", 1}, {"x.c:2", 8}};
    struct difference difference = compared(BUILD(before, old), BUILD(after, new));
    CU_ASSERT(difference.by_ids && difference.renamed == 0 && difference.events[0].matched == 1 && has_pair(&difference, 10, 11));
    difference_done(&difference);
}

static void cut_labels_and_hashes_match_as_they_are(void)
{
    const struct named old[] = {{"x.c:1", 1}}, new[] = {{"x.c:2", 1}};
    const struct sample_xu before[] = {{"0.1@x.c:1~00112233445566778899aabbccddeeff", 0, 1, {10}}, {"0.2@x.c:1.~3", 0, 2, {20}}};
    const struct sample_xu after[] = {{"0.1@x.c:1~00112233445566778899aabbccddeeff", 0, 1, {11}}, {"0.2@x.c:2.~3", 0, 2, {21}}};
    struct difference difference = compared(BUILD(before, old), BUILD(after, new));
    CU_ASSERT(difference.by_ids && difference.events[0].matched == 2 && has_pair(&difference, 20, 21));
    difference_done(&difference);
    struct profile *hashed[2];
    for (uint64_t side = 0; side < 2; side++) {
        struct pcere_error error = {0};
        const struct profile_xu xu = {.hash = {.high = 5, .low = 7}, .cpu = PROFILE_NO_CPU, .counts = (uint64_t[]){10 + side}};
        hashed[side] = build(NULL, 0, side ? new : old, 1);
        CU_ASSERT_EQUAL(profile_add_xu(hashed[side], &xu, &error), PCERE_OK);
    }
    difference = compared(hashed[0], hashed[1]);
    CU_ASSERT(!difference.by_ids && difference.events[0].matched == 1 && has_pair(&difference, 10, 11));
    difference_done(&difference);
}

static const struct unit_test tests[] = {
    {"where lines moved, labels match by ids, and a line's new construct is not the old one", moved_lines_match_by_ids},
    {"two constructs of one line find their own in a build without lines", constructs_of_one_line_stay_apart},
    {"what only lines would pair has no partner", what_a_line_hides_has_no_partner},
    {"without common ids, and for constructs without one, names match", names_serve_where_ids_do_not},
    {"a construct that replaced another on its line is not compared with it", another_construct_on_the_line_is_none_of_before},
    {"labels that were cut, and hashes, match as they are", cut_labels_and_hashes_match_as_they_are},
    {"confidence is how rarely chance orders two sides", confidence_by_hand},
    {"exact counts that differ are sure, and sums are over all XUs", exact_counts_are_sure},
    {"sums by NUMA node follow the processors", groups_by_node},
    {"sides are repeats of one run with an event in common", repeats_must_be_repeats},
};

UNIT_MAIN("differences of profiles", tests)
