/* trace/native.c - see native.h. */
#include "trace/native.h"
#include "trace/native_ids.h"
#include "trace/native_outside.h"
#include "core/text.h"
#include "profiler/host/trace_file.h"
#include "profiler/host/trace_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ompt_sync_region_t */
enum { WAIT_BARRIER = 1, WAIT_BARRIER_EXPLICIT = 3, WAIT_TASKWAIT = 5, WAIT_TASKGROUP = 6, WAIT_REDUCTION = 7 };

struct open_span { int64_t begin_ns; uint32_t place; uint8_t kind; };

struct walk {                   /* through a thread's records */
    struct trace_cursor cursor;
    struct trace_item item;      /* its next one, if `more` */
    bool more;
    uint32_t thread;
    uint64_t now;                /* id of what it executes; 0: nothing */
    int64_t since_ns;
    bool told;                   /* it had a record: since_ns is its time, or a later one's */
    struct open_span stack[64];
    size_t depth;
    uint32_t alone;              /* single and masked constructs among them */
    uint32_t pending_team, made; /* made: the task that its last record, but for dependences, made, + 1; 0: none */
    struct outside outside;
};

struct reading {
    struct timeline *timeline;
    struct trace_file *file;
    struct native_ids ids;
    bool sparing;                /* nothing is kept of tasks and teams that have ended: only spans are asked for, with the tasks' numbers */
    uint32_t free_task, free_team;       /* places that can be used again, + 1; 0: none; the next one stands in their `thread` and `size` */
    struct span *held;           /* [thread], in sparing: the last short one, to be joined with the next */
    enum { HELP_UNKNOWN, HELP_NONE, HELP_RUNTIME } *helps;       /* [thread]: is it the runtime's own, by its first team? */
    uint32_t *places;            /* [construct]: of the timeline's strings */
    uint32_t no_team;            /* what is outside of regions */
    uint32_t scopes, process, first_thread, first_task;
    size_t first_span;
    uint64_t records;            /* that were taken */
    bool memory;
    struct walk *walk;           /* the thread whose record is taken */
    struct outside_shared outside;
    int64_t shift_ns;            /* from this trace's time to the model's */
    int64_t end_ns;              /* of the program, where it told: threads may tell something behind it */
};

/* ---- ids ---------------------------------------------------------------------------------------------------------------------- */

static struct actor *actor_of(struct reading *reading, uint64_t id)
{
    return ids_find(&reading->ids, IDS_ACTORS, id);
}

static uint32_t team_of(struct reading *reading, uint64_t id)
{
    struct timeline *timeline = reading->timeline;
    struct actor *named = ids_find(&reading->ids, IDS_TEAMS, id);
    if (!id)
        return reading->no_team;
    if (named->team)
        return named->team - 1;
    uint32_t team = reading->free_team;
    if (team) {
        reading->free_team = timeline->teams[team - 1].size;
    } else {
        if (!array_reserve(&timeline->teams, &timeline->team_capacity, timeline->team_count + 1, sizeof *timeline->teams)) {
            reading->memory = false;
            return 0;
        }
        team = (uint32_t)++timeline->team_count;
    }
    timeline->teams[team - 1] = (struct timeline_team){.id = id};
    named->team = team;
    return team - 1;
}

/* Its region has ended, and who was in it has heard of that. */
static void team_leave(struct reading *reading, uint32_t team)
{
    struct timeline_team *left = &reading->timeline->teams[team];
    if (!reading->sparing || !left->id || !left->ended || left->members)
        return;
    ids_forget(&reading->ids, IDS_TEAMS, left->id);
    *left = (struct timeline_team){.size = reading->free_team};
    reading->free_team = team + 1;
}

/* ---- steps -------------------------------------------------------------------------------------------------------------------- */

static void step_put(struct reading *reading, struct actor *actor, const struct timeline_step *step)
{
    struct timeline *timeline = reading->timeline;
    actor->step = 0;
    if (!timeline->want_steps || actor == &reading->ids.nobody)
        return;
    if (!actor->number) {
        if (!array_reserve(&timeline->actors, &timeline->actor_capacity, timeline->actor_count + 1, sizeof *timeline->actors)) {
            reading->memory = false;
            return;
        }
        timeline->actors[timeline->actor_count] = (struct timeline_actor){.task = actor->task, .team = actor->team, .member = actor->member, .initial = actor->initial};
        actor->number = (uint32_t)++timeline->actor_count;
    }
    if (timeline->step_count >= TIMELINE_NONE - 1 || !array_reserve(&timeline->steps, &timeline->step_capacity, timeline->step_count + 1, sizeof *step)) {
        reading->memory = false;
        return;
    }
    timeline->steps[timeline->step_count] = *step;
    timeline->steps[timeline->step_count++].actor = actor->number - 1;
}

