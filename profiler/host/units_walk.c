/* profiler/host/units_walk.c - what one record does: tasks begin and end, constructs open and close, labels are made, time and counts are charged.
 *
 * Labels come from counters in what is open: a task's children have an order, a team's worksharing constructs too, since each thread
 * meets all of them.
 */
#include "profiler/host/units_walk.h"

#include <stdlib.h>
#include <string.h>

/* ---- ids ---------------------------------------------------------------------------------------------------------------------- */

static bool id_split(const struct walk *walk, uint64_t id, struct stream **ret_stream, uint64_t *ret_count)
{
    uint64_t thread = id >> TRACE_ID_THREAD_SHIFT, count = id & (((uint64_t)1 << TRACE_ID_THREAD_SHIFT) - 1);
    if (thread >= walk->file->thread_count || count == 0 || count > walk->file->slots)
        return false;
    *ret_stream = &walk->streams[thread];
    *ret_count = count;
    return true;
}

struct context *walk_context_find(const struct walk *walk, uint64_t id)
{
    struct stream *maker;
    uint64_t count;
    return id_split(walk, id, &maker, &count) && count < maker->context_count ? maker->contexts[count] : NULL;
}

static void out_of_memory(struct walk *walk)
{
    walk->status = pcere_fail_memory(walk->error, "the profile");
}

/* Grow to hold [count], the new part zeroed. */
static bool grow(void *array, size_t *used, size_t *capacity, uint64_t count, size_t bytes)
{
    if (!array_reserve(array, capacity, count + 1, bytes))
        return false;
    char *data;
    memcpy(&data, array, sizeof data);
    if (count >= *used) {
        memset(data + *used * bytes, 0, (count + 1 - *used) * bytes);
        *used = count + 1;
    }
    return true;
}

static struct frame *frame_push(struct walk *walk, struct context *context, struct frame frame)
{
    if (!array_reserve(&context->frames, &context->frame_capacity, context->frame_count + 1, sizeof frame)) {
        out_of_memory(walk);
        return NULL;
    }
    context->frames[context->frame_count] = frame;
    return &context->frames[context->frame_count++];
}

static struct context *context_new(struct walk *walk, uint64_t id, enum context_kind kind)
{
    struct stream *maker;
    uint64_t count;
    if (!id_split(walk, id, &maker, &count) || walk_context_find(walk, id)) {
        walk->units->mismatches++;
        return NULL;
    }
    struct context *context = calloc(1, sizeof *context);
    if (!context || !grow(&maker->contexts, &maker->context_count, &maker->context_capacity, count, sizeof *maker->contexts)) {
        free(context);
        out_of_memory(walk);
        return NULL;
    }
    maker->contexts[count] = context;
    context->kind = (uint8_t)kind;
    context->node = context->taskloop = context->common = LABEL_NONE;
    if (!frame_push(walk, context, (struct frame){.kind = FRAME_BASE, .node = LABEL_NONE, .unit = LABEL_NONE}))
        return NULL;
    return context;
}

/* ---- labels ------------------------------------------------------------------------------------------------------------------- */

static uint32_t node_make(struct walk *walk, uint32_t parent, enum label_kind kind, uint32_t construct, uint64_t index)
{
    uint32_t node = LABEL_NONE;
    if (parent == LABEL_NONE && kind != LABEL_ROOT && kind != LABEL_GIVEN)
        return LABEL_NONE;
    if (walk->status == PCERE_OK)
        walk->status = label_node(&walk->units->labels, kind == LABEL_ROOT || kind == LABEL_GIVEN ? 0 : parent, kind, construct, index, &node, walk->error);
    return walk->status == PCERE_OK ? node : LABEL_NONE;
}

/* The innermost open construct that is a node of labels. */
static struct frame *frame_labelled(const struct context *context)
{
    size_t i = context->frame_count;
    while (--i > 0)
        if (context->frames[i].node != LABEL_NONE && context->frames[i].kind != FRAME_WAIT)
            break;
    return &context->frames[i];
}

static bool in_team(const struct context *context)
{
    return context->kind == CONTEXT_IMPLICIT;
}

