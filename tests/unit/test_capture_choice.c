/* tests/unit/test_capture_choice.c - which invocations are worth a stop, asked by programs that run on a clock of their own: nothing is left to chance, or to the
 * machine. */
#include "capture-rt/target/choice.c"

#include "unit.h"

#include <stdlib.h>

#define MS 1000000u
#define BETWEEN_NS (2 * MS)             /* outside regions, before each invocation */

static uint64_t clock_now_ns;

uint64_t target_clock_ns(void)
{
    return clock_now_ns;
}

struct simulated {
    struct target_state *state;
    struct capture_log *log;
    uint64_t begin_cost_ns, end_cost_ns;    /* of a stop */
    uint64_t stopped_ns;                    /* in stops, altogether */
    unsigned stops;
};

static void simulated_init(struct simulated *simulated, uint64_t begin_cost_ns, uint64_t end_cost_ns)
{
    *simulated = (struct simulated){.state = calloc(1, sizeof *simulated->state), .log = calloc(1, sizeof *simulated->log),
                                    .begin_cost_ns = begin_cost_ns, .end_cost_ns = end_cost_ns};
    CU_ASSERT_PTR_NOT_NULL_FATAL(simulated->state);
    CU_ASSERT_PTR_NOT_NULL_FATAL(simulated->log);
    simulated->log->after = 1;
    simulated->log->region_count = 4;
    simulated->log->policy = (struct capture_policy){{[CAPTURE_PURSE_EARLY] = {40 * MS, 10000}, [CAPTURE_PURSE_HEAVY] = {70 * MS, 35000},
                                                      [CAPTURE_PURSE_LIGHT] = {25 * MS, 20000}, [CAPTURE_PURSE_ALONE] = {20 * MS, 30000}}, 4500, 6000};
    clock_now_ns = 1000 * (uint64_t)MS;
    simulated->state->log = simulated->log;
    simulated->state->attached_ns = clock_now_ns;
    simulated->state->begin_cost_ns = begin_cost_ns;      /* else it is foretold from this process's memory */
    simulated->state->end_cost_ns = end_cost_ns;
    pthread_mutex_init(&simulated->state->choosing, NULL);
}

static void simulated_done(struct simulated *simulated)
{
    pthread_mutex_destroy(&simulated->state->choosing);
    free(simulated->state);
    free(simulated->log);
}

static void stop(struct simulated *simulated, const struct target_choice *choice, bool begins)
{
    uint64_t cost_ns = begins ? simulated->begin_cost_ns : simulated->end_cost_ns;
    clock_now_ns += cost_ns + STOP_AROUND_NS;
    simulated->log->stall_ns += cost_ns + STOP_AROUND_NS;
    simulated->stopped_ns += cost_ns + STOP_AROUND_NS;
    simulated->state->stop_cpu_ns = cost_ns;
    simulated->stops++;
    target_choice_paid(simulated->state, choice, begins);
}

enum entered { ENTER_PASSED, ENTER_FORGOTTEN /* captured, but not kept */, ENTER_CAPTURED };

/* The program enters a region, as probes.c follows it. */
static enum entered enter(struct simulated *simulated, uint32_t region, uint64_t words_hash, uint64_t time_ns)
{
    struct capture_counts *counts = &simulated->log->counts[region];
    struct target_choice choice = {.made = false};
    clock_now_ns += BETWEEN_NS;
    struct capture_record record = {.invocation = ++counts->invocations, .region = region, .words_hash = words_hash};
    bool captured = target_choice_begin(simulated->state, &choice, &record, UINTPTR_MAX & ~(uintptr_t)7);
    if (captured) {
        record.flags |= CAPTURE_RECORD_STOPPED;
        stop(simulated, &choice, true);
    }
    record.begin_ns = clock_now_ns;
    record.end_ns = clock_now_ns += time_ns;
    counts->time_ns += time_ns;
    bool kept = captured && target_choice_keep(simulated->state, &choice, time_ns);
    target_choice_end(simulated->state, &choice, &record, captured, kept);
    if (kept)
        stop(simulated, &choice, false);
    return kept ? ENTER_CAPTURED : captured ? ENTER_FORGOTTEN : ENTER_PASSED;
}

