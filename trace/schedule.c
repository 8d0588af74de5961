/* trace/schedule.c - see schedule.h. */
#include "trace/schedule.h"

#include <stdlib.h>
#include <string.h>

/* What both need: successors by node, how many predecessors have not ended, when the last of them did. */
struct ready { const struct graph *graph; size_t *first; uint32_t *next; uint32_t *waiting; uint64_t *ready_ns, *begin_ns; };

static void ready_done(struct ready *ready)
{
    free(ready->first);
    free(ready->next);
    free(ready->waiting);
    free(ready->ready_ns);
    free(ready->begin_ns);
}

static bool ready_make(const struct graph *graph, struct ready *ready)
{
    *ready = (struct ready){.graph = graph, .first = calloc(graph->count + 2, sizeof *ready->first), .next = malloc((graph->edge_count + 1) * sizeof *ready->next),
                            .waiting = calloc(graph->count + 1, sizeof *ready->waiting), .ready_ns = calloc(graph->count + 1, sizeof *ready->ready_ns),
                            .begin_ns = calloc(graph->count + 1, sizeof *ready->begin_ns)};
    if (!ready->first || !ready->next || !ready->waiting || !ready->ready_ns || !ready->begin_ns)
        return ready_done(ready), false;
    for (size_t i = 0; i < graph->edge_count; i++) {
        ready->first[graph->from[i] + 2]++;
        ready->waiting[graph->to[i]]++;
    }
    for (size_t i = 2; i < graph->count + 2; i++)
        ready->first[i] += ready->first[i - 1];
    for (size_t i = 0; i < graph->edge_count; i++)
        ready->next[ready->first[graph->from[i] + 1]++] = graph->to[i];
    return true;
}

uint64_t schedule_bound_ns(const struct graph *graph, const struct graph_paths *paths, uint32_t workers)
{
    uint64_t work_ns = 0;
    for (size_t i = 0; i < graph->count; i++)
        work_ns += graph->work_ns[i];
    uint64_t even_ns = work_ns / workers + (work_ns % workers != 0);
    return even_ns > paths->critical_ns ? even_ns : paths->critical_ns;
}

/* ---- HEFT --------------------------------------------------------------------------------------------------------------------- */

enum { GAPS = 64 };              /* kept of a worker: its latest ones */
struct gap { uint64_t begin_ns, end_ns; };
struct place { uint64_t free_ns; uint32_t gap_count; struct gap gaps[GAPS]; };

struct ranked { uint64_t tail_ns; uint32_t node, depth; };

static int by_rank(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    if (left->tail_ns != right->tail_ns)
        return left->tail_ns < right->tail_ns ? 1 : -1;
    if (left->depth != right->depth)
        return left->depth < right->depth ? -1 : 1;
    return left->node < right->node ? -1 : left->node > right->node;
}

/* Where a task of this work begins first on the worker: in a gap (its number + 1), or at the end (0). */
static uint64_t earliest(const struct place *place, uint64_t ready_ns, uint64_t work_ns, uint32_t *ret_gap)
{
    for (uint32_t i = 0; i < place->gap_count; i++) {
        uint64_t begin_ns = place->gaps[i].begin_ns > ready_ns ? place->gaps[i].begin_ns : ready_ns;
        if (begin_ns + work_ns <= place->gaps[i].end_ns)
            return *ret_gap = i + 1, begin_ns;
    }
    *ret_gap = 0;
    return place->free_ns > ready_ns ? place->free_ns : ready_ns;
}

static void gap_add(struct place *place, uint32_t at, struct gap gap)
{
    if (gap.begin_ns >= gap.end_ns)
        return;
    if (place->gap_count == GAPS) {
        memmove(place->gaps, place->gaps + 1, (GAPS - 1) * sizeof *place->gaps);
        place->gap_count--;
        at -= at > 0;
    }
    memmove(place->gaps + at + 1, place->gaps + at, (place->gap_count - at) * sizeof *place->gaps);
    place->gaps[at] = gap;
    place->gap_count++;
}

static void task_put(struct place *place, uint32_t gap, uint64_t begin_ns, uint64_t work_ns)
{
    uint64_t end_ns = begin_ns + work_ns;
    if (!gap) {
        gap_add(place, place->gap_count, (struct gap){place->free_ns, begin_ns});
        place->free_ns = end_ns;
        return;
    }
    struct gap old = place->gaps[gap - 1];
    memmove(place->gaps + gap - 1, place->gaps + gap, (place->gap_count - gap) * sizeof *place->gaps);
    place->gap_count--;
    gap_add(place, gap - 1, (struct gap){end_ns, old.end_ns});
    gap_add(place, gap - 1, (struct gap){old.begin_ns, begin_ns});
}

