/* trace/graph_order.c - see graph_order.h. */
#include "trace/graph_order.h"
#include "core/workers.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void order_done(struct order *order)
{
    free(order->first);
    free(order->own_before);
    free(order->backward);
    free(order->points);
    *order = (struct order){0};
}

/* ---- edges by where they lead to ---------------------------------------------------------------------------------------------- */

enum { BUCKET_NODES_SHIFT = 14, BUCKETS_MOST = 2048 };   /* first[] of a bucket's nodes stays in the cache; a bucket is written as one stream */

struct pair { uint32_t from, to; };

struct sorting {
    const struct graph *graph;
    struct order *order;
    unsigned shift;              /* of a node's number: its bucket */
    size_t bucket_count;
    size_t *ends;                /* [bucket]: of `pairs` */
    struct pair *pairs;          /* by bucket */
    atomic_size_t next;
};

static bool pairs_make(struct sorting *sorting)
{
    const struct graph *graph = sorting->graph;
    sorting->shift = BUCKET_NODES_SHIFT;
    while (graph->count >> sorting->shift >= BUCKETS_MOST)
        sorting->shift++;
    sorting->bucket_count = (graph->count >> sorting->shift) + 1;
    sorting->ends = calloc(sorting->bucket_count + 1, sizeof *sorting->ends);
    sorting->pairs = malloc((graph->edge_count + 1) * sizeof *sorting->pairs);
    if (!sorting->ends || !sorting->pairs)
        return false;
    for (size_t i = 0; i < graph->edge_count; i++)
        sorting->ends[(graph->to[i] >> sorting->shift) + 1]++;
    for (size_t i = 1; i <= sorting->bucket_count; i++)
        sorting->ends[i] += sorting->ends[i - 1];
    for (size_t i = 0; i < graph->edge_count; i++) {     /* where a bucket begins becomes where it ends */
        size_t place = sorting->ends[graph->to[i] >> sorting->shift]++;
        sorting->pairs[place] = (struct pair){graph->from[i], graph->to[i]};
    }
    return true;
}

static void bucket_sort(const struct sorting *sorting, size_t bucket)
{
    struct order *order = sorting->order;
    size_t nodes = sorting->graph->count, begin = bucket ? sorting->ends[bucket - 1] : 0, end = sorting->ends[bucket];
    size_t first = bucket << sorting->shift, stop = (bucket + 1) << sorting->shift;
    stop = stop < nodes ? stop : nodes;
    /* first[n] counts the edges of n, then is where they begin, and, as they are put there, where they end. */
    for (size_t i = begin; i < end; i++)
        order->first[sorting->pairs[i].to]++;
    uint32_t place = (uint32_t)begin;
    for (size_t node = first; node < stop; node++) {
        uint32_t count = order->first[node];
        order->first[node] = place;
        place += count;
    }
    for (size_t i = begin; i < end; i++) {
        uint32_t at = order->first[sorting->pairs[i].to]++;
        order->own_before[at] = sorting->pairs[i].from;
    }
    uint32_t last = (uint32_t)begin;
    for (size_t node = first; node < stop; node++) {
        uint32_t ended = order->first[node];
        order->first[node] = last;
        last = ended;
    }
}

static void *buckets_sort(void *raw)
{
    struct sorting *sorting = raw;
    for (size_t bucket; (bucket = atomic_fetch_add(&sorting->next, 1)) < sorting->bucket_count;)
        bucket_sort(sorting, bucket);
    return NULL;
}

static bool edges_sort(const struct graph *graph, struct order *order)
{
    struct sorting sorting = {.graph = graph, .order = order};
    bool memory = pairs_make(&sorting);
    order->before = order->own_before = malloc((graph->edge_count + 1) * sizeof *order->own_before);
    memory = memory && order->own_before;
    if (memory)
        workers_run(buckets_sort, &sorting, sorting.bucket_count);
    free(sorting.ends);
    free(sorting.pairs);
    return memory;
}

/* ---- nodes behind all that they lead to --------------------------------------------------------------------------------------- */

static inline void tail_offer(struct point *point, uint64_t path_ns, uint32_t to)
{
    bool better = path_ns > point->tail_ns || point->next == GRAPH_NONE || (path_ns == point->tail_ns && to < point->next);
    point->tail_ns = better ? path_ns : point->tail_ns;
    point->next = better ? to : point->next;
}

static void numbers_walk(const struct graph *graph, struct order *order)
{
    enum { AHEAD = 32 };         /* edges */
    for (size_t node = graph->count; node-- > 0;) {
        uint64_t tail_ns = order->points[node].tail_ns += graph->work_ns[node];
        for (size_t i = order->first[node + 1]; i-- > order->first[node];) {
            __builtin_prefetch(&order->points[order->before[i > AHEAD ? i - AHEAD : 0]], 1);
            tail_offer(&order->points[order->before[i]], tail_ns, (uint32_t)node);
        }
    }
}