static void step_run(struct reading *reading, struct actor *actor, uint64_t run_ns)
{
    struct timeline *timeline = reading->timeline;
    if (actor->step) {
        timeline->steps[actor->step - 1].run_ns += run_ns;
        return;
    }
    struct timeline_step step = {.begin_ns = reading->walk->since_ns, .run_ns = run_ns, .kind = STEP_RUN, .alone = reading->walk->alone && actor->implicit};
    if (actor->chunk) {
        step.place = actor->loop;
        step.number = actor->loops;
        step.first = actor->range_first;
        step.iterations = actor->range_count;
        step.chunk = actor->range_chunk;
        step.fixed = actor->range_fixed;
    }
    step_put(reading, actor, &step);
    if (timeline->want_steps && actor->number)
        actor->step = (uint32_t)timeline->step_count;
}

/* ---- spans -------------------------------------------------------------------------------------------------------------------- */

/* A worker hears late of its region's end: what it waits behind that is no wait. */
static bool wait_cut(const struct timeline *timeline, struct span *span)
{
    const struct timeline_team *team = span->kind == SPAN_BARRIER && span->tag < timeline->team_count ? &timeline->teams[span->tag] : NULL;
    if (team && team->ended && span->end_ns > team->end_ns)
        span->end_ns = team->end_ns;
    return span->end_ns >= span->begin_ns;
}

/* In sparing mode short neighbours are joined before they are kept. */
static bool span_keep(struct reading *reading, const struct span *span)
{
    struct timeline *timeline = reading->timeline;
    struct span *held = reading->held ? &reading->held[span->thread - reading->first_thread] : NULL;
    bool wanted = !timeline->wanted || timeline->wanted >> span->kind & 1, brief = held && wanted && timeline_is_short(timeline, span) && !timeline_is_outside(timeline, span);
    if (!held || !wanted)
        return timeline_span(timeline, span);
    if (brief && held->kind && span->begin_ns >= held->begin_ns && span_join(held, span, timeline->least_ns))
        return true;
    if (held->kind && !timeline_span(timeline, held))
        return false;
    *held = brief ? *span : (struct span){0};
    return brief || timeline_span(timeline, span);
}

static void span_put(struct reading *reading, uint32_t thread, enum span_kind kind, int64_t begin_ns, int64_t end_ns, uint32_t place, uint32_t task, uint32_t team, uint32_t name)
{
    struct span span = {.begin_ns = begin_ns, .end_ns = end_ns, .thread = thread, .kind = (uint8_t)kind, .place = place, .task = task,
                        .tag = team, .name = name, .origin = UINT16_MAX, .destination = UINT16_MAX};
    if (wait_cut(reading->timeline, &span))
        reading->memory &= span_keep(reading, &span);
}

/* What the thread did since the record before. */
static void stretch_end(struct reading *reading, int64_t now_ns)
{
    if (reading->walk->now && now_ns > reading->walk->since_ns) {
        struct timeline *timeline = reading->timeline;
        struct actor *actor = actor_of(reading, reading->walk->now);
        enum span_kind kind = SPAN_IMPLICIT;
        uint32_t place = actor->loop;
        if (actor->wait)
            kind = actor->wait == WAIT_TASKWAIT ? SPAN_TASKWAIT : actor->wait == WAIT_TASKGROUP ? SPAN_TASKGROUP : SPAN_BARRIER;
        else if (actor->mutex)
            kind = SPAN_MUTEX;
        else if (actor->task)
            kind = timeline->tasks[actor->task - 1].flags & TASK_TARGET ? SPAN_IMPLICIT : SPAN_TASK;       /* the head's part of it: the task is the device's */
        else if (actor->chunk)
            kind = SPAN_CHUNK;
        else if (actor->initial)
            kind = SPAN_SERIAL;
        if (timeline->want_steps && !actor->wait && !actor->mutex && !outside_waits(&reading->walk->outside))
            step_run(reading, actor, (uint64_t)(now_ns - reading->walk->since_ns));
        if (actor->task && (kind == SPAN_TASK || kind == SPAN_IMPLICIT)) {
            struct timeline_task *task = &timeline->tasks[actor->task - 1];
            if (!(task->flags & TASK_BEGUN)) {
                task->begin_ns = reading->walk->since_ns;
                task->thread = reading->first_thread + reading->walk->thread;
                task->flags |= TASK_BEGUN;
            }
            task->run_ns += (uint64_t)(now_ns - reading->walk->since_ns);
            place = task->place;
        }
        span_put(reading, reading->first_thread + reading->walk->thread, kind, reading->walk->since_ns, now_ns, place, actor->task ? timeline->tasks[actor->task - 1].number : TIMELINE_NONE, actor->team,
                 actor->wait == WAIT_BARRIER_EXPLICIT || actor->wait == WAIT_BARRIER);
    }
    reading->walk->since_ns = now_ns;
}

