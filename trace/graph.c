/* trace/graph.c - see graph.h. */
#include "trace/graph.h"
#include "core/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void graph_done(struct graph *graph)
{
    if (!graph)
        return;
    for (size_t i = 0; graph->nodes && i < graph->count; i++)
        free(graph->nodes[i].name);
    for (size_t i = 0; i < graph->place_count; i++)
        free(graph->places[i]);
    free(graph->places);
    free(graph->nodes);
    free(graph->work_ns);
    free(graph->from);
    free(graph->to);
    free(graph->edge_ns);
    free(graph->edge_bytes);
    *graph = (struct graph){0};
}

void graph_paths_done(struct graph_paths *paths)
{
    free(paths->tail_ns);
    free(paths->next);
    free(paths->roots);
    *paths = (struct graph_paths){0};
}

const char *const graph_kind_words[GRAPH_KINDS] = {"task", "data", "region", "loop", "wait", "chunk", "body", "target"};

const char *graph_node_name(const struct graph *graph, uint32_t node, char text[GRAPH_NAME_BYTES])
{
    static const char letters[GRAPH_KINDS] = {'T', 'D', 'R', 'L', 'W', 'C', 'B', 'O'};
    if (graph->nodes && graph->nodes[node].name)
        return graph->nodes[node].name;
    snprintf(text, GRAPH_NAME_BYTES, "%c%u", graph->nodes ? letters[graph->nodes[node].kind] : 'T', node);
    return text;
}

bool graph_node_add(struct graph *graph, const struct graph_node *node, uint32_t *ret_node)
{
    size_t capacity = graph->capacity;
    if (graph->count >= GRAPH_NONE - 1 || !array_reserve(&graph->nodes, &graph->capacity, graph->count + 1, sizeof *graph->nodes))
        return false;
    if (capacity != graph->capacity) {
        uint64_t *work_ns = realloc(graph->work_ns, graph->capacity * sizeof *work_ns);
        if (!work_ns)
            return false;
        graph->work_ns = work_ns;
    }
    graph->nodes[graph->count] = *node;
    graph->work_ns[graph->count] = 0;
    *ret_node = (uint32_t)graph->count++;
    return true;
}

bool graph_edge_add(struct graph *graph, uint32_t from, uint32_t to, uint64_t bytes)
{
    if (graph->edge_count == graph->edge_capacity) {
        size_t capacity = graph->edge_capacity ? graph->edge_capacity * 2 : 64;
        uint32_t *froms = realloc(graph->from, capacity * sizeof *froms);
        if (froms)
            graph->from = froms;
        uint32_t *tos = realloc(graph->to, capacity * sizeof *tos);
        if (tos)
            graph->to = tos;
        uint64_t *sizes = realloc(graph->edge_bytes, capacity * sizeof *sizes);
        if (sizes)
            graph->edge_bytes = sizes;
        if (!froms || !tos || !sizes)
            return false;
        graph->edge_capacity = capacity;
    }
    graph->from[graph->edge_count] = from;
    graph->to[graph->edge_count] = to;
    graph->edge_bytes[graph->edge_count++] = bytes;
    return true;
}

bool graph_place(struct graph *graph, const char *text, uint32_t *ret_place)
{
    for (size_t i = 0; i < graph->place_count; i++)
        if (strcmp(graph->places[i], text) == 0) {
            *ret_place = (uint32_t)i;
            return true;
        }
    if (!array_reserve(&graph->places, &graph->place_capacity, graph->place_count + 2, sizeof *graph->places))
        return false;
    if (!graph->place_count && !(graph->places[graph->place_count++] = strdup("")))
        return --graph->place_count, false;
    if (!*text)
        return *ret_place = 0, true;
    if (!(graph->places[graph->place_count] = strdup(text)))
        return false;
    *ret_place = (uint32_t)graph->place_count++;
    return true;
}

