/* trace/native_outside.c - see native_outside.h. */
#include "trace/native_outside.h"
#include "core/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void outside_done(struct outside_shared *shared)
{
    free(shared->blocks);
}

/* ---- devices as processes ----------------------------------------------------------------------------------------------------- */

enum { DEVICES_MOST = 4096 };

/* The device's thread for what this thread asks of it. */
static bool device_thread(struct outside *outside, struct timeline *timeline, uint32_t device, bool data, uint32_t *ret_thread)
{
    char name[48];
    uint32_t process;
    device = device < DEVICES_MOST ? device : DEVICES_MOST;
    int64_t pid = timeline->processes[outside->shared->process].pid * 10000 + device + 1;
    size_t threads = timeline->thread_count, processes = timeline->process_count;
    if (!timeline_process(timeline, pid, &process) || !timeline_thread(timeline, process, (int64_t)outside->thread * 2 + data, ret_thread))
        return false;
    if (timeline->process_count > processes) {
        outside->shared->devices++;
        timeline->processes[process].role = device + 1;
        timeline->processes[process].home = outside->shared->process;
        int length = snprintf(name, sizeof name, "Worker Process %u (device)", device);
        if (!timeline_string(timeline, name, (size_t)length, &timeline->processes[process].name))
            return false;
    }
    if (timeline->thread_count > threads) {
        timeline->threads[*ret_thread].device = true;
        const char *what = data ? "Data Event Handler" : "Execute Event Handler";
        return timeline_string(timeline, what, strlen(what), &timeline->threads[*ret_thread].name);
    }
    return true;
}

static struct span span_of(const struct outside *outside, const struct outside_open *open, enum span_kind kind, int64_t end_ns)
{
    return (struct span){.begin_ns = open->begin_ns, .end_ns = end_ns, .thread = outside->thread, .kind = (uint8_t)kind, .place = open->place, .task = TIMELINE_NONE,
                         .tag = TIMELINE_NONE, .origin = 0, .destination = (uint16_t)(open->device < DEVICES_MOST ? open->device + 1 : UINT16_MAX)};
}

/* ---- target regions ----------------------------------------------------------------------------------------------------------- */

static void target_begin(struct outside *outside, const struct trace_item *item, int64_t now_ns, uint32_t place)
{
    if (outside->depth < OUTSIDE_DEPTH)
        outside->targets[outside->depth] = (struct outside_open){now_ns, place, (uint32_t)item->value, (uint8_t)item->flags};
    outside->depth++;
}

static bool target_end(struct outside *outside, struct timeline *timeline, int64_t now_ns)
{
    static const enum span_kind kinds[8] = {[1] = SPAN_TARGET, [2] = SPAN_TARGET_ENTER, [3] = SPAN_TARGET_EXIT, [4] = SPAN_TARGET_UPDATE};
    timeline->broken += outside->depth == 0;
    if (!outside->depth || --outside->depth >= OUTSIDE_DEPTH)
        return true;
    const struct outside_open *open = &outside->targets[outside->depth];
    struct span span = span_of(outside, open, kinds[open->flags & 7], now_ns);
    bool region = span.kind == SPAN_TARGET && outside->task < timeline->task_count;
    span.nowait = outside->nowait || open->flags & 8;
    if (region) {
        struct timeline_task *task = &timeline->tasks[outside->task];
        span.task = task->number;
        if (!(task->flags & TASK_ENDED) && !task->id) {              /* one that was made for this region */
            task->begin_ns = open->begin_ns;
            task->end_ns = now_ns;
            task->thread = outside->thread;
            task->run_ns = (uint64_t)(now_ns - open->begin_ns);
            task->flags |= TASK_BEGUN | TASK_ENDED;
        }
    }
    return timeline_span(timeline, &span);
}

static bool kernel_end(struct outside *outside, struct timeline *timeline, int64_t now_ns)
{
    struct outside_open *open = &outside->kernel;
    if (!open->begin_ns) {
        timeline->broken++;
        return true;
    }
    struct span span = span_of(outside, open, SPAN_EXECUTE, now_ns);
    span.tag = outside->shared->tags++;
    span.task = outside->depth && outside->task < timeline->task_count ? timeline->tasks[outside->task].number : TIMELINE_NONE;
    bool memory = timeline_span(timeline, &span) && device_thread(outside, timeline, open->device, false, &span.thread);
    span.kind = SPAN_TASK;
    outside->step = (struct timeline_step){.kind = STEP_TARGET, .begin_ns = open->begin_ns, .run_ns = (uint64_t)(now_ns - open->begin_ns), .place = open->place, .number = open->device};
    outside->step_ready = true;
    open->begin_ns = 0;
    return memory && timeline_span(timeline, &span);
}