static void construct_open(struct reading *reading, enum span_kind kind, int64_t now_ns, uint32_t place)
{
    reading->walk->alone += kind == SPAN_SINGLE || kind == SPAN_MASKED;
    actor_of(reading, reading->walk->now)->step = 0;
    if (reading->walk->depth < sizeof reading->walk->stack / sizeof *reading->walk->stack)
        reading->walk->stack[reading->walk->depth] = (struct open_span){now_ns, place, (uint8_t)kind};
    reading->walk->depth++;
}

static void construct_close(struct reading *reading, enum span_kind kind, int64_t now_ns)
{
    size_t most = sizeof reading->walk->stack / sizeof *reading->walk->stack;
    reading->walk->alone -= reading->walk->alone && (kind == SPAN_SINGLE || kind == SPAN_MASKED);
    actor_of(reading, reading->walk->now)->step = 0;
    while (reading->walk->depth) {
        reading->walk->depth--;
        if (reading->walk->depth >= most)
            continue;
        struct open_span open = reading->walk->stack[reading->walk->depth];
        span_put(reading, reading->first_thread + reading->walk->thread, (enum span_kind)open.kind, open.begin_ns, now_ns, open.place, TIMELINE_NONE, TIMELINE_NONE, 0);
        if (open.kind == kind)
            return;
    }
}

/* ---- records ------------------------------------------------------------------------------------------------------------------ */

/* Where the next task stands; TIMELINE_NONE: no memory. */
static uint32_t task_room(struct reading *reading)
{
    struct timeline *timeline = reading->timeline;
    uint32_t task = reading->free_task;
    if (task) {
        reading->free_task = timeline->tasks[task - 1].thread;
        return task - 1;
    }
    if (!array_reserve(&timeline->tasks, &timeline->task_capacity, timeline->task_count + 1, sizeof *timeline->tasks)) {
        reading->memory = false;
        return TIMELINE_NONE;
    }
    return (uint32_t)timeline->task_count++;
}

/* It is told of no more. */
static void task_forget(struct reading *reading, struct actor *actor)
{
    if (!reading->sparing)
        return;
    uint32_t task = actor->task - 1;
    actor->task = 0;
    ids_forget(&reading->ids, IDS_ACTORS, reading->timeline->tasks[task].id);
    reading->timeline->tasks[task] = (struct timeline_task){.thread = reading->free_task, .flags = TASK_ENDED};
    reading->free_task = task + 1;
}

