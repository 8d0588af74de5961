/* tests/unit/test_replay_repeats.c - which timed runs were disturbed, and when there were enough. */
#include "replay-rt/target/repeats.c"
#include "tests/unit/unit.h"

#include <string.h>

enum { STEPS = 2, FULL = 5000, PROCESSORS = 2 };

static struct { struct replay_plan plan; struct plan_step steps[STEPS]; } file;
static struct codelet codelet = {.plan = &file.plan};

const void *pcere_plan_table(const struct replay_plan *plan, const struct plan_table *table)
{
    (void)plan, (void)table;
    return file.steps;
}

bool pcere_processors_suffice(uint32_t threads) { return threads <= PROCESSORS; }
uint32_t pcere_processors_of(uint32_t threads) { return threads < PROCESSORS ? threads : PROCESSORS; }
bool pcere_speed_is_slow(uint32_t work_ns) { return work_ns > FULL; }

static bool foreign_known;
static uint64_t foreign_ns, longest_ns;

bool pcere_waits_for_others(const struct team_waits *before, uint64_t *ret_ns, uint64_t *ret_longest_ns)
{
    (void)before;
    *ret_ns = foreign_known ? foreign_ns : *ret_ns;
    *ret_longest_ns = foreign_known ? longest_ns : *ret_longest_ns;
    return foreign_known;
}

/* All at the same time. */
uint64_t pcere_waits_at_once(uint64_t sum_ns, uint64_t most_ns, uint64_t wall_ns)
{
    (void)sum_ns, (void)wall_ns;
    return most_ns;
}

/* A tour of three regions that are timed; nothing was yet. */
static void tour_begin(uint32_t threads)
{
    memset(&file, 0, sizeof file);
    file.plan.steps.count = STEPS;
    file.steps[0].timed = file.steps[1].timed = 1;
    file.plan.result.threads = threads;
}

static void step_timed(size_t step, uint64_t time_ns, uint32_t switches, uint32_t work_ns)
{
    struct plan_step_samples *samples = &file.plan.result.steps[step];
    samples->works_ns[samples->count] = work_ns;
    samples->switches[samples->count] = switches;
    samples->samples_ns[samples->count++] = time_ns;
}

static void own_timed(uint64_t time_ns, uint32_t switches)
{
    file.plan.result.switches[file.plan.result.sample_count] = switches;
    file.plan.result.samples_ns[file.plan.result.sample_count++] = time_ns;
}

/* All disturbed. */
static void walk(uint64_t first_ns, uint64_t second_ns, uint64_t own_ns)
{
    step_timed(0, first_ns, 1, 0);
    step_timed(1, second_ns, 1, 0);
    own_timed(own_ns, 1);
}

static void a_crowd_that_has_all_processors_is_not_disturbed(void)
{
    uint64_t lost_ns;
    bool tells;
    CU_ASSERT_FALSE(pcere_crowd_is_disturbed(4, 10000, 20000, NULL, &lost_ns, &tells));
    CU_ASSERT_FALSE(pcere_crowd_is_disturbed(4, 10000, 20100, NULL, &lost_ns, &tells));   /* clocks are read one after the other */
    CU_ASSERT_EQUAL(lost_ns, 0);
    CU_ASSERT_FALSE(pcere_crowd_is_disturbed(4, 10000, 19200, NULL, &lost_ns, &tells));
    CU_ASSERT_TRUE(pcere_crowd_is_disturbed(4, 10000, 19199, NULL, &lost_ns, &tells));
    CU_ASSERT_TRUE(pcere_crowd_is_disturbed(4, 10000, 13000, NULL, &lost_ns, &tells));
    CU_ASSERT_EQUAL(lost_ns, 7000);
    CU_ASSERT_FALSE(tells);                                                 /* threads may have slept */
}

