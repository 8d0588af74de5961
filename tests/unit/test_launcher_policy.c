/* tests/unit/test_launcher_policy.c - the rule of pcere.txt, section III-B b, and what --warmup and --repeat make of it. */
#include "core/host.h"
#include "replay-rt/launcher/page_cost.h"
#include "replay-rt/launcher/policy.h"

#include "tests/unit/unit.h"

#include <string.h>

static struct policy chosen_for(const char *warmup, uint32_t repeat, struct policy_subject subject)
{
    struct policy policy;
    memset(&policy, 0xee, sizeof policy);
    CU_ASSERT_EQUAL(policy_choose(warmup, repeat, &subject, &policy, NULL), PCERE_OK);
    return policy;
}

static struct policy chosen(const char *warmup, uint32_t repeat, uint64_t invocations, uint64_t members)
{
    return chosen_for(warmup, repeat, (struct policy_subject){invocations, invocations, members});
}

static void no_more_warm_ups_than_earlier_invocations(void)
{
    CU_ASSERT_EQUAL(chosen_for("auto", 0, (struct policy_subject){40, 3, 2}).plan.warmups, 2);
    CU_ASSERT_EQUAL(chosen_for("auto", 0, (struct policy_subject){40, 5, 2}).plan.warmups, 4);
    CU_ASSERT_EQUAL(chosen_for("auto", 0, (struct policy_subject){40, 40, 2}).plan.warmups, 4);
    struct policy first = chosen_for("auto", 0, (struct policy_subject){40, 1, 3});
    CU_ASSERT_EQUAL(first.plan.warmups, 0);
    CU_ASSERT_EQUAL(first.plan.learn, 0);
    CU_ASSERT_EQUAL(first.plan.repeat_most, 1);
    CU_ASSERT_EQUAL(chosen_for("7", 0, (struct policy_subject){40, 1, 3}).plan.warmups, 7);
    CU_ASSERT_EQUAL(chosen_for("auto", 0, (struct policy_subject){40, 1, 4}).plan.warmups, 0);
    CU_ASSERT_EQUAL(chosen_for("auto", 0, (struct policy_subject){40, 1, 5}).plan.warmups, 4);     /* what most of those had that it stands for */
}

static void five_invocations_are_warm(void)
{
    struct policy policy = chosen("auto", 0, 5, 2);
    CU_ASSERT_EQUAL(policy.plan.warmups, 4);
    CU_ASSERT_EQUAL(policy.plan.learn, 1);
    CU_ASSERT_EQUAL(policy.plan.repeat_least, 3);
    CU_ASSERT_EQUAL(policy.plan.repeat_most, 10);
}

static void four_invocations_are_cold(void)
{
    struct policy policy = chosen(NULL, 0, 4, 3);
    CU_ASSERT_EQUAL(policy.plan.warmups, 0);
    CU_ASSERT_EQUAL(policy.plan.learn, 0);
    CU_ASSERT_EQUAL(policy.plan.repeat_least, 3);
    CU_ASSERT_EQUAL(policy.plan.repeat_most, 3);
    policy = chosen("auto", 0, 1, 1);
    CU_ASSERT_EQUAL(policy.plan.repeat_most, 1);
    policy = chosen("auto", 2, 3, 3);
    CU_ASSERT_EQUAL(policy.plan.repeat_most, 2);
    CU_ASSERT_FALSE(policy_wants_more(&policy, 2, 1, 2, 1000, 1000000, 1));
}

static void none_takes_a_process_for_each_run(void)
{
    struct policy policy = chosen("none", 7, 1000, 900);
    CU_ASSERT_EQUAL(policy.plan.warmups, 0);
    CU_ASSERT_EQUAL(policy.plan.repeat_most, 1);
    uint32_t processes = 1;
    while (policy_wants_more(&policy, 7, processes, processes, 1000, 1000000, 1))
        processes++;
    CU_ASSERT_EQUAL(processes, 7);
    CU_ASSERT_EQUAL(chosen("0", 0, 1000, 900).plan.repeat_most, 1);
}

static void a_number_is_a_number_of_runs(void)
{
    CU_ASSERT_EQUAL(chosen("1", 0, 1, 1).plan.warmups, 1);
    CU_ASSERT_EQUAL(chosen("1", 0, 1, 1).plan.learn, 1);
    CU_ASSERT_EQUAL(chosen("25", 9, 1, 1).plan.warmups, 25);
    CU_ASSERT_EQUAL(chosen("25", 9, 1, 1).plan.repeat_least, 9);
    CU_ASSERT_EQUAL(chosen("25", 9, 1, 1).plan.repeat_most, 9);
    CU_ASSERT_EQUAL(chosen("plain", 0, 1, 1).plan.warmups, 2);
}

