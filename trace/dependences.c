/* trace/dependences.c - see dependences.h. */
#include "trace/dependences.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>

struct list { uint32_t *items; size_t count, capacity; };

struct cell {                    /* what is known of an address in a scope */
    uint64_t address;
    uint32_t scope;              /* + 1; 0: free */
    uint32_t set_type;           /* of `last`, if it is a set; 0: a single writer, or none */
    struct list last;            /* writers: one, or a set */
    struct list before;          /* what the members of the set in `last` wait for */
    struct list readers;         /* since `last` */
};

struct building {
    struct graph *graph;
    struct cell *cells;
    size_t cell_count, used;
    struct list *barrier;        /* [scope]: tasks with omp_all_memory that all later ones wait for; at most one */
    uint32_t *place_of;          /* [string of the timeline]: of the graph + 1 */
    uint32_t *edge_of;           /* [node]: last node that has an edge from it, + 1 */
};

static bool list_add(struct list *list, uint32_t item)
{
    if (!array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return false;
    list->items[list->count++] = item;
    return true;
}

static size_t cell_place(const struct cell *cells, size_t count, uint64_t address, uint32_t scope)
{
    size_t place = (size_t)(((address ^ (uint64_t)scope << 48) * 0x9e3779b97f4a7c15u) >> 32) & (count - 1);
    while (cells[place].scope && (cells[place].address != address || cells[place].scope != scope + 1))
        place = (place + 1) & (count - 1);
    return place;
}

static bool cells_grow(struct building *building)
{
    size_t count = building->cell_count ? building->cell_count * 2 : 1024;
    struct cell *cells = calloc(count, sizeof *cells);
    if (!cells)
        return false;
    for (size_t i = 0; i < building->cell_count; i++)
        if (building->cells[i].scope)
            cells[cell_place(cells, count, building->cells[i].address, building->cells[i].scope - 1)] = building->cells[i];
    free(building->cells);
    building->cells = cells;
    building->cell_count = count;
    return true;
}

static struct cell *cell_of(struct building *building, uint64_t address, uint32_t scope)
{
    if (building->used * 2 >= building->cell_count && !cells_grow(building))
        return NULL;
    struct cell *cell = &building->cells[cell_place(building->cells, building->cell_count, address, scope)];
    if (!cell->scope) {
        cell->address = address;
        cell->scope = scope + 1;
        building->used++;
    }
    return cell;
}

static bool edges_add(struct building *building, const struct list *from, uint32_t to)
{
    for (size_t i = 0; i < from->count; i++) {
        if (from->items[i] == to || building->edge_of[from->items[i]] == to + 1)
            continue;
        building->edge_of[from->items[i]] = to + 1;
        if (!graph_edge_add(building->graph, from->items[i], to, 0))
            return false;
    }
    return true;
}

static bool cell_write(struct building *building, struct cell *cell, uint32_t task)
{
    bool memory = edges_add(building, &cell->readers, task) && (cell->readers.count || edges_add(building, &cell->last, task));
    cell->readers.count = cell->before.count = cell->last.count = 0;
    cell->set_type = 0;
    return memory && list_add(&cell->last, task);
}

static bool cell_join(struct building *building, struct cell *cell, uint32_t task, uint32_t type)
{
    if (cell->set_type != type || cell->readers.count) {
        struct list before = cell->readers.count ? cell->readers : cell->last, old = cell->before;
        if (cell->readers.count) {
            cell->readers = old;
        } else {
            cell->last = old;
        }
        cell->before = before;
        cell->readers.count = cell->last.count = 0;
        cell->set_type = type;
    }
    return edges_add(building, &cell->before, task) && list_add(&cell->last, task);
}

static bool dependence_take(struct building *building, const struct dependence *dependence, uint32_t scope, uint32_t task)
{
    struct cell *cell = cell_of(building, dependence->address, scope);
    if (!cell)
        return false;
    if (dependence->type == DEPENDENCE_IN)
        return edges_add(building, &cell->last, task) && list_add(&cell->readers, task);
    if (dependence->type == DEPENDENCE_MUTEXINOUTSET || dependence->type == DEPENDENCE_INOUTSET)
        return cell_join(building, cell, task, dependence->type);
    return cell_write(building, cell, task);
}

/* As if it wrote every address that the scope knows; later addresses begin with it. */
static bool all_memory_take(struct building *building, uint32_t scope, uint32_t task)
{
    bool memory = edges_add(building, &building->barrier[scope], task);
    for (size_t i = 0; i < building->cell_count && memory; i++)
        if (building->cells[i].scope == scope + 1) {
            struct cell *cell = &building->cells[i];
            memory = edges_add(building, &cell->readers, task) && edges_add(building, &cell->last, task);
            cell->readers.count = cell->before.count = cell->last.count = 0;
            cell->set_type = 0;
            memory = memory && list_add(&cell->last, task);
        }
    building->barrier[scope].count = 0;
    return memory && list_add(&building->barrier[scope], task);
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

struct scope_state { uint32_t epoch, wait; struct list children; };   /* of a scope or a team: node of its last taskwait or barrier + 1 */

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
        size_t last = 0;
        for (size_t i = 0; i < scope->children.count; i++)
            if (!building->edge_of[scope->children.items[i]])
                scope->children.items[last++] = scope->children.items[i];
        scope->children.count = last;
        if (!node_make(building, timeline, NULL, &node) || !edges_add(building, &scope->children, node) || (around && !list_add(&around->children, node)))
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
        if (!(dependence->all_memory ? all_memory_take(building, task->scope, node) : dependence_take(building, dependence, task->scope, node)))
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
    return list_add(&scope->children, node) && list_add(&team->children, node);
}

enum pcere_status dependences_graph(const struct timeline *timeline, struct graph *ret_graph, struct pcere_error *error)
{
    struct graph graph = {.has_work = true};
    uint32_t scopes = 0, teams = 0;
    for (size_t i = 0; i < timeline->task_count; i++) {
        scopes = timeline->tasks[i].scope + 1 > scopes ? timeline->tasks[i].scope + 1 : scopes;
        teams = timeline->tasks[i].team + 1 > teams ? timeline->tasks[i].team + 1 : teams;
    }
    struct building building = {.graph = &graph, .barrier = calloc(scopes + 1u, sizeof *building.barrier),
                                .place_of = calloc(timeline->string_count + 1, sizeof *building.place_of),
                                .edge_of = calloc(timeline->task_count * 3 + 1, sizeof *building.edge_of)};
    struct scope_state *states = calloc(scopes + 1u, sizeof *states), *groups = calloc(teams + 1u, sizeof *groups);
    bool memory = building.barrier && building.edge_of && building.place_of && states && groups;
    for (size_t i = 0; i < timeline->task_count && memory; i++)
        memory = task_add(&building, timeline, &timeline->tasks[i], &states[timeline->tasks[i].scope], &groups[timeline->tasks[i].team]);
    memory = memory && edges_sort(&graph);
    for (size_t i = 0; i < building.cell_count; i++) {
        free(building.cells[i].last.items);
        free(building.cells[i].before.items);
        free(building.cells[i].readers.items);
    }
    for (uint32_t i = 0; i < scopes; i++) {
        if (building.barrier)
            free(building.barrier[i].items);
        if (states)
            free(states[i].children.items);
    }
    for (uint32_t i = 0; groups && i < teams; i++)
        free(groups[i].children.items);
    free(groups);
    free(building.cells);
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
