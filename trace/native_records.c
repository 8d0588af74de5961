/* trace/native_records.c - see native_reading.h. */
#include "trace/native_reading.h"
#include "core/text.h"
#include "profiler/host/trace_part.h"
#include "trace/native.h"

/* ompt_sync_region_t */
enum { WAIT_BARRIER = 1, WAIT_BARRIER_EXPLICIT = 3, WAIT_TASKWAIT = 5, WAIT_TASKGROUP = 6, WAIT_REDUCTION = 7 };
enum { STATUS_COMPLETE = 1, STATUS_CANCEL = 3, STATUS_DETACH = 4 };     /* ompt_task_status_t */

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

static void span_take(struct reading *reading, struct span *span)
{
    if (wait_cut(reading->timeline, span))
        reading->memory &= span_keep(reading, span);
}

void reading_span(struct reading *reading, uint32_t thread, enum span_kind kind, int64_t begin_ns, int64_t end_ns, uint32_t place)
{
    struct span span = {.begin_ns = begin_ns, .end_ns = end_ns, .thread = thread, .kind = (uint8_t)kind, .place = place, .task = TIMELINE_NONE, .tag = TIMELINE_NONE,
                        .origin = UINT16_MAX, .destination = UINT16_MAX};
    span_take(reading, &span);
}

static void stretch_put(struct reading *reading, const struct actor *actor, enum span_kind kind, int64_t now_ns, uint32_t place, bool continued)
{
    struct span span = {.begin_ns = reading->walk->since_ns, .end_ns = now_ns, .thread = reading->first_thread + reading->walk->thread, .kind = (uint8_t)kind, .place = place,
                        .task = actor->task ? reading->timeline->tasks[actor->task - 1].number : TIMELINE_NONE, .tag = actor->team,
                        .name = actor->wait == WAIT_BARRIER_EXPLICIT || actor->wait == WAIT_BARRIER, .origin = UINT16_MAX, .destination = UINT16_MAX};
    if (kind == SPAN_TASK)
        span.continued = continued;
    span_take(reading, &span);
}

