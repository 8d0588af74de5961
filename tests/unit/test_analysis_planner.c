/* tests/unit/test_analysis_planner.c - plans against brute force, and the numbers that are known for 50 events on 4 counters. */
#include "analysis/planner.h"
#include "predictor/random.h"
#include "tests/unit/unit.h"

#include <string.h>

static bool plan_fits(const struct planner_problem *problem, const struct planner_plan *plan)
{
    for (size_t r = 0; r < plan->run_count; r++)
        if (plan->counts[r] > problem->counters || (problem->fits && !problem->fits(problem->context, plan->events[r], plan->counts[r])))
            return false;
    return true;
}

static bool run_has(const struct planner_plan *plan, size_t run, uint32_t event)
{
    for (size_t i = 0; i < plan->counts[run]; i++)
        if (plan->events[run][i] == event)
            return true;
    return false;
}

static bool plan_covers(const struct planner_problem *problem, const struct planner_plan *plan, bool overlap)
{
    bool seen[PLANNER_EVENTS_MOST] = {false};
    for (size_t r = 0; r < plan->run_count; r++) {
        bool overlaps = false;
        for (size_t i = 0; i < plan->counts[r]; i++)
            overlaps = overlaps || seen[plan->events[r][i]];
        if (overlap && r && !overlaps)
            return false;
        for (size_t i = 0; i < plan->counts[r]; i++)
            seen[plan->events[r][i]] = true;
    }
    for (size_t i = 0; i < problem->event_count; i++)
        if (!seen[i])
            return false;
    return true;
}

static bool pair_together(const struct planner_plan *plan, uint32_t a, uint32_t b)
{
    for (size_t r = 0; r < plan->run_count; r++)
        if (run_has(plan, r, a) && run_has(plan, r, b))
            return true;
    return false;
}

static bool set_fits(const struct planner_problem *problem, unsigned set)
{
    uint32_t events[16];
    size_t count = 0;
    for (uint32_t i = 0; i < 16; i++)
        if (set >> i & 1)
            events[count++] = i;
    return count && count <= problem->counters && (!problem->fits || problem->fits(problem->context, events, count));
}

static unsigned pairs_of(unsigned set, size_t n)
{
    unsigned pairs = 0, bit = 0;
    for (unsigned a = 0; a < n; a++)
        for (unsigned b = a + 1; b < n; b++, bit++)
            if (set >> a & set >> b & 1)
                pairs |= 1u << bit;
    return pairs;
}

/* Least number of runs to the whole, breadth first over what is covered. */
static size_t least_runs(const struct planner_problem *problem, bool overlap, bool pairs)
{
    enum { STATES = 1 << 10 };
    static uint8_t runs[STATES];
    size_t n = problem->event_count;
    unsigned whole = pairs ? 0 : (1u << n) - 1;
    memset(runs, 0xff, sizeof runs);
    for (unsigned set = 1; pairs && set < 1u << n; set++)
        whole |= set_fits(problem, set) ? pairs_of(set, n) : 0;
    runs[0] = 0;
    for (uint8_t depth = 0; runs[whole] == 0xff && depth < 30; depth++)
        for (unsigned state = 0; state < STATES; state++)
            for (unsigned set = 1; runs[state] == depth && set < 1u << n; set++)
                if (set_fits(problem, set) && !(overlap && state && !(set & state))) {
                    unsigned next = state | (pairs ? pairs_of(set, n) : set);
                    runs[next] = runs[next] == 0xff ? (uint8_t)(depth + 1) : runs[next];
                }
    return runs[whole];
}

struct random_machine { struct planner_table table; uint64_t allowed[8]; uint32_t conflicts[4][2]; };