/* Of equal paths the one nearer to the roots comes first: work may be 0, and no successor may come before its predecessor. */
static bool depths_find(struct ready *ready, struct ranked *ranked)
{
    size_t known = 0, done = 0;
    uint32_t *queue = malloc((ready->graph->count + 1) * sizeof *queue), *waiting = malloc((ready->graph->count + 1) * sizeof *waiting);
    for (uint32_t i = 0; queue && waiting && i < ready->graph->count; i++)
        if (!(waiting[i] = ready->waiting[i]))
            queue[known++] = i;
    for (; queue && waiting && done < known; done++)
        for (size_t i = ready->first[queue[done]]; i < ready->first[queue[done] + 1]; i++) {
            uint32_t next = ready->next[i], depth = ranked[queue[done]].depth + 1;
            ranked[next].depth = depth > ranked[next].depth ? depth : ranked[next].depth;
            if (--waiting[next] == 0)
                queue[known++] = next;
        }
    bool memory = queue && waiting;
    free(queue);
    free(waiting);
    return memory;
}

static bool heft(struct ready *ready, const struct graph_paths *paths, uint32_t workers, uint64_t *ret_end_ns)
{
    const struct graph *graph = ready->graph;
    struct ranked *ranked = calloc(graph->count + 1, sizeof *ranked);
    struct place *places = calloc(workers, sizeof *places);
    bool memory = ranked && places;
    for (uint32_t i = 0; memory && i < graph->count; i++) {
        ranked[i].tail_ns = paths->tail_ns[i];
        ranked[i].node = i;
    }
    memory = memory && depths_find(ready, ranked);
    if (memory)
        qsort(ranked, graph->count, sizeof *ranked, by_rank);
    for (size_t i = 0; memory && i < graph->count; i++) {
        uint32_t node = ranked[i].node, best = 0, best_gap = 0, gap;
        uint64_t work_ns = graph->work_ns[node], begin_ns = UINT64_MAX;
        for (uint32_t k = 0; k < workers && work_ns && begin_ns > ready->ready_ns[node]; k++) {
            uint64_t there_ns = earliest(&places[k], ready->ready_ns[node], work_ns, &gap);
            if (there_ns < begin_ns) {
                begin_ns = there_ns;
                best = k;
                best_gap = gap;
            }
        }
        if (work_ns)
            task_put(&places[best], best_gap, begin_ns, work_ns);
        else
            begin_ns = ready->ready_ns[node];
        ready->begin_ns[node] = begin_ns;
        for (size_t k = ready->first[node]; k < ready->first[node + 1]; k++)
            if (ready->ready_ns[ready->next[k]] < begin_ns + work_ns)
                ready->ready_ns[ready->next[k]] = begin_ns + work_ns;
        *ret_end_ns = begin_ns + work_ns > *ret_end_ns ? begin_ns + work_ns : *ret_end_ns;
    }
    free(ranked);
    free(places);
    return memory;
}

/* ---- work stealing ------------------------------------------------------------------------------------------------------------ */

enum { DEQUE_MOST = 256 };       /* LLVM's runtime has a worker execute what it makes while so many of its tasks wait */

struct deque { uint32_t *items; size_t first, last, capacity; };         /* own end: last */

struct event { uint64_t time_ns; uint32_t worker; };

struct stealing {
    struct ready *ready;
    struct deque *deques;        /* [worker] */
    struct deque *resumed;       /* [worker]: what it was called away from */
    struct event *heap;          /* workers that execute */
    uint32_t *executes;          /* [worker]: GRAPH_NONE: nothing */
    uint32_t *made;              /* nodes that became ready just now */
    size_t heap_count, made_count, made_capacity, waiting;
    uint32_t workers, idle;
    uint64_t state, now_ns;
    bool memory;
};

static bool deque_push(struct deque *deque, uint32_t item)
{
    if (deque->first && deque->first == deque->last)
        deque->first = deque->last = 0;
    if (deque->last == deque->capacity) {
        size_t capacity = deque->capacity ? deque->capacity * 2 : 16;
        uint32_t *items = realloc(deque->items, capacity * sizeof *items);
        if (!items)
            return false;
        deque->items = items;
        deque->capacity = capacity;
    }
    deque->items[deque->last++] = item;
    return true;
}