/* Eight threads, one of whose processors somebody else shares for 5.75 s: threads of the other one are ready after 3.9 s and sleep. */
static void in_a_long_run_waiting_tells_sleep_from_disturbance(void)
{
    const struct team_waits waits = {.count = 8};
    uint64_t lost_ns;
    bool tells;
    foreign_known = true, foreign_ns = longest_ns = 1880000000;
    CU_ASSERT_TRUE(pcere_crowd_is_disturbed(8, 5750000000, 7730000000, &waits, &lost_ns, &tells));
    CU_ASSERT_TRUE(tells);
    CU_ASSERT_EQUAL(lost_ns, 1880000000);
    foreign_ns = 100000000;                                                 /* they slept, and nothing else was the matter */
    CU_ASSERT_FALSE(pcere_crowd_is_disturbed(8, 5750000000, 7730000000, &waits, &lost_ns, &tells));
    CU_ASSERT_TRUE(tells);
    CU_ASSERT_TRUE(pcere_crowd_is_disturbed(8, 50000000, 77300000, &waits, &lost_ns, &tells));      /* too short for what the kernel counts */
    CU_ASSERT_FALSE(tells);
    foreign_known = false;
    CU_ASSERT_TRUE(pcere_crowd_is_disturbed(8, 5750000000, 7730000000, &waits, &lost_ns, &tells));
    CU_ASSERT_FALSE(tells);
    CU_ASSERT_FALSE(pcere_crowd_is_disturbed(8, 5750000000, 11400000000, &waits, &lost_ns, &tells));
    CU_ASSERT_TRUE(tells);
}

/* Sixteen equal pieces, 250 ms of work, beside programs that use both processors: 409 ms, of which the team's processors lacked 283 each. */
static void in_a_long_run_processors_that_lack_at_once_are_lost_once(void)
{
    const struct team_waits waits = {.count = 4};
    uint64_t lost_ns;
    bool tells;
    foreign_known = true, foreign_ns = 566000000, longest_ns = 284000000;
    CU_ASSERT_TRUE(pcere_crowd_is_disturbed(4, 409000000, 252000000, &waits, &lost_ns, &tells));
    CU_ASSERT_EQUAL(lost_ns, 284000000);
    foreign_ns = longest_ns = 700000000;                                    /* the kernel counts a little beyond the run */
    CU_ASSERT_TRUE(pcere_crowd_is_disturbed(4, 409000000, 252000000, &waits, &lost_ns, &tells));
    CU_ASSERT_EQUAL(lost_ns, 566000000);                                    /* no more than the team lacked */
}

static void runs_agree_that_differ_by_little(void)
{
    CU_ASSERT_TRUE(times_agree(1000, 1030));
    CU_ASSERT_TRUE(times_agree(1030, 1000));
    CU_ASSERT_FALSE(times_agree(1000, 1031));
}

static void each_region_needs_a_run_at_full_speed(void)
{
    tour_begin(2);
    CU_ASSERT_TRUE(pcere_steps_are_fast(&codelet));              /* none was timed */
    step_timed(0, 1000, 0, FULL);
    step_timed(1, 1000, 0, FULL + 1);
    CU_ASSERT_FALSE(pcere_steps_are_fast(&codelet));
    step_timed(1, 1000, 0, FULL);
    CU_ASSERT_TRUE(pcere_steps_are_fast(&codelet));
}

static void one_run_is_enough_that_nothing_disturbed(void)
{
    tour_begin(4);
    step_timed(1, 9000, 0, 0);
    own_timed(9000, 0);
    CU_ASSERT_FALSE(pcere_repeats_settle(&codelet));             /* the first one was not timed in the first walk */
    step_timed(0, 9000, 0, FULL + 1);
    CU_ASSERT_FALSE(pcere_repeats_settle(&codelet));             /* and then on a slow processor */
    step_timed(0, 9500, 0, FULL);
    CU_ASSERT_TRUE(pcere_repeats_settle(&codelet));
}

static void what_is_held_up_for_a_moment_settles(void)
{
    tour_begin(2);
    walk(10000, 9000, 9100);
    file.plan.result.waits_ns[0] = file.plan.result.steps[0].waits_ns[0] = file.plan.result.steps[1].waits_ns[0] = 450;
    CU_ASSERT_TRUE(pcere_repeats_settle(&codelet));
    file.plan.result.steps[1].waits_ns[0] = 451;
    CU_ASSERT_FALSE(pcere_repeats_settle(&codelet));
}