static uint32_t task_made(struct reading *reading, const struct trace_item *item, int64_t now_ns)
{
    struct timeline *timeline = reading->timeline;
    struct actor *maker = actor_of(reading, reading->walk->now);
    if (!maker->scope)
        maker->scope = ++reading->scopes;
    uint32_t place = item->extra && item->extra < reading->file->construct_count ? reading->places[item->extra] : 0, task = task_room(reading);
    if (!place && !(item->flags & (TRACE_TASK_WAITS | TRACE_TASK_TARGET)))      /* a taskloop's, perhaps made by another one of its tasks */
        place = maker->taskloop ? maker->taskloop : maker->task ? timeline->tasks[maker->task - 1].place : 0;
    if (task == TIMELINE_NONE)
        return task;
    uint32_t number = reading->file->part ? (uint32_t)trace_part_tasks(reading->file, item->value, item->ticks) : timeline->tasks_made++;
    timeline->tasks[task] = (struct timeline_task){.id = item->value, .created_ns = now_ns, .scope = maker->scope - 1, .epoch = maker->epoch, .team = maker->team, .phase = maker->phase,
                                 .place = place, .thread = TIMELINE_NONE, .number = number,
                                 .first_dependence = (uint32_t)timeline->dependence_count,
                                 .flags = (item->flags & TRACE_TASK_UNDEFERRED ? TASK_UNDEFERRED : 0u) | (item->flags & TRACE_TASK_WAITS ? TASK_WAITS : 0u) |
                                          (item->flags & TRACE_TASK_TARGET ? TASK_TARGET : 0u)};
    uint32_t team = maker->team, phase = maker->phase;
    struct timeline_step step = {.begin_ns = now_ns, .kind = STEP_CREATE, .number = task};
    step_put(reading, maker, &step);
    if (!item->value)
        return task;
    struct actor *made = actor_of(reading, item->value);
    made->task = task + 1;
    made->team = team;
    made->phase = phase;
    if (item->flags & TRACE_TASK_WAITS)
        task_forget(reading, made);
    return task;
}

static void implicit_begin(struct reading *reading, const struct trace_item *item)
{
    uint64_t back = reading->walk->now;
    struct actor *actor = actor_of(reading, item->value);
    *actor = (struct actor){.implicit = true, .initial = item->flags & 1, .back = back, .team = reading->walk->pending_team, .member = item->extra};
    if (actor->initial)
        actor->team = reading->no_team;
    if (reading->memory)
        reading->timeline->teams[actor->team].members++;
    reading->walk->now = item->value;
}

static void implicit_end(struct reading *reading, struct actor *actor)
{
    uint64_t id = reading->walk->now;
    reading->walk->now = actor->implicit ? actor->back : 0;
    if (!actor->implicit)
        return;
    uint32_t team = actor->team;
    ids_forget(&reading->ids, IDS_ACTORS, id);
    if (team < reading->timeline->team_count && reading->timeline->teams[team].members && --reading->timeline->teams[team].members == 0)
        team_leave(reading, team);
}

static void team_begin(struct reading *reading, uint64_t id, int64_t now_ns, uint32_t place)
{
    uint32_t team = team_of(reading, id);
    struct timeline_step step = {.begin_ns = now_ns, .kind = STEP_FORK, .number = team};
    if (!reading->memory)
        return;
    reading->timeline->teams[team].begin_ns = now_ns;
    reading->timeline->teams[team].place = place;
    reading->timeline->teams[team].begun = true;
    step_put(reading, actor_of(reading, reading->walk->now), &step);
}

static void team_end(struct reading *reading, uint64_t id, int64_t now_ns)
{
    uint32_t team = team_of(reading, id);
    if (!reading->memory)
        return;
    reading->timeline->teams[team].end_ns = now_ns;
    reading->timeline->teams[team].ended = true;
    team_leave(reading, team);
}

static void loop_begin(struct actor *actor, const struct trace_item *item, uint32_t place)
{
    uint32_t schedule = item->value & 0xff;
    actor->loop = place;
    actor->chunk = 0;
    actor->loops++;
    actor->range_chunk = item->value >> 8;
    actor->range_fixed = schedule == 1 || schedule == 2;
}

static void range_begin(struct reading *reading, struct actor *actor, const struct trace_item *item)
{
    actor->chunk = 1;
    actor->step = 0;
    actor->range_first = item->value;
    actor->range_count = item->extra;
    if (reading->timeline->want_steps)
        step_run(reading, actor, 0);
}

static void range_length(struct reading *reading, struct actor *actor, uint64_t count)
{
    actor->range_count = count;
    if (actor->step)
        reading->timeline->steps[actor->step - 1].iterations = count;
}

static void wait_begin(struct reading *reading, struct actor *actor, uint32_t kind, int64_t now_ns)
{
    bool tasks = kind == WAIT_TASKWAIT || kind == WAIT_TASKGROUP;
    struct timeline_step step = {.begin_ns = now_ns, .kind = tasks ? STEP_TASKWAIT : STEP_BARRIER, .number = tasks ? actor->epoch : actor->phase};
    actor->wait = kind;
    if (kind == WAIT_REDUCTION)
        return;
    if (!tasks)
        actor->loop = actor->chunk = 0;
    step_put(reading, actor, &step);
}