/* next_rank_TID(par) of the paper. */
static uint32_t node_unordered(struct walk *walk, struct context *context, uint32_t construct)
{
    struct frame *frame = frame_labelled(context);
    if (frame->kind == FRAME_BASE && in_team(context))
        return node_make(walk, frame->node, LABEL_FORCED, construct, context->number + context->forced++ * context->team);
    return node_make(walk, frame->node, LABEL_RANKED, construct, ++frame->rank);
}

/* next_rank(par) for what all threads of a team meet. */
static uint32_t node_shared(struct walk *walk, struct context *context, uint32_t construct)
{
    struct frame *base = &context->frames[0];
    if (in_team(context))
        return node_make(walk, base->node, LABEL_RANKED, construct, ++context->shared);
    struct frame *frame = frame_labelled(context);
    return node_make(walk, frame->node, LABEL_RANKED, construct, ++frame->rank);
}

/* ---- XUs ---------------------------------------------------------------------------------------------------------------------- */

static uint32_t unit_new(struct walk *walk, const struct stream *stream, uint32_t node, enum unit_kind kind, uint64_t ticks, uint64_t iterations)
{
    struct units *units = walk->units;
    if (node == LABEL_NONE || walk->status != PCERE_OK || !walk->on)
        return LABEL_NONE;
    if (units->count >= LABEL_NONE - 1 || !array_reserve(&units->list, &units->capacity, units->count + 1, sizeof *units->list) ||
        !array_reserve(&units->counts, &units->counts_capacity, (units->count + 1) * units->event_count, sizeof *units->counts)) {
        out_of_memory(walk);
        return LABEL_NONE;
    }
    for (size_t i = 0; i < units->event_count; i++)
        units->counts[units->count * units->event_count + i] = 0;
    units->list[units->count] = (struct unit){.node = node, .thread = stream->number, .cpu = stream->cpu, .kind = (uint8_t)kind, .start_ticks = ticks, .iterations = iterations};
    return (uint32_t)units->count++;
}

static void counts_add(uint64_t *sums, const uint64_t *counts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sums[i] += counts[i];
}

/* What passed since the last record goes to what was on top of the stack. */
static void charge(struct walk *walk, struct stream *stream, const struct trace_item *item)
{
    struct units *units = walk->units;
    struct unit_outside *outside = &units->outside[stream - walk->streams];
    uint64_t passed = item->ticks > stream->last_ticks && stream->last_ticks ? item->ticks - stream->last_ticks : 0;
    if (!walk->on) {
        stream->last_ticks = item->ticks;
        return;
    }
    if (stream->unit != LABEL_NONE) {
        units->list[stream->unit].active_ticks += passed;
        if (units->list[stream->unit].cpu != stream->cpu)
            units->list[stream->unit].cpu = UINT32_MAX;
    } else {
        *(stream->waiting ? &outside->waiting_ticks : &outside->ticks) += passed;
    }
    outside->total_ticks += passed;
    if (item->counts) {
        counts_add(outside->total_counts, item->counts, units->event_count);
        counts_add(stream->unit != LABEL_NONE ? &units->counts[(size_t)stream->unit * units->event_count] : outside->counts, item->counts, units->event_count);
    }
    stream->last_ticks = item->ticks;
}

static void top_find(struct stream *stream)
{
    stream->unit = LABEL_NONE;
    stream->waiting = false;
    const struct context *context = stream->now;
    for (size_t i = context ? context->frame_count : 0; i-- > 0;) {
        const struct frame *frame = &context->frames[i];
        if (frame->kind == FRAME_WAIT) {
            stream->waiting = true;
            return;
        }
        if (frame->kind == FRAME_RANGE || frame->kind == FRAME_BASE) {
            stream->unit = frame->unit;
            return;
        }
    }
}

/* ---- records ------------------------------------------------------------------------------------------------------------------ */

static void frames_close(struct context *context, size_t keep)
{
    context->frame_count = keep;
}

/* Close the innermost frame of that kind and what is open in it; false: none is open. */
static bool frame_close(struct context *context, enum frame_kind kind)
{
    for (size_t i = context->frame_count; i-- > 1;)
        if (context->frames[i].kind == kind) {
            frames_close(context, i);
            return true;
        }
    return false;
}

