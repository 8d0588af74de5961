/* tests/unit/test_replay_phases.c - from phases to the region's time: the slowest thread of each, and what is left out of dynamic loops and of steps. */
#include "replay-rt/target/sample_phases.c"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

enum { TEAM = 2, PHASES = 3 };

static struct sample_phase phases[TEAM][PHASES];
static struct sample_shared shared[TEAM][2];
static struct sample_left left[TEAM][2];
static struct sample_shot shot;

static void shot_make(uint32_t last_phase)
{
    memset(phases, 0, sizeof phases);
    memset(shared, 0, sizeof shared);
    memset(left, 0, sizeof left);
    memset(&shot, 0, sizeof shot);
    shot.team = TEAM;
    shot.threads = aligned_alloc(128, TEAM * sizeof *shot.threads);
    CU_ASSERT_PTR_NOT_NULL_FATAL(shot.threads);
    memset((void *)shot.threads, 0, TEAM * sizeof *shot.threads);
    for (uint32_t t = 0; t < TEAM; t++) {
        shot.threads[t].phase = last_phase;
        shot.threads[t].phases = phases[t];
        shot.threads[t].shared = shared[t];
        shot.threads[t].left = left[t];
    }
}

static void shot_end(void) { free(shot.threads); }

/* 10 and 1, then 1 and 10: as long as 20, though neither thread works for more than 11. A barrier costs what it costs the one that comes last. */
static void each_phase_takes_as_long_as_its_slowest_thread(void)
{
    shot_make(1);
    phases[0][0] = (struct sample_phase){.work_ns = 10, .wait_ns = 2};
    phases[1][0] = (struct sample_phase){.work_ns = 1, .wait_ns = 11};
    phases[0][1] = (struct sample_phase){.work_ns = 1, .wait_ns = 9};
    phases[1][1] = (struct sample_phase){.work_ns = 10, .wait_ns = 3};
    phases[0][2] = phases[1][2] = (struct sample_phase){.work_ns = 1000};       /* behind the last one */
    CU_ASSERT_TRUE(pcere_sample_phases_agree(&shot));
    CU_ASSERT_DOUBLE_EQUAL(pcere_sample_phases_sum(&shot), 10 + 2 + 10 + 3, 1e-12);
    shot_end();
}

static void threads_that_meet_different_barriers_do_not_agree(void)
{
    shot_make(1);
    shot.threads[1].phase = 2;
    CU_ASSERT_FALSE(pcere_sample_phases_agree(&shot));
    shot.threads[1].phase = 1;
    shot.threads[1].shared_count = 1;
    CU_ASSERT_FALSE(pcere_sample_phases_agree(&shot));
    shot.team = 1;
    CU_ASSERT_TRUE(pcere_sample_phases_agree(&shot));
    shot_end();
}

/* 100 iterations, of which 3 and 1 count, 10 each: 1000 in all, 90 and 30 of it were run; each thread has half of the rest. */
static void what_a_dynamic_loop_left_out_is_shared(void)
{
    shot_make(0);
    for (uint32_t t = 0; t < TEAM; t++) {
        shot.threads[t].shared_count = 1;
        shared[t][0] = (struct sample_shared){.site = 1, .iterations = 100};
    }
    shared[0][0].loop_ns = 90, shared[0][0].timed_ns = 30, shared[0][0].run = 3;
    shared[1][0].loop_ns = 30, shared[1][0].timed_ns = 10, shared[1][0].run = 1;
    phases[0][0].work_ns = 90;
    phases[1][0].work_ns = 30;
    CU_ASSERT_TRUE(pcere_sample_shared_spread(&shot));
    CU_ASSERT_DOUBLE_EQUAL(phases[0][0].work_ns, 90 + 440, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(phases[1][0].work_ns, 30 + 440, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(shot.threads[0].site_ns[1], 530, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(shot.threads[1].site_ns[1], 470, 1e-9);
    CU_ASSERT_EQUAL(shot.threads[0].iterations, 100);
    CU_ASSERT_EQUAL(shot.threads[0].run, 4);
    CU_ASSERT_DOUBLE_EQUAL(pcere_sample_phases_sum(&shot), 530, 1e-9);
    shared[0][0].run = shared[1][0].run = 0;
    CU_ASSERT_FALSE(pcere_sample_shared_spread(&shot));
    shot_end();
}

/* Each thread's own: what its instances took that were timed. */
static void steps_that_were_left_out_take_what_others_did(void)
{
    shot_make(1);
    for (uint32_t t = 0; t < TEAM; t++) {
        shot.threads[t].left_count = 2;
        left[t][0] = (struct sample_left){.phase = 0, .site = 1};
        left[t][1] = (struct sample_left){.phase = 1, .site = 1};
        shot.threads[t].site_timed[1] = 2;
    }
    shot.threads[0].site_ns[1] = 20;
    shot.threads[1].site_ns[1] = 8;
    phases[1][1].work_ns = 7;
    CU_ASSERT_TRUE(pcere_sample_steps_spread(&shot));
    CU_ASSERT_DOUBLE_EQUAL(phases[0][0].work_ns, 10, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(phases[0][1].work_ns, 10, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(phases[1][0].work_ns, 4, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(phases[1][1].work_ns, 11, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(pcere_sample_phases_sum(&shot), 10 + 11, 1e-12);
    shot.threads[1].site_timed[1] = 0;
    CU_ASSERT_FALSE(pcere_sample_steps_spread(&shot));
    shot_end();
}

static const struct unit_test tests[] = {
    {"each phase takes as long as its slowest thread", each_phase_takes_as_long_as_its_slowest_thread},
    {"threads that meet different barriers do not agree", threads_that_meet_different_barriers_do_not_agree},
    {"what a dynamic loop left out is shared by all threads", what_a_dynamic_loop_left_out_is_shared},
    {"steps that were left out take what others of the thread did", steps_that_were_left_out_take_what_others_did},
};

UNIT_MAIN("replay: phases", tests)