static void each_word_is_its_own_warm_up(void)
{
    CU_ASSERT_EQUAL(chosen("history", 0, 40, 20).plan.warmups, chosen("auto", 0, 40, 20).plan.warmups);
    CU_ASSERT_EQUAL(chosen("preceded", 0, 1, 1).plan.warmups, 2);
    CU_ASSERT_EQUAL(chosen("preceded", 0, 1, 1).plan.faulting, 0);
    CU_ASSERT_EQUAL(chosen("faulting", 0, 1, 1).plan.faulting, 1);
    CU_ASSERT_EQUAL(chosen("plain", 0, 1, 1).plan.faulting, 0);
    CU_ASSERT_EQUAL(chosen("plain", 0, 1, 1).plan.displace_kib, 0);
    CU_ASSERT_EQUAL(chosen("preceded", 0, 1, 1).plan.displace_kib, 0);
    CU_ASSERT_EQUAL(chosen("displaced", 0, 1, 1).plan.warmups, 2);
    CU_ASSERT(chosen("displaced", 0, 1, 1).plan.displace_kib >= host_private_cache_bytes() >> 9);
}

static void precision_and_budget_change_the_limits(void)
{
    struct policy policy = chosen("auto", 0, 40, 20), before = policy;
    policy_extend(&policy, 0, 0);
    CU_ASSERT_EQUAL(memcmp(&policy, &before, sizeof policy), 0);
    policy_extend(&policy, 0.01, 0);
    CU_ASSERT_TRUE(policy_wants_more(&policy, 0, 10, 100, 200000, 60000000, 0.02));
    CU_ASSERT_FALSE(policy_wants_more(&policy, 0, 10, 100, 200000, 60000000, 0.009));
    CU_ASSERT_TRUE(policy_wants_more(&policy, 0, 2, 20, 200000, 60000000, 0.0001));      /* two processes may agree by chance */
    CU_ASSERT_FALSE(policy_wants_more(&policy, 0, 10, 100, 200000, POLICY_PATIENCE_NS, 0.5));
    policy_extend(&policy, 0.01, 5000000000u);
    CU_ASSERT_TRUE(policy_wants_more(&policy, 0, 10, 100, 2000000000u, 4900000000u, 0.5));
    CU_ASSERT_FALSE(policy_wants_more(&policy, 0, 10, 100, 2000000000u, 5100000000u, 0.5));
}

static void a_budget_is_kept(void)
{
    struct policy policy = chosen("auto", 0, 40, 20);
    CU_ASSERT_TRUE(policy_fits(&policy, UINT64_MAX / 4, UINT64_MAX / 4));      /* none was asked for */
    policy_extend(&policy, 0, 300000000u);
    CU_ASSERT_TRUE(policy_fits(&policy, 200000000u, 100000000u));
    CU_ASSERT_FALSE(policy_fits(&policy, 200000000u, 100000001u));
    CU_ASSERT_FALSE(policy_fits(&policy, 400000000u, 0));
    CU_ASSERT_TRUE(policy_wants_more(&policy, 0, 1, 1, 250000000u, 200000000u, 1));    /* a run that is long beside the budget does not end it by itself */
    CU_ASSERT_TRUE(policy.plan.budget_ns <= 100000001u && policy.plan.settle_ns <= 100000000u);
    CU_ASSERT_TRUE(policy.plan.long_ns > 0 && policy.plan.long_ns <= 100000001u);      /* it is timed once */
    struct policy tiny = chosen("auto", 0, 40, 20);
    policy_extend(&tiny, 0, 1);
    CU_ASSERT_TRUE(tiny.plan.long_ns == 1 && tiny.plan.budget_ns == 1);                /* 0 would be no limit */
}

static void other_words_are_refused(void)
{
    static const char *const words[] = {"", "sideways", "-1", "1x", "99999999999999999999", "precedes", "Auto"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct pcere_error error = {0};
        struct policy policy = {.samples_least = 77};
        CU_ASSERT_EQUAL(policy_choose(words[i], 0, &(struct policy_subject){1, 1, 1}, &policy, &error), PCERE_USAGE);
        CU_ASSERT_EQUAL(policy.samples_least, 77);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.hint, "auto"));
        CU_ASSERT_PTR_NOT_NULL(strstr(error.hint, "plain"));
    }
    struct policy policy;
    CU_ASSERT_EQUAL(policy_choose("auto", PLAN_SAMPLES + 1, &(struct policy_subject){1, 1, 1}, &policy, NULL), PCERE_USAGE);
}