static void loop_begin(struct walk *walk, struct context *context, const struct trace_item *item)
{
    uint32_t kind = item->extra < walk->file->construct_count ? walk->file->constructs[item->extra].kind : 0;
    if (frame_close(context, FRAME_LOOP))        /* one that was cancelled */
        walk->units->mismatches += 0;
    bool transparent = kind == TRACE_SECTIONS && walk->options.rules == LABEL_RULES_PAPER;
    bool common = item->flags & 1 && in_team(context) && context->common != LABEL_NONE && walk->file->header->wanted & TRACE_WANT_ITERATIONS;
    struct frame frame = {.kind = FRAME_LOOP, .schedule = (uint8_t)item->value, .unit = LABEL_NONE, .construct = item->extra,
                          .node = transparent ? LABEL_NONE
                                  : common    ? node_make(walk, context->common, LABEL_RANKED, item->extra, ++context->shared)
                                              : node_shared(walk, context, item->extra)};
    frame_push(walk, context, frame);
}

static void range_begin(struct walk *walk, struct stream *stream, struct context *context, const struct trace_item *item)
{
    frame_close(context, FRAME_RANGE);
    struct frame *loop = &context->frames[context->frame_count - 1];
    if (loop->kind != FRAME_LOOP) {
        walk->units->mismatches++;
        return;
    }
    uint32_t construct = loop->construct;
    bool sections = construct < walk->file->construct_count && walk->file->constructs[construct].kind == TRACE_SECTIONS;
    enum unit_kind kind = sections ? UNIT_SECTION : loop->schedule == TRACE_SCHEDULE_STATIC || loop->schedule == TRACE_SCHEDULE_STATIC_CHUNKED ? UNIT_STATIC_RANGE : UNIT_DYNAMIC_CHUNK;
    uint32_t node = loop->node == LABEL_NONE ? node_unordered(walk, context, construct) : node_make(walk, loop->node, LABEL_FIRST, construct, item->value);
    uint32_t unit = unit_new(walk, stream, node, kind, item->ticks, item->extra);
    walk->units->chunked += unit != LABEL_NONE && loop->schedule == TRACE_SCHEDULE_STATIC_CHUNKED;
    frame_push(walk, context, (struct frame){.kind = FRAME_RANGE, .node = node, .unit = unit, .construct = construct});
}

/* It turned out to be no XU: what it had is outside of all. */
static void unit_dissolve(struct walk *walk, const struct stream *stream, struct frame *frame)
{
    if (frame->unit == LABEL_NONE)
        return;
    struct unit *unit = &walk->units->list[frame->unit];
    struct unit_outside *outside = &walk->units->outside[stream - walk->streams];
    size_t events = walk->units->event_count;
    outside->ticks += unit->active_ticks;
    if (events)
        counts_add(outside->counts, &walk->units->counts[frame->unit * events], events);
    unit->node = frame->unit = LABEL_NONE;
}

/* Do both begin at one place of the source? So the parts of a combined construct do. */
static bool combined(const struct trace_file *file, uint32_t a, uint32_t b)
{
    return a < file->construct_count && b < file->construct_count && file->constructs[a].line == file->constructs[b].line && file->constructs[a].column == file->constructs[b].column;
}

/* distribute parallel for: the iterations are those of the inner loop. So a range of distribute is no XU, and what is in it is named as if all ranges were
 * one, whatever the number of teams is. */
static void range_dissolve(struct walk *walk, const struct stream *stream, struct context *context, uint32_t parallel)
{
    const struct trace_file *file = walk->file;
    struct frame *range = frame_labelled(context);
    bool distribute = range->construct < file->construct_count && file->constructs[range->construct].kind == TRACE_DISTRIBUTE;
    if (!distribute || range->kind != FRAME_RANGE || range->split || range[-1].kind != FRAME_LOOP || !(file->header->wanted & TRACE_WANT_ITERATIONS) ||
        !combined(file, range->construct, parallel))
        return;
    range->rank = 0;
    range->node = range[-1].node;
    unit_dissolve(walk, stream, range);
}

