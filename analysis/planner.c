/* analysis/planner.c - see planner.h: what fits, and runs that cover all events. Runs that cover all pairs are in covering.c. */
#include "analysis/planner.h"
#include "predictor/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what fits: each event on a counter of its own (augmenting paths) ------------------------------------------------------------- */

struct placing { const struct planner_table *table; const uint32_t *events; int8_t event_of[PLANNER_COUNTERS_MOST]; uint64_t tried; };

static bool place(struct placing *placing, size_t which)
{
    for (uint32_t c = 0; c < placing->table->counters; c++) {
        uint64_t bit = (uint64_t)1 << c;
        if (!(placing->table->allowed[placing->events[which]] & bit) || placing->tried & bit)
            continue;
        placing->tried |= bit;
        if (placing->event_of[c] < 0 || place(placing, (size_t)placing->event_of[c])) {
            placing->event_of[c] = (int8_t)which;
            return true;
        }
    }
    return false;
}

bool planner_table_fits(void *context, const uint32_t *events, size_t count)
{
    const struct planner_table *table = context;
    if (count > table->counters || count > PLANNER_COUNTERS_MOST)
        return false;
    for (size_t k = 0; k < table->conflict_count; k++) {
        unsigned there = 0;
        for (size_t i = 0; i < count; i++)
            there |= (events[i] == table->conflicts[k][0] ? 1u : 0) | (events[i] == table->conflicts[k][1] ? 2u : 0);
        if (there == 3)
            return false;
    }
    struct placing placing = {.table = table, .events = events};
    memset(placing.event_of, -1, sizeof placing.event_of);
    for (size_t i = 0; table->allowed && i < count; i++) {
        placing.tried = 0;
        if (!place(&placing, i))
            return false;
    }
    return true;
}

static bool fits(const struct planner_problem *problem, const uint32_t *events, size_t count)
{
    return count <= problem->counters && (!problem->fits || problem->fits(problem->context, events, count));
}

/* ---- plans ---------------------------------------------------------------------------------------------------------------------- */

void planner_plan_done(struct planner_plan *plan)
{
    for (size_t i = 0; i < plan->run_count; i++)
        free(plan->events[i]);
    free(plan->events);
    free(plan->counts);
    *plan = (struct planner_plan){0};
}

struct draft {                         /* runs while they are made: `counters` places each */
    uint32_t *events;
    uint8_t *counts;
    size_t run_count;
};

struct search {
    const struct planner_problem *problem;
    bool overlap;
    uint32_t *order, *hints;           /* events to place; covered ones that may be an overlap */
    bool *covered;
    struct draft now, best;
    uint64_t random;
};

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void shuffle(uint32_t *list, size_t count, uint64_t *random)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = random_below(random, i);
        uint32_t swap = list[i - 1];
        list[i - 1] = list[j];
        list[j] = swap;
    }
}

/* A run that begins with `first` (none: UINT32_MAX) and takes what fits in order. Returns how many new events it has. */
static size_t run_fill(const struct search *search, uint32_t first, uint32_t *events, uint8_t *ret_count)
{
    size_t count = 0, fresh = 0;
    if (first != UINT32_MAX)
        events[count++] = first;
    for (size_t i = 0; i < search->problem->event_count && count < search->problem->counters; i++) {
        uint32_t event = search->order[i];
        if (search->covered[event])
            continue;
        events[count] = event;
        if (fits(search->problem, events, count + 1)) {
            count++;
            fresh++;
        }
    }
    *ret_count = (uint8_t)count;
    return fresh;
}

/* The overlap that leaves room for most new events; of equal ones the first in `hints`. */
static size_t run_add(struct search *search)
{
    const struct planner_problem *problem = search->problem;
    uint32_t *events = search->now.events + search->now.run_count * problem->counters, tried[PLANNER_COUNTERS_MOST];
    uint8_t *count = &search->now.counts[search->now.run_count], tried_count;
    size_t best = 0;
    if (!search->overlap || !search->now.run_count)
        best = run_fill(search, UINT32_MAX, events, count);
    for (size_t i = 0; search->overlap && search->now.run_count && i < problem->event_count && best + 1 < problem->counters; i++) {
        if (!search->covered[search->hints[i]])
            continue;
        size_t fresh = run_fill(search, search->hints[i], tried, &tried_count);
        if (fresh > best) {
            best = fresh;
            memcpy(events, tried, sizeof *tried * tried_count);
            *count = tried_count;
        }
    }
    for (size_t i = 0; best && i < *count; i++)
        search->covered[events[i]] = true;
    search->now.run_count += best ? 1 : 0;
    return best;
}

/* One plan in the present order; false if an event cannot be placed: *ret_left is it. */
static bool plan_try(struct search *search, uint32_t *ret_left)
{
    size_t left = search->problem->event_count;
    memset(search->covered, 0, left);
    search->now.run_count = 0;
    while (left) {
        size_t fresh = run_add(search);
        if (!fresh)
            break;
        left -= search->overlap && search->now.run_count > 1 ? fresh : search->now.counts[search->now.run_count - 1];
        if (search->best.run_count && search->now.run_count >= search->best.run_count)
            return true;
    }
    for (uint32_t i = 0; left && i < search->problem->event_count; i++)
        if (!search->covered[i]) {
            *ret_left = i;
            return false;
        }
    size_t places = search->now.run_count * search->problem->counters;
    memcpy(search->best.events, search->now.events, places * sizeof(uint32_t));
    memcpy(search->best.counts, search->now.counts, search->now.run_count);
    search->best.run_count = search->now.run_count;
    return true;
}