/* ---- data --------------------------------------------------------------------------------------------------------------------- */

static struct outside_block *block_find(struct outside *outside, uint64_t address, uint32_t device)
{
    for (size_t i = outside->shared->block_count; i-- > 0;)
        if (outside->shared->blocks[i].address == address && outside->shared->blocks[i].device == device)
            return &outside->shared->blocks[i];
    return NULL;
}

static bool block_note(struct outside *outside, uint64_t address, const struct span *span)
{
    struct outside_block *block = block_find(outside, address, outside->data.device);
    if (!block) {
        if (!array_reserve(&outside->shared->blocks, &outside->shared->block_capacity, outside->shared->block_count + 1, sizeof *outside->shared->blocks))
            return false;
        block = &outside->shared->blocks[outside->shared->block_count++];
    }
    *block = (struct outside_block){address, outside->data.device, span->variable, span->place};
    return true;
}

static void block_forget(struct outside *outside, struct span *span)
{
    struct outside_block *block = block_find(outside, outside->address, outside->data.device);
    if (!block)
        return;
    span->variable = block->variable;
    span->place = block->place;
    *block = outside->shared->blocks[--outside->shared->block_count];
}

static bool data_begin(struct outside *outside, struct timeline *timeline, const struct trace_item *item, int64_t now_ns, uint32_t place)
{
    outside->data = (struct outside_open){now_ns, place, DEVICES_MOST, (uint8_t)item->flags};
    outside->address = item->value;
    outside->variable = 0;
    /* "file.c@a[:n]:3:31": what it is called stands where other constructs have their file, and where it is mapped in its function's place */
    const char *text = timeline->strings[place], *at = strchr(text, '@'), *column = at ? strrchr(at, ':') : NULL, *line = column;
    while (line && line > at && *--line != ':')
        ;
    if (!line || line <= at)
        return true;
    char name[256], where[512];
    size_t length = (size_t)(line - at - 1);
    length = length < sizeof name ? length : sizeof name - 1;
    memcpy(name, at + 1, length);
    int wrote = snprintf(where, sizeof where, "%.*s%.40s", (int)(at - text < 400 ? at - text : 400), text, line);
    return wrote > 0 && timeline_string(timeline, name, length, &outside->variable) && timeline_string(timeline, where, (size_t)wrote, &outside->data.place);
}

static bool data_end(struct outside *outside, struct timeline *timeline, const struct trace_item *item, int64_t now_ns)
{
    static const enum span_kind kinds[16] = {[TRACE_DATA_ALLOC] = SPAN_ALLOC, [TRACE_DATA_SUBMIT] = SPAN_SUBMIT, [TRACE_DATA_RETRIEVE] = SPAN_RETRIEVE,
                                             [TRACE_DATA_DELETE] = SPAN_DELETE, [TRACE_DATA_FORWARD] = SPAN_FORWARD};
    struct outside_open *open = &outside->data;
    if (!open->begin_ns || !kinds[item->flags] || open->flags != item->flags) {
        timeline->broken++;
        return true;
    }
    struct span span = span_of(outside, open, kinds[item->flags], now_ns);
    span.tag = outside->shared->tags++;
    span.variable = outside->variable;
    bool memory = true;
    if (span.kind == SPAN_ALLOC)
        memory = block_note(outside, item->value, &span);
    else if (span.kind == SPAN_DELETE)
        block_forget(outside, &span);
    memory = memory && timeline_span(timeline, &span) && device_thread(outside, timeline, open->device, true, &span.thread);
    outside->step = (struct timeline_step){.kind = STEP_DATA, .begin_ns = open->begin_ns, .run_ns = (uint64_t)(now_ns - open->begin_ns), .first = outside->bytes, .place = span.place,
                                           .number = open->device};
    outside->step_ready = true;
    open->begin_ns = 0;
    return memory && timeline_span(timeline, &span);
}

/* ---- messages ----------------------------------------------------------------------------------------------------------------- */