/* The first iteration of a range goes on with the range's XU, so that what its bounds took is in it; each other one is an XU of its own. */
static void iteration_put(struct walk *walk, const struct stream *stream, struct frame *range, uint32_t node, enum unit_kind kind, uint64_t ticks)
{
    range->node = node;
    if (range->split || range->unit == LABEL_NONE)
        range->unit = unit_new(walk, stream, node, kind, ticks, 1);
    if (range->unit != LABEL_NONE) {
        struct unit *unit = &walk->units->list[range->unit];
        unit->node = node;
        unit->kind = (uint8_t)kind;
        unit->iterations = 1;
    }
    range->split = true;
    range->rank = 0;
    walk->units->iterations++;
}

/* Of a task that a taskloop made. */
static void task_iteration(struct walk *walk, const struct stream *stream, struct context *context, const struct trace_item *item)
{
    frames_close(context, 1);
    uint32_t construct = walk->units->labels.nodes[context->taskloop].construct;
    context->at_once = false;
    context->node = node_make(walk, context->taskloop, LABEL_FIRST, construct, item->value);
    iteration_put(walk, stream, &context->frames[0], context->node, UNIT_ITERATION, item->ticks);
}

static void iteration_begin(struct walk *walk, const struct stream *stream, struct context *context, const struct trace_item *item)
{
    size_t at = context->frame_count;
    while (at-- > 1 && context->frames[at].kind != FRAME_RANGE)
        ;
    if (at == 0 && context->kind == CONTEXT_TASK && context->taskloop != LABEL_NONE) {
        task_iteration(walk, stream, context, item);
        return;
    }
    if (at < 2 || context->frames[at - 1].kind != FRAME_LOOP) {
        walk->units->mismatches++;
        return;
    }
    struct frame *range = &context->frames[at];
    const struct frame *loop = &context->frames[at - 1];
    frames_close(context, at + 1);
    bool sections = loop->construct < walk->file->construct_count && walk->file->constructs[loop->construct].kind == TRACE_SECTIONS;
    uint32_t node = loop->node != LABEL_NONE ? node_make(walk, loop->node, LABEL_FIRST, loop->construct, item->value)
                    : range->split           ? node_unordered(walk, context, loop->construct)
                                             : range->node;
    iteration_put(walk, stream, range, node, sections ? UNIT_SECTION : UNIT_ITERATION, item->ticks);
}

static void length_note(struct walk *walk, struct context *context, const struct trace_item *item)
{
    struct frame *frame = &context->frames[context->frame_count - 1];
    if (frame->kind == FRAME_RANGE && frame->unit != LABEL_NONE)
        walk->units->list[frame->unit].iterations = item->value;
}

static void block_begin(struct walk *walk, struct context *context, const struct trace_item *item, enum frame_kind kind)
{
    uint32_t node = LABEL_NONE;
    if (kind == FRAME_SINGLE && walk->options.rules == LABEL_RULES_PCERE)
        node = node_shared(walk, context, item->extra);
    if (kind == FRAME_SINGLE && !item->value)
        return;                                  /* another thread's */
    if (kind == FRAME_MASKED && walk->options.rules == LABEL_RULES_PCERE)
        node = node_unordered(walk, context, item->extra);
    frame_push(walk, context, (struct frame){.kind = (uint8_t)kind, .node = node, .unit = LABEL_NONE, .construct = item->extra});
}

static bool is_barrier(uint32_t kind)
{
    return kind != 5 && kind != 6 && kind != 7;  /* ompt_sync_region_taskwait, taskgroup, reduction */
}

static void wait_begin(struct walk *walk, struct context *context, const struct trace_item *item)
{
    if (is_barrier(item->flags) && in_team(context))
        while (context->frame_count > 1 && context->frames[context->frame_count - 1].kind != FRAME_WAIT &&
               context->frames[context->frame_count - 1].kind != FRAME_TASKLOOP)
            context->frame_count--;
    frame_push(walk, context, (struct frame){.kind = FRAME_WAIT, .node = LABEL_NONE, .unit = LABEL_NONE});
}

static void wait_end(struct context *context)
{
    if (context->frames[context->frame_count - 1].kind == FRAME_WAIT)
        context->frame_count--;
}