/* What the thread did since the record before. */
static void stretch_end(struct reading *reading, int64_t now_ns)
{
    if (reading->walk->now && now_ns > reading->walk->since_ns) {
        struct timeline *timeline = reading->timeline;
        struct actor *actor = actor_of(reading, reading->walk->now);
        enum span_kind kind = SPAN_IMPLICIT;
        uint32_t place = actor->loop;
        bool continued = false;
        if (actor->wait)
            kind = actor->wait == WAIT_TASKWAIT ? SPAN_TASKWAIT : actor->wait == WAIT_TASKGROUP ? SPAN_TASKGROUP : SPAN_BARRIER;
        else if (actor->mutex)
            kind = SPAN_MUTEX;
        else if (actor->task)
            kind = timeline->tasks[actor->task - 1].flags & (TASK_TARGET | TASK_DIVIDES) ? SPAN_IMPLICIT : SPAN_TASK;       /* the head's part of it: the task is the device's */
        else if (actor->chunk)
            kind = SPAN_CHUNK;
        else if (actor->initial)
            kind = SPAN_SERIAL;
        if (timeline->want_steps && !actor->wait && !actor->mutex && !outside_waits(&reading->walk->outside))
            step_run(reading, actor, (uint64_t)(now_ns - reading->walk->since_ns));
        if (actor->task && (kind == SPAN_TASK || kind == SPAN_IMPLICIT)) {
            struct timeline_task *task = &timeline->tasks[actor->task - 1];
            continued = kind == SPAN_TASK && task->flags & TASK_BEGUN;
            if (!(task->flags & TASK_BEGUN)) {
                task->begin_ns = reading->walk->since_ns;
                task->thread = reading->first_thread + reading->walk->thread;
                task->flags |= TASK_BEGUN;
            }
            task->run_ns += (uint64_t)(now_ns - reading->walk->since_ns);
            place = task->place;
        }
        stretch_put(reading, actor, kind, now_ns, place, continued);
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
        reading_span(reading, reading->first_thread + reading->walk->thread, (enum span_kind)open.kind, open.begin_ns, now_ns, open.place);
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

static bool of_taskloop(const struct trace_item *item)
{
    return !item->extra && !(item->flags & (TRACE_TASK_WAITS | TRACE_TASK_TARGET));
}

/* A taskloop's task that makes more of them divides it for the runtime. */
static void divider_find(struct reading *reading, const struct trace_item *item)
{
    const struct actor *maker = actor_of(reading, reading->walk->now);
    struct timeline_task *task = maker->task ? &reading->timeline->tasks[maker->task - 1] : NULL;
    if (task && task->flags & TASK_OF_TASKLOOP && !maker->taskloop && of_taskloop(item))
        task->flags |= TASK_DIVIDES;
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
    bool parted = of_taskloop(item) && (maker->taskloop || (maker->task && timeline->tasks[maker->task - 1].flags & TASK_DIVIDES));
    uint32_t number = reading->file->part ? (uint32_t)trace_part_tasks(reading->file, item->value, item->ticks) : timeline->tasks_made++;
    timeline->tasks[task] = (struct timeline_task){.id = item->value, .created_ns = now_ns, .scope = maker->scope - 1, .epoch = maker->epoch, .team = maker->team, .phase = maker->phase,
                                 .place = place, .thread = TIMELINE_NONE, .number = number,
                                 .first_dependence = (uint32_t)timeline->dependence_count,
                                 .flags = (item->flags & TRACE_TASK_UNDEFERRED ? TASK_UNDEFERRED : 0u) | (item->flags & TRACE_TASK_WAITS ? TASK_WAITS : 0u) |
                                          (item->flags & TRACE_TASK_TARGET ? TASK_TARGET : 0u) | (parted ? TASK_OF_TASKLOOP : 0u)};
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

/* Who fulfils an event (no task goes on) ends none: a detached task's execution ended with its body. */
static void task_switch(struct reading *reading, struct actor *actor, const struct trace_item *item, int64_t now_ns)
{
    bool ends = item->flags == STATUS_COMPLETE || item->flags == STATUS_CANCEL || item->flags == STATUS_DETACH;
    if (actor->task && ends) {
        struct timeline_task *task = &reading->timeline->tasks[actor->task - 1];
        if (!(task->flags & TASK_BEGUN)) {                      /* it took no time that the clock knows */
            task->begin_ns = now_ns;
            task->thread = reading->first_thread + reading->walk->thread;
        }
        task->end_ns = now_ns;
        task->flags |= TASK_BEGUN | TASK_ENDED;
        task_forget(reading, actor);
    }
    if (item->value)
        reading->walk->now = item->value;
}

/* It has iterations of its own. */
static void range_told(struct reading *reading, const struct actor *actor)
{
    if (actor->task)
        reading->timeline->tasks[actor->task - 1].flags &= ~(uint32_t)TASK_OF_TASKLOOP;
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

static void dependence_add(struct reading *reading, const struct trace_item *item)
{
    struct timeline *timeline = reading->timeline;
    struct dependence dependence;
    if (reading->sparing || !native_dependence(item->flags, item->value, &dependence) || !reading->walk->made)
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
void reading_item(struct reading *reading, const struct trace_item *item)
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
    if (item->type == TRACE_TASK_CREATE)
        divider_find(reading, item);             /* before what it did until now is told */
    if (item->type != TRACE_DEPENDENCE && item->type != TRACE_CPU)
        stretch_end(reading, now_ns);
    if (item->type != TRACE_DEPENDENCE)
        reading->walk->made = 0;
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
    case TRACE_TASK_SWITCH: task_switch(reading, actor, item, now_ns); break;
    case TRACE_TASKLOOP_RANGE: range_told(reading, actor); break;
    case TRACE_WAIT_BEGIN:
        wait_begin(reading, actor, item->flags, now_ns);
        break;
    case TRACE_WAIT_END: wait_end(reading, item->flags); break;
    case TRACE_DEPENDENCE: dependence_add(reading, item); break;
    case TRACE_MUTEX_BEGIN: actor->mutex = 1; break;
    case TRACE_MUTEX_END: actor->mutex = 0; break;
    case TRACE_TIME: case TRACE_THREAD_END: case TRACE_MARK: case TRACE_CPU: case TRACE_ITERATION: case TRACE_TYPES: break;
    default: outside_take_item(reading, actor, item, now_ns, place); break;
    }
}

void reading_finish(struct reading *reading, int64_t end_ns)
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
