/* tests/unit/test_launcher_doubt.c - which process is not believed, and what is left of two. */
#include "replay-rt/launcher/doubt.h"
#include "replay-rt/launcher/page_cost.h"
#include "tests/unit/unit.h"

#define SAMPLE(...) {.samples_ns = (uint64_t[]){__VA_ARGS__}, .sample_count = sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)}

static void shots_apart_by_more_than_a_third(void)
{
    struct store_sample near = SAMPLE(300, 399, 350), far = SAMPLE(300, 401, 350), none = {.sampled_ratio = 0.01};
    near.sampled_ratio = far.sampled_ratio = 0.01;
    CU_ASSERT_FALSE(doubt_found(&near, 0));
    CU_ASSERT_TRUE(doubt_found(&far, 0));
    CU_ASSERT_FALSE(doubt_found(&none, 100));
}

static void means_above_what_was_known(void)
{
    struct store_sample shots = SAMPLE(900, 1000, 1100), single = SAMPLE(1000), whole = SAMPLE(900, 2000);
    shots.sampled_ratio = 0.5;
    CU_ASSERT_FALSE(doubt_found(&shots, 1001));
    CU_ASSERT_TRUE(doubt_found(&shots, 999));
    CU_ASSERT_FALSE(doubt_found(&single, 0));
    CU_ASSERT_TRUE(doubt_found(&single, 999));
    CU_ASSERT_FALSE(doubt_found(&whole, 0));      /* its own repetitions tell, */
    CU_ASSERT_FALSE(doubt_found(&whole, 1000));
    CU_ASSERT_TRUE(doubt_found(&whole, 899));     /* but where all are longer */
}