static void long_runs_need_no_company(void)
{
    struct policy policy = chosen("auto", 0, 1, 1);
    CU_ASSERT_TRUE(policy_wants_more(&policy, 0, 1, 1, 2000000, 5000000, 1));
    CU_ASSERT_FALSE(policy_wants_more(&policy, 0, 1, 1, 17000000000u, 17000000000u, 1));
    CU_ASSERT_FALSE(policy_wants_more(&policy, 0, 3, 3, 2000000, 5000000, 1));
}

static void cheap_processes_come_in_threes(void)
{
    struct policy policy = chosen("auto", 0, 400, 395);
    CU_ASSERT_TRUE(policy_wants_more(&policy, 0, 1, 10, 200000, 20000000, 1));
    CU_ASSERT_TRUE(policy_wants_more(&policy, 0, 2, 20, 200000, 40000000, 1));
    CU_ASSERT_FALSE(policy_wants_more(&policy, 0, 3, 30, 200000, 60000000, 1));
    CU_ASSERT_FALSE(policy_wants_more(&policy, 0, 1, 5, 200000, 600000000, 1));
}

static void rehearsed_where_that_is_cheap(void)
{
    struct policy first = chosen_for("auto", 0, (struct policy_subject){40, 1, 1});
    policy_weigh_memory(&first, "auto", 0, 1000000, 100000, 0, PAGE_COST_USUAL_NS);
    CU_ASSERT(first.plan.rehearse != 0);
    policy_weigh_memory(&first, NULL, 0, 1000000, 100000, 0, PAGE_COST_USUAL_NS);
    CU_ASSERT(first.plan.rehearse != 0);
    policy_weigh_memory(&first, "auto", 0, 1000000000, 100000, 0, PAGE_COST_USUAL_NS);
    CU_ASSERT_FALSE(first.plan.rehearse);
    policy_weigh_memory(&first, "auto", 0, 20000000, 100000, 5000, PAGE_COST_USUAL_NS);      /* few of them change */
    CU_ASSERT_FALSE(first.plan.rehearse);
    policy_weigh_memory(&first, "auto", 0, 20000000, 100000, 50000, PAGE_COST_USUAL_NS);
    CU_ASSERT(first.plan.rehearse != 0);
    first = chosen_for("none", 0, (struct policy_subject){40, 1, 1});
    policy_weigh_memory(&first, "none", 0, 1000000, 100000, 0, PAGE_COST_USUAL_NS);
    CU_ASSERT_FALSE(first.plan.rehearse);
    CU_ASSERT_EQUAL(first.plan.repeat_most, 1);
    struct policy later = chosen_for("auto", 0, (struct policy_subject){40, 9, 1});
    policy_weigh_memory(&later, "auto", 0, 1000000, 100000, 0, PAGE_COST_USUAL_NS);
    CU_ASSERT_FALSE(later.plan.rehearse);
}

static void large_memory_takes_one_process(void)
{
    struct policy small = chosen("auto", 0, 1, 1), large = small, asked = chosen("auto", 2, 1, 1);
    policy_weigh_memory(&small, "auto", 0, 1000000, 100, 0, PAGE_COST_USUAL_NS);
    policy_weigh_memory(&large, "auto", 0, 1000000, 100000, 0, PAGE_COST_USUAL_NS);
    policy_weigh_memory(&asked, "auto", 2, 1000000, 100000, 0, PAGE_COST_USUAL_NS);
    CU_ASSERT_EQUAL(small.plan.repeat_most, 1);
    CU_ASSERT(policy_wants_more(&small, 0, 1, 1, 2000000, 5000000, 1));
    CU_ASSERT_EQUAL(large.plan.repeat_most, 3);
    CU_ASSERT_FALSE(policy_wants_more(&large, 0, 1, 3, 2000000, 5000000, 1));
    CU_ASSERT_EQUAL(asked.plan.repeat_most, 2);
}

