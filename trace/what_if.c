/* trace/what_if.c - see what_if.h. */
#include "trace/what_if.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>

static bool matches(const struct graph *graph, uint32_t node, const char *pattern)
{
    if (!graph->work_ns[node])
        return false;
    if (!*pattern)
        return true;
    if (!graph->nodes)
        return false;
    const struct graph_node *known = &graph->nodes[node];
    return strcmp(graph_kind_words[known->kind], pattern) == 0 || (known->place && strstr(graph->places[known->place], pattern));
}

/* Is it something that could be made of more or of less: a task as it was created, or a range? */
static bool is_divisible(const struct graph *graph, uint32_t node, const char *pattern)
{
    if (!matches(graph, node, pattern))
        return false;
    const struct graph_node *known = graph->nodes ? &graph->nodes[node] : NULL;
    return !known || known->kind == GRAPH_CHUNK || (known->kind == GRAPH_TASK && (known->name || known->id != UINT64_MAX));
}

/* ---- finer -------------------------------------------------------------------------------------------------------------------- */

/* The copies of a node come behind all others; its edges are given to each. */
static bool node_split(struct graph *graph, uint32_t node, uint64_t parts, uint32_t *ret_copy)
{
    struct graph_node copy = graph->nodes[node];
    uint64_t work_ns = graph->work_ns[node];
    const char *name = copy.name;
    for (uint64_t i = 1; i < parts; i++) {
        uint32_t made;
        copy.name = name ? strdup(name) : NULL;
        if ((name && !copy.name) || !graph_node_add(graph, &copy, &made)) {
            free(copy.name);
            return false;
        }
        if (i == 1)
            *ret_copy = made;
        graph->work_ns[made] = work_ns * (i + 1) / parts - work_ns * i / parts;
    }
    graph->work_ns[node] = work_ns / parts;
    return true;
}

static enum pcere_status split(struct graph *graph, const char *pattern, uint64_t parts, size_t *ret_matches, struct pcere_error *error)
{
    size_t count = graph->count, edges = graph->edge_count;
    uint32_t *copies = malloc((count + 1) * sizeof *copies);       /* first copy of a node */
    bool memory = copies;
    for (uint32_t node = 0; node < count && memory; node++) {
        copies[node] = GRAPH_NONE;
        if (parts > 1 && is_divisible(graph, node, pattern)) {
            ++*ret_matches;
            memory = node_split(graph, node, parts, &copies[node]);
        }
    }
    for (size_t i = 0; i < edges && memory; i++) {
        uint32_t from = graph->from[i], to = graph->to[i];
        uint64_t bytes = graph->edge_bytes[i], froms = copies[from] == GRAPH_NONE ? 1 : parts, tos = copies[to] == GRAPH_NONE ? 1 : parts;
        uint32_t middle = GRAPH_NONE;
        if (froms > 1 && tos > 1) {                                 /* all of one before all of the other: through one node of no work */
            struct graph_node wait = {.kind = GRAPH_WAIT, .id = UINT64_MAX};
            memory = graph_node_add(graph, &wait, &middle) && graph_edge_add(graph, from, middle, bytes);
            graph->from[i] = middle;
        }
        for (uint64_t k = 1; k < froms && memory; k++)
            memory = graph_edge_add(graph, copies[from] + (uint32_t)(k - 1), middle == GRAPH_NONE ? to : middle, bytes);
        for (uint64_t k = 1; k < tos && memory; k++)
            memory = graph_edge_add(graph, middle == GRAPH_NONE ? from : middle, copies[to] + (uint32_t)(k - 1), bytes);
    }
    free(copies);
    return memory ? PCERE_OK : pcere_fail_memory(error, "a finer graph");
}

/* ---- coarser ------------------------------------------------------------------------------------------------------------------ */

