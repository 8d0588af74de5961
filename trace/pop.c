/* trace/pop.c - see pop.h. */
#include "trace/pop.h"
#include "include/pcere/bisect.h"

#include <stdlib.h>

const char *pop_part_name(enum pop_part part)
{
    static const char *const names[POP_PARTS] = {
        [POP_USEFUL] = "Useful", [POP_BODY] = "Region body", [POP_SERIAL_USEFUL] = "Serial", [POP_SERIALISATION] = "Serialisation", [POP_LOAD_BALANCE] = "Load balance",
        [POP_SYNCHRONISATION] = "Synchronisation", [POP_SCHEDULING] = "Scheduling overhead", [POP_DEPENDENCES] = "Dependence wait",
    };
    return names[part];
}

bool pop_has(const struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->span_count; i++)
        if (timeline->spans[i].kind == SPAN_SERIAL || timeline->spans[i].kind == SPAN_IMPLICIT)
            return true;
    return false;
}

/* ---- what there was to do, as time goes on ------------------------------------------------------------------------------------ */

struct change { int64_t at_ns; int32_t ready, blocked; };

struct supply {                  /* at each change: time until then with a ready task, and with none but blocked ones */
    struct change *changes;
    size_t count;
    uint64_t *ready_ns, *blocked_ns;
};

static int by_time(const void *a, const void *b)
{
    const struct change *left = a, *right = b;
    return left->at_ns < right->at_ns ? -1 : left->at_ns > right->at_ns;
}

static void supply_done(struct supply *supply)
{
    free(supply->changes);
    free(supply->ready_ns);
    free(supply->blocked_ns);
}

static bool supply_make(const struct timeline *timeline, const struct graph *graph, struct supply *supply)
{
    size_t tasks = timeline->task_count, task = 0;
    int64_t *done_ns = calloc((graph ? graph->count : 0) + 1, sizeof *done_ns), *ready_ns = malloc((tasks + 1) * sizeof *ready_ns);
    uint32_t *task_of = malloc(((graph ? graph->count : 0) + 1) * sizeof *task_of);
    *supply = (struct supply){.changes = malloc((tasks * 3 + 1) * sizeof *supply->changes), .ready_ns = malloc((tasks * 3 + 1) * sizeof *supply->ready_ns),
                              .blocked_ns = malloc((tasks * 3 + 1) * sizeof *supply->blocked_ns)};
    bool memory = done_ns && ready_ns && task_of && supply->changes && supply->ready_ns && supply->blocked_ns;
    for (size_t i = 0; memory && i < tasks; i++)
        ready_ns[i] = timeline->tasks[i].created_ns;
    for (size_t node = 0; memory && graph && node < graph->count; node++) {
        while (task < tasks && !timeline_task_counts(&timeline->tasks[task]))
            task++;
        task_of[node] = graph->nodes[node].id != UINT64_MAX && task < tasks ? (uint32_t)task++ : TIMELINE_NONE;
        if (task_of[node] != TIMELINE_NONE)
            done_ns[node] = timeline->tasks[task_of[node]].end_ns;
    }
    for (size_t i = 0; memory && graph && i < graph->edge_count; i++) {
        uint32_t from = graph->from[i], to = graph->to[i];
        if (task_of[to] == TIMELINE_NONE)
            done_ns[to] = done_ns[from] > done_ns[to] ? done_ns[from] : done_ns[to];
        else if (done_ns[from] > ready_ns[task_of[to]])
            ready_ns[task_of[to]] = done_ns[from];
    }
    for (size_t i = 0; memory && i < tasks; i++) {
        const struct timeline_task *one = &timeline->tasks[i];
        if (!(one->flags & TASK_BEGUN))
            continue;
        int64_t ready = ready_ns[i] < one->begin_ns ? ready_ns[i] : one->begin_ns;
        supply->changes[supply->count++] = (struct change){one->created_ns, 0, 1};
        supply->changes[supply->count++] = (struct change){ready, 1, -1};
        supply->changes[supply->count++] = (struct change){one->begin_ns, -1, 0};
    }
    if (memory)
        qsort(supply->changes, supply->count, sizeof *supply->changes, by_time);
    int64_t ready = 0, blocked = 0;
    uint64_t with_ready = 0, with_blocked = 0;
    for (size_t i = 0; memory && i < supply->count; i++) {
        uint64_t passed = i ? (uint64_t)(supply->changes[i].at_ns - supply->changes[i - 1].at_ns) : 0;
        with_ready += ready > 0 ? passed : 0;
        with_blocked += ready <= 0 && blocked > 0 ? passed : 0;
        supply->ready_ns[i] = with_ready;
        supply->blocked_ns[i] = with_blocked;
        ready += supply->changes[i].ready;
        blocked += supply->changes[i].blocked;
        supply->changes[i].ready = (int32_t)ready;          /* from here on */
        supply->changes[i].blocked = (int32_t)blocked;
    }
    free(done_ns);
    free(ready_ns);
    free(task_of);
    if (!memory)
        supply_done(supply);
    return memory;
}