static void what_is_known_holds_at_other_numbers_of_threads(void)
{
    CU_ASSERT_DOUBLE_EQUAL(doubt_most_ns(300, 1, 1), 400, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(doubt_most_ns(300, 1, 8), 300, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(doubt_most_ns(300, 4, 2), 800, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(doubt_most_ns(0, 1, 1), 0, 1e-9);
}

static void shots_that_do_not_stand_for_their_region(void)
{
    struct store_sample near = SAMPLE(980, 1000, 1020), apart = SAMPLE(700, 1000, 1300, 850, 1150, 600, 1400, 1000), whole = SAMPLE(100, 1900), pair = SAMPLE(960, 1040),
                        wild = SAMPLE(500, 1500);
    near.sampled_ratio = apart.sampled_ratio = pair.sampled_ratio = wild.sampled_ratio = 0.1;
    CU_ASSERT_PTR_NULL(doubt_of_shots(&near, 0, 0, 0.5));
    CU_ASSERT_PTR_NULL(doubt_of_shots(&near, 880, 0, 0.5));
    CU_ASSERT_PTR_NULL(doubt_of_shots(&near, 1170, 0, 0.5));
    CU_ASSERT_PTR_NOT_NULL(doubt_of_shots(&near, 860, 0, 0.5));      /* the program finds its data in the caches, */
    CU_ASSERT_PTR_NOT_NULL(doubt_of_shots(&near, 1200, 0, 0.5));     /* or the shots do */
    CU_ASSERT_PTR_NOT_NULL(doubt_of_shots(&apart, 0, 0, 0.5));
    CU_ASSERT_PTR_NOT_NULL(doubt_of_shots(&apart, 0, 0, 0.2));
    CU_ASSERT_PTR_NULL(doubt_of_shots(&apart, 0, 0, 0.15));     /* half of its interval is 19 %, which is less than 3 % of the program */
    CU_ASSERT_PTR_NULL(doubt_of_shots(&pair, 0, 0, 0.5));       /* two say next to nothing of how they scatter: that is taken to be usual */
    CU_ASSERT_PTR_NOT_NULL(doubt_of_shots(&wild, 0, 0, 0.01));
    CU_ASSERT_PTR_NULL(doubt_of_shots(&whole, 100, 0, 0.5));
    /* Nothing was compared with as many threads: what more of them can make of it at best. */
    CU_ASSERT_EQUAL(doubt_least_ns(3000, 1, 2), 1500);
    CU_ASSERT_EQUAL(doubt_least_ns(3000, 4, 8), 1500);
    CU_ASSERT_EQUAL(doubt_least_ns(3000, 4, 1), 3000);
    CU_ASSERT_PTR_NULL(doubt_of_shots(&near, 0, 1450, 0.5));
    CU_ASSERT_PTR_NOT_NULL(doubt_of_shots(&near, 0, 1550, 0.5));
    CU_ASSERT_FALSE(doubt_is_far(&near, 0, 1490));
    CU_ASSERT_TRUE(doubt_is_far(&near, 0, 1510));
    CU_ASSERT_FALSE(doubt_is_far(&near, 0, 0));
    CU_ASSERT_FALSE(doubt_is_far(&near, 670, 0));
    CU_ASSERT_TRUE(doubt_is_far(&near, 660, 0));
    CU_ASSERT_FALSE(doubt_is_far(&near, 1490, 0));
    CU_ASSERT_TRUE(doubt_is_far(&near, 1510, 0));
    CU_ASSERT_FALSE(doubt_is_far(&whole, 100, 0));
}

static void a_whole_replay_is_a_small_part_of_its_class(void)
{
    CU_ASSERT_TRUE(doubt_pays(3000, 100, 0, PAGE_COST_USUAL_NS, 0));
    CU_ASSERT_FALSE(doubt_pays(2900, 100, 0, PAGE_COST_USUAL_NS, 0));
    CU_ASSERT_FALSE(doubt_pays(100, 100, 0, PAGE_COST_USUAL_NS, 0));                /* a single invocation */
    CU_ASSERT_TRUE(doubt_pays(40000000, 1000000, 1000, PAGE_COST_USUAL_NS, 0));
    CU_ASSERT_FALSE(doubt_pays(40000000, 1000000, 1001, PAGE_COST_USUAL_NS, 0));    /* pages cost, too */
    CU_ASSERT_FALSE(doubt_pays(UINT64_MAX, UINT64_MAX, UINT64_MAX, PAGE_COST_USUAL_NS, 0));
}

/* resid of MG, class W: 6.6 ms and 4200 pages, 72 ms in all of 0.26 s. Shots came out at 4.2, 8.1 and 56 ms. */
static void a_whole_replay_in_a_short_program_need_be_no_small_part(void)
{
    CU_ASSERT_TRUE(doubt_pays(72000000, 6600000, 4200, PAGE_COST_USUAL_NS, 262000000));
    CU_ASSERT_FALSE(doubt_pays(72000000, 6600000, 4200, PAGE_COST_USUAL_NS, 2000000000));
    CU_ASSERT_FALSE(doubt_pays(72000000, 6600000, 4200, PAGE_COST_USUAL_NS, 0));
    CU_ASSERT_FALSE(doubt_pays(19000000, 19000000, 4200, PAGE_COST_USUAL_NS, 262000000));     /* longer than what processes take anyway */
    CU_ASSERT_TRUE(doubt_pays(900000000, 20000000, 4200, PAGE_COST_USUAL_NS, 950000000));      /* a small part of it */
    CU_ASSERT_FALSE(doubt_pays(UINT64_MAX, UINT64_MAX, UINT64_MAX, PAGE_COST_USUAL_NS, 1));
}

static void the_faster_of_two_processes_is_left(void)
{
    uint64_t ns[] = {500, 510, 520, 300, 310}, cpu[] = {1, 2, 3, 4, 5}, switches[] = {6, 7, 8, 9, 10}, waits[] = {1, 1, 1, 2, 3}, counts[] = {3, 2};
    struct store_sample sample = {.samples_ns = ns, .sample_count = 5, .cpu_ns = cpu, .switches = switches, .waits_ns = waits, .process_counts = counts, .process_count = 2};
    doubt_settle(&sample);
    CU_ASSERT_EQUAL(sample.sample_count, 2);
    CU_ASSERT_EQUAL(sample.process_count, 1);
    CU_ASSERT_EQUAL(sample.process_counts[0], 2);
    CU_ASSERT_TRUE(ns[0] == 300 && ns[1] == 310 && cpu[0] == 4 && cpu[1] == 5 && switches[0] == 9 && switches[1] == 10 && waits[0] == 2 && waits[1] == 3);
    uint64_t other_ns[] = {300, 310, 500, 510, 520}, other_counts[] = {2, 3};
    sample = (struct store_sample){.samples_ns = other_ns, .sample_count = 5, .process_counts = other_counts, .process_count = 2};
    doubt_settle(&sample);
    CU_ASSERT_TRUE(sample.sample_count == 2 && sample.process_count == 1 && other_ns[0] == 300 && other_ns[1] == 310 && other_counts[0] == 2);
    doubt_settle(&sample);
    CU_ASSERT_EQUAL(sample.sample_count, 2);
}

/* MG's first zero3: 82.9 ms in the program, 52.5 by shots, 52.8 whole; its norm2u3: 23.5 by shots, 32.3 whole. */
static void shots_are_believed_that_a_whole_replay_confirms(void)
{
    uint64_t ns[] = {52600000, 52300000}, apart[] = {20000000, 85000000};
    const struct store_sample shots = {.samples_ns = ns, .sample_count = 2, .sampled_ratio = 0.02}, far_apart = {.samples_ns = apart, .sample_count = 2, .sampled_ratio = 0.02};
    CU_ASSERT_TRUE(doubt_whole_agrees(&shots, 52.8e6, 0.1));
    CU_ASSERT_FALSE(doubt_whole_agrees(&shots, 82.9e6, 0.1));
    CU_ASSERT_FALSE(doubt_whole_agrees(&shots, 40e6, 0.1));
    CU_ASSERT_FALSE(doubt_whole_agrees(&shots, 0, 0.1));
    CU_ASSERT_FALSE(doubt_whole_agrees(&far_apart, 52.5e6, 0.1));        /* their mean says nothing */
}

/* Two classes of one region that a slow minute of the capture parted. */
static void shots_are_believed_by_a_sibling(void)
{
    static struct store_class classes[2], others[1];
    static const struct store_region region = {.classes = classes, .class_count = 2}, other = {.classes = others, .class_count = 1};
    const struct replay_target fast = {.region = &region, .class = &classes[0]}, slow = {.region = &region, .class = &classes[1]}, stranger = {.region = &other, .class = others};
    const struct replay_whole wholes[] = {{&fast, 1, 12.5e6}, {&slow, 2, 7e6}, {&stranger, 1, 16e6}};
    CU_ASSERT_TRUE(doubt_sibling_agrees(wholes, 3, &slow, 1, 12.0e6));
    CU_ASSERT_TRUE(doubt_sibling_agrees(wholes, 3, &slow, 1, 13.5e6));
    CU_ASSERT_FALSE(doubt_sibling_agrees(wholes, 3, &slow, 1, 16e6));
    CU_ASSERT_FALSE(doubt_sibling_agrees(wholes, 3, &slow, 1, 11e6));
    CU_ASSERT_FALSE(doubt_sibling_agrees(wholes, 3, &slow, 2, 7e6));      /* itself */
    CU_ASSERT_FALSE(doubt_sibling_agrees(wholes, 3, &fast, 4, 7e6));
    CU_ASSERT_FALSE(doubt_sibling_agrees(NULL, 0, &slow, 1, 12.0e6));
}

static const struct unit_test tests[] = {
    {"shots that take what another class of the region took whole are believed", shots_are_believed_by_a_sibling},
    {"and so are those that take what their own whole replay took", shots_are_believed_that_a_whole_replay_confirms},
    {"shots that lie more than a third apart are doubted", shots_apart_by_more_than_a_third},
    {"so are shots, and a single run, that take longer than is known", means_above_what_was_known},
    {"what is known at one number of threads bounds the others", what_is_known_holds_at_other_numbers_of_threads},
    {"of two processes the faster one is left", the_faster_of_two_processes_is_left},
    {"shots that lie apart, or are not near the time in vivo, do not stand for their region", shots_that_do_not_stand_for_their_region},
    {"a whole replay pays where it is a small part of what the class took", a_whole_replay_is_a_small_part_of_its_class},
    {"in a short program a whole replay may be more than a small part of its class", a_whole_replay_in_a_short_program_need_be_no_small_part},
};

UNIT_MAIN("launcher: doubt", tests)