static void light_classes_cost_little(void)
{
    struct policy light = chosen("auto", 0, 400, 395), heavy = light, asked = chosen("auto", 9, 400, 395), precise = light;
    policy_weigh_time(&light, "auto", 0, 20000000, 0.01);
    CU_ASSERT_EQUAL(light.plan.repeat_least, 3);
    CU_ASSERT(light.plan.budget_ns > 0 && light.plan.budget_ns < 1000000);
    CU_ASSERT_FALSE(policy_wants_more(&light, 0, 1, 3, 200000, 10000000, 1));
    policy_weigh_time(&heavy, NULL, 0, 2000000000, 0.01);
    CU_ASSERT(policy_wants_more(&heavy, 0, 1, 10, 200000, 20000000, 1));
    CU_ASSERT_FALSE(policy_wants_more(&heavy, 0, 1, 10, 200000, 60000000, 1));     /* a second one would be too much */
    struct policy alone = chosen("auto", 0, 400, 395);
    policy_weigh_time(&alone, NULL, 0, 2000000000, 0.9);
    CU_ASSERT(policy_wants_more(&alone, 0, 1, 10, 200000, 60000000, 1));           /* nothing makes up for its error */
    struct policy before = asked;
    policy_weigh_time(&asked, "auto", 9, 1, 0.01);
    CU_ASSERT_EQUAL(memcmp(&asked, &before, sizeof asked), 0);
    policy_weigh_time(&precise, "auto", 0, 20000000, 0.01);
    policy_extend(&precise, 0.01, 0);
    CU_ASSERT(policy_wants_more(&precise, 0, 5, 30, 200000, 50000000, 0.02));
    struct policy cold = chosen("auto", 0, 1, 1);
    policy_weigh_time(&cold, "auto", 0, 1000000, 0.01);
    CU_ASSERT_EQUAL(cold.plan.repeat_most, 2);
    CU_ASSERT_FALSE(policy_wants_more(&cold, 0, 1, 2, 1000000, 9000000, 1));
}

/* IS's rank: 14 ms, ten times, two thirds of a program of 0.2 s. */
static void long_regions_are_timed_seldom(void)
{
    struct policy warm = chosen("auto", 0, 400, 395), cold = chosen("auto", 0, 1, 1), asked = chosen("auto", 9, 400, 395), usual = warm;
    policy_weigh_time(&warm, NULL, 0, 140000000, 0.65);
    policy_weigh_length(&warm, NULL, 0, 14000000, 1, false);
    CU_ASSERT_EQUAL(warm.plan.warmups, 1);
    CU_ASSERT_EQUAL(warm.plan.repeat_least, 2);
    struct policy known = chosen("auto", 0, 400, 395), faulting = chosen("faulting", 0, 400, 395);
    policy_weigh_time(&known, NULL, 0, 70000000, 0.65);
    policy_weigh_length(&known, NULL, 0, 7000000, 2, true);      /* it is known what it changes: that is copied before the only run, */
    CU_ASSERT_EQUAL(known.plan.warmups, 0);
    CU_ASSERT_EQUAL(known.plan.learn, 1);                                  /* ... behind which nothing is cold */
    CU_ASSERT_EQUAL(known.plan.repeat_most, 1);
    policy_weigh_time(&faulting, NULL, 0, 140000000, 0.65);
    policy_weigh_length(&faulting, NULL, 0, 14000000, 1, true);  /* which pages it gets first, only a run shows */
    CU_ASSERT_EQUAL(faulting.plan.warmups, 1);
    policy_weigh_time(&cold, NULL, 0, 16000000, 0.08);
    policy_weigh_length(&cold, NULL, 0, 16000000, 1, false);
    CU_ASSERT_EQUAL(cold.plan.repeat_most, 1);
    CU_ASSERT_FALSE(policy_wants_more(&cold, 0, 1, 1, 16000000, 20000000, 1));
    struct policy before = asked;
    policy_weigh_length(&asked, NULL, 9, 14000000, 1, false);
    CU_ASSERT_EQUAL(memcmp(&asked, &before, sizeof asked), 0);
    policy_weigh_time(&usual, NULL, 0, 140000000, 0.65);
    before = usual;
    policy_weigh_length(&usual, NULL, 0, 1000000, 1, false);        /* short */
    CU_ASSERT_EQUAL(memcmp(&usual, &before, sizeof usual), 0);
    policy_weigh_time(&usual, NULL, 0, 14000000000, 0.65);
    before = usual;
    policy_weigh_length(&usual, NULL, 0, 14000000, 1, false);       /* of a class that may cost more */
    CU_ASSERT_EQUAL(memcmp(&usual, &before, sizeof usual), 0);
}

