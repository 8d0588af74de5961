/* analysis/covering.c - see planner.h: few runs in which every pair of events is together once. Knows covering designs. */
#include "analysis/planner.h"
#include "predictor/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct design {
    const struct planner_problem *problem;
    size_t n, k;
    bool *possible;                    /* [a * n + b] the pair fits */
    uint16_t *cover;                   /* [a * n + b] runs that have it */
    uint32_t *runs;                    /* [run * k]; a short run repeats its first event */
    size_t run_count, capacity;
    size_t open;                       /* possible pairs that no run has */
    uint64_t random;
};

static bool run_fits(const struct design *design, const uint32_t *events, size_t count)
{
    return !design->problem->fits || design->problem->fits(design->problem->context, events, count);
}

static void pair_change(struct design *design, uint32_t a, uint32_t b, int by)
{
    if (a == b)
        return;
    uint16_t *x = &design->cover[a * design->n + b], *y = &design->cover[b * design->n + a];
    if (design->possible[a * design->n + b]) {
        design->open -= by > 0 && *x == 0;
        design->open += by < 0 && *x == 1;
    }
    *x = (uint16_t)(*x + by);
    *y = *x;
}

/* In a run that is short an event stands twice: each pair of different events counts once a place. */
static void run_change(struct design *design, const uint32_t *run, int by)
{
    for (size_t i = 0; i < design->k; i++)
        for (size_t j = i + 1; j < design->k; j++)
            pair_change(design, run[i], run[j], by);
}

static bool is_in(const uint32_t *run, size_t count, uint32_t event)
{
    for (size_t i = 0; i < count; i++)
        if (run[i] == event)
            return true;
    return false;
}

static size_t gain_of(const struct design *design, const uint32_t *run, size_t count, uint32_t event)
{
    size_t gain = 0;
    for (size_t i = 0; i < count; i++)
        gain += design->possible[run[i] * design->n + event] && !design->cover[run[i] * design->n + event];
    return gain;
}

/* The open pair that comes first in a random order, then whatever closes most pairs. */
static void run_greedy(struct design *design, uint32_t *run)
{
    size_t n = design->n, count = 0, offset = random_below(&design->random, n * n);
    for (size_t i = 0; i < n * n && !count; i++) {
        size_t pair = (offset + i) % (n * n);
        if (design->possible[pair] && !design->cover[pair]) {
            run[count++] = (uint32_t)(pair / n);
            run[count++] = (uint32_t)(pair % n);
        }
    }
    while (count < design->k) {
        size_t best = 0, equal = 0;
        uint32_t chosen = 0;
        for (uint32_t event = 0; event < n; event++) {
            size_t gain = is_in(run, count, event) ? 0 : gain_of(design, run, count, event);
            if (!gain || gain < best)
                continue;
            run[count] = event;
            if (!run_fits(design, run, count + 1))
                continue;
            equal = gain > best ? 1 : equal + 1;
            best = gain;
            if (random_below(&design->random, equal) == 0)
                chosen = event;
        }
        if (!best)
            break;
        run[count++] = chosen;
    }
    while (count < design->k)
        run[count++] = run[0];
}

static bool design_grow(struct design *design)
{
    if (design->run_count < design->capacity)
        return true;
    size_t capacity = design->capacity ? design->capacity * 2 : 64;
    uint32_t *runs = realloc(design->runs, capacity * design->k * sizeof *runs);
    if (!runs)
        return false;
    design->runs = runs;
    design->capacity = capacity;
    return true;
}

static bool design_greedy(struct design *design)
{
    while (design->open) {
        if (!design_grow(design))
            return false;
        uint32_t *run = design->runs + design->run_count * design->k;
        run_greedy(design, run);
        run_change(design, run, 1);
        design->run_count++;
    }
    return true;
}

/* ---- one run less --------------------------------------------------------------------------------------------------------------- */

/* The run without which fewest pairs are open goes. */
static void run_remove(struct design *design)
{
    size_t best = SIZE_MAX, which = 0;
    for (size_t r = 0; r < design->run_count; r++) {
        const uint32_t *run = design->runs + r * design->k;
        size_t before = design->open;
        run_change(design, run, -1);
        if (design->open - before < best) {
            best = design->open - before;
            which = r;
        }
        run_change(design, run, 1);
    }
    run_change(design, design->runs + which * design->k, -1);
    design->run_count--;
    memmove(design->runs + which * design->k, design->runs + design->run_count * design->k, design->k * sizeof *design->runs);
}

static void place_change(struct design *design, uint32_t *run, size_t place, uint32_t event)
{
    for (size_t i = 0; i < design->k; i++)
        if (i != place)
            pair_change(design, run[i], run[place], -1);
    run[place] = event;
    for (size_t i = 0; i < design->k; i++)
        if (i != place)
            pair_change(design, run[i], event, 1);
}

/* Mostly an event that makes some open pair with one in the run, if chance finds one quickly. */
static uint32_t event_propose(struct design *design, const uint32_t *run)
{
    uint32_t event = 0;
    for (int turn = 0; turn < 4; turn++) {
        event = (uint32_t)random_below(&design->random, design->n);
        if (gain_of(design, run, design->k, event))
            return event;
    }
    return event;
}

#define HOT 0.6
#define COLD 0.1