static void wait_end(struct reading *reading, uint32_t kind)
{
    struct actor *actor = actor_of(reading, reading->walk->now);
    actor->wait = 0;
    if (kind == WAIT_TASKWAIT || kind == WAIT_TASKGROUP)
        actor->epoch++;
    else if (kind != WAIT_REDUCTION)
        actor->phase++;
}

bool native_dependence(const struct trace_item *item, struct dependence *ret_dependence)
{
    static const uint32_t types[16] = {[1] = DEPENDENCE_IN, [2] = DEPENDENCE_OUT, [3] = DEPENDENCE_INOUT, [4] = DEPENDENCE_MUTEXINOUTSET, [7] = DEPENDENCE_INOUTSET,
                                       [TRACE_DEPENDENCE_ALL_MEMORY] = DEPENDENCE_INOUT};
    *ret_dependence = (struct dependence){item->value, types[item->flags], item->flags == TRACE_DEPENDENCE_ALL_MEMORY};
    return ret_dependence->type != 0;
}

static void dependence_add(struct reading *reading, const struct trace_item *item)
{
    struct timeline *timeline = reading->timeline;
    struct dependence dependence;
    if (reading->sparing || !native_dependence(item, &dependence) || !reading->walk->made)
        return;
    if (!array_reserve(&timeline->dependences, &timeline->dependence_capacity, timeline->dependence_count + 1, sizeof dependence)) {
        reading->memory = false;
        return;
    }
    timeline->dependences[timeline->dependence_count++] = dependence;
    timeline->tasks[reading->walk->made - 1].dependence_count++;
}

/* What devices and other processes do: its time on this thread is part of the task's that asked for it, and a step of its own. */
static void outside_take_item(struct reading *reading, struct actor *actor, const struct trace_item *item, int64_t now_ns, uint32_t place)
{
    struct outside *outside = &reading->walk->outside;
    bool begins = item->type == TRACE_TARGET_BEGIN && (item->flags & 7) == 1, within = actor->task && reading->timeline->tasks[actor->task - 1].flags & TASK_TARGET;
    if (begins && !within && outside->depth == 0) {
        struct trace_item made = {.value = 0, .extra = item->extra, .flags = TRACE_TASK_TARGET | TRACE_TASK_UNDEFERRED};
        outside->task = task_made(reading, &made, now_ns);
    } else if (begins) {
        outside->task = actor->task - 1;
    }
    if (item->type == TRACE_TARGET_BEGIN)
        outside->nowait = within && !(reading->timeline->tasks[actor->task - 1].flags & TASK_UNDEFERRED);
    outside->thread = reading->first_thread + reading->walk->thread;
    reading->memory &= outside_take(outside, reading->timeline, item, now_ns, place);
    if (outside->step_ready) {
        outside->step_ready = false;
        step_put(reading, actor, &outside->step);
    }
}