static void machine_draw(struct random_machine *machine, struct planner_problem *problem, uint64_t *state)
{
    size_t n = 2 + random_below(state, 4);
    uint32_t counters = 2 + (uint32_t)random_below(state, 2);
    for (size_t i = 0; i < 8; i++)
        machine->allowed[i] = 1 + random_below(state, (1u << counters) - 1);
    for (size_t i = 0; i < 4; i++) {
        machine->conflicts[i][0] = (uint32_t)random_below(state, n);
        machine->conflicts[i][1] = (machine->conflicts[i][0] + 1 + (uint32_t)random_below(state, n - 1)) % (uint32_t)n;
    }
    machine->table = (struct planner_table){
        .counters = counters, .allowed = random_below(state, 2) ? machine->allowed : NULL, .conflicts = (const uint32_t(*)[2])machine->conflicts,
        .conflict_count = random_below(state, 5),
    };
    *problem = (struct planner_problem){.event_count = n, .counters = counters, .fits = planner_table_fits, .context = &machine->table, .seed = 1};
}

static void covers_are_the_smallest(void)
{
    uint64_t state = 17;
    for (int turn = 0; turn < 300; turn++) {
        struct random_machine machine;
        struct planner_problem problem;
        struct planner_plan plan;
        struct pcere_error error = {0};
        machine_draw(&machine, &problem, &state);
        for (int overlap = 0; overlap < 2; overlap++) {
            size_t least = least_runs(&problem, overlap, false);
            enum pcere_status status = planner_cover(&problem, overlap, &plan, &error);
            CU_ASSERT_EQUAL(status, least == 0xff ? PCERE_REFUSED : PCERE_OK);
            if (status != PCERE_OK)
                continue;
            CU_ASSERT(plan_fits(&problem, &plan) && plan_covers(&problem, &plan, overlap));
            CU_ASSERT_EQUAL(plan.run_count, least);
            CU_ASSERT(plan.bound <= least);
            planner_plan_done(&plan);
        }
    }
}

static void pairs_are_few(void)
{
    uint64_t state = 23;
    for (int turn = 0; turn < 100; turn++) {
        struct random_machine machine;
        struct planner_problem problem;
        struct planner_plan plan;
        struct pcere_error error = {0};
        machine_draw(&machine, &problem, &state);
        size_t least = least_runs(&problem, false, true), impossible = 0;
        CU_ASSERT_EQUAL_FATAL(planner_pairs(&problem, 20000, &plan, &error), PCERE_OK);
        CU_ASSERT(plan_fits(&problem, &plan));
        for (uint32_t a = 0; a < problem.event_count; a++)
            for (uint32_t b = a + 1; b < problem.event_count; b++) {
                bool possible = planner_table_fits(&machine.table, (uint32_t[]){a, b}, 2);
                impossible += !possible;
                CU_ASSERT_EQUAL(possible, pair_together(&plan, a, b));
            }
        CU_ASSERT_EQUAL(plan.pairs_impossible, impossible);
        CU_ASSERT_EQUAL(plan.run_count, least);
        CU_ASSERT(plan.bound <= least);
        planner_plan_done(&plan);
    }
}

static void fifty_events_on_four_counters(void)
{
    struct planner_problem problem = {.event_count = 50, .counters = 4, .seed = 1};
    struct planner_plan plan;
    struct pcere_error error = {0};
    const size_t runs[] = {13, 17};
    for (int overlap = 0; overlap < 2; overlap++) {
        CU_ASSERT_EQUAL_FATAL(planner_cover(&problem, overlap, &plan, &error), PCERE_OK);
        CU_ASSERT(plan_fits(&problem, &plan) && plan_covers(&problem, &plan, overlap));
        CU_ASSERT_EQUAL(plan.run_count, runs[overlap]);
        CU_ASSERT_EQUAL(plan.bound, runs[overlap]);
        planner_plan_done(&plan);
    }
    CU_ASSERT_EQUAL_FATAL(planner_pairs(&problem, 300000, &plan, &error), PCERE_OK);
    for (uint32_t a = 0; a < 50; a++)
        for (uint32_t b = a + 1; b < 50; b++)
            CU_ASSERT(pair_together(&plan, a, b));
    CU_ASSERT_EQUAL(plan.bound, 213);
    CU_ASSERT(plan.run_count <= 239);
    planner_plan_done(&plan);
}