static bool event_before(struct event left, struct event right)
{
    return left.time_ns < right.time_ns || (left.time_ns == right.time_ns && left.worker < right.worker);
}

static void event_put(struct stealing *stealing, struct event event)
{
    size_t at = stealing->heap_count++;
    for (; at && event_before(event, stealing->heap[(at - 1) / 2]); at = (at - 1) / 2)
        stealing->heap[at] = stealing->heap[(at - 1) / 2];
    stealing->heap[at] = event;
}

static struct event event_take(struct stealing *stealing)
{
    struct event first = stealing->heap[0], last = stealing->heap[--stealing->heap_count];
    size_t at = 0;
    for (size_t child; (child = at * 2 + 1) < stealing->heap_count; at = child) {
        child += child + 1 < stealing->heap_count && event_before(stealing->heap[child + 1], stealing->heap[child]);
        if (!event_before(stealing->heap[child], last))
            break;
        stealing->heap[at] = stealing->heap[child];
    }
    stealing->heap[at] = last;
    return first;
}

static void execute(struct stealing *stealing, uint32_t worker, uint32_t node)
{
    stealing->idle -= stealing->executes[worker] == GRAPH_NONE;
    stealing->executes[worker] = node;
    stealing->ready->begin_ns[node] = stealing->now_ns;
    event_put(stealing, (struct event){stealing->now_ns + stealing->ready->graph->work_ns[node], worker});
}

static void made_add(struct stealing *stealing, uint32_t node)
{
    if (stealing->made_count == stealing->made_capacity) {
        size_t capacity = stealing->made_capacity ? stealing->made_capacity * 2 : 64;
        uint32_t *made = realloc(stealing->made, capacity * sizeof *made);
        if (!made) {
            stealing->memory = false;
            return;
        }
        stealing->made = made;
        stealing->made_capacity = capacity;
    }
    stealing->made[stealing->made_count++] = node;
}

/* The node has ended: what became ready is in `made`; nodes of no work have ended, too. */
static void successors_find(struct stealing *stealing, uint32_t node)
{
    struct ready *ready = stealing->ready;
    size_t from = stealing->made_count, kept = from;
    made_add(stealing, node);
    for (size_t at = from; at < stealing->made_count && stealing->memory; at++) {
        uint32_t ended = stealing->made[at];
        if (at > from && ready->graph->work_ns[ended])
            continue;
        ready->begin_ns[ended] = at > from ? stealing->now_ns : ready->begin_ns[ended];
        for (size_t i = ready->first[ended]; i < ready->first[ended + 1]; i++)
            if (--ready->waiting[ready->next[i]] == 0)
                made_add(stealing, ready->next[i]);
    }
    for (size_t at = from + 1; at < stealing->made_count; at++)
        if (ready->graph->work_ns[stealing->made[at]])
            stealing->made[kept++] = stealing->made[at];
    stealing->made_count = kept;
}

static bool is_own(const struct graph *graph, uint32_t node)        /* what goes on rather than what was made for anyone */
{
    return graph->nodes && graph->nodes[node].id == UINT64_MAX && (graph->nodes[node].kind == GRAPH_BODY || graph->nodes[node].kind == GRAPH_TASK) && !graph->nodes[node].name;
}

static void work_find(struct stealing *stealing, uint32_t worker)
{
    struct deque *own = &stealing->resumed[worker];
    if (own->first == own->last)
        own = &stealing->deques[worker];
    if (own->first < own->last) {
        stealing->waiting -= own == &stealing->deques[worker];
        execute(stealing, worker, own->items[--own->last]);
        return;
    }
    stealing->state = stealing->state * 6364136223846793005u + 1442695040888963407u;
    uint32_t start = (uint32_t)(stealing->state >> 33) % stealing->workers;
    for (uint32_t i = 0; i < stealing->workers && stealing->waiting; i++) {
        struct deque *victim = &stealing->deques[(start + i) % stealing->workers];
        if (victim->first < victim->last) {
            stealing->waiting--;
            execute(stealing, worker, victim->items[victim->first++]);
            return;
        }
    }
}