static void supply_until(const struct supply *supply, int64_t at_ns, uint64_t *ret_ready_ns, uint64_t *ret_blocked_ns)
{
    BISECT(low, 0, supply->count, i, supply->changes[i].at_ns <= at_ns);
    *ret_ready_ns = *ret_blocked_ns = 0;
    if (!low)
        return;
    const struct change *change = &supply->changes[low - 1];
    uint64_t passed = (uint64_t)(at_ns - change->at_ns);
    *ret_ready_ns = supply->ready_ns[low - 1] + (change->ready > 0 ? passed : 0);
    *ret_blocked_ns = supply->blocked_ns[low - 1] + (change->ready <= 0 && change->blocked > 0 ? passed : 0);
}

/* ---- parts -------------------------------------------------------------------------------------------------------------------- */

static void wait_split(struct pop *pop, const struct supply *supply, int64_t begin_ns, int64_t end_ns, enum pop_part rest)
{
    uint64_t ready[2], blocked[2];
    supply_until(supply, begin_ns, &ready[0], &blocked[0]);
    supply_until(supply, end_ns, &ready[1], &blocked[1]);
    uint64_t scheduling_ns = ready[1] - ready[0], dependences_ns = blocked[1] - blocked[0];
    pop->parts_ns[POP_SCHEDULING] += scheduling_ns;
    pop->parts_ns[POP_DEPENDENCES] += dependences_ns;
    pop->parts_ns[rest] += (uint64_t)(end_ns - begin_ns) - scheduling_ns - dependences_ns;
}

static void stretch_take(struct pop *pop, const struct supply *supply, const struct span *span, int64_t begin_ns, int64_t end_ns)
{
    uint64_t passed = (uint64_t)(end_ns - begin_ns);
    switch ((enum span_kind)span->kind) {
    case SPAN_TASK: case SPAN_CHUNK: pop->parts_ns[POP_USEFUL] += passed; break;
    case SPAN_IMPLICIT: pop->parts_ns[POP_BODY] += passed; break;
    case SPAN_SERIAL: pop->parts_ns[POP_SERIAL_USEFUL] += passed; break;
    case SPAN_MUTEX: pop->parts_ns[POP_SYNCHRONISATION] += passed; break;
    case SPAN_BARRIER: wait_split(pop, supply, begin_ns, end_ns, span->name ? POP_SYNCHRONISATION : POP_LOAD_BALANCE); break;
    default: wait_split(pop, supply, begin_ns, end_ns, POP_DEPENDENCES); break;
    }
}

static bool is_stretch(enum span_kind kind)
{
    return kind == SPAN_TASK || kind == SPAN_CHUNK || kind == SPAN_IMPLICIT || kind == SPAN_SERIAL || kind == SPAN_MUTEX || kind == SPAN_BARRIER || kind == SPAN_TASKWAIT ||
           kind == SPAN_TASKGROUP;
}

enum pcere_status pop_make(const struct timeline *timeline, const struct graph *graph, struct pop *ret_pop, struct pcere_error *error)
{
    struct supply supply;
    if (!supply_make(timeline, graph, &supply))
        return pcere_fail_memory(error, "the hierarchy");
    struct pop pop = {.wall_ns = (uint64_t)(timeline->end_ns - timeline->begin_ns)};
    int64_t reach_ns = 0;
    uint32_t thread = TIMELINE_NONE;
    uint64_t covered_ns = 0;
    for (size_t i = 0; i < timeline->span_count; i++) {
        const struct span *span = &timeline->spans[i];
        if (!is_stretch((enum span_kind)span->kind) || timeline->threads[span->thread].device)
            continue;
        if (span->thread != thread) {
            thread = span->thread;
            pop.threads++;
            reach_ns = timeline->begin_ns;
        }
        int64_t begin_ns = span->begin_ns > reach_ns ? span->begin_ns : reach_ns, end_ns = span->end_ns < timeline->end_ns ? span->end_ns : timeline->end_ns;
        if (end_ns <= begin_ns)
            continue;
        stretch_take(&pop, &supply, span, begin_ns, end_ns);
        covered_ns += (uint64_t)(end_ns - begin_ns);
        reach_ns = end_ns;
    }
    pop.parts_ns[POP_SERIALISATION] = pop.wall_ns * pop.threads - covered_ns;
    supply_done(&supply);
    *ret_pop = pop;
    return PCERE_OK;
}
