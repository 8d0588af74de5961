/* trace/schedule.h - a graph of tasks executed in thought, by a number of workers that are alike.
 *
 * HEFT (H. Topcuoglu, S. Hariri, M.-Y. Wu, IEEE TPDS 13(3), 2002): tasks by the longest path that is left after them, each where it ends first, also into a gap. Work stealing: what a runtime
 * like LLVM's does: each worker takes the task that it made ready last, and if it has none the oldest one of another.
 */
#ifndef PCERE_TRACE_SCHEDULE_H
#define PCERE_TRACE_SCHEDULE_H

#include "trace/graph.h"

enum schedule_kind { SCHEDULE_HEFT, SCHEDULE_STEALING, SCHEDULE_KINDS };
enum { SCHEDULE_WORKERS_MOST = 65536 };

struct schedule {
    uint64_t makespan_ns;
    uint64_t busy_ns;            /* of all workers: the graph's work */
};

/* `paths` as graph_paths_find has them; workers from 1. Edges take no time between workers. The same each time: victims are drawn from a fixed seed.
 * *ret_begin_ns, if not NULL, is malloc'ed: when each node began. PCERE_DATA: a cycle. PCERE_SYSTEM: no memory. */
enum pcere_status schedule_make(const struct graph *graph, const struct graph_paths *paths, enum schedule_kind kind, uint32_t workers, struct schedule *ret_schedule,
                                uint64_t **ret_begin_ns, struct pcere_error *error);

/* No schedule is shorter: the critical path, or all work evenly spread. */
uint64_t schedule_bound_ns(const struct graph *graph, const struct graph_paths *paths, uint32_t workers);

#endif