/* Regions that go through more than caches hold need no four untimed runs; who asks for a number gets it. */
static void long_warmups_end_early(void)
{
    CU_ASSERT(chosen_for("auto", 0, (struct policy_subject){40, 9, 1}).plan.warm_ns > 0);
    CU_ASSERT_EQUAL(chosen("7", 0, 1, 1).plan.warm_ns, 0);
    CU_ASSERT_EQUAL(chosen("plain", 0, 1, 1).plan.warm_ns, 0);
}

/* Untimed runs go on while they get faster only where the region is to find its own data, and no longer than its class is worth. */
static void hot_runs_settle(void)
{
    CU_ASSERT(chosen("plain", 0, 40, 20).plan.settle_ns > 0);
    CU_ASSERT_EQUAL(chosen("faulting", 0, 40, 20).plan.settle_ns, 0);
    CU_ASSERT_EQUAL(chosen("preceded", 0, 40, 20).plan.settle_ns, 0);
    CU_ASSERT_EQUAL(chosen("history", 0, 40, 20).plan.settle_ns, 0);
    CU_ASSERT_EQUAL(chosen("2", 0, 40, 20).plan.settle_ns, 0);
    struct policy policy = chosen("plain", 0, 40, 20);
    policy_weigh_time(&policy, NULL, 0, 90000000, 0.1);
    CU_ASSERT(policy.plan.settle_ns > 0 && policy.plan.settle_ns <= 90000000 / POLICY_WEIGHT_PARTS);
    policy_weigh_length(&policy, NULL, 0, 14000000, 1, true);
    CU_ASSERT_EQUAL(policy.plan.settle_ns, 0);
    policy = chosen("plain", 0, 58, 20);
    policy_weigh_time(&policy, NULL, 0, 58 * 36000, 0.3);        /* a 90th is less than one run: a process takes more by itself */
    CU_ASSERT(policy.plan.settle_ns >= 20 * 36000 && policy.plan.settle_ns <= 1000000);
    policy = chosen("preceded", 0, 58, 20);
    policy_weigh_time(&policy, NULL, 0, 58 * 36000, 0.3);
    CU_ASSERT_EQUAL(policy.plan.settle_ns, 0);
}

static void caches_are_filled_for_what_weighs(void)
{
    struct policy heavy = chosen("none", 0, 1, 1), light = heavy;
    CU_ASSERT_EQUAL(heavy.plan.fill, 1);
    policy_weigh_time(&heavy, NULL, 0, 90000000, 0.1);
    CU_ASSERT_EQUAL(heavy.plan.fill, 1);
    policy_weigh_time(&light, NULL, 0, 90000000, 0.001);
    CU_ASSERT_EQUAL(light.plan.fill, 0);
}

static const struct unit_test tests[] = {
    {"hot runs go on while they get faster, as long as their class is worth", hot_runs_settle},
    {"caches are filled only for classes that weigh", caches_are_filled_for_what_weighs},
    {"a class costs no more than a thirtieth of what it took, beyond its first process", light_classes_cost_little},
    {"a first invocation is rehearsed where that costs less than its memory, and never with none", rehearsed_where_that_is_cheap},
    {"cold runs that need much memory share a process, unless a number was asked for", large_memory_takes_one_process},
    {"long regions are timed no more often than their class may cost", long_regions_are_timed_seldom},
    {"long untimed runs are fewer, unless a number was asked for", long_warmups_end_early},
    {"a precision or a budget lets more processes run", precision_and_budget_change_the_limits},
    {"no process is started that does not fit into a budget", a_budget_is_kept},
    {"no more warm-ups than earlier invocations", no_more_warm_ups_than_earlier_invocations},
    {"a region with five invocations is warmed up four times", five_invocations_are_warm},
    {"a region with four invocations is replayed cold, as often as its class has members", four_invocations_are_cold},
    {"without warm-up each run is the first of a process", none_takes_a_process_for_each_run},
    {"a number is that many untimed runs", a_number_is_a_number_of_runs},
    {"each word is its own warm-up", each_word_is_its_own_warm_up},
    {"any other word is refused and those that exist are named", other_words_are_refused},
    {"a long cold run is not repeated", long_runs_need_no_company},
    {"where processes are cheap there are three", cheap_processes_come_in_threes},
};

UNIT_MAIN("launcher: policy", tests)