/* Of invocations of one region, those without words of their own. Returns how much time none of the captured ones is like, to `ratio`. */
static uint64_t run(struct simulated *simulated, const uint64_t *times_ns, size_t count, double ratio)
{
    bool *captured = calloc(count, sizeof *captured);
    uint64_t without_ns = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(captured);
    for (size_t i = 0; i < count; i++)
        captured[i] = enter(simulated, 0, 7, times_ns[i]) == ENTER_CAPTURED;
    for (size_t i = 0; i < count; i++) {
        bool is_like = false;
        for (size_t j = 0; j < count && !is_like; j++) {
            double low = (double)(times_ns[i] < times_ns[j] ? times_ns[i] : times_ns[j]), high = (double)(times_ns[i] < times_ns[j] ? times_ns[j] : times_ns[i]);
            is_like = captured[j] && high <= ratio * low;
        }
        without_ns += is_like ? 0 : times_ns[i];
    }
    free(captured);
    return without_ns;
}

static uint64_t sum_of(const uint64_t *times_ns, size_t count)
{
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < count; i++)
        sum_ns += times_ns[i];
    return sum_ns;
}

/* As of a program that clusters proteins: no two follow each other that tell of a third. */
static void none_foretold(void)
{
    static const uint64_t times_ms[] = {12, 190, 61, 240, 33, 118, 17, 84, 150, 25, 205, 46, 98, 14, 171, 70, 131, 38};
    uint64_t times_ns[sizeof times_ms / sizeof *times_ms];
    size_t count = sizeof times_ms / sizeof *times_ms;
    for (size_t i = 0; i < count; i++)
        times_ns[i] = times_ms[i] * MS;
    struct simulated simulated;
    simulated_init(&simulated, MS, MS / 2);
    uint64_t without_ns = run(&simulated, times_ns, count, 1.25);
    CU_ASSERT_TRUE((double)without_ns <= 0.01 * (double)sum_of(times_ns, count));
    CU_ASSERT_TRUE((double)simulated.stopped_ns <= 0.05 * (double)sum_of(times_ns, count));
    simulated_done(&simulated);
}

/* Work that shrinks and grows steadily, in steps that no captured one is like for long. */
static void growing(void)
{
    uint64_t times_ns[40];
    for (size_t i = 0; i < 40; i++)
        times_ns[i] = (i < 20 ? 20 + 10 * i : 20 + 10 * (39 - i)) * MS;
    struct simulated simulated;
    simulated_init(&simulated, MS, MS / 2);
    CU_ASSERT_EQUAL(run(&simulated, times_ns, 40, 1.25), 0);
    simulated_done(&simulated);
}

static void alike(void)
{
    uint64_t times_ns[60];
    for (size_t i = 0; i < 60; i++)
        times_ns[i] = 50 * MS;
    struct simulated simulated;
    simulated_init(&simulated, MS, MS / 2);
    CU_ASSERT_EQUAL(run(&simulated, times_ns, 60, 1.25), 0);
    CU_ASSERT_TRUE(simulated.stops <= 2 * 4);
    simulated_done(&simulated);
}

static uint64_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void bounded(void)
{
    uint64_t times_ns[400], state = 1;
    for (size_t i = 0; i < 400; i++)
        times_ns[i] = (30 + random_next(&state) % 300) * MS;
    struct simulated simulated;
    simulated_init(&simulated, 2 * MS, MS);
    run(&simulated, times_ns, 400, 1.25);
    uint64_t elapsed_ns = clock_now_ns - simulated.state->attached_ns - simulated.log->stall_ns;
    const struct capture_policy *policy = &simulated.log->policy;
    CU_ASSERT_TRUE(simulated.log->spent_ns[CAPTURE_PURSE_ALONE] > 0);
    CU_ASSERT_TRUE(simulated.log->spent_ns[CAPTURE_PURSE_ALONE] <= policy->purses[CAPTURE_PURSE_ALONE].ns + elapsed_ns / 1000000 * policy->purses[CAPTURE_PURSE_ALONE].ppm);
    simulated_done(&simulated);
}

/* A stop takes as long as the invocation: that is not what the purse is for. */
static void expensive(void)
{
    uint64_t times_ns[40], state = 1;
    for (size_t i = 0; i < 40; i++)
        times_ns[i] = (10 + random_next(&state) % 100) * MS;
    struct simulated simulated;
    simulated_init(&simulated, 30 * MS, 20 * MS);
    run(&simulated, times_ns, 40, 1.25);
    CU_ASSERT_EQUAL(simulated.log->spent_ns[CAPTURE_PURSE_ALONE], 0);
    simulated_done(&simulated);
}

/* First invocations of other regions have spent so much. */
static void early_spend(struct simulated *simulated, double part)
{
    simulated->log->spent_ns[CAPTURE_PURSE_EARLY] = (uint64_t)(part * (double)simulated->log->policy.purses[CAPTURE_PURSE_EARLY].ns);
}