static void parallel_begin(struct walk *walk, struct stream *stream, struct context *context, const struct trace_item *item)
{
    struct stream *maker;
    uint64_t count;
    if (!id_split(walk, item->value, &maker, &count)) {
        walk->units->mismatches++;
        return;
    }
    if (!grow(&maker->teams, &maker->team_count, &maker->team_capacity, count, sizeof *maker->teams)) {
        out_of_memory(walk);
        return;
    }
    range_dissolve(walk, stream, context, item->extra);
    if (item->flags & 1)
        stream->league = item->value;
    bool first = walk->options.marked && walk->on && !walk->units->marked;
    if (context->league && !item->extra) {       /* libomp's own, of each of the league's teams: it stands for the team */
        maker->teams[count] = (struct team){.node = context->node, .construct = 1, .common = LABEL_NONE, .league = true, .number = context->number, .size = context->team};
        return;
    }
    uint32_t common = context->league && frame_labelled(context)->kind == FRAME_BASE ? node_make(walk, context->node, LABEL_RANKED, item->extra, context->forced + 1) : LABEL_NONE;
    uint32_t node = first ? node_make(walk, 0, LABEL_GIVEN, item->extra, 0) : node_unordered(walk, context, item->extra);
    if (first)
        walk->units->marked = item->extra;
    maker->teams[count] = (struct team){.node = node, .construct = item->extra + 1, .common = common, .league = item->flags & 1};
}

static void mark(struct walk *walk, const struct trace_item *item)
{
    walk->units->marks += item->value == 1;
    if (walk->options.marked)
        walk->on = item->value == 1;
}

const struct team *walk_team_find(const struct walk *walk, uint64_t id)
{
    struct stream *maker;
    uint64_t count;
    return id_split(walk, id, &maker, &count) && count < maker->team_count && maker->teams[count].construct ? &maker->teams[count] : NULL;
}

static void implicit_begin(struct walk *walk, struct stream *stream, const struct trace_item *item)
{
    const struct team *team = stream->team_id ? walk_team_find(walk, stream->team_id) : NULL;
    if (item->flags & 1 && stream->league && (!team || !team->league))
        team = walk_team_find(walk, stream->league);     /* libomp 19 names some team before it for a league of one */
    bool initial = !team && item->flags & 1;
    struct context *context = context_new(walk, item->value, initial ? CONTEXT_INITIAL : CONTEXT_IMPLICIT);
    if (!context)
        return;
    context->number = item->extra;
    context->team = stream->team_size ? stream->team_size : 1;
    if (team && team->size) {
        context->number = team->number;
        context->team = team->size;
    }
    if (!initial && context->team > walk->units->team_most)
        walk->units->team_most = context->team;
    context->node = initial ? node_make(walk, 0, LABEL_ROOT, 0, walk->roots++) : team ? team->node : LABEL_NONE;
    context->frames[0].node = context->node;
    context->league = team && team->league;
    context->common = team ? team->common : LABEL_NONE;
    context->running = true;
    context->back = stream->now;
    stream->now = context;
    stream->number = context->number;
    stream->team_id = 0;
    stream->team_size = 0;
}

static void implicit_end(struct walk *walk, struct stream *stream, const struct trace_item *item)
{
    struct context *context = walk_context_find(walk, item->value);
    if (!context || context->kind == CONTEXT_TASK) {
        walk->units->mismatches++;
        return;
    }
    context->running = false;
    context->frame_count = 1;
    if (stream->now == context)
        stream->now = context->back;
    if (stream->now && stream->now->kind != CONTEXT_TASK)
        stream->number = stream->now->number;
}

/* A task of the runtime's own that divides a taskloop, executed where it is made: it was taken for one of the taskloop's until it makes those. */
static void divider_find(struct walk *walk, const struct stream *stream, struct context *maker)
{
    struct frame *base = &maker->frames[0];
    base->rank = walk->units->labels.nodes[maker->node].index - 1;
    unit_dissolve(walk, stream, base);
    maker->node = base->node = LABEL_NONE;
    maker->at_once = false;
}

static bool divides(const struct context *context)
{
    return context->kind == CONTEXT_TASK && context->taskloop != LABEL_NONE && context->node == LABEL_NONE && context->frame_count;
}