/* What ends a chunk, a loop and a wait is what the runtime tells next of the same task. */
static void item_take(struct reading *reading, const struct trace_item *item)
{
    int64_t now_ns = (int64_t)trace_ns(reading->file, item->ticks) + reading->shift_ns;
    now_ns = now_ns < reading->end_ns ? now_ns : reading->end_ns;
    if (reading->walk->told && now_ns < reading->walk->since_ns) {       /* a thread's times never fall */
        reading->timeline->broken++;
        now_ns = reading->walk->since_ns;
    }
    reading->walk->told = true;
    uint32_t place = item->extra < reading->file->construct_count ? reading->places[item->extra] : 0;
    struct actor *actor;
    if (item->type != TRACE_DEPENDENCE) {
        stretch_end(reading, now_ns);
        reading->walk->made = 0;
    }
    actor = actor_of(reading, reading->walk->now);
    switch ((enum trace_type)item->type) {
    case TRACE_PARALLEL_BEGIN:
        team_begin(reading, item->value, now_ns, place);
        construct_open(reading, SPAN_PARALLEL, now_ns, place);
        break;
    case TRACE_PARALLEL_END:
        team_end(reading, item->value, now_ns);
        construct_close(reading, SPAN_PARALLEL, now_ns);
        break;
    case TRACE_TEAM:
        reading->walk->pending_team = team_of(reading, item->value);
        if (reading->memory)
            reading->timeline->teams[reading->walk->pending_team].size = item->extra;
        if (reading->memory && reading->helps[reading->walk->thread] == HELP_UNKNOWN)
            reading->helps[reading->walk->thread] = timeline_team_helps(&reading->timeline->teams[reading->walk->pending_team]) ? HELP_RUNTIME : HELP_NONE;
        break;
    case TRACE_IMPLICIT_BEGIN: implicit_begin(reading, item); break;
    case TRACE_IMPLICIT_END: implicit_end(reading, actor); break;
    case TRACE_LOOP_BEGIN:
        loop_begin(actor, item, place);
        construct_open(reading, SPAN_LOOP, now_ns, place);
        break;
    case TRACE_RANGE_BEGIN: range_begin(reading, actor, item); break;
    case TRACE_LENGTH: range_length(reading, actor, item->value); break;
    case TRACE_LOOP_END:
        actor->loop = actor->chunk = 0;
        construct_close(reading, SPAN_LOOP, now_ns);
        break;
    case TRACE_SINGLE_BEGIN:
        if (item->value)
            construct_open(reading, SPAN_SINGLE, now_ns, place);
        break;
    case TRACE_SINGLE_END: construct_close(reading, SPAN_SINGLE, now_ns); break;
    case TRACE_MASKED_BEGIN: construct_open(reading, SPAN_MASKED, now_ns, place); break;
    case TRACE_MASKED_END: construct_close(reading, SPAN_MASKED, now_ns); break;
    case TRACE_TASKLOOP_BEGIN: actor->taskloop = place; break;
    case TRACE_TASKLOOP_END: actor->taskloop = 0; break;
    case TRACE_TASK_CREATE: reading->walk->made = task_made(reading, item, now_ns) + 1; break;
    case TRACE_TASK_SWITCH:
        if (actor->task && (item->flags == 1 || item->flags == 3 || item->flags == 6)) {    /* ompt_task_complete, cancel, late_fulfill */
            struct timeline_task *task = &reading->timeline->tasks[actor->task - 1];
            if (!(task->flags & TASK_BEGUN)) {                  /* it took no time that the clock knows */
                task->begin_ns = now_ns;
                task->thread = reading->first_thread + reading->walk->thread;
            }
            task->end_ns = now_ns;
            task->flags |= TASK_BEGUN | TASK_ENDED;
            task_forget(reading, actor);
        }
        if (item->value)
            reading->walk->now = item->value;
        break;
    case TRACE_WAIT_BEGIN:
        wait_begin(reading, actor, item->flags, now_ns);
        break;
    case TRACE_WAIT_END: wait_end(reading, item->flags); break;
    case TRACE_DEPENDENCE: dependence_add(reading, item); break;
    case TRACE_MUTEX_BEGIN: actor->mutex = 1; break;
    case TRACE_MUTEX_END: actor->mutex = 0; break;
    case TRACE_TIME: case TRACE_THREAD_END: case TRACE_TASKLOOP_RANGE: case TRACE_MARK: case TRACE_CPU: case TRACE_ITERATION: case TRACE_TYPES: break;
    default: outside_take_item(reading, actor, item, now_ns, place); break;
    }
}

/* ---- the whole ---------------------------------------------------------------------------------------------------------------- */

static bool names_make(struct reading *reading)
{
    const struct trace_file *file = reading->file;
    for (size_t i = 1; i < file->construct_count; i++) {
        const struct trace_construct *construct = &file->constructs[i];
        char text[512];
        if (construct->file && construct->line && construct->function)
            snprintf(text, sizeof text, "%.200s@%.200s:%u:%u", construct->function, construct->file, construct->line, construct->column);
        else
            snprintf(text, sizeof text, "%.400s", construct->place ? construct->place : "");
        if (!timeline_string(reading->timeline, text, strlen(text), &reading->places[i]))
            return false;
    }
    return true;
}

static void walk_start(struct reading *reading, struct walk *walk, uint32_t thread)
{
    *walk = (struct walk){.thread = thread, .pending_team = reading->no_team, .outside.shared = &reading->outside};
    trace_cursor_start(&walk->cursor, reading->file, thread);
    walk->more = trace_cursor_next(&walk->cursor, &walk->item);
}

