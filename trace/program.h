/* trace/program.h - the whole run of an OpenMP program as one graph: serial parts, regions, loops with their ranges, tasks, waits; for any number of threads.
 *
 * A region is a node where it begins and one where all have come to its end; between them each thread's own work (body), loops with their ranges of iterations, and tasks with edges from
 * what created them and from declared dependences. Barriers, taskwaits and taskgroups are nodes of no work. docs/METHOD.md says what is done for a number of threads that was not traced.
 */
#ifndef PCERE_TRACE_PROGRAM_H
#define PCERE_TRACE_PROGRAM_H

#include "trace/graph.h"
#include "trace/timeline.h"

struct program_options {
    uint32_t threads;            /* of teams that had as many as the largest one; 0: as they were */
    uint64_t task_ns;            /* what each explicit task costs beside its own time */
};

/* Threads of the largest team; 0: the timeline has no steps (want_steps, and a trace of ours, make them). */
uint32_t program_threads(const struct timeline *timeline);
/* What lies between two tasks that a thread executes one after the other, while it waits for all: the median. Of a timeline after timeline_pair. 0: there are none, or no memory. */
uint64_t program_gap_ns(const struct timeline *timeline);
/* PCERE_SYSTEM: no memory. */
enum pcere_status program_graph(const struct timeline *timeline, const struct program_options *options, struct graph *ret_graph, struct pcere_error *error);

#endif