/* What is needed of a node that comes later, asked for one step before the next. */
static inline void node_ask(const struct graph *graph, const struct order *order, size_t done, size_t known)
{
    enum { FIRST = 36, BEFORE = 24, POINTS = 12 };
    if (done + FIRST < known) {
        uint32_t node = order->backward[done + FIRST];
        __builtin_prefetch(&order->first[node]);
        __builtin_prefetch(&graph->work_ns[node]);
        __builtin_prefetch(&order->points[node], 1);
    }
    if (done + BEFORE < known)
        __builtin_prefetch(&order->before[order->first[order->backward[done + BEFORE]]]);
    if (done + POINTS < known) {
        uint32_t node = order->backward[done + POINTS];
        for (size_t i = order->first[node]; i < order->first[node + 1] && i < order->first[node] + 4u; i++)
            __builtin_prefetch(&order->points[order->before[i]], 1);
    }
}

/* From the leaves on. Returns how many nodes come, all of them if there is no cycle. */
static size_t leaves_walk(const struct graph *graph, struct order *order)
{
    size_t known = 0;
    for (size_t i = 0; i < graph->edge_count; i++)
        order->points[order->before[i]].waiting++;
    for (size_t node = graph->count; node-- > 0;)
        if (!order->points[node].waiting)
            order->backward[known++] = (uint32_t)node;
    for (size_t done = 0; done < known; done++) {
        uint32_t node = order->backward[done];
        node_ask(graph, order, done, known);
        uint64_t tail_ns = order->points[node].tail_ns += graph->work_ns[node];
        for (size_t i = order->first[node]; i < order->first[node + 1]; i++) {
            uint32_t before = order->before[i];
            struct point *point = &order->points[before];
            tail_offer(point, tail_ns, node);
            order->backward[known] = before;
            known += --point->waiting == 0;
        }
    }
    return known;
}

/* Each node that still waits leads to one that does; on from one, the n-th is in a cycle. */
static enum pcere_status cycle_tell(const struct graph *graph, const struct order *order, struct pcere_error *error)
{
    char names[200] = "";
    uint32_t node = 0;
    while (node < graph->count && !order->points[node].waiting)
        node++;
    for (size_t i = 0; i < graph->edge_count; i++)       /* the walk needs `next` no more */
        if (order->points[graph->from[i]].waiting && order->points[graph->to[i]].waiting)
            order->points[graph->from[i]].next = graph->to[i];
    for (size_t i = 0; i < graph->count; i++)
        node = order->points[node].next;
    uint32_t begin = node;
    size_t used = 0;
    do {
        char text[GRAPH_NAME_BYTES];
        int wrote = snprintf(names + used, sizeof names - used, "%s%.40s", used ? " -> " : "", graph_node_name(graph, node, text));
        used += wrote > 0 ? (size_t)wrote : 0;
        node = order->points[node].next;
    } while (node != begin && used < 140);
    return pcere_fail(error, PCERE_DATA, 0, "tasks that wait for each other have no order: the file is damaged or no task graph", "the graph has a cycle: %s%s", names,
                      node != begin ? " -> ..." : "");
}

/* ---- all of it ---------------------------------------------------------------------------------------------------------------- */

static void edges_look(const struct graph *graph, bool *ret_sorted, bool *ret_numbered)
{
    uint32_t last = 0;
    bool sorted = true, numbered = true;
    for (size_t i = 0; i < graph->edge_count; i++) {
        numbered &= graph->from[i] < graph->to[i];
        sorted &= graph->to[i] >= last;
        last = graph->to[i];
    }
    *ret_sorted = sorted;
    *ret_numbered = numbered;
}

/* `first` of edges that are in the order of where they lead to. */
static void first_find(const struct graph *graph, struct order *order)
{
    size_t edge = 0;
    for (size_t node = 0; node < graph->count; node++) {
        order->first[node] = (uint32_t)edge;
        while (edge < graph->edge_count && graph->to[edge] == node)
            edge++;
    }
}

enum pcere_status order_find(const struct graph *graph, struct order *ret_order, struct pcere_error *error)
{
    bool sorted, numbered;
    struct order order = {.before = graph->from};
    edges_look(graph, &sorted, &numbered);
    order.first = calloc(graph->count + 1, sizeof *order.first);
    order.points = malloc((graph->count + 1) * sizeof *order.points);
    order.backward = numbered ? NULL : malloc((graph->count + 1) * sizeof *order.backward);
    bool memory = graph->edge_count < UINT32_MAX && order.first && order.points && (numbered || order.backward) && (sorted || edges_sort(graph, &order));
    enum pcere_status status = memory ? PCERE_OK : pcere_fail_memory(error, "the graph's order");
    if (memory) {
        order.first[graph->count] = (uint32_t)graph->edge_count;
        if (sorted)
            first_find(graph, &order);
        for (size_t i = 0; i < graph->count; i++)
            order.points[i] = (struct point){0, GRAPH_NONE, 0};
        if (numbered)
            numbers_walk(graph, &order);
        else if (leaves_walk(graph, &order) < graph->count)
            status = cycle_tell(graph, &order, error);
    }
    if (status == PCERE_OK)
        *ret_order = order;
    else
        order_done(&order);
    return status;
}
