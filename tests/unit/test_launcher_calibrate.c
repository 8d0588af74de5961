/* tests/unit/test_launcher_calibrate.c - which warm-up is expected, what is tried, and what is taken. */
#include "replay-rt/launcher/calibrate.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

static const struct calibrate_subject usual = {.invocations = 400, .representative = 5, .members = 400, .in_vivo_ns = 1000000, .memory_bytes = 8 << 20,
                                               .predecessors = 2};

static enum warmup_kind expected(struct calibrate_subject subject)
{
    const char *reason = NULL;
    enum warmup_kind kind = calibrate_expect(&subject, &reason);
    CU_ASSERT(reason && *reason);
    return kind;
}

static struct calibrate_trial trial(enum warmup_kind kind, double time_ns, double spread_ratio)
{
    return (struct calibrate_trial){.kind = kind, .done = true, .time_ns = time_ns, .spread_ratio = spread_ratio};
}

static void names_lead_back_to_kinds(void)
{
    for (enum warmup_kind kind = WARMUP_PLAIN; kind < WARMUP_KINDS; kind++)
        CU_ASSERT_EQUAL(warmup_kind_of(warmup_name(kind)), kind);
    CU_ASSERT_EQUAL(warmup_kind_of("auto"), WARMUP_KINDS);
    CU_ASSERT_EQUAL(warmup_kind_of("4"), WARMUP_KINDS);
}

static void a_small_region_is_expected_hot(void)
{
    CU_ASSERT_EQUAL(expected(usual), WARMUP_PLAIN);
}

static void a_region_that_ran_seldom_is_expected_as_in_the_paper(void)
{
    struct calibrate_subject subject = usual;
    subject.invocations = 4;
    CU_ASSERT_EQUAL(expected(subject), WARMUP_HISTORY);
    subject = usual;
    subject.representative = 1;
    subject.members = 4;
    CU_ASSERT_EQUAL(expected(subject), WARMUP_HISTORY);
    subject.members = 5;              /* of which four at least ran behind others */
    CU_ASSERT_EQUAL(expected(subject), WARMUP_PLAIN);
}

static void first_touches_above_five_percent_are_expected_to_fault(void)
{
    struct calibrate_subject subject = usual;
    subject.first_touches = 33;               /* 49.5 us of 1 ms */
    CU_ASSERT_EQUAL(expected(subject), WARMUP_PLAIN);
    subject.first_touches = 34;
    CU_ASSERT_EQUAL(expected(subject), WARMUP_FAULTING);
}

static void much_memory_after_another_region_is_expected_preceded(void)
{
    struct calibrate_subject subject = usual;
    subject.memory_bytes = CALIBRATE_BIG_BYTES;
    CU_ASSERT_EQUAL(expected(subject), WARMUP_PRECEDED);
    subject.after_itself = true;
    CU_ASSERT_EQUAL(expected(subject), WARMUP_PLAIN);
    subject.after_itself = false;
    subject.predecessors = 0;
    CU_ASSERT_EQUAL(expected(subject), WARMUP_PLAIN);
}

static void the_reference_is_the_median_of_members_that_are_alike(void)
{
    const struct store_class alike = {.members = 100, .time_ns = 100200, .time_ns_median = 990, .representative_ns = 1000};
    CU_ASSERT_EQUAL(calibrate_reference_ns(&alike), 990);
    const struct store_class changing = {.members = 100, .time_ns = 150000, .time_ns_median = 1400, .representative_ns = 1000};
    CU_ASSERT_EQUAL(calibrate_reference_ns(&changing), 1000);
    const struct store_class few = {.members = 2, .time_ns = 2000, .time_ns_median = 1001, .representative_ns = 1003};
    CU_ASSERT_EQUAL(calibrate_reference_ns(&few), 1003);
}