enum pcere_status graph_copy(const struct graph *graph, struct graph *ret_copy, struct pcere_error *error)
{
    struct graph copy = {.has_work = graph->has_work};
    bool memory = true;
    uint32_t node;
    for (size_t i = 0; i < graph->place_count && memory; i++)
        memory = graph_place(&copy, graph->places[i], &node);
    for (size_t i = 0; i < graph->count && memory; i++) {
        struct graph_node one = graph->nodes ? graph->nodes[i] : (struct graph_node){.id = i};
        one.name = one.name ? strdup(one.name) : NULL;
        memory = (one.name || !graph->nodes || !graph->nodes[i].name) && graph_node_add(&copy, &one, &node);
        if (memory)
            copy.work_ns[node] = graph->work_ns[i];
        else
            free(one.name);
    }
    for (size_t i = 0; i < graph->edge_count && memory; i++)
        memory = graph_edge_add(&copy, graph->from[i], graph->to[i], graph->edge_bytes ? graph->edge_bytes[i] : 0);
    if (memory)
        *ret_copy = copy;
    else
        graph_done(&copy);
    return memory ? PCERE_OK : pcere_fail_memory(error, "a graph");
}

/* ---- order -------------------------------------------------------------------------------------------------------------------- */

struct order {                   /* successors by node; nodes so that edges go forward */
    bool forward;                /* edges are in the order of `to`, and go to later nodes: neither is needed */
    size_t *first;               /* [node]: of `next`; one more at the end */
    uint32_t *next, *edges;
    uint32_t *sequence;
};

static void order_done(struct order *order)
{
    free(order->first);
    free(order->next);
    free(order->edges);
    free(order->sequence);
}

static bool is_forward(const struct graph *graph)
{
    uint32_t last = 0;
    bool forward = true;
    for (size_t i = 0; i < graph->edge_count; i++) {
        forward &= graph->from[i] < graph->to[i] && graph->to[i] >= last;
        last = graph->to[i];
    }
    return forward;
}

static enum pcere_status cycle_tell(const struct graph *graph, const struct order *order, const uint32_t *waiting, struct pcere_error *error)
{
    char names[200] = "";
    uint32_t node = 0;
    while (node < graph->count && !waiting[node])
        node++;
    /* Each node that still waits has a predecessor that does; back from one, the n-th is in a cycle. */
    uint32_t *before = calloc(graph->count + 1, sizeof *before);
    if (!before)
        return pcere_fail_memory(error, "a cycle");
    for (uint32_t from = 0; from < graph->count; from++)
        for (size_t i = order->first[from]; waiting[from] && i < order->first[from + 1]; i++)
            before[order->next[i]] = from;
    for (size_t i = 0; i < graph->count; i++)
        node = before[node];
    uint32_t begin = node;
    size_t used = 0;
    do {
        char text[GRAPH_NAME_BYTES];
        int wrote = snprintf(names + used, sizeof names - used, "%s%.40s", used ? " <- " : "", graph_node_name(graph, node, text));
        used += wrote > 0 ? (size_t)wrote : 0;
        node = before[node];
    } while (node != begin && used < 140);
    free(before);
    return pcere_fail(error, PCERE_DATA, 0, "tasks that wait for each other have no order: the file is damaged or no task graph", "the graph has a cycle: %s%s", names,
                      node != begin ? " <- ..." : "");
}

