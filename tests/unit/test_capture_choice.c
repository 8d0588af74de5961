/* tests/unit/test_capture_choice.c - which invocations the program finds worth a stop, by a clock of our own. */
#include "capture-rt/target/target.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

static uint64_t now_ns = 1000000000u;

uint64_t target_clock_ns(void)
{
    return now_ns;
}

#define PURSE_NS 10000000u
#define STOP_NS 300000u

struct program { struct target_state state; struct capture_log log; };

static struct program *program_new(void)
{
    struct program *program = calloc(1, sizeof *program);
    program->state.log = &program->log;
    program->state.attached_ns = now_ns;
    program->state.begin_cost_ns = program->state.near_cost_ns = program->state.end_cost_ns = STOP_NS;
    program->state.choosing = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    program->log.mode = CAPTURE_MODE_CHOOSING;
    program->log.after = 1;
    program->log.region_count = 1;
    program->log.policy = (struct capture_policy){.purses = {{PURSE_NS, 0}, {PURSE_NS, 0}, {0, 0}}, .weight_ppm = 4500};
    return program;
}

/* The next invocation of region 0. *ret_kept: it was captured, and is kept. True: it was stopped at. */
static bool invocation_pass(struct program *program, uint64_t time_ns, bool *ret_kept)
{
    struct target_choice choice = {.made = false};
    struct capture_counts *counts = &program->log.counts[0];
    struct capture_record record = {.invocation = ++counts->invocations, .words_hash = 7};
    bool stop = target_choice_begin(&program->state, &choice, &record, UINTPTR_MAX & ~(uintptr_t)7);
    record.begin_ns = now_ns;
    record.end_ns = now_ns += time_ns;
    counts->time_ns += time_ns;
    *ret_kept = stop && target_choice_keep(&program->state, &choice, time_ns);
    target_choice_end(&program->state, &choice, &record, stop, *ret_kept);
    return stop;
}

/* As first invocations of other regions do. */
static void early_spend(struct program *program, uint64_t spent_ns)
{
    program->log.spent_ns[CAPTURE_PURSE_EARLY] = spent_ns;
}

static void first_forgotten(void)
{
    struct program *program = program_new();
    bool kept;
    now_ns += 50000000;
    early_spend(program, PURSE_NS * 3 / 4);
    CU_ASSERT_TRUE(invocation_pass(program, 20000, &kept));     /* it may be long */
    CU_ASSERT_FALSE(kept);
    CU_ASSERT_EQUAL(program->log.histories[0].covered_count, 0);
    for (int i = 0; i < 8; i++) {       /* that weighs nothing yet */
        CU_ASSERT_FALSE(invocation_pass(program, 20000, &kept));       /* it would be forgotten, too */
        now_ns += 100000;
    }
    free(program);
}

static void forgotten_replaced(void)
{
    struct program *program = program_new();
    bool kept = false;
    unsigned stops = 0;
    now_ns += 50000000;
    for (int i = 0; i < 4; i++)         /* the first is kept, and tells nothing of the others; three are of a kind */
        invocation_pass(program, 20000, &kept);
    early_spend(program, PURSE_NS / 2 - 2 * STOP_NS);
    struct target_choice choice = {.made = false};
    struct capture_counts *counts = &program->log.counts[0];
    struct capture_record record = {.invocation = ++counts->invocations, .words_hash = 7, .begin_ns = now_ns, .end_ns = now_ns + 20000};
    CU_ASSERT_TRUE(target_choice_begin(&program->state, &choice, &record, UINTPTR_MAX & ~(uintptr_t)7));
    early_spend(program, PURSE_NS * 3 / 4);                     /* by others, meanwhile */
    CU_ASSERT_FALSE(target_choice_keep(&program->state, &choice, 20000));
    target_choice_end(&program->state, &choice, &record, true, false);
    CU_ASSERT_EQUAL(program->log.histories[0].covered_count, 0);
    now_ns += 20000;
    /* It comes to weigh: one is captured that is kept. */
    for (int i = 0; i < 400 && !stops; i++) {
        stops += invocation_pass(program, 20000, &kept);
        now_ns += 5000;
    }
    CU_ASSERT_TRUE(stops > 0 && kept);
    free(program);
}

static const struct unit_test tests[] = {
    {"a first invocation that is forgotten leaves its region without one, and none is captured to be forgotten", first_forgotten},
    {"where a captured invocation was forgotten, another one of its kind is captured once that weighs", forgotten_replaced},
};

UNIT_MAIN("capture_choice", tests)
