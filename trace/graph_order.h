/* trace/graph_order.h - a graph's edges by the nodes that they lead to, its nodes in an order in which edges go one way, and the longest path from each.
 *
 * What is random in a large graph costs a wait for memory each time: edges are put in order in two steps that stay in the caches, and what is needed next is asked for in time.
 */
#ifndef PCERE_TRACE_GRAPH_ORDER_H
#define PCERE_TRACE_GRAPH_ORDER_H

#include "trace/graph.h"

struct point {
    uint64_t tail_ns;            /* longest path from its begin to a leaf's end */
    uint32_t next;               /* the next one on it; GRAPH_NONE: a leaf. Of equal ones the first */
    uint32_t waiting;            /* 0 */
};

struct order {
    uint32_t *first;             /* [node]: of `before`; one more at the end */
    const uint32_t *before;      /* nodes that lead to it */
    uint32_t *backward;          /* nodes, each behind all that it leads to; NULL: from the last to the first */
    struct point *points;        /* [node] */
    uint32_t *own_before;        /* NULL: it is the graph's `from` */
};

/* PCERE_DATA: it has a cycle, whose nodes are named. PCERE_SYSTEM: no memory. */
enum pcere_status order_find(const struct graph *graph, struct order *ret_order, struct pcere_error *error);
void order_done(struct order *order);        /* accepts zeroed */

static inline uint32_t order_node(const struct graph *graph, const struct order *order, size_t from_last)
{
    return order->backward ? order->backward[from_last] : (uint32_t)(graph->count - 1 - from_last);
}

#endif