static enum pcere_status order_find(const struct graph *graph, struct order *order, struct pcere_error *error)
{
    *order = (struct order){.forward = is_forward(graph)};
    if (order->forward)
        return PCERE_OK;
    order->first = calloc(graph->count + 2, sizeof *order->first);
    order->next = malloc((graph->edge_count + 1) * sizeof *order->next);
    order->edges = malloc((graph->edge_count + 1) * sizeof *order->edges);
    order->sequence = malloc((graph->count + 1) * sizeof *order->sequence);
    uint32_t *waiting = calloc(graph->count + 1, sizeof *waiting);
    enum pcere_status status = PCERE_OK;
    if (!order->first || !order->next || !order->edges || !order->sequence || !waiting) {
        free(waiting);
        order_done(order);
        return pcere_fail_memory(error, "the graph's order");
    }
    for (size_t i = 0; i < graph->edge_count; i++) {
        order->first[graph->from[i] + 2]++;
        waiting[graph->to[i]]++;
    }
    for (size_t i = 2; i < graph->count + 2; i++)
        order->first[i] += order->first[i - 1];
    for (size_t i = 0; i < graph->edge_count; i++) {
        size_t place = order->first[graph->from[i] + 1]++;
        order->next[place] = graph->to[i];
        order->edges[place] = (uint32_t)i;
    }
    size_t known = 0;
    for (uint32_t node = 0; node < graph->count; node++)
        if (!waiting[node])
            order->sequence[known++] = node;
    for (size_t done = 0; done < known; done++)
        for (size_t i = order->first[order->sequence[done]]; i < order->first[order->sequence[done] + 1]; i++)
            if (--waiting[order->next[i]] == 0)
                order->sequence[known++] = order->next[i];
    if (known < graph->count)
        status = cycle_tell(graph, order, waiting, error);
    if (status != PCERE_OK)
        order_done(order);
    free(waiting);
    return status;
}

/* ---- paths -------------------------------------------------------------------------------------------------------------------- */

static inline void tail_offer(const struct graph *graph, struct graph_paths *paths, uint32_t from, uint32_t to, size_t edge)
{
    uint64_t path_ns = paths->tail_ns[to] + (graph->edge_ns ? graph->edge_ns[edge] : 0);
    if (paths->next[from] == GRAPH_NONE || path_ns > paths->tail_ns[from] || (path_ns == paths->tail_ns[from] && to < paths->next[from])) {
        paths->tail_ns[from] = path_ns;
        paths->next[from] = to;
    }
}

static void tails_find(const struct graph *graph, const struct order *order, struct graph_paths *paths)
{
    size_t edge = graph->edge_count;
    for (size_t i = graph->count; i-- > 0;) {
        uint32_t node = order->forward ? (uint32_t)i : order->sequence[i];
        if (!order->forward)
            for (size_t k = order->first[node]; k < order->first[node + 1]; k++)
                tail_offer(graph, paths, node, order->next[k], order->edges[k]);
        paths->tail_ns[node] += graph->work_ns[node];
        for (; order->forward && edge && graph->to[edge - 1] == node; edge--)
            tail_offer(graph, paths, graph->from[edge - 1], node, edge - 1);
    }
}

struct ranked { uint64_t tail_ns; uint32_t node; };

static int by_tail(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    if (left->tail_ns != right->tail_ns)
        return left->tail_ns < right->tail_ns ? 1 : -1;
    return left->node < right->node ? -1 : left->node > right->node;
}

static bool roots_find(const struct graph *graph, struct graph_paths *paths)
{
    bool *has_before = calloc(graph->count + 1, sizeof *has_before);
    if (!has_before)
        return false;
    for (size_t i = 0; i < graph->edge_count; i++)
        has_before[graph->to[i]] = true;
    size_t count = 0;
    for (size_t i = 0; i < graph->count; i++)
        count += !has_before[i];
    struct ranked *ranked = malloc((count + 1) * sizeof *ranked);
    paths->roots = malloc((count + 1) * sizeof *paths->roots);
    for (uint32_t i = 0; ranked && paths->roots && i < graph->count; i++)
        if (!has_before[i])
            ranked[paths->root_count++] = (struct ranked){paths->tail_ns[i], i};
    free(has_before);
    if (!ranked || !paths->roots) {
        free(ranked);
        return false;
    }
    qsort(ranked, count, sizeof *ranked, by_tail);
    for (size_t i = 0; i < count; i++)
        paths->roots[i] = ranked[i].node;
    paths->critical_ns = count ? ranked[0].tail_ns : 0;
    free(ranked);
    return true;
}

