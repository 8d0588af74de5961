/* trace/pop.h - where the time of an OpenMP program's threads went: a hierarchy after POP's, whose parts add up exactly to wall time x threads.
 *
 * Each thread's time is cut at its own events into stretches, and each nanosecond goes to one part (docs/METHOD.md). What a thread waits is split by what there was to do: a task that was
 * ready and ran nowhere (scheduling), tasks that others held back (dependences), else nothing (load balance).
 */
#ifndef PCERE_TRACE_POP_H
#define PCERE_TRACE_POP_H

#include "trace/graph.h"
#include "trace/timeline.h"

enum pop_part {
    POP_USEFUL,                  /* in tasks and iterations */
    POP_BODY,                    /* in a parallel region, outside of them: what is executed by every thread, the making of tasks */
    POP_SERIAL_USEFUL,           /* the initial thread outside of regions */
    POP_SERIALISATION,           /* the others meanwhile, and threads that a region has no use for */
    POP_LOAD_BALANCE,            /* waits at the end of loops and regions with nothing to do */
    POP_SYNCHRONISATION,         /* explicit barriers likewise, locks and criticals */
    POP_SCHEDULING,              /* waits while a task was ready */
    POP_DEPENDENCES,             /* waits while tasks were there, and none was ready; taskwait and taskgroup */
    POP_PARTS,
};

struct pop { uint64_t wall_ns, threads, parts_ns[POP_PARTS]; };      /* the sum of parts_ns is wall_ns * threads */

#define POP_SPANS (1u << SPAN_IMPLICIT | 1u << SPAN_SERIAL | 1u << SPAN_BARRIER | 1u << SPAN_TASKWAIT | 1u << SPAN_TASKGROUP | 1u << SPAN_MUTEX)

const char *pop_part_name(enum pop_part part);
/* Is it a trace of OpenMP threads (ours), with what this needs? */
bool pop_has(const struct timeline *timeline);
/* `graph`: of the timeline's tasks (dependences_graph), or NULL: each task is ready when it is created. PCERE_SYSTEM: no memory. */
enum pcere_status pop_make(const struct timeline *timeline, const struct graph *graph, struct pop *ret_pop, struct pcere_error *error);

#endif