static void else_two_must_agree(void)
{
    for (uint32_t threads = 2; threads <= 4; threads += 2) {
        tour_begin(threads);
        walk(10000, 9000, 9100);
        CU_ASSERT_FALSE(pcere_repeats_settle(&codelet));
        walk(18000, 9100, 9000);
        CU_ASSERT_FALSE(pcere_repeats_settle(&codelet));         /* the first region's do not */
        walk(18100, 18000, 17000);
        CU_ASSERT_TRUE(pcere_repeats_settle(&codelet));
    }
}

static void a_walk_is_fast_that_took_what_it_should(void)
{
    tour_begin(1);
    step_timed(1, 9000, 0, 0);
    own_timed(8000, 0);
    file.plan.policy.walk_ns = 27000;
    file.plan.policy.walk_first_ns = 10000;
    CU_ASSERT_TRUE(pcere_walk_is_fast(&codelet));
    file.plan.result.samples_ns[0] = 8001;
    CU_ASSERT_FALSE(pcere_walk_is_fast(&codelet));
    step_timed(0, 9999, 0, 0);                                   /* where the first one counts, so does what it should take */
    CU_ASSERT_TRUE(pcere_walk_is_fast(&codelet));
    file.plan.result.steps[0].samples_ns[0] = 10000;
    CU_ASSERT_FALSE(pcere_walk_is_fast(&codelet));
    file.plan.policy.walk_ns = file.plan.policy.walk_first_ns = 0;
}

static void there_is_an_end(void)
{
    tour_begin(4);
    own_timed(9000, 0);
    for (uint64_t i = 0; i < SETTLED_RUNS; i++) {
        CU_ASSERT_FALSE(pcere_repeats_settle(&codelet));
        walk(10000u << i, 9000u << i, 9000);
    }
    CU_ASSERT_TRUE(pcere_repeats_settle(&codelet));
}

static void what_weighs_nothing_need_not_agree(void)
{
    tour_begin(4);
    walk(100, 9000, 9000);
    walk(400, 9000, 9000);
    CU_ASSERT_TRUE(pcere_repeats_settle(&codelet));
    file.steps[1].timed = 0;                                     /* nor what is only run */
    file.plan.result.steps[1].count = 0;
    CU_ASSERT_TRUE(pcere_repeats_settle(&codelet));
}

static void one_thread_needs_no_other_run(void)
{
    tour_begin(1);
    walk(10000, 9000, 18000);
    CU_ASSERT_TRUE(pcere_repeats_settle(&codelet));
}

/* A sparse product of 36 us in the program, behind its second run: by its three timed runs it was 67. */
static void what_still_gets_faster_falls(void)
{
    CU_ASSERT_TRUE(pcere_repeats_fall((const uint64_t[]){84000, 67000, 56000}, 3));
    CU_ASSERT_TRUE(pcere_repeats_fall((const uint64_t[]){41000, 84000, 67000, 56000}, 4));
    CU_ASSERT_FALSE(pcere_repeats_fall((const uint64_t[]){84000, 67000, 56000, 55000}, 4));
    CU_ASSERT_FALSE(pcere_repeats_fall((const uint64_t[]){40500, 40000, 39500}, 3));       /* no more than runs differ by */
    CU_ASSERT_FALSE(pcere_repeats_fall((const uint64_t[]){84000, 67000}, 2));
    CU_ASSERT_FALSE(pcere_repeats_fall(NULL, 0));
}

/* SP on a machine whose last-level cache holds all that it uses: tzetar 1.4 ms in the program and in later walks, 2.0 in the first. */
static void a_first_walk_that_took_longer_goes(void)
{
    const struct plan_result *result = &file.plan.result;
    tour_begin(1);
    step_timed(1, 2000000, 1, 7);
    own_timed(12000000, 1);
    CU_ASSERT_FALSE(pcere_walk_first_drop(&codelet));            /* one walk alone tells nothing */
    step_timed(0, 300000, 0, 8);
    step_timed(1, 1400000, 0, 9);
    own_timed(10400000, 0);
    CU_ASSERT_TRUE(pcere_walk_first_drop(&codelet));
    CU_ASSERT_EQUAL(result->sample_count, 1);
    CU_ASSERT_EQUAL(result->samples_ns[0], 10400000);
    CU_ASSERT_EQUAL(result->switches[0], 0);
    CU_ASSERT_EQUAL(result->warmups, 1);
    CU_ASSERT_EQUAL(result->steps[1].count, 1);
    CU_ASSERT_EQUAL(result->steps[1].samples_ns[0], 1400000);
    CU_ASSERT_EQUAL(result->steps[1].works_ns[0], 9);
    CU_ASSERT_EQUAL(result->steps[0].count, 1);                  /* that did not count in the first walk */
    CU_ASSERT_EQUAL(result->steps[0].samples_ns[0], 300000);

    tour_begin(1);
    walk(100000, 1400000, 10400000);
    walk(900000, 1420000, 10600000);                             /* what is left is less than walks differ by */
    CU_ASSERT_FALSE(pcere_walk_first_drop(&codelet));
    walk(100000, 1400000, 9800000);                              /* the second one was disturbed: the third tells */
    CU_ASSERT_TRUE(pcere_walk_first_drop(&codelet));
    CU_ASSERT_EQUAL(result->sample_count, 2);
    CU_ASSERT_EQUAL(result->samples_ns[1], 9800000);
}