static bool depths_find(const struct graph *graph, uint32_t *depth)
{
    size_t *first = calloc(graph->count + 2, sizeof *first), known = 0;
    uint32_t *next = malloc((graph->edge_count + 1) * sizeof *next), *queue = malloc((graph->count + 1) * sizeof *queue), *waiting = calloc(graph->count + 1, sizeof *waiting);
    bool memory = first && next && queue && waiting;
    for (size_t i = 0; memory && i < graph->edge_count; i++) {
        first[graph->from[i] + 2]++;
        waiting[graph->to[i]]++;
    }
    for (size_t i = 2; memory && i < graph->count + 2; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; memory && i < graph->edge_count; i++)
        next[first[graph->from[i] + 1]++] = graph->to[i];
    for (uint32_t i = 0; memory && i < graph->count; i++) {
        depth[i] = 0;
        if (!waiting[i])
            queue[known++] = i;
    }
    for (size_t done = 0; memory && done < known; done++)
        for (size_t i = first[queue[done]]; i < first[queue[done] + 1]; i++) {
            depth[next[i]] = depth[queue[done]] + 1 > depth[next[i]] ? depth[queue[done]] + 1 : depth[next[i]];
            if (--waiting[next[i]] == 0)
                queue[known++] = next[i];
        }
    free(first);
    free(next);
    free(queue);
    free(waiting);
    return memory;
}

struct candidate { uint32_t place, depth, node; };

static int by_level(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    if (left->place != right->place)
        return left->place < right->place ? -1 : 1;
    if (left->depth != right->depth)
        return left->depth < right->depth ? -1 : 1;
    return left->node < right->node ? -1 : left->node > right->node;
}

/* Edges lead from a lesser to a greater depth, so tasks of one depth can be one without a cycle. A task that is taken in stays as a node of no work and no edges
 * but from its taker's predecessors. */
static enum pcere_status join(struct graph *graph, const char *pattern, uint64_t parts, size_t *ret_matches, struct pcere_error *error)
{
    uint32_t *depth = malloc((graph->count + 1) * sizeof *depth), *taker = malloc((graph->count + 1) * sizeof *taker);
    struct candidate *candidates = malloc((graph->count + 1) * sizeof *candidates);
    size_t count = 0, kept = 0;
    bool memory = depth && taker && candidates && depths_find(graph, depth);
    for (uint32_t node = 0; memory && node < graph->count; node++) {
        taker[node] = node;
        if (is_divisible(graph, node, pattern))
            candidates[count++] = (struct candidate){graph->nodes ? graph->nodes[node].place : 0, depth[node], node};
    }
    if (memory)
        qsort(candidates, count, sizeof *candidates, by_level);
    for (size_t i = 0, begin = 0; memory && i < count; i++) {
        if (candidates[i].place != candidates[begin].place || candidates[i].depth != candidates[begin].depth || i - begin == parts)
            begin = i;
        uint32_t into = candidates[begin].node, node = candidates[i].node;
        ++*ret_matches;
        if (into == node)
            continue;
        taker[node] = into;
        graph->work_ns[into] += graph->work_ns[node];
        graph->work_ns[node] = 0;
    }
    for (size_t i = 0; memory && i < graph->edge_count; i++) {
        uint32_t from = taker[graph->from[i]], to = taker[graph->to[i]];
        graph->from[kept] = from;
        graph->to[kept] = to;
        graph->edge_bytes[kept++] = graph->edge_bytes[i];
    }
    for (uint32_t node = 0; memory && node < graph->count; node++)
        if (taker[node] != node) {
            graph->nodes[node].kind = GRAPH_WAIT;
            graph->nodes[node].id = UINT64_MAX;
        }
    if (memory)
        graph->edge_count = kept;
    free(depth);
    free(taker);
    free(candidates);
    return memory ? PCERE_OK : pcere_fail_memory(error, "a coarser graph");
}

enum pcere_status what_if_apply(struct graph *graph, const struct what_if *change, size_t *ret_matches, struct pcere_error *error)
{
    *ret_matches = 0;
    if (change->kind == WHAT_IF_SPLIT)
        return split(graph, change->pattern, (uint64_t)change->factor, ret_matches, error);
    if (change->kind == WHAT_IF_JOIN)
        return join(graph, change->pattern, (uint64_t)change->factor, ret_matches, error);
    for (uint32_t node = 0; node < graph->count; node++)
        if (matches(graph, node, change->pattern)) {
            graph->work_ns[node] = (uint64_t)((double)graph->work_ns[node] / change->factor + 0.5);
            ++*ret_matches;
        }
    return PCERE_OK;
}

/* ---- what which place is worth ------------------------------------------------------------------------------------------------ */

struct slack_of { uint64_t slack_ns; uint32_t group; };

static int by_group(const void *a, const void *b)
{
    const struct slack_of *left = a, *right = b;
    if (left->group != right->group)
        return left->group < right->group ? -1 : 1;
    return left->slack_ns < right->slack_ns ? -1 : left->slack_ns > right->slack_ns;
}