static void walk_end(struct reading *reading, int64_t end_ns)
{
    int64_t last_ns = end_ns > reading->walk->since_ns ? end_ns : reading->walk->since_ns;
    if (reading->walk->now && !actor_of(reading, reading->walk->now)->wait)
        stretch_end(reading, last_ns);
    reading->timeline->unfinished += reading->walk->depth;
    while (reading->walk->depth)
        construct_close(reading, SPAN_KINDS, last_ns);
    reading->memory &= outside_finish(&reading->walk->outside, reading->timeline, last_ns);
    reading->timeline->broken += reading->walk->cursor.torn;
    if (reading->held && reading->held[reading->walk->thread].kind)
        reading->memory &= timeline_span(reading->timeline, &reading->held[reading->walk->thread]);
    if (reading->held)
        reading->held[reading->walk->thread] = (struct span){0};
}

/* A task is made before it begins, on whatever thread: records are taken in the order of time, a thread's own as long as no other has an earlier one. */
static bool threads_walk(struct reading *reading, int64_t end_ns)
{
    size_t count = reading->file->thread_count;
    struct walk *walks = calloc(count + 1, sizeof *walks);
    if (!walks)
        return false;
    for (uint32_t i = 0; i < count; i++)
        walk_start(reading, &walks[i], i);
    for (;;) {
        struct walk *first = NULL;
        uint64_t next_ticks = UINT64_MAX;
        for (size_t i = 0; i < count; i++) {
            if (!walks[i].more)
                continue;
            if (!first || walks[i].item.ticks < first->item.ticks) {
                next_ticks = first ? first->item.ticks : next_ticks;
                first = &walks[i];
            } else if (walks[i].item.ticks < next_ticks) {
                next_ticks = walks[i].item.ticks;
            }
        }
        if (!first || !reading->memory)
            break;
        reading->walk = first;
        do {
            item_take(reading, &first->item);
            reading->records++;
            first->more = trace_cursor_next(&first->cursor, &first->item);
        } while (reading->memory && first->more && first->item.ticks <= next_ticks);
    }
    for (size_t i = 0; i < count && reading->memory; i++) {
        reading->walk = &walks[i];
        walk_end(reading, end_ns);
    }
    free(walks);
    reading->walk = NULL;
    return true;
}

/* Processes of several machines, or containers, may have one number: the later one gets another. */
static int64_t pid_free(const struct timeline *timeline, int64_t pid)
{
    for (size_t i = 0; i < timeline->process_count; i++)
        if (timeline->processes[i].pid == pid)
            return pid_free(timeline, pid + (1 << 24));
    return pid;
}

__attribute__((format(printf, 2, 0))) static bool name_number(struct timeline *timeline, const char *form, size_t number, uint32_t *ret_string)
{
    char text[48];
    snprintf(text, sizeof text, form, number);
    return timeline_string(timeline, text, strlen(text), ret_string);
}

static bool everything_read(struct reading *reading, const char *path)
{
    struct timeline *timeline = reading->timeline;
    const struct trace_file *file = reading->file;
    uint32_t thread;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!timeline_string(timeline, "", 0, &thread) || !timeline_process(timeline, pid_free(timeline, file->header->pid), &reading->process) ||
        !timeline_string(timeline, name, strlen(name), &timeline->processes[reading->process].name) || !names_make(reading))
        return false;
    timeline->processes[reading->process].role = reading->process + 1;
    if (!timeline->realtime_ns)
        timeline->realtime_ns = file->header->start.realtime_ns;
    reading->shift_ns = (int64_t)(file->header->start.realtime_ns - timeline->realtime_ns);
    reading->first_thread = (uint32_t)timeline->thread_count;
    reading->outside.process = reading->process;
    for (size_t i = 0; i < file->thread_count; i++) {
        if (!timeline_thread(timeline, reading->process, (int64_t)i, &thread) || !name_number(timeline, "Thread %zu", i, &timeline->threads[thread].name))
            return false;
    }
    if (!array_reserve(&timeline->teams, &timeline->team_capacity, timeline->team_count + 1, sizeof *timeline->teams))
        return false;
    reading->no_team = (uint32_t)timeline->team_count;
    timeline->teams[timeline->team_count++] = (struct timeline_team){0};
    bool known = file->header->ended || file->until_ticks != UINT64_MAX, ended = file->header->ended && file->until_ticks == UINT64_MAX;
    int64_t end_ns = known ? (int64_t)trace_ns(file, ended ? file->header->end.ticks : file->until_ticks) + reading->shift_ns : INT64_MIN;
    reading->end_ns = known ? end_ns : INT64_MAX;
    if (!threads_walk(reading, end_ns))
        return false;
    for (size_t i = 0; i < file->thread_count; i++)
        if (reading->helps[i] == HELP_RUNTIME) {
            timeline->threads[reading->first_thread + i].device = true;
            if (!name_number(timeline, "Runtime's helper %zu", i, &timeline->threads[reading->first_thread + i].name))
                return false;
        }
    if (reading->outside.devices)
        timeline->processes[reading->process].role = 0;
    for (size_t i = reading->first_span; i < timeline->span_count; i++)
        end_ns = timeline->spans[i].end_ns > end_ns ? timeline->spans[i].end_ns : end_ns;
    if (ended && file->thread_count && end_ns > reading->shift_ns)
        span_put(reading, reading->first_thread, SPAN_RUNTIME, reading->shift_ns, end_ns, 0, TIMELINE_NONE, TIMELINE_NONE, 0);
    for (size_t i = reading->first_task; i < timeline->task_count && !file->part; i++)
        timeline->unfinished += !(timeline->tasks[i].flags & (TASK_ENDED | TASK_WAITS));
    if (reading->sparing)
        timeline->task_count = reading->first_task;
    return reading->memory && reading->ids.memory;
}