/* Runs that are filled, or events of which no two fit together: whichever needs more. */
static size_t cover_bound(const struct planner_problem *problem, bool overlap)
{
    size_t n = problem->event_count, k = problem->counters, apart = 0;
    size_t bound = !overlap ? (n + k - 1) / k : n <= k ? 1 : 1 + (n - k + k - 2) / (k - 1);
    uint32_t clique[PLANNER_EVENTS_MOST];
    for (uint32_t i = 0; i < n && problem->fits; i++) {
        bool all = true;
        for (size_t j = 0; j < apart && all; j++)
            all = !fits(problem, (uint32_t[]){clique[j], i}, 2);
        if (all)
            clique[apart++] = i;
    }
    return bound > apart ? bound : apart;
}

static enum pcere_status plan_publish(const struct planner_problem *problem, const struct draft *draft, size_t bound, struct planner_plan *ret_plan,
                                      struct pcere_error *error)
{
    struct planner_plan plan = {
        .events = calloc(draft->run_count + 1, sizeof *plan.events), .counts = calloc(draft->run_count + 1, sizeof *plan.counts), .bound = bound,
    };
    bool whole = plan.events && plan.counts;
    for (size_t i = 0; i < draft->run_count && whole; i++) {
        size_t bytes = draft->counts[i] * sizeof(uint32_t);
        plan.events[i] = malloc(bytes + 1);
        plan.run_count = i + 1;
        whole = plan.events[i];
        if (!whole)
            break;
        memcpy(plan.events[i], draft->events + i * problem->counters, bytes);
        plan.counts[i] = draft->counts[i];
        qsort(plan.events[i], plan.counts[i], sizeof(uint32_t), ascending);
    }
    if (!whole) {
        planner_plan_done(&plan);
        return pcere_fail_memory(error, "a plan");
    }
    *ret_plan = plan;
    return PCERE_OK;
}

static const char *event_word(const struct planner_problem *problem, uint32_t event, char number[static 32])
{
    snprintf(number, 32, "event number %u", event);
    return problem->names ? problem->names[event] : number;
}

static enum pcere_status problem_check(const struct planner_problem *problem, bool overlap, struct pcere_error *error)
{
    if (!problem->event_count || problem->event_count > PLANNER_EVENTS_MOST)
        return pcere_fail(error, PCERE_USAGE, 0, "name some events", "a plan is for 1 to %u events", PLANNER_EVENTS_MOST);
    if (!problem->counters || problem->counters > PLANNER_COUNTERS_MOST)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "a plan is for 1 to %u counters", PLANNER_COUNTERS_MOST);
    if (overlap && problem->counters < 2 && problem->event_count > 1)
        return pcere_fail(error, PCERE_USAGE, 0, "combine by labels (lgl), which needs no overlap", "with one counter runs cannot overlap");
    char number[32];
    for (uint32_t i = 0; i < problem->event_count; i++)
        if (!fits(problem, &i, 1))
            return pcere_fail(error, PCERE_REFUSED, 0, "leave it out", "%.100s cannot be counted, not even alone", event_word(problem, i, number));
    return PCERE_OK;
}

#define TRIES 400u

enum pcere_status planner_cover(const struct planner_problem *problem, bool overlap, struct planner_plan *ret_plan, struct pcere_error *error)
{
    enum pcere_status status = problem_check(problem, overlap, error);
    if (status != PCERE_OK)
        return status;
    char number[32];
    size_t n = problem->event_count, places = (n + 1) * problem->counters;
    struct search search = {
        .problem = problem, .overlap = overlap, .random = problem->seed, .order = malloc(n * sizeof(uint32_t)), .hints = malloc(n * sizeof(uint32_t)),
        .covered = malloc(n), .now = {.events = malloc(places * sizeof(uint32_t)), .counts = malloc(n + 1)},
        .best = {.events = malloc(places * sizeof(uint32_t)), .counts = malloc(n + 1)},
    };
    if (!search.order || !search.hints || !search.covered || !search.now.events || !search.now.counts || !search.best.events || !search.best.counts) {
        status = pcere_fail_memory(error, "a plan");
    } else {
        size_t bound = cover_bound(problem, overlap);
        uint32_t left = 0;
        for (uint32_t i = 0; i < n; i++)
            search.order[i] = search.hints[i] = i;
        for (unsigned turn = 0; turn < TRIES && search.best.run_count != bound; turn++) {
            if (turn)
                shuffle(search.order, n, &search.random);
            if (turn > TRIES / 2)
                shuffle(search.hints, n, &search.random);
            plan_try(&search, &left);
        }
        if (search.best.run_count)
            status = plan_publish(problem, &search.best, bound, ret_plan, error);
        else
            status = pcere_fail(error, PCERE_REFUSED, 0, "leave it out, or combine by labels (lgl), which needs no overlap",
                                "%.100s cannot be counted together with any other, so that no run with it overlaps", event_word(problem, left, number));
    }
    void *const parts[] = {search.order, search.hints, search.covered, search.now.events, search.now.counts, search.best.events, search.best.counts};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        free(parts[i]);
    return status;
}