static int by_work(const void *a, const void *b)
{
    const struct what_if_place *left = a, *right = b;
    if (left->work_ns != right->work_ns)
        return left->work_ns < right->work_ns ? 1 : -1;
    return left->place * GRAPH_KINDS + left->kind < right->place * GRAPH_KINDS + right->kind ? -1 : 1;
}

static uint32_t group_of(const struct graph *graph, uint32_t node)
{
    return graph->nodes ? graph->nodes[node].place * GRAPH_KINDS + graph->nodes[node].kind : 0;
}

static enum pcere_status halved(struct graph *graph, const struct what_if_place *place, uint32_t workers, uint64_t *ret_ns, struct pcere_error *error)
{
    uint64_t *kept_ns = malloc((graph->count + 1) * sizeof *kept_ns);
    struct graph_paths paths = {0};
    struct schedule schedule = {0};
    if (!kept_ns)
        return pcere_fail_memory(error, "the graph's times");
    memcpy(kept_ns, graph->work_ns, graph->count * sizeof *kept_ns);
    for (uint32_t node = 0; node < graph->count; node++)
        if (group_of(graph, node) == place->place * GRAPH_KINDS + place->kind)
            graph->work_ns[node] = (graph->work_ns[node] + 1) / 2;
    enum pcere_status status = graph_paths_find(graph, &paths, error);
    if (status == PCERE_OK)
        status = schedule_make(graph, &paths, SCHEDULE_STEALING, workers, &schedule, NULL, error);
    memcpy(graph->work_ns, kept_ns, graph->count * sizeof *kept_ns);
    free(kept_ns);
    graph_paths_done(&paths);
    if (status == PCERE_OK)
        *ret_ns = schedule.makespan_ns;
    return status;
}

enum pcere_status what_if_places(struct graph *graph, const struct graph_paths *paths, uint32_t workers, size_t most, struct what_if_place **ret_places, size_t *ret_count,
                                 struct pcere_error *error)
{
    uint64_t *slack_ns = NULL;
    enum pcere_status status = graph_slack(graph, paths, &slack_ns, error);
    if (status != PCERE_OK)
        return status;
    struct slack_of *slacks = malloc((graph->count + 1) * sizeof *slacks);
    struct what_if_place *places = calloc((graph->place_count + 1) * GRAPH_KINDS, sizeof *places);
    bool *critical = calloc(graph->count + 1, sizeof *critical);
    bool memory = slacks && places && critical;
    size_t count = 0, tasks = 0;
    for (uint32_t node = paths->root_count ? paths->roots[0] : GRAPH_NONE; memory && node != GRAPH_NONE; node = paths->next[node])
        critical[node] = true;
    for (uint32_t node = 0; memory && node < graph->count; node++)
        if (graph->work_ns[node])
            slacks[tasks++] = (struct slack_of){slack_ns[node], group_of(graph, node)};
    if (memory)
        qsort(slacks, tasks, sizeof *slacks, by_group);
    for (size_t i = 0, end; memory && i < tasks; i = end) {
        for (end = i; end < tasks && slacks[end].group == slacks[i].group; end++)
            ;
        places[count++] = (struct what_if_place){.place = slacks[i].group / GRAPH_KINDS, .kind = slacks[i].group % GRAPH_KINDS, .count = end - i,
                                                 .least_slack_ns = slacks[i].slack_ns, .median_slack_ns = slacks[i + (end - i) / 2].slack_ns};
    }
    for (size_t i = 0; memory && i < count; i++)
        for (uint32_t node = 0; node < graph->count; node++)
            if (group_of(graph, node) == places[i].place * GRAPH_KINDS + places[i].kind) {
                places[i].work_ns += graph->work_ns[node];
                places[i].critical_ns += critical[node] ? graph->work_ns[node] : 0;
            }
    if (memory)
        qsort(places, count, sizeof *places, by_work);
    for (size_t i = 0; memory && i < count && i < most && status == PCERE_OK; i++)
        status = halved(graph, &places[i], workers, &places[i].faster_ns, error);
    free(slack_ns);
    free(slacks);
    free(critical);
    if (!memory)
        status = pcere_fail_memory(error, "the places");
    if (status != PCERE_OK) {
        free(places);
        return status;
    }
    *ret_places = places;
    *ret_count = count;
    return PCERE_OK;
}