static void cut_tell(const struct reading *reading, const char *path)
{
    struct timeline *timeline = reading->timeline;
    const struct trace_file *file = reading->file;
    size_t unnamed = 0, silent = 0;
    for (size_t i = 1; i < file->construct_count; i++)
        unnamed += !file->constructs[i].kind;
    for (size_t i = 0; i < file->thread_count; i++)
        silent += !file->threads[i].block_count;
    timeline->cut = true;
    if (timeline->cut_text[0])
        return;
    const char *slash = strrchr(path, '/');
    snprintf(timeline->cut_text, sizeof timeline->cut_text,
             "'%.80s' %s; %llu records that are whole were used, %s; %llu blocks are missing or damaged, %zu of %zu threads have no records, %zu of %zu constructs no name", slash ? slash + 1 : path,
             file->cut_why, (unsigned long long)reading->records, file->until_ticks == UINT64_MAX ? "to the end" : "up to the first gap", (unsigned long long)file->lost_blocks, silent,
             file->thread_count, unnamed, file->construct_count - 1);
}

enum pcere_status native_read(const char *path, struct timeline *timeline, struct pcere_error *error)
{
    struct reading reading = {.timeline = timeline, .memory = true, .first_task = (uint32_t)timeline->task_count, .first_span = timeline->span_count,
                              .sparing = timeline->least_ns && !timeline->want_steps};
    enum pcere_status status = timeline->has_window ? trace_part_open(path, (uint64_t)timeline->window_begin_ns, (uint64_t)timeline->window_end_ns, &reading.file, error)
                                                    : trace_file_salvage(path, &reading.file, error);
    if (status != PCERE_OK)
        return status;
    timeline->has_window = timeline->has_window && reading.file->part;      /* else times of the window are not known beforehand to be those of the run */
    for (size_t i = 0; i < timeline->task_count; i++)
        reading.scopes = timeline->tasks[i].scope >= reading.scopes ? timeline->tasks[i].scope + 1 : reading.scopes;
    if (!reading.file->header->tool_started)
        status = pcere_fail(error, PCERE_NO, 0, "an OpenMP program links with libomp (clang -fopenmp)", "'%.300s' has no OpenMP in it", path);
    reading.helps = calloc(reading.file->thread_count + 1, sizeof *reading.helps);
    bool ids = ids_init(&reading.ids, reading.file->thread_count, reading.file->slots, reading.sparing);
    reading.held = reading.sparing ? calloc(reading.file->thread_count + 1, sizeof *reading.held) : NULL;
    reading.places = calloc(reading.file->construct_count + 1, sizeof *reading.places);
    if (status == PCERE_OK && (!ids || (reading.sparing && !reading.held) || !reading.helps || !reading.places || !everything_read(&reading, path)))
        status = pcere_fail_memory(error, "the trace");
    if (status == PCERE_OK && reading.file->cut_why)
        cut_tell(&reading, path);
    ids_done(&reading.ids);
    free(reading.held);
    free(reading.helps);
    outside_done(&reading.outside);
    free(reading.places);
    trace_file_close(reading.file);
    return status;
}
