/* trace/graph.h - a graph of tasks: its longest paths, what of it is critical, and how long each task could wait.
 *
 * V. Pinho (UNICAMP 2023), section 4.5.3: the longest path from each root to a leaf is the time of its tasks; the longest of all is the critical
 * path, 1.0, and the others are shares of it.
 */
#ifndef PCERE_TRACE_GRAPH_H
#define PCERE_TRACE_GRAPH_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum graph_node_kind {
    GRAPH_TASK, GRAPH_DATA, GRAPH_REGION /* its begin */, GRAPH_LOOP /* its begin */, GRAPH_WAIT, GRAPH_CHUNK /* a range of iterations */,
    GRAPH_BODY /* what is in no task and no loop */, GRAPH_TARGET, GRAPH_KINDS,
};

struct graph_node {
    char *name;                  /* as DOT has it; NULL: graph_node_name */
    uint64_t id;                 /* of the task; UINT64_MAX: none */
    uint32_t place;              /* of `places`; 0: unknown */
    uint8_t kind;                /* enum graph_node_kind */
};

struct graph {
    size_t count, edge_count, capacity, edge_capacity;
    uint64_t *work_ns;           /* [node] */
    uint32_t *from, *to;         /* [edge] */
    uint64_t *edge_bytes;        /* [edge], or NULL: unknown */
    struct graph_node *nodes;    /* [node], or NULL: nothing is known of them */
    char **places;               /* [0] is "" */
    size_t place_count, place_capacity;
    bool has_work;               /* times are known */
};

#define GRAPH_NONE UINT32_MAX

struct graph_paths {
    uint64_t critical_ns;
    uint64_t *tail_ns;           /* [node]: longest path from its begin to a leaf's end */
    uint32_t *next;              /* [node]: the next one on it; GRAPH_NONE: a leaf. Of equal ones the first */
    uint32_t *roots;             /* longest path first */
    size_t root_count;
};

/* Zeroed before; both accept that. */
void graph_done(struct graph *graph);
void graph_paths_done(struct graph_paths *paths);
/* False: no memory. A node that is new has no work. */
bool graph_node_add(struct graph *graph, const struct graph_node *node, uint32_t *ret_node);
bool graph_edge_add(struct graph *graph, uint32_t from, uint32_t to, uint64_t bytes);
bool graph_place(struct graph *graph, const char *text, uint32_t *ret_place);

/* PCERE_SYSTEM: no memory. */
enum pcere_status graph_copy(const struct graph *graph, struct graph *ret_copy, struct pcere_error *error);

/* The node's name, or a letter for its kind and its number: "T12". Returns `text` or the name. */
enum { GRAPH_NAME_BYTES = 24 };
const char *graph_node_name(const struct graph *graph, uint32_t node, char text[GRAPH_NAME_BYTES]);
extern const char *const graph_kind_words[GRAPH_KINDS];          /* "task", "loop", ... */

/* PCERE_DATA: it has a cycle, whose nodes are named. PCERE_SYSTEM: no memory. */
enum pcere_status graph_paths_find(const struct graph *graph, struct graph_paths *ret_paths, struct pcere_error *error);

/* How much later each task could begin without the whole lasting longer; *ret_slack_ns is malloc'ed. */
enum pcere_status graph_slack(const struct graph *graph, const struct graph_paths *paths, uint64_t **ret_slack_ns, struct pcere_error *error);

struct graph_metrics {           /* of table 5.8; shares are of the critical path, rounded to two places where they are counted */
    uint64_t nodes, dependences, roots, critical_ns;
    uint64_t critical_count;     /* roots whose share is 1.00 */
    double most, least, average, median;        /* of the other roots; NaN: there are none */
    uint64_t most_count, least_count;
};

enum pcere_status graph_metrics(const struct graph *graph, const struct graph_paths *paths, struct graph_metrics *ret_metrics, struct pcere_error *error);

#endif