static void a_slow_beginning_goes(void)
{
    struct plan_result *result = &file.plan.result;
    static const uint64_t filling[] = {133, 48, 39, 35, 33, 27, 30, 24, 24, 29}, disturbed[] = {20, 133, 19, 20, 21, 18, 20}, few[] = {80, 28, 30, 29, 31};
    tour_begin(1);
    for (size_t i = 0; i < sizeof filling / sizeof *filling; i++)
        walk(1000, 1000, filling[i] * 1000 - 2000);
    pcere_slow_begin_drop(&codelet);
    CU_ASSERT_EQUAL(result->sample_count, 6);
    CU_ASSERT_EQUAL(result->samples_ns[0], 31000);               /* the next one took less than 1.25 times what those behind it took */
    CU_ASSERT_EQUAL(result->steps[1].count, 6);
    CU_ASSERT_EQUAL(result->warmups, 4);

    tour_begin(1);
    for (size_t i = 0; i < sizeof disturbed / sizeof *disturbed; i++)
        walk(0, 0, disturbed[i] * 1000);
    pcere_slow_begin_drop(&codelet);
    CU_ASSERT_EQUAL(result->sample_count, 7);                    /* it did not begin so */

    tour_begin(1);
    for (size_t i = 0; i < sizeof few / sizeof *few; i++)
        walk(0, 0, few[i] * 1000);
    pcere_slow_begin_drop(&codelet);
    CU_ASSERT_EQUAL(result->sample_count, 5);                    /* too few to tell */

    tour_begin(1);
    for (uint64_t i = 0; i < 10; i++)
        walk(0, 0, i < 7 ? 50000 : 20000);
    pcere_slow_begin_drop(&codelet);
    CU_ASSERT_EQUAL(result->sample_count, 5);                    /* half of them stays */
}

static const struct unit_test tests[] = {
    {"runs at the beginning that took longer than later ones go", a_slow_beginning_goes},
    {"a first walk that took longer than another one goes", a_first_walk_that_took_longer_goes},
    {"runs that still get faster are told", what_still_gets_faster_falls},
    {"in a long run threads that sleep are told from others' work", in_a_long_run_waiting_tells_sleep_from_disturbance},
    {"in a long run processors that lack at the same time are lost once", in_a_long_run_processors_that_lack_at_once_are_lost_once},
    {"more threads than processors that had these all the time were not disturbed", a_crowd_that_has_all_processors_is_not_disturbed},
    {"two runs agree that differ by little", runs_agree_that_differ_by_little},
    {"each region that is timed needs a run at full speed", each_region_needs_a_run_at_full_speed},
    {"one run is enough that nothing disturbed", one_run_is_enough_that_nothing_disturbed},
    {"what was held up for a moment alone is not made anew", what_is_held_up_for_a_moment_settles},
    {"of disturbed ones two must agree, of each region", else_two_must_agree},
    {"a walk is fast that took no longer than it should", a_walk_is_fast_that_took_what_it_should},
    {"after some runs it is enough", there_is_an_end},
    {"what weighs next to nothing need not agree", what_weighs_nothing_need_not_agree},
    {"one thread needs no other run, since its own time is known", one_thread_needs_no_other_run},
};

UNIT_MAIN("replay: repeats", tests)