static void task_create(struct walk *walk, struct stream *stream, const struct trace_item *item)
{
    struct context *maker = stream->now, *task = context_new(walk, item->value, CONTEXT_TASK);
    if (!task)
        return;
    task->construct = item->extra;
    task->internal = item->flags & TRACE_TASK_WAITS;
    if (task->internal || !maker)
        return;
    const struct frame *top = &maker->frames[maker->frame_count - 1];
    if (top->kind == FRAME_TASKLOOP) {
        task->taskloop = top->node;
        task->at_once = item->flags & TRACE_TASK_UNDEFERRED;
    } else if (maker->taskloop != LABEL_NONE && (maker->node == LABEL_NONE || (maker->at_once && !item->extra))) {
        if (maker->node != LABEL_NONE)
            divider_find(walk, stream, maker);
        task->taskloop = maker->taskloop;        /* the runtime's own, which makes the taskloop's tasks */
        task->at_once = item->flags & TRACE_TASK_UNDEFERRED;
    } else {
        task->node = task->frames[0].node = node_unordered(walk, maker, item->extra);
    }
}

static void taskloop_begin(struct walk *walk, struct context *context, const struct trace_item *item)
{
    uint32_t node = node_unordered(walk, context, item->extra);
    frame_push(walk, context, (struct frame){.kind = FRAME_TASKLOOP, .node = node, .unit = LABEL_NONE, .construct = item->extra});
}

static void taskloop_range(struct walk *walk, struct stream *stream, struct context *context, const struct trace_item *item)
{
    if (context->kind != CONTEXT_TASK || context->taskloop == LABEL_NONE || (context->node != LABEL_NONE && !context->at_once)) {
        walk->units->mismatches++;
        return;
    }
    struct frame *base = &context->frames[0];
    uint32_t construct = walk->units->labels.nodes[context->taskloop].construct;
    context->at_once = false;
    context->node = base->node = node_make(walk, context->taskloop, LABEL_FIRST, construct, item->value);
    if (base->unit == LABEL_NONE) {
        base->unit = unit_new(walk, stream, context->node, UNIT_TASKLOOP_CHUNK, item->ticks, item->extra);
    } else if (context->node != LABEL_NONE) {
        walk->units->list[base->unit].node = context->node;
        walk->units->list[base->unit].iterations = item->extra;
    }
}

void walk_context_free(struct context *context)
{
    if (context)
        free(context->frames);
    free(context);
}

enum { STATUS_COMPLETE = 1, STATUS_CANCEL = 3, STATUS_DETACH = 4 };     /* ompt_task_status_t */

static void task_switch(struct walk *walk, struct stream *stream, const struct trace_item *item)
{
    if (item->value == 0)
        return;                                  /* a wait for dependences was over, an event was fulfilled */
    struct context *next = walk_context_find(walk, item->value), *prior = stream->now;
    if (!next) {
        walk->units->mismatches++;
        return;
    }
    if (prior && next->frame_count && divides(prior)) {
        struct frame *top = &next->frames[next->frame_count - 1];
        if ((top->kind == FRAME_TASKLOOP && top->node == prior->taskloop) || (divides(next) && next->taskloop == prior->taskloop && !next->at_once))
            top->rank = prior->frames[0].rank > top->rank ? prior->frames[0].rank : top->rank;
    }
    struct frame *maker = prior && prior->frame_count ? &prior->frames[prior->frame_count - 1] : NULL;
    if (next->at_once && next->taskloop != LABEL_NONE && next->node == LABEL_NONE && next->frame_count && maker && (maker->kind == FRAME_TASKLOOP || divides(prior))) {
        uint32_t construct = walk->units->labels.nodes[next->taskloop].construct;
        next->node = next->frames[0].node = node_make(walk, next->taskloop, LABEL_RANKED, construct, ++maker->rank);
        next->frames[0].unit = unit_new(walk, stream, next->node, UNIT_TASKLOOP_CHUNK, item->ticks, 0);
    }
    if (prior) {
        prior->running = false;
        if (prior->kind == CONTEXT_TASK && (item->flags == STATUS_COMPLETE || item->flags == STATUS_CANCEL || item->flags == STATUS_DETACH)) {
            free(prior->frames);                 /* the rest stays: its id may still be named */
            prior->frames = NULL;
            prior->frame_count = prior->frame_capacity = 0;
        }
    }
    next->running = true;
    stream->now = next->frame_count ? next : NULL;
    if (next->kind != CONTEXT_TASK)
        stream->number = next->number;
    if (next->kind == CONTEXT_TASK && !next->internal && next->node != LABEL_NONE && next->frame_count && next->frames[0].unit == LABEL_NONE)
        next->frames[0].unit = unit_new(walk, stream, next->node, UNIT_TASK, item->ticks, 0);
}