static bool design_anneal(struct design *design, uint64_t moves)
{
    size_t k = design->k;
    uint32_t tried[PLANNER_COUNTERS_MOST];
    double heat = HOT;
    for (uint64_t move = 0; move < moves && design->open; move++) {
        if (move % 1024 == 0)
            heat = HOT * pow(COLD / HOT, (double)move / (double)moves);
        uint32_t *run = design->runs + random_below(&design->random, design->run_count) * k;
        size_t place = random_below(&design->random, k), before = design->open;
        uint32_t old = run[place], event = event_propose(design, run);
        if (is_in(run, k, event))
            continue;
        if (design->problem->fits) {
            memcpy(tried, run, k * sizeof *run);
            tried[place] = event;
            size_t count = 0;
            for (size_t i = 0; i < k; i++)
                if (!is_in(tried, count, tried[i]))
                    tried[count++] = tried[i];
            if (!run_fits(design, tried, count))
                continue;
        }
        place_change(design, run, place, event);
        if (design->open > before) {
            double chance = exp(-(double)(design->open - before) / heat);
            if ((double)(random_next(&design->random) >> 11) / 9007199254740992.0 >= chance)
                place_change(design, run, place, old);
        }
    }
    return !design->open;
}

static enum pcere_status design_improve(struct design *design, uint64_t moves, size_t bound, struct pcere_error *error)
{
    size_t most = design->run_count * design->k;
    uint32_t *kept = malloc(most * sizeof *kept + 1);
    if (!kept)
        return pcere_fail_memory(error, "a plan");
    size_t kept_count = design->run_count;
    memcpy(kept, design->runs, most * sizeof *kept);
    while (kept_count > bound) {
        run_remove(design);
        if (design->open && !design_anneal(design, moves))
            break;
        kept_count = design->run_count;
        memcpy(kept, design->runs, kept_count * design->k * sizeof *kept);
    }
    memcpy(design->runs, kept, kept_count * design->k * sizeof *kept);
    design->run_count = kept_count;
    free(kept);
    return PCERE_OK;
}

/* ---- the work ------------------------------------------------------------------------------------------------------------------- */

static size_t pairs_bound(const struct design *design)
{
    size_t places = 0;
    for (size_t a = 0; a < design->n; a++) {
        size_t partners = 0;
        for (size_t b = 0; b < design->n; b++)
            partners += design->possible[a * design->n + b];
        places += (partners + design->k - 2) / (design->k - 1);
    }
    return (places + design->k - 1) / design->k;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static enum pcere_status design_publish(const struct design *design, size_t bound, size_t impossible, struct planner_plan *ret_plan,
                                        struct pcere_error *error)
{
    struct planner_plan plan = {
        .events = calloc(design->run_count + 1, sizeof *plan.events), .counts = calloc(design->run_count + 1, sizeof *plan.counts), .bound = bound,
        .pairs_impossible = impossible,
    };
    for (size_t r = 0; plan.events && plan.counts && r < design->run_count; r++) {
        const uint32_t *run = design->runs + r * design->k;
        uint32_t *events = plan.events[r] = malloc(design->k * sizeof *events);
        plan.run_count = r + 1;
        if (!events)
            break;
        for (size_t i = 0; i < design->k; i++)
            if (!is_in(events, plan.counts[r], run[i]))
                events[plan.counts[r]++] = run[i];
        qsort(events, plan.counts[r], sizeof *events, ascending);
    }
    if (!plan.events || !plan.counts || plan.run_count != design->run_count || (plan.run_count && !plan.events[plan.run_count - 1])) {
        planner_plan_done(&plan);
        return pcere_fail_memory(error, "a plan");
    }
    *ret_plan = plan;
    return PCERE_OK;
}

enum pcere_status planner_pairs(const struct planner_problem *problem, uint64_t moves, struct planner_plan *ret_plan, struct pcere_error *error)
{
    size_t n = problem->event_count, impossible = 0;
    if (n < 2 || n > PLANNER_EVENTS_MOST || problem->counters < 2 || problem->counters > PLANNER_COUNTERS_MOST)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "pairs are of 2 to %u events on 2 to %u counters", PLANNER_EVENTS_MOST, PLANNER_COUNTERS_MOST);
    struct design design = {
        .problem = problem, .n = n, .k = problem->counters < n ? problem->counters : n, .possible = calloc(n * n, sizeof(bool)),
        .cover = calloc(n * n, sizeof(uint16_t)), .random = problem->seed,
    };
    if (!design.possible || !design.cover) {
        free(design.possible);
        free(design.cover);
        return pcere_fail_memory(error, "a plan");
    }
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++) {
            bool possible = run_fits(&design, (uint32_t[]){a, b}, 2);
            design.possible[a * n + b] = design.possible[b * n + a] = possible;
            design.open += possible;
            impossible += !possible;
        }
    size_t bound = pairs_bound(&design);
    enum pcere_status status = design_greedy(&design) ? PCERE_OK : pcere_fail_memory(error, "a plan");
    if (status == PCERE_OK && design.run_count)
        status = design_improve(&design, moves ? moves : 6000000, bound, error);
    if (status == PCERE_OK)
        status = design_publish(&design, bound, impossible, ret_plan, error);
    free(design.possible);
    free(design.cover);
    free(design.runs);
    return status;
}