enum pcere_status graph_paths_find(const struct graph *graph, struct graph_paths *ret_paths, struct pcere_error *error)
{
    struct order order;
    enum pcere_status status = order_find(graph, &order, error);
    if (status != PCERE_OK)
        return status;
    struct graph_paths paths = {.tail_ns = calloc(graph->count + 1, sizeof *paths.tail_ns), .next = malloc((graph->count + 1) * sizeof *paths.next)};
    if (paths.tail_ns && paths.next) {
        memset(paths.next, 0xff, (graph->count + 1) * sizeof *paths.next);
        tails_find(graph, &order, &paths);
    }
    if (!paths.tail_ns || !paths.next || !roots_find(graph, &paths)) {
        graph_paths_done(&paths);
        status = pcere_fail_memory(error, "the graph's paths");
    } else {
        *ret_paths = paths;
    }
    order_done(&order);
    return status;
}

enum pcere_status graph_slack(const struct graph *graph, const struct graph_paths *paths, uint64_t **ret_slack_ns, struct pcere_error *error)
{
    struct order order;
    enum pcere_status status = order_find(graph, &order, error);
    if (status != PCERE_OK)
        return status;
    uint64_t *begin_ns = calloc(graph->count + 1, sizeof *begin_ns);
    if (!begin_ns) {
        order_done(&order);
        return pcere_fail_memory(error, "the graph's slack");
    }
    for (size_t i = 0; order.forward && i < graph->edge_count; i++) {
        uint64_t after_ns = begin_ns[graph->from[i]] + graph->work_ns[graph->from[i]] + (graph->edge_ns ? graph->edge_ns[i] : 0);
        if (after_ns > begin_ns[graph->to[i]])
            begin_ns[graph->to[i]] = after_ns;
    }
    for (size_t i = 0; !order.forward && i < graph->count; i++) {
        uint32_t node = order.sequence[i];
        for (size_t k = order.first[node]; k < order.first[node + 1]; k++) {
            uint64_t after_ns = begin_ns[node] + graph->work_ns[node] + (graph->edge_ns ? graph->edge_ns[order.edges[k]] : 0);
            if (after_ns > begin_ns[order.next[k]])
                begin_ns[order.next[k]] = after_ns;
        }
    }
    for (size_t i = 0; i < graph->count; i++)
        begin_ns[i] = paths->critical_ns - begin_ns[i] - paths->tail_ns[i];
    order_done(&order);
    *ret_slack_ns = begin_ns;
    return PCERE_OK;
}

enum pcere_status graph_metrics(const struct graph *graph, const struct graph_paths *paths, struct graph_metrics *ret_metrics, struct pcere_error *error)
{
    struct graph_metrics metrics = {.nodes = graph->count, .dependences = graph->edge_count, .roots = paths->root_count, .critical_ns = paths->critical_ns,
                                    .most = NAN, .least = NAN, .average = NAN, .median = NAN};
    double *shares = malloc((paths->root_count + 1) * sizeof *shares), sum = 0;
    if (!shares)
        return pcere_fail_memory(error, "the graph's metrics");
    size_t count = 0;
    for (size_t i = 0; i < paths->root_count; i++) {
        double share = paths->critical_ns ? (double)paths->tail_ns[paths->roots[i]] / (double)paths->critical_ns : 1;
        if (round(share * 100) >= 100)
            metrics.critical_count++;
        else
            sum += shares[count++] = share;
    }
    if (count) {
        metrics.most = shares[0];
        metrics.least = shares[count - 1];
        metrics.average = sum / (double)count;
        metrics.median = count % 2 ? shares[count / 2] : (shares[count / 2 - 1] + shares[count / 2]) / 2;
        for (size_t i = 0; i < count; i++) {
            metrics.most_count += round(shares[i] * 100) == round(metrics.most * 100);
            metrics.least_count += round(shares[i] * 100) == round(metrics.least * 100);
        }
    }
    free(shares);
    *ret_metrics = metrics;
    return PCERE_OK;
}