static void first_forgotten(void)
{
    struct simulated simulated;
    simulated_init(&simulated, MS / 5, MS / 10);
    clock_now_ns += 50 * MS;
    early_spend(&simulated, 0.75);
    CU_ASSERT_EQUAL(enter(&simulated, 0, 7, MS / 50), ENTER_FORGOTTEN);     /* it might have been long */
    CU_ASSERT_EQUAL(simulated.log->histories[0].covered_count, 0);
    for (int i = 0; i < 8; i++)         /* which weigh nothing yet, and would be forgotten as well */
        CU_ASSERT_EQUAL(enter(&simulated, 0, 7, MS / 50), ENTER_PASSED);
    simulated_done(&simulated);
}

static void forgotten_replaced(void)
{
    struct simulated simulated;
    simulated_init(&simulated, MS / 5, MS / 10);
    clock_now_ns += 50 * MS;
    for (int i = 0; i < 4; i++)         /* the first is kept, and tells nothing of the others; three are of a kind */
        CU_ASSERT_EQUAL(enter(&simulated, 0, 7, MS / 50), i == 0 ? ENTER_CAPTURED : ENTER_PASSED);
    early_spend(&simulated, 0.48);
    simulated.begin_cost_ns = 10 * MS;  /* for once more than was foreseen: the purse is half empty */
    CU_ASSERT_EQUAL(enter(&simulated, 0, 7, MS / 50), ENTER_FORGOTTEN);
    CU_ASSERT_EQUAL(simulated.log->histories[0].covered_count, 0);
    simulated.begin_cost_ns = MS / 5;
    bool captured = false;
    for (int i = 0; i < 400 && !captured; i++)      /* it comes to weigh */
        captured = enter(&simulated, 0, 7, MS / 50) == ENTER_CAPTURED;
    CU_ASSERT_TRUE(captured);
    simulated_done(&simulated);
}

/* The first products of four callers meet cold caches, and take as long as those of another caller do always: one of these is captured all the same. */
static void taken_long_by_chance(void)
{
    enum { SHORT = 7, SHORTS = 4, LONG = 20 };
    struct simulated simulated;
    simulated_init(&simulated, MS, MS / 2);
    unsigned captured_short = 0, captured_long = 0;
    for (unsigned i = 0; i < 40 * SHORTS; i++)
        captured_short += enter(&simulated, 0, SHORT + i % SHORTS, i < 2 * SHORTS ? 8 * MS : 3 * MS) == ENTER_CAPTURED && i && i < 2 * SHORTS;
    CU_ASSERT_TRUE(captured_short > 0);
    for (unsigned i = 0; i < 40; i++) {
        captured_long += enter(&simulated, 0, LONG, 8 * MS) == ENTER_CAPTURED;
        enter(&simulated, 0, SHORT + i % SHORTS, 3 * MS);
    }
    CU_ASSERT_TRUE(captured_long > 0);
    CU_ASSERT_TRUE(captured_long < 5);
    simulated_done(&simulated);
}

/* A machine that is faster and slower by turns, for a while each: what came just before foretells better than what an invocation begins with. Few are captured all the same. */
static void two_lengths_by_turns(void)
{
    for (unsigned seed = 1; seed <= 20; seed++) {
        struct simulated simulated;
        simulated_init(&simulated, MS / 20, MS / 40);
        unsigned captured = 0, state = seed, left = 0;
        uint64_t time_ns = MS;
        for (unsigned i = 0; i < 3000; i++) {
            state = state * 1103515245 + 12345;
            if (!left--) {
                time_ns = time_ns == MS ? 2 * MS : MS;
                left = (state >> 16) % (time_ns == MS ? 12 : 4);
            }
            captured += enter(&simulated, 0, 7, time_ns + (state >> 16) % (MS / 8)) == ENTER_CAPTURED;
        }
        CU_ASSERT_TRUE(captured >= 2);
        CU_ASSERT_TRUE(captured <= 12);
        simulated_done(&simulated);
    }
}

static const struct unit_test tests[] = {
    {"where two lengths take turns, few are captured", two_lengths_by_turns},
    {"one that took as long by chance, as such as begin like it tell, keeps no other from being captured", taken_long_by_chance},
    {"long invocations of lengths that nothing foretells are captured but for those that are like captured ones, at 5 % of their time", none_foretold},
    {"work that grows and shrinks steadily has a captured one near each", growing},
    {"what always takes as long is captured four times at most", alike},
    {"stops for long invocations take no more than their purse", bounded},
    {"a first invocation that is forgotten leaves its region without one, and none is captured to be forgotten", first_forgotten},
    {"where a captured invocation was forgotten, another one is captured once its region weighs", forgotten_replaced},
    {"where a stop takes long itself, long invocations are not stopped at for their length", expensive},
};

UNIT_MAIN("choice", tests)
