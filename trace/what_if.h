/* trace/what_if.h - a graph of tasks as it would be if its tasks were faster, finer or coarser, and how long it then takes.
 */
#ifndef PCERE_TRACE_WHAT_IF_H
#define PCERE_TRACE_WHAT_IF_H

#include "trace/graph.h"
#include "trace/schedule.h"

enum what_if_kind { WHAT_IF_FASTER, WHAT_IF_SPLIT, WHAT_IF_JOIN };

/* Tasks whose place (or kind, "task", "chunk", "body") contains `pattern`; "" is all that take time. */
struct what_if { enum what_if_kind kind; const char *pattern; double factor; };      /* > 0; of SPLIT and JOIN a whole number */

/* FASTER: takes 1/factor of its time. SPLIT: is `factor` tasks instead, each of its share, between the same predecessors and successors. JOIN: tasks of one place that do not wait for each other (at
 * the same distance from the roots) are one, `factor` at a time. The graph is changed; *ret_matches says how many tasks matched. PCERE_DATA: a cycle. PCERE_SYSTEM: no memory. */
enum pcere_status what_if_apply(struct graph *graph, const struct what_if *change, size_t *ret_matches, struct pcere_error *error);

struct what_if_place {           /* all tasks of one kind and place */
    uint32_t place;              /* of the graph */
    enum graph_node_kind kind;
    uint64_t count, work_ns, critical_ns;        /* critical: of it on the critical path */
    uint64_t least_slack_ns, median_slack_ns;
    uint64_t faster_ns;          /* the whole (by work stealing), if these took half of their time */
};

/* Those that work most come first; times "if faster" for the first `most` of them, 0 for the others. *ret_places is malloc'ed. PCERE_DATA, PCERE_SYSTEM. */
enum pcere_status what_if_places(struct graph *graph, const struct graph_paths *paths, uint32_t workers, size_t most, struct what_if_place **ret_places, size_t *ret_count,
                                 struct pcere_error *error);

#endif
