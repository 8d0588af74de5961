/* trace/dependences.c - see dependences.h. */
#include "trace/dependences.h"
#include "trace/dependence_cells.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>

struct building {
    struct graph *graph;
    struct cells cells;
    struct node_list *barrier;        /* [scope]: tasks with omp_all_memory that all later ones wait for; at most one */
    uint32_t *place_of;          /* [string of the timeline]: of the graph + 1 */
    uint32_t *edge_of;           /* [node]: last node that has an edge from it, + 1 */
};

/* An edge from each node to each other once. */
static bool edge_add(void *state, uint32_t from, uint32_t to)
{
    struct building *building = state;
    if (building->edge_of[from] == to + 1)
        return true;
    building->edge_of[from] = to + 1;
    return graph_edge_add(building->graph, from, to, 0);
}

static bool edges_add(struct building *building, struct node_list *from, uint32_t to)
{
    return cells_edges(&building->cells, from, to);
}

/* As if it wrote every address that the scope knows; later addresses begin with it. */
static bool all_memory_take(struct building *building, uint32_t scope, uint32_t task)
{
    bool memory = edges_add(building, &building->barrier[scope], task) && cells_take_all(&building->cells, scope, task);
    building->barrier[scope].count = 0;
    return memory && node_list_add(&building->barrier[scope], task);
}

static int by_end(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return left[0] < right[0] ? -1 : left[0] > right[0];
}

/* The path search wants edges in the order of their ends; they are made so but for a few. */
static bool edges_sort(struct graph *graph)
{
    bool sorted = true;
    for (size_t i = 1; i < graph->edge_count; i++)
        sorted &= graph->to[i - 1] <= graph->to[i];
    if (sorted)
        return true;
    uint64_t (*pairs)[2] = malloc((graph->edge_count + 1) * sizeof *pairs);
    if (!pairs)
        return false;
    for (size_t i = 0; i < graph->edge_count; i++) {
        pairs[i][0] = (uint64_t)graph->to[i] << 32 | graph->from[i];
        pairs[i][1] = graph->edge_bytes[i];
    }
    qsort(pairs, graph->edge_count, sizeof *pairs, by_end);
    for (size_t i = 0; i < graph->edge_count; i++) {
        graph->to[i] = (uint32_t)(pairs[i][0] >> 32);
        graph->from[i] = (uint32_t)pairs[i][0];
        graph->edge_bytes[i] = pairs[i][1];
    }
    free(pairs);
    return true;
}

struct scope_state { uint32_t epoch, wait; struct node_list children; };   /* of a scope or a team: node of its last taskwait or barrier + 1 */

static bool node_make(struct building *building, const struct timeline *timeline, const struct timeline_task *task, uint32_t *ret_node)
{
    struct graph *graph = building->graph;
    struct graph_node node = {.id = task ? task->id : UINT64_MAX, .kind = task && !(task->flags & TASK_WAITS) ? GRAPH_TASK : GRAPH_WAIT};
    uint32_t *place = &building->place_of[task ? task->place : 0];
    if (task && task->place && !*place && (!graph_place(graph, timeline->strings[task->place], place) || !++*place))
        return false;
    node.place = *place ? *place - 1 : 0;
    if (!graph_node_add(graph, &node, ret_node))
        return false;
    if (task)
        graph->work_ns[*ret_node] = task->run_ns;
    return true;
}

/* A task of a later epoch: what was before is waited for. Of tasks that others wait for those others are enough: they have the same waits behind them. */
static bool epoch_pass(struct building *building, const struct timeline *timeline, struct scope_state *scope, uint32_t epoch, struct scope_state *around)
{
    uint32_t node;
    if (epoch > scope->epoch && scope->children.count) {
        uint32_t last = 0, *children = node_list_items(&scope->children);
        for (uint32_t i = 0; i < scope->children.count; i++)
            if (!building->edge_of[children[i]])
                children[last++] = children[i];
        scope->children.count = last;
        if (!node_make(building, timeline, NULL, &node) || !edges_add(building, &scope->children, node) || (around && !node_list_add(&around->children, node)))
            return false;
        scope->children.count = 0;
        scope->wait = node + 1;
    }
    scope->epoch = epoch > scope->epoch ? epoch : scope->epoch;
    return true;
}

static bool task_add(struct building *building, const struct timeline *timeline, const struct timeline_task *task, struct scope_state *scope,
                     struct scope_state *team)
{
    struct graph *graph = building->graph;
    uint32_t node;
    if (!epoch_pass(building, timeline, team, task->phase, NULL) || !epoch_pass(building, timeline, scope, task->epoch, team) || !node_make(building, timeline, task, &node))
        return false;
    size_t edges = graph->edge_count;
    for (uint32_t i = 0; i < task->dependence_count; i++) {
        const struct dependence *dependence = &timeline->dependences[task->first_dependence + i];
        if (!(dependence->all_memory ? all_memory_take(building, task->scope, node) : cells_take(&building->cells, dependence, task->scope, node)))
            return false;
    }
    if (task->dependence_count && graph->edge_count == edges && !edges_add(building, &building->barrier[task->scope], node))
        return false;
    bool after_wait = false;
    uint32_t wait = scope->wait > team->wait ? scope->wait : team->wait;
    for (size_t i = edges; i < graph->edge_count; i++)
        after_wait |= graph->from[i] + 1 >= wait;
    if (wait && !after_wait) {
        building->edge_of[wait - 1] = node + 1;
        if (!graph_edge_add(graph, wait - 1, node, 0))
            return false;
    }
    return node_list_add(&scope->children, node) && node_list_add(&team->children, node);
}

enum pcere_status dependences_graph(const struct timeline *timeline, struct graph *ret_graph, struct pcere_error *error)
{
    struct graph graph = {.has_work = true};
    uint32_t scopes = 0, teams = 0;
    for (size_t i = 0; i < timeline->task_count; i++) {
        scopes = timeline->tasks[i].scope + 1 > scopes ? timeline->tasks[i].scope + 1 : scopes;
        teams = timeline->tasks[i].team + 1 > teams ? timeline->tasks[i].team + 1 : teams;
    }
    struct building building = {.graph = &graph, .cells = {.edge = edge_add}, .barrier = calloc(scopes + 1u, sizeof *building.barrier),
                                .place_of = calloc(timeline->string_count + 1, sizeof *building.place_of),
                                .edge_of = calloc(timeline->task_count * 3 + 1, sizeof *building.edge_of)};
    building.cells.state = &building;
    struct scope_state *states = calloc(scopes + 1u, sizeof *states), *groups = calloc(teams + 1u, sizeof *groups);
    bool memory = building.barrier && building.edge_of && building.place_of && states && groups;
    for (size_t i = 0; i < timeline->task_count && memory; i++)
        memory = !timeline_task_counts(&timeline->tasks[i]) || task_add(&building, timeline, &timeline->tasks[i], &states[timeline->tasks[i].scope], &groups[timeline->tasks[i].team]);
    memory = memory && edges_sort(&graph);
    cells_done(&building.cells);
    for (uint32_t i = 0; i < scopes; i++) {
        if (building.barrier)
            node_list_done(&building.barrier[i]);
        if (states)
            node_list_done(&states[i].children);
    }
    for (uint32_t i = 0; groups && i < teams; i++)
        node_list_done(&groups[i].children);
    free(groups);
    free(building.barrier);
    free(building.edge_of);
    free(building.place_of);
    free(states);
    if (!memory) {
        graph_done(&graph);
        return pcere_fail_memory(error, "the task graph");
    }
    *ret_graph = graph;
    return PCERE_OK;
}