static void the_noise_has_a_floor_and_grows_with_the_spread(void)
{
    struct calibrate_trial steady = trial(WARMUP_PLAIN, 1e6, 0), spread = trial(WARMUP_PLAIN, 1e6, 0.12);
    CU_ASSERT_DOUBLE_EQUAL(calibrate_noise_ratio(&steady, 400), 0.05, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(calibrate_noise_ratio(&steady, 4), 0.08, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(calibrate_noise_ratio(&spread, 400), 0.13, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(calibrate_residual_ratio(&(struct calibrate_trial){.time_ns = 9e5}, 1000000), -0.1, 1e-12);
}

static void nothing_else_is_tried_where_the_expected_one_is_near(void)
{
    enum warmup_kind next = WARMUP_KINDS;
    const struct calibrate_trial near[] = {trial(WARMUP_PLAIN, 975000, 0.001)};
    CU_ASSERT_FALSE(calibrate_next(&usual, near, 1, &next));
    CU_ASSERT_EQUAL(calibrate_choose(&usual, near, 1), 0);
}

static void too_fast_leads_to_colder_ones_in_order(void)
{
    enum warmup_kind next = WARMUP_KINDS;
    struct calibrate_trial trials[] = {trial(WARMUP_PLAIN, 680000, 0), trial(WARMUP_PRECEDED, 750000, 0), trial(WARMUP_FAULTING, 700000, 0),
                                       trial(WARMUP_DISPLACED, 710000, 0), trial(WARMUP_NONE, 2000000, 0)};
    CU_ASSERT_TRUE(calibrate_next(&usual, trials, 1, &next));
    CU_ASSERT_EQUAL(next, WARMUP_PRECEDED);
    CU_ASSERT_TRUE(calibrate_next(&usual, trials, 2, &next));
    CU_ASSERT_EQUAL(next, WARMUP_DISPLACED);                           /* it touches nothing first */
    struct calibrate_subject faults = usual;
    faults.first_touches = 3;
    CU_ASSERT_TRUE(calibrate_next(&faults, trials, 2, &next));
    CU_ASSERT_EQUAL(next, WARMUP_FAULTING);
    CU_ASSERT_TRUE(calibrate_next(&faults, trials, 3, &next));
    CU_ASSERT_EQUAL(next, WARMUP_DISPLACED);
    CU_ASSERT_FALSE(calibrate_next(&faults, trials, 5, &next));
    struct calibrate_subject first = usual;
    first.predecessors = 0;
    CU_ASSERT_TRUE(calibrate_next(&first, trials, 1, &next));
    CU_ASSERT_EQUAL(next, WARMUP_DISPLACED);
    struct calibrate_subject behind_itself = usual;
    behind_itself.after_itself = true;
    CU_ASSERT_TRUE(calibrate_next(&behind_itself, trials, 1, &next));   /* with other data, since with these it runs so in plain runs */
    CU_ASSERT_EQUAL(next, WARMUP_DISPLACED);
    behind_itself.in_vivo_ns = CALIBRATE_REFILL_NS;
    struct calibrate_trial long_one = trial(WARMUP_PLAIN, CALIBRATE_REFILL_NS / 1.3, 0);
    CU_ASSERT_FALSE(calibrate_next(&behind_itself, &long_one, 1, &next));
    trials[1].time_ns = 1010000;
    CU_ASSERT_FALSE(calibrate_next(&usual, trials, 2, &next));
}

/* A factor of 1.5 and more: what predicts branches may have learnt the data. */
static void much_too_fast_leads_to_fresh_processes(void)
{
    enum warmup_kind next = WARMUP_KINDS;
    struct calibrate_trial trials[] = {trial(WARMUP_PLAIN, 300000, 0), trial(WARMUP_PRECEDED, 310000, 0), trial(WARMUP_DISPLACED, 320000, 0), trial(WARMUP_NONE, 950000, 0)};
    CU_ASSERT_TRUE(calibrate_next(&usual, trials, 3, &next));
    CU_ASSERT_EQUAL(next, WARMUP_NONE);
    CU_ASSERT_FALSE(calibrate_next(&usual, trials, 4, &next));
    CU_ASSERT_EQUAL(calibrate_choose(&usual, trials, 4), 3);
    trials[1].time_ns = 680000;       /* not so far */
    CU_ASSERT_FALSE(calibrate_next(&usual, trials, 3, &next));
    trials[0].time_ns = 3000000;
    trials[1].time_ns = trials[2].time_ns = 3100000;
    CU_ASSERT_FALSE(calibrate_next(&usual, trials, 3, &next));         /* nor where it is too slow */
}

static void too_slow_leads_to_warmer_ones(void)
{
    enum warmup_kind next = WARMUP_KINDS;
    const struct calibrate_trial trials[] = {trial(WARMUP_HISTORY, 1500000, 0), trial(WARMUP_PLAIN, 1400000, 0)};
    CU_ASSERT_TRUE(calibrate_next(&usual, trials, 1, &next));
    CU_ASSERT_EQUAL(next, WARMUP_PLAIN);
    CU_ASSERT_TRUE(calibrate_next(&usual, trials, 2, &next));
    CU_ASSERT_EQUAL(next, WARMUP_PRECEDED);
}

static void a_hot_policy_that_is_far_off_gives_way_to_a_nearer_one(void)
{
    const struct calibrate_trial trials[] = {trial(WARMUP_PLAIN, 680000, 0.01), trial(WARMUP_PRECEDED, 960000, 0.01)};
    CU_ASSERT_EQUAL(calibrate_choose(&usual, trials, 2), 1);
}

static void what_is_nearer_by_less_than_the_noise_changes_nothing(void)
{
    const struct calibrate_trial close[] = {trial(WARMUP_PLAIN, 940000, 0), trial(WARMUP_PRECEDED, 960000, 0)};
    CU_ASSERT_EQUAL(calibrate_choose(&usual, close, 2), 0);
    const struct calibrate_trial noisy[] = {trial(WARMUP_PLAIN, 800000, 0.01), trial(WARMUP_PRECEDED, 1000000, 0.3)};
    CU_ASSERT_EQUAL(calibrate_choose(&usual, noisy, 2), 0);
    const struct calibrate_trial farther[] = {trial(WARMUP_PLAIN, 900000, 0), trial(WARMUP_NONE, 1500000, 0)};
    CU_ASSERT_EQUAL(calibrate_choose(&usual, farther, 2), 0);
}

static void one_that_could_not_run_is_not_taken(void)
{
    struct calibrate_trial trials[] = {trial(WARMUP_PLAIN, 500000, 0), {.kind = WARMUP_PRECEDED}, trial(WARMUP_NONE, 900000, 0)};
    CU_ASSERT_EQUAL(calibrate_choose(&usual, trials, 3), 2);
    CU_ASSERT_EQUAL(calibrate_choose(&usual, trials, 2), 0);
}

static void without_a_time_in_vivo_the_expected_one_stays(void)
{
    struct calibrate_subject subject = usual;
    enum warmup_kind next = WARMUP_KINDS;
    subject.in_vivo_ns = 0;
    const struct calibrate_trial trials[] = {trial(WARMUP_PLAIN, 500000, 0), trial(WARMUP_PRECEDED, 900000, 0)};
    CU_ASSERT_FALSE(calibrate_next(&subject, trials, 1, &next));
    CU_ASSERT_EQUAL(calibrate_choose(&subject, trials, 2), 0);
}

/* fw.c:13: 22 us in the program, 205 behind emptied caches, 20 behind itself. All three took 66 us, of which a twentieth pays for nothing. */
static void what_ran_seldom_and_is_much_too_cold_is_tried_once_warmer(void)
{
    struct calibrate_subject subject = {.invocations = 3, .representative = 1, .members = 3, .in_vivo_ns = 22000};
    struct calibrate_trial trials[2] = {trial(WARMUP_HISTORY, 205000, 0.02), trial(WARMUP_PLAIN, 20000, 0.02)};
    enum warmup_kind kind;
    trials[0].cost_ns = trials[1].cost_ns = 6000000;
    CU_ASSERT_TRUE(calibrate_may_try(&subject, trials, 1, 0, 3300));
    CU_ASSERT_TRUE(calibrate_next(&subject, trials, 1, &kind) && kind == WARMUP_PLAIN);
    CU_ASSERT_FALSE(calibrate_may_try(&subject, trials, 2, 6000000, 3300));
    CU_ASSERT_EQUAL(calibrate_choose(&subject, trials, 2), 1);
    trials[1].time_ns = 2000;
    CU_ASSERT_EQUAL(calibrate_choose(&subject, trials, 2), 0);       /* farther off than cold */
    trials[0].time_ns = 30000;
    CU_ASSERT_FALSE(calibrate_may_try(&subject, trials, 1, 0, 3300));        /* 1.36: it may be the program's own */
    trials[0] = trial(WARMUP_HISTORY, 205000, 0.02);
    trials[0].cost_ns = CALIBRATE_COLD_NS + 1;
    CU_ASSERT_FALSE(calibrate_may_try(&subject, trials, 1, 0, 3300));
    CU_ASSERT_TRUE(calibrate_may_try(&subject, trials, 1, 0, 30000000));      /* what the class itself pays for */
    trials[0].cost_ns = 6000000;
    subject.invocations = 5;
    CU_ASSERT_TRUE(calibrate_may_try(&subject, trials, 1, 0, 3300));
    subject.representative = 2;       /* it found what the first one left */
    CU_ASSERT_FALSE(calibrate_may_try(&subject, trials, 1, 0, 3300));
}

static const struct unit_test tests[] = {
    {"names lead back to kinds", names_lead_back_to_kinds},
    {"a small region is expected hot", a_small_region_is_expected_hot},
    {"a region that ran seldom is expected as in the paper", a_region_that_ran_seldom_is_expected_as_in_the_paper},
    {"first touches above five percent are expected to fault", first_touches_above_five_percent_are_expected_to_fault},
    {"much memory after another region is expected preceded", much_memory_after_another_region_is_expected_preceded},
    {"the reference is the median of members that are alike", the_reference_is_the_median_of_members_that_are_alike},
    {"the noise has a floor and grows with the spread", the_noise_has_a_floor_and_grows_with_the_spread},
    {"nothing else is tried where the expected one is near", nothing_else_is_tried_where_the_expected_one_is_near},
    {"too fast leads to colder ones in order", too_fast_leads_to_colder_ones_in_order},
    {"what is much too fast is tried in fresh processes", much_too_fast_leads_to_fresh_processes},
    {"too slow leads to warmer ones", too_slow_leads_to_warmer_ones},
    {"a hot policy that is far off gives way to a nearer one", a_hot_policy_that_is_far_off_gives_way_to_a_nearer_one},
    {"what is nearer by less than the noise changes nothing", what_is_nearer_by_less_than_the_noise_changes_nothing},
    {"what ran a few times, much faster than from emptied caches, is tried once warmer", what_ran_seldom_and_is_much_too_cold_is_tried_once_warmer},
    {"one that could not run is not taken", one_that_could_not_run_is_not_taken},
    {"without a time in vivo the expected one stays", without_a_time_in_vivo_the_expected_one_stays},
};

UNIT_MAIN("launcher: calibrate", tests)