/* Gives what became ready to `worker`, which looks for its next work afterwards. */
static void made_give(struct stealing *stealing, uint32_t worker)
{
    const struct graph *graph = stealing->ready->graph;
    uint32_t own = GRAPH_NONE;
    struct deque *deque = &stealing->deques[worker];
    for (size_t i = 0; i < stealing->made_count; i++) {
        uint32_t node = stealing->made[i];
        if (own == GRAPH_NONE && is_own(graph, node) && stealing->executes[worker] == GRAPH_NONE) {
            own = node;
            continue;
        }
        stealing->memory = stealing->memory && deque_push(deque, node);
        stealing->waiting++;
    }
    stealing->made_count = 0;
    if (own == GRAPH_NONE)
        return;
    if (deque->last - deque->first > DEQUE_MOST) {
        stealing->memory = stealing->memory && deque_push(&stealing->resumed[worker], own);
        own = deque->items[--deque->last];
        stealing->waiting--;
    }
    if (stealing->memory)
        execute(stealing, worker, own);
}

static bool steal(struct ready *ready, uint32_t workers, uint64_t *ret_end_ns)
{
    const struct graph *graph = ready->graph;
    struct stealing stealing = {.ready = ready, .workers = workers, .idle = workers, .state = 1, .memory = true, .deques = calloc(workers, sizeof *stealing.deques),
                                .resumed = calloc(workers, sizeof *stealing.resumed), .heap = malloc(workers * sizeof *stealing.heap),
                                .executes = malloc(workers * sizeof *stealing.executes)};
    uint32_t *roots = malloc((graph->count + 1) * sizeof *roots);
    size_t root_count = 0;
    bool memory = stealing.deques && stealing.resumed && stealing.heap && stealing.executes && roots;
    if (memory)
        memset(stealing.executes, 0xff, workers * sizeof *stealing.executes);
    for (uint32_t i = 0; memory && i < graph->count; i++)
        if (!ready->waiting[i])
            roots[root_count++] = i;
    for (size_t i = 0; memory && i < root_count; i++) {
        if (graph->work_ns[roots[i]])
            made_add(&stealing, roots[i]);
        else
            successors_find(&stealing, roots[i]);
    }
    if (memory && stealing.memory)
        made_give(&stealing, 0);
    for (uint32_t i = 0; memory && stealing.memory && i < workers; i++)
        if (stealing.executes[i] == GRAPH_NONE)
            work_find(&stealing, i);
    while (memory && stealing.memory && stealing.heap_count) {
        struct event event = event_take(&stealing);
        uint32_t node = stealing.executes[event.worker];
        stealing.now_ns = event.time_ns;
        stealing.executes[event.worker] = GRAPH_NONE;
        stealing.idle++;
        successors_find(&stealing, node);
        made_give(&stealing, event.worker);
        if (stealing.memory && stealing.executes[event.worker] == GRAPH_NONE)
            work_find(&stealing, event.worker);
        for (uint32_t i = 0; i < workers && stealing.idle && stealing.waiting && stealing.memory; i++)
            if (stealing.executes[i] == GRAPH_NONE)
                work_find(&stealing, i);
    }
    *ret_end_ns = stealing.now_ns;
    for (uint32_t i = 0; i < workers; i++) {
        if (stealing.deques)
            free(stealing.deques[i].items);
        if (stealing.resumed)
            free(stealing.resumed[i].items);
    }
    free(stealing.deques);
    free(stealing.resumed);
    free(stealing.heap);
    free(stealing.executes);
    free(stealing.made);
    free(roots);
    return memory && stealing.memory;
}

enum pcere_status schedule_make(const struct graph *graph, const struct graph_paths *paths, enum schedule_kind kind, uint32_t workers, struct schedule *ret_schedule,
                                uint64_t **ret_begin_ns, struct pcere_error *error)
{
    struct ready ready;
    struct schedule schedule = {0};
    if (!ready_make(graph, &ready))
        return pcere_fail_memory(error, "the schedule");
    bool memory = kind == SCHEDULE_HEFT ? heft(&ready, paths, workers, &schedule.makespan_ns) : steal(&ready, workers, &schedule.makespan_ns);
    for (size_t i = 0; i < graph->count; i++)
        schedule.busy_ns += graph->work_ns[i];
    if (memory) {
        *ret_schedule = schedule;
        if (ret_begin_ns) {
            *ret_begin_ns = ready.begin_ns;
            ready.begin_ns = NULL;
        }
    }
    ready_done(&ready);
    return memory ? PCERE_OK : pcere_fail_memory(error, "the schedule");
}
