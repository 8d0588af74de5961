/* tests/unit/test_replay_repeats.c - when timed runs are enough where threads share processors. */
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
bool pcere_speed_is_slow(uint32_t work_ns) { return work_ns > FULL; }

/* A tour of three regions that are timed; nothing was yet. */
static void tour_begin(uint32_t threads)
{
    memset(&file, 0, sizeof file);
    file.plan.steps.count = STEPS;
    file.steps[0].timed = file.steps[1].timed = 1;
    file.plan.result.threads = threads;
}

static void step_timed(size_t step, uint64_t time_ns, uint32_t work_ns)
{
    struct plan_step_samples *samples = &file.plan.result.steps[step];
    samples->works_ns[samples->count] = work_ns;
    samples->samples_ns[samples->count++] = time_ns;
}

static void own_timed(uint64_t time_ns)
{
    file.plan.result.samples_ns[file.plan.result.sample_count++] = time_ns;
}

static void walk(uint64_t first_ns, uint64_t second_ns, uint64_t own_ns)
{
    step_timed(0, first_ns, 0);
    step_timed(1, second_ns, 0);
    own_timed(own_ns);
}

static void runs_agree_that_differ_by_little(void)
{
    CU_ASSERT_TRUE(pcere_times_agree(1000, 1030));
    CU_ASSERT_TRUE(pcere_times_agree(1030, 1000));
    CU_ASSERT_FALSE(pcere_times_agree(1000, 1031));
}

static void each_region_needs_a_run_at_full_speed(void)
{
    tour_begin(2);
    CU_ASSERT_TRUE(pcere_steps_are_fast(&codelet));              /* none was timed */
    step_timed(0, 1000, FULL);
    step_timed(1, 1000, FULL + 1);
    CU_ASSERT_FALSE(pcere_steps_are_fast(&codelet));
    step_timed(1, 1000, FULL);
    CU_ASSERT_TRUE(pcere_steps_are_fast(&codelet));
}

static void each_region_needs_two_runs_that_agree(void)
{
    tour_begin(4);
    step_timed(1, 9000, 0);
    own_timed(9000);
    CU_ASSERT_FALSE(pcere_crowd_settles(&codelet));              /* the first one was not timed in the first walk */
    walk(10000, 9100, 9100);
    CU_ASSERT_FALSE(pcere_crowd_settles(&codelet));              /* and once is not enough */
    walk(18000, 9000, 9000);
    CU_ASSERT_FALSE(pcere_crowd_settles(&codelet));
    tour_begin(4);
    walk(18000, 9100, 18500);
    walk(10000, 9000, 9000);
    CU_ASSERT_FALSE(pcere_crowd_settles(&codelet));
    walk(10500, 17000, 9100);
    CU_ASSERT_TRUE(pcere_crowd_settles(&codelet));
}

static void there_is_an_end(void)
{
    tour_begin(4);
    for (unsigned i = 0; i < CROWDED_RUNS; i++) {
        CU_ASSERT_FALSE(pcere_crowd_settles(&codelet));
        walk(10000, 9000, 9000u << i);
    }
    CU_ASSERT_TRUE(pcere_crowd_settles(&codelet));
}

static void what_weighs_nothing_need_not_agree(void)
{
    tour_begin(4);
    walk(100, 9000, 9000);
    walk(400, 9000, 9000);
    CU_ASSERT_TRUE(pcere_crowd_settles(&codelet));
    file.steps[1].timed = 0;                                     /* nor what is only run */
    file.plan.result.steps[1].count = 0;
    CU_ASSERT_TRUE(pcere_crowd_settles(&codelet));
}

static void nobody_waits_where_processors_suffice(void)
{
    tour_begin(2);
    walk(10000, 9000, 18000);
    CU_ASSERT_TRUE(pcere_crowd_settles(&codelet));
}

static const struct unit_test tests[] = {
    {"two runs agree that differ by little", runs_agree_that_differ_by_little},
    {"each region that is timed needs a run at full speed", each_region_needs_a_run_at_full_speed},
    {"with more threads than processors each region needs two runs that agree", each_region_needs_two_runs_that_agree},
    {"after some runs it is enough", there_is_an_end},
    {"what weighs next to nothing need not agree", what_weighs_nothing_need_not_agree},
    {"nobody waits where processors suffice", nobody_waits_where_processors_suffice},
};

UNIT_MAIN("replay: repeats", tests)