/* Seven events on three counters: the Fano plane, seven runs, each pair once. */
static void fano(void)
{
    struct planner_problem problem = {.event_count = 7, .counters = 3, .seed = 1};
    struct planner_plan plan;
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(planner_pairs(&problem, 100000, &plan, &error), PCERE_OK);
    CU_ASSERT_EQUAL(plan.run_count, 7);
    CU_ASSERT_EQUAL(plan.bound, 7);
    planner_plan_done(&plan);
}

/* Event 0 can be on counter 0 alone, as can 1; 2 on both. */
static void counters_are_places(void)
{
    const uint64_t allowed[] = {1, 1, 3};
    struct planner_table table = {.counters = 2, .allowed = allowed};
    CU_ASSERT_FALSE(planner_table_fits(&table, (uint32_t[]){0, 1}, 2));
    CU_ASSERT_TRUE(planner_table_fits(&table, (uint32_t[]){2, 0}, 2));
    CU_ASSERT_TRUE(planner_table_fits(&table, (uint32_t[]){0, 2}, 2));
    CU_ASSERT_FALSE(planner_table_fits(&table, (uint32_t[]){0, 1, 2}, 3));
    const uint32_t conflicts[][2] = {{0, 2}};
    table.conflicts = conflicts;
    table.conflict_count = 1;
    CU_ASSERT_FALSE(planner_table_fits(&table, (uint32_t[]){2, 0}, 2));
}

static void impossible_plans_are_refused(void)
{
    struct planner_plan plan;
    struct pcere_error error = {0};
    const uint64_t allowed[] = {1, 0};
    struct planner_table table = {.counters = 1, .allowed = allowed};
    struct planner_problem problem = {.event_count = 2, .counters = 1, .fits = planner_table_fits, .context = &table};
    CU_ASSERT_EQUAL(planner_cover(&problem, false, &plan, &error), PCERE_REFUSED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "event number 1"));
    problem.names = (const char *const[]){"loads", "stores"};
    CU_ASSERT_EQUAL(planner_cover(&problem, false, &plan, &error), PCERE_REFUSED);
    CU_ASSERT_STRING_EQUAL(error.message, "stores cannot be counted, not even alone");
    const uint32_t conflicts[][2] = {{0, 1}, {0, 2}, {1, 2}};
    struct planner_table apart = {.counters = 2, .conflicts = conflicts, .conflict_count = 3};
    struct planner_problem alone = {.event_count = 3, .counters = 2, .fits = planner_table_fits, .context = &apart, .names = (const char *const[]){"loads", "stores", "branches"}};
    CU_ASSERT_EQUAL(planner_cover(&alone, true, &plan, &error), PCERE_REFUSED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "loads cannot be counted together with any other"));
    problem.fits = NULL;
    CU_ASSERT_EQUAL(planner_cover(&problem, true, &plan, &error), PCERE_USAGE);
    CU_ASSERT_EQUAL(planner_pairs(&problem, 0, &plan, &error), PCERE_USAGE);
    problem.event_count = 0;
    CU_ASSERT_EQUAL(planner_cover(&problem, false, &plan, &error), PCERE_USAGE);
}

static const struct unit_test tests[] = {
    {"small covers have the fewest runs there are, with conflicts and overlaps", covers_are_the_smallest},
    {"small covers of pairs have the fewest runs there are", pairs_are_few},
    {"50 events on 4 counters take 13 runs, 17 with overlaps, and at most 239 for all pairs", fifty_events_on_four_counters},
    {"seven events on three counters are the Fano plane", fano},
    {"events have counters of their own", counters_are_places},
    {"what cannot be planned is refused", impossible_plans_are_refused},
};

UNIT_MAIN("the planner", tests)
