/* analysis/planner.h - which events are measured in which run, in few runs.
 *
 * What fits together is asked of the caller: a table of counters and conflicts (planner_table_fits), or a kernel that is probed. Whatever fits must
 * fit without some of its events, too. Plans are the same for the same seed.
 */
#ifndef PCERE_ANALYSIS_PLANNER_H
#define PCERE_ANALYSIS_PLANNER_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLANNER_EVENTS_MOST 1024u
#define PLANNER_COUNTERS_MOST 64u

/* Can these events, each below event_count, be counted at the same time? Asked many times. */
typedef bool planner_fits_fn(void *context, const uint32_t *events, size_t count);

struct planner_problem {
    size_t event_count;
    uint32_t counters;                 /* most events of a run, 1 to PLANNER_COUNTERS_MOST */
    planner_fits_fn *fits;             /* of at most `counters` events; NULL: all do */
    void *context;
    uint64_t seed;
    const char *const *names;          /* of the events, for messages; NULL: their numbers serve */
};

struct planner_table {                 /* a machine, for planner_table_fits as `context` */
    uint32_t counters;
    const uint64_t *allowed;           /* [event] bit c: counter c can count it; NULL: all can all */
    const uint32_t (*conflicts)[2];    /* pairs that cannot be counted together */
    size_t conflict_count;
};
bool planner_table_fits(void *table, const uint32_t *events, size_t count);

struct planner_plan {
    uint32_t **events;                 /* [run][i]: events, ascending */
    size_t *counts;
    size_t run_count;
    size_t bound;                      /* fewer runs are impossible; equal to run_count: nothing better exists */
    size_t pairs_impossible;           /* of planner_pairs: pairs that no run can have */
};
void planner_plan_done(struct planner_plan *plan);

/* The fewest runs that have every event. `overlap`: each run but the first has an event that one before it has, as behaviour clustering needs; the
 * first event is preferred. PCERE_USAGE: no events or too many; no counter; an overlap with one counter. PCERE_REFUSED: an event that fits in no run
 * (the message names it); with `overlap`: an event that fits with no other. PCERE_SYSTEM: no memory. */
enum pcere_status planner_cover(const struct planner_problem *problem, bool overlap, struct planner_plan *ret_plan, struct pcere_error *error);

/* Few runs in which every pair of events that fits is together in one run at least: references for dissimilarity (epd.h). A covering design: greedy, then
 * simulated annealing with one run less, as long as that succeeds within `moves` moves (0: a few seconds' worth). The bound is Schoenheim's (J. Schonheim, "On
 * coverings", Pacific J. Math. 1964), with fewer partners where events conflict. */
enum pcere_status planner_pairs(const struct planner_problem *problem, uint64_t moves, struct planner_plan *ret_plan, struct pcere_error *error);

#endif
