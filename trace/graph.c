/* trace/graph.c - see graph.h. */
#include "trace/graph.h"
#include "core/text.h"
#include "trace/graph_order.h"

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

/* ---- paths -------------------------------------------------------------------------------------------------------------------- */

struct ranked { uint64_t tail_ns; uint32_t node; };

static int by_tail(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    if (left->tail_ns != right->tail_ns)
        return left->tail_ns < right->tail_ns ? 1 : -1;
    return left->node < right->node ? -1 : left->node > right->node;
}

static bool roots_find(const struct graph *graph, const struct order *order, struct graph_paths *paths)
{
    size_t count = 0, used = 0;
    for (size_t i = 0; i < graph->count; i++)
        count += order->first[i] == order->first[i + 1];
    struct ranked *ranked = malloc((count + 1) * sizeof *ranked);
    paths->roots = malloc((count + 1) * sizeof *paths->roots);
    for (uint32_t i = 0; ranked && paths->roots && i < graph->count; i++)
        if (order->first[i] == order->first[i + 1])
            ranked[used++] = (struct ranked){paths->tail_ns[i], i};
    if (!ranked || !paths->roots) {
        free(ranked);
        return false;
    }
    qsort(ranked, count, sizeof *ranked, by_tail);
    for (size_t i = 0; i < count; i++)
        paths->roots[i] = ranked[i].node;
    paths->root_count = count;
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
    struct graph_paths paths = {.tail_ns = malloc((graph->count + 1) * sizeof *paths.tail_ns), .next = malloc((graph->count + 1) * sizeof *paths.next)};
    for (size_t i = 0; paths.tail_ns && paths.next && i < graph->count; i++) {
        paths.tail_ns[i] = order.points[i].tail_ns;
        paths.next[i] = order.points[i].next;
    }
    if (!paths.tail_ns || !paths.next || !roots_find(graph, &order, &paths)) {
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
    for (size_t i = graph->count; i-- > 0;) {
        uint32_t node = order_node(graph, &order, i);
        for (size_t k = order.first[node]; k < order.first[node + 1]; k++) {
            uint64_t after_ns = begin_ns[order.before[k]] + graph->work_ns[order.before[k]];
            begin_ns[node] = after_ns > begin_ns[node] ? after_ns : begin_ns[node];
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