static bool message_end(struct outside *outside, struct timeline *timeline, const struct trace_item *item, int64_t now_ns)
{
    static const char *const names[TRACE_MESSAGE_COME + 1] = {"MPI", "MPI send", "MPI receive", "MPI all", "MPI from root", "MPI to root", "MPI receive later", "MPI", "MPI received"};
    struct outside_open *open = &outside->message;
    uint32_t ranks = timeline->processes[outside->shared->process].ranks;
    bool known = item->flags <= TRACE_MESSAGE_COME && (item->flags == TRACE_MESSAGE_OTHER || !ranks || item->extra <= ranks);
    if (!open->begin_ns || !known) {
        timeline->broken++;
        open->begin_ns = 0;
        return true;
    }
    struct span span = span_of(outside, open, SPAN_MESSAGE, now_ns);
    uint16_t self = (uint16_t)timeline->processes[outside->shared->process].rank, peer = (uint16_t)(item->extra && item->extra < UINT16_MAX ? item->extra - 1 : UINT16_MAX);
    bool comes = item->flags == TRACE_MESSAGE_RECEIVE || item->flags == TRACE_MESSAGE_POST || item->flags == TRACE_MESSAGE_COME || item->flags == TRACE_MESSAGE_FROM_ROOT;
    span.message = (uint8_t)item->flags;
    span.tag = (uint32_t)item->value;
    span.origin = comes ? peer : self;
    span.destination = comes ? self : peer;
    open->begin_ns = 0;
    return timeline_string(timeline, names[item->flags], strlen(names[item->flags]), &span.name) && timeline_span(timeline, &span);
}

static bool rank_name(struct timeline *timeline, uint32_t process, uint64_t rank)
{
    char name[300];
    int length = snprintf(name, sizeof name, "Rank %llu (%.200s)", (unsigned long long)rank, timeline->strings[timeline->processes[process].name]);
    return timeline_string(timeline, name, (size_t)length, &timeline->processes[process].name);
}

/* A number that is none of its program's is no rank. */
static bool rank_take(struct timeline *timeline, uint32_t process, const struct trace_item *item)
{
    struct timeline_process *one = &timeline->processes[process];
    if (item->extra >= UINT16_MAX || item->value >= item->extra || one->ranks) {
        timeline->broken++;
        return true;
    }
    one->rank = (uint32_t)item->value;
    one->ranks = item->extra;
    return rank_name(timeline, process, item->value);
}

bool outside_take(struct outside *outside, struct timeline *timeline, const struct trace_item *item, int64_t now_ns, uint32_t place)
{
    now_ns = now_ns ? now_ns : 1;        /* 0: nothing is open */
    switch ((enum trace_type)item->type) {
    case TRACE_TARGET_BEGIN: target_begin(outside, item, now_ns, place); return true;
    case TRACE_TARGET_END: return target_end(outside, timeline, now_ns);
    case TRACE_DATA_BEGIN: return data_begin(outside, timeline, item, now_ns, place);
    case TRACE_DATA_BYTES:
        outside->data.device = item->extra;
        outside->bytes = item->value <= INT64_MAX ? item->value : 0;
        timeline->broken += item->value > INT64_MAX;
        return true;
    case TRACE_DATA_END: return data_end(outside, timeline, item, now_ns);
    case TRACE_KERNEL_BEGIN:
        outside->kernel = (struct outside_open){now_ns, outside->depth && outside->depth <= OUTSIDE_DEPTH ? outside->targets[outside->depth - 1].place : 0, (uint32_t)item->value, 0};
        return true;
    case TRACE_KERNEL_END: return kernel_end(outside, timeline, now_ns);
    case TRACE_RANK: return rank_take(timeline, outside->shared->process, item);
    case TRACE_MESSAGE_BEGIN: outside->message = (struct outside_open){now_ns, 0, DEVICES_MOST, (uint8_t)item->flags}; return true;
    case TRACE_MESSAGE_END: return message_end(outside, timeline, item, now_ns);
    default: return true;
    }
}

bool outside_finish(struct outside *outside, struct timeline *timeline, int64_t end_ns)
{
    struct trace_item data = {.flags = outside->data.flags}, message = {.flags = outside->message.flags};
    bool memory = true;
    end_ns = end_ns ? end_ns : 1;
    timeline->unfinished += outside->depth + (outside->data.begin_ns != 0) + (outside->kernel.begin_ns != 0) + (outside->message.begin_ns != 0);
    if (outside->data.begin_ns)
        memory = data_end(outside, timeline, &data, end_ns);
    if (memory && outside->kernel.begin_ns)
        memory = kernel_end(outside, timeline, end_ns);
    if (memory && outside->message.begin_ns)
        memory = message_end(outside, timeline, &message, end_ns);
    while (memory && outside->depth)
        memory = target_end(outside, timeline, end_ns);
    return memory;
}
