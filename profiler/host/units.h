/* profiler/host/units.h - from a trace's records to execution units: what ran, under which label, when, and what was counted meanwhile.
 *
 * Each thread's stack of open constructs is followed from record to record; the time and the counts between two records go to the XU on top of
 * it. So an XU is the sum of its parts, wherever they ran, and what it encloses (waits, tasks that run while it waits, XUs of an inner region) is not
 * part of it. What belongs to no XU is summed up by thread: nothing is lost.
 */
#ifndef PCERE_PROFILER_HOST_UNITS_H
#define PCERE_PROFILER_HOST_UNITS_H

#include "profiler/host/labels.h"

enum label_rules {
    LABEL_RULES_PCERE,           /* single, sections and masked are nodes, ranked among the team's worksharing constructs */
    LABEL_RULES_PAPER,           /* they are not: what is made in them is named after the thread that came to it */
};

enum unit_kind { UNIT_TASK, UNIT_STATIC_RANGE, UNIT_DYNAMIC_CHUNK, UNIT_SECTION, UNIT_TASKLOOP_CHUNK, UNIT_ITERATION };

struct unit {
    uint32_t node;               /* of its label */
    uint32_t thread;             /* that began it: number in its team */
    uint32_t cpu;                /* where it ran; UINT32_MAX: not known, or on several */
    uint8_t kind;                /* enum unit_kind */
    uint64_t start_ticks, active_ticks;
    uint64_t iterations;         /* of a range; 0: a task */
};

struct unit_outside { uint64_t ticks, waiting_ticks; uint64_t *counts; uint64_t *total_counts; uint64_t total_ticks; };   /* of one thread: in no XU; all of it */

struct units {
    struct label_table labels;
    struct unit *list;
    size_t count, capacity;
    uint64_t *counts;            /* [unit][event] */
    size_t counts_capacity;
    size_t event_count;
    struct unit_outside *outside;       /* [thread of the trace] */
    size_t thread_count;
    uint32_t team_most;          /* threads in the largest team */
    uint64_t duplicates;         /* XUs with a label that another one has */
    uint64_t mismatches;         /* records that did not fit what was open: an end without its begin, ... */
    uint64_t torn;               /* blocks that ended in something that is no record */
    uint64_t unfinished;         /* XUs that had begun when the program ended */
    uint64_t iterations;         /* that were told one by one: TRACE_ITERATION */
    uint64_t chunked;            /* XUs that are all chunks which a thread has of a loop with schedule(static,N) */
    uint64_t marks;              /* times that something was marked */
    uint32_t marked;             /* construct of the first region that was entered then, or 0 */
};

struct units_options {
    enum label_rules rules;
    const char *marked;          /* NULL: everything. Else only what regions do that a thread enters between TRACE_MARKs, and labels begin with this
                                    in place of what the first of them would have: "0.17". Borrowed for as long as the units live */
};

/* Walk through the whole trace. `file` is borrowed for as long as `ret_units` lives. PCERE_SYSTEM: no memory. */
enum pcere_status units_collect(const struct trace_file *file, const struct units_options *options, struct units *ret_units, struct pcere_error *error);
void units_done(struct units *units);          /* accepts zeroed */

#endif