void walk_apply(struct walk *walk, struct stream *stream, const struct trace_item *item)
{
    charge(walk, stream, item);
    if (stream->now && !stream->now->frame_count)
        stream->now = NULL;                      /* a task that ended, and was gone on with all the same */
    struct context *context = stream->now;
    bool known = true;
    switch ((enum trace_type)item->type) {
    case TRACE_TEAM:
        stream->team_size = item->extra;
        stream->team_id = item->value;
        break;
    case TRACE_IMPLICIT_BEGIN: implicit_begin(walk, stream, item); break;
    case TRACE_IMPLICIT_END: implicit_end(walk, stream, item); break;
    case TRACE_TASK_CREATE: task_create(walk, stream, item); break;
    case TRACE_TASK_SWITCH: task_switch(walk, stream, item); break;
    case TRACE_MARK: mark(walk, item); break;
    case TRACE_CPU: stream->cpu = item->value < UINT32_MAX ? (uint32_t)item->value : UINT32_MAX; break;
    case TRACE_PARALLEL_END: stream->league = stream->league == item->value ? 0 : stream->league; break;
    case TRACE_THREAD_END: case TRACE_TIME: case TRACE_DEPENDENCE: case TRACE_MUTEX_BEGIN: case TRACE_MUTEX_END:
    case TRACE_TARGET_BEGIN: case TRACE_TARGET_END: case TRACE_DATA_BEGIN: case TRACE_DATA_BYTES: case TRACE_DATA_END: case TRACE_KERNEL_BEGIN: case TRACE_KERNEL_END:
    case TRACE_RANK: case TRACE_MESSAGE_BEGIN: case TRACE_MESSAGE_END: case TRACE_TYPES: break;
    default: known = context != NULL; break;
    }
    if (!known)
        walk->units->mismatches++;
    if (!context || item->type < TRACE_PARALLEL_BEGIN) {
        top_find(stream);
        return;
    }
    switch ((enum trace_type)item->type) {
    case TRACE_PARALLEL_BEGIN: parallel_begin(walk, stream, context, item); break;
    case TRACE_LOOP_BEGIN: loop_begin(walk, context, item); break;
    case TRACE_RANGE_BEGIN: range_begin(walk, stream, context, item); break;
    case TRACE_LENGTH: length_note(walk, context, item); break;
    case TRACE_ITERATION: iteration_begin(walk, stream, context, item); break;
    case TRACE_LOOP_END: known = frame_close(context, FRAME_LOOP); break;
    case TRACE_SINGLE_BEGIN: block_begin(walk, context, item, FRAME_SINGLE); break;
    case TRACE_SINGLE_END: known = frame_close(context, FRAME_SINGLE); break;
    case TRACE_MASKED_BEGIN: block_begin(walk, context, item, FRAME_MASKED); break;
    case TRACE_MASKED_END: known = frame_close(context, FRAME_MASKED); break;
    case TRACE_TASKLOOP_BEGIN: taskloop_begin(walk, context, item); break;
    case TRACE_TASKLOOP_END: known = frame_close(context, FRAME_TASKLOOP); break;
    case TRACE_TASKLOOP_RANGE: taskloop_range(walk, stream, context, item); break;
    case TRACE_WAIT_BEGIN: wait_begin(walk, context, item); break;
    case TRACE_WAIT_END: wait_end(context); break;
    default: break;
    }
    if (!known)
        walk->units->mismatches++;
    top_find(stream);
}
