/* profiler/host/trace_lasting.c - see trace_lasting.h. */
#include "profiler/host/trace_lasting.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>

/* ompt_task_status_t, ompt_sync_region_t */
enum { TASK_COMPLETE = 1, TASK_CANCEL = 3, TASK_DETACH = 4, WAIT_TASKWAIT = 5, WAIT_TASKGROUP = 6, WAIT_REDUCTION = 7 };

static bool list_add(struct lasting_list *list, const struct trace_lasting *record)
{
    if (!array_reserve(&list->list, &list->capacity, list->count + 1, sizeof *list->list))
        return false;
    list->list[list->count++] = *record;
    return true;
}

static bool frame_tell(struct lasting_frame *frame, struct lasting_list *list)
{
    bool memory = true;
    for (uint32_t i = 0; i < frame->count && !frame->told && memory; i++)
        memory = list_add(list, &frame->records[i]);
    frame->told = frame->open = true;
    return memory;
}

struct left { bool lasting, open; };
static const struct left none;

/* Frames from `depth` on are left. */
static struct left frames_leave(struct lasting_walk *walk, size_t depth)
{
    struct left left = {false, false};
    for (size_t i = depth; i < walk->depth; i++) {
        left.lasting |= walk->frames[i].lasting;
        left.open |= walk->frames[i].open;
    }
    walk->depth = depth;
    return left;
}

/* It takes the place of what was left. */
static bool frame_push(struct lasting_walk *walk, const struct trace_lasting *record, struct left left, struct lasting_list *list)
{
    if (walk->depth == LASTING_DEPTH) {
        walk->lost = true;
        return true;
    }
    struct lasting_frame *frame = &walk->frames[walk->depth++];
    *frame = (struct lasting_frame){.type = (uint8_t)TRACE_TYPE(record->word)};
    if (frame->type == TRACE_IMPLICIT_BEGIN && walk->team.word) {
        frame->records[frame->count++] = walk->team;
        walk->team.word = 0;
    }
    frame->records[frame->count++] = *record;
    frame->open = left.open;
    return !left.lasting || frame_tell(frame, list);
}

/* Where the innermost frame of this type is + 1; 0: there is none. */
static size_t frame_find(const struct lasting_walk *walk, uint32_t type)
{
    size_t depth = walk->depth;
    while (depth && walk->frames[depth - 1].type != type)
        depth--;
    return depth;
}

static bool frame_close(struct lasting_walk *walk, const struct trace_lasting *record, uint32_t type, struct lasting_list *list)
{
    size_t found = frame_find(walk, type);
    return !found || !frames_leave(walk, found - 1).open || list_add(list, record);
}

/* The task of this id goes on, which began before, or a task begins: in the place of the one that ended, or above the one that waits. */
static bool task_switch(struct lasting_walk *walk, const struct trace_lasting *record, struct lasting_list *list)
{
    uint32_t status = TRACE_FLAGS(record->word);
    size_t depth = walk->depth, own;
    if (!record->value)
        return true;
    while (depth) {
        const struct lasting_frame *frame = &walk->frames[depth - 1];
        if ((frame->type == TRACE_TASK_SWITCH || frame->type == TRACE_IMPLICIT_BEGIN) && frame->records[frame->count - 1].value == record->value) {
            while (depth < walk->depth && walk->frames[depth].type != TRACE_TASK_SWITCH && walk->frames[depth].type != TRACE_IMPLICIT_BEGIN)
                depth++;                 /* its own */
            return !frames_leave(walk, depth).open || list_add(list, record);
        }
        depth--;
    }
    own = frame_find(walk, TRACE_TASK_SWITCH);
    bool ended = (status == TASK_COMPLETE || status == TASK_CANCEL || status == TASK_DETACH) && own > frame_find(walk, TRACE_IMPLICIT_BEGIN);
    return frame_push(walk, record, ended ? frames_leave(walk, own - 1) : none, list);
}

/* The range that this task, implicit or not, is in. */
static size_t range_find(const struct lasting_walk *walk)
{
    size_t depth = walk->depth;
    while (depth && walk->frames[depth - 1].type != TRACE_RANGE_BEGIN) {
        uint8_t type = walk->frames[depth - 1].type;
        if (type == TRACE_TASK_SWITCH || type == TRACE_IMPLICIT_BEGIN || type == TRACE_LOOP_BEGIN)
            return 0;
        depth--;
    }
    return depth;
}

/* A wait for others: of the range before it nothing is told any more. */
static bool wait_begin(struct lasting_walk *walk, const struct trace_lasting *record, struct lasting_list *list)
{
    uint32_t kind = TRACE_FLAGS(record->word);
    size_t range = kind == WAIT_TASKWAIT || kind == WAIT_TASKGROUP || kind == WAIT_REDUCTION ? 0 : range_find(walk);
    struct left left = range ? frames_leave(walk, range - 1) : none;
    left.lasting = left.open;
    return frame_push(walk, record, left, list);
}

/* Regions that are lasting however soon they end are so in what is open then. */
static bool region_begin(struct lasting_walk *walk, const struct trace_lasting *record, struct lasting_list *list)
{
    if (!walk->regions)
        return frame_push(walk, record, none, list);
    size_t depth = walk->depth;
    if (!lasting_block_end(walk, list) || !frame_push(walk, record, (struct left){.lasting = true}, list))
        return false;
    if (walk->depth > depth)
        walk->frames[depth].lasting = true;
    return true;
}

bool lasting_take(struct lasting_walk *walk, const struct trace_lasting *record, struct lasting_list *list)
{
    size_t range;
    switch ((enum trace_type)TRACE_TYPE(record->word)) {
    case TRACE_TEAM: walk->team = *record; return true;
    case TRACE_SINGLE_BEGIN: return !record->value || frame_push(walk, record, none, list);
    case TRACE_PARALLEL_BEGIN: return region_begin(walk, record, list);
    case TRACE_IMPLICIT_BEGIN: case TRACE_LOOP_BEGIN: case TRACE_MASKED_BEGIN: case TRACE_TASKLOOP_BEGIN: case TRACE_MUTEX_BEGIN: return frame_push(walk, record, none, list);
    case TRACE_PARALLEL_END: return frame_close(walk, record, TRACE_PARALLEL_BEGIN, list);
    case TRACE_IMPLICIT_END: return frame_close(walk, record, TRACE_IMPLICIT_BEGIN, list);
    case TRACE_LOOP_END: return frame_close(walk, record, TRACE_LOOP_BEGIN, list);
    case TRACE_SINGLE_END: return frame_close(walk, record, TRACE_SINGLE_BEGIN, list);
    case TRACE_MASKED_END: return frame_close(walk, record, TRACE_MASKED_BEGIN, list);
    case TRACE_TASKLOOP_END: return frame_close(walk, record, TRACE_TASKLOOP_BEGIN, list);
    case TRACE_MUTEX_END: return frame_close(walk, record, TRACE_MUTEX_BEGIN, list);
    case TRACE_WAIT_END: return frame_close(walk, record, TRACE_WAIT_BEGIN, list);
    case TRACE_WAIT_BEGIN: return wait_begin(walk, record, list);
    case TRACE_RANGE_BEGIN:
        range = range_find(walk);
        return frame_push(walk, record, range ? frames_leave(walk, range - 1) : none, list);
    case TRACE_TASK_SWITCH: return task_switch(walk, record, list);
    case TRACE_TIME: case TRACE_THREAD_END: case TRACE_LENGTH: case TRACE_TASK_CREATE: case TRACE_TASKLOOP_RANGE: case TRACE_DEPENDENCE: case TRACE_MARK: case TRACE_CPU: case TRACE_ITERATION: return true;
    default: walk->lost = true; return true;
    }
}

bool lasting_block_end(struct lasting_walk *walk, struct lasting_list *list)
{
    bool memory = true;
    for (size_t i = 0; i < walk->depth && memory; i++) {
        memory = frame_tell(&walk->frames[i], list);
        walk->frames[i].lasting = true;
    }
    return memory && (!walk->team.word || list_add(list, &walk->team));
}

/* ---- the tables of a file ----------------------------------------------------------------------------------------------------- */

static bool block_take(struct lasting_walk *walk, const struct trace_block *block, uint32_t number, uint32_t count_slots, struct trace_made *made, struct lasting_list *list)
{
    const struct trace_record *records = (const void *)(block + 1);
    uint64_t base = block->base_ticks, count_mask = ((uint64_t)1 << TRACE_ID_THREAD_SHIFT) - 1;
    bool memory = true;
    for (uint32_t slot = 0; slot < block->used && memory && !walk->lost; slot += 1 + (records[slot].word & TRACE_COUNTS ? count_slots : 0)) {
        const struct trace_record *record = &records[slot];
        uint32_t type = TRACE_TYPE(record->word);
        if (type == TRACE_TIME)
            base = record->value;
        if (type == TRACE_TASK_CREATE)
            made->tasks++;
        if (type == TRACE_TASK_CREATE || type == TRACE_IMPLICIT_BEGIN)
            made->ids = (record->value & count_mask) > made->ids ? record->value & count_mask : made->ids;
        struct trace_lasting one = {.ticks = base + record->time, .value = record->value, .word = record->word & ~TRACE_COUNTS, .block = number};
        memory = lasting_take(walk, &one, list);
    }
    return memory && lasting_block_end(walk, list);
}

enum pcere_status lasting_tables_make(const void *map, const struct trace_index *index, uint64_t count, struct lasting_tables *ret_tables, bool *ret_known, struct pcere_error *error)
{
    uint32_t count_slots = (((const struct trace_header *)map)->event_count + 1) / 2;
    struct lasting_tables tables = {.made = calloc(count + 1, sizeof *tables.made)};
    struct lasting_walk *walk = calloc(1, sizeof *walk);
    struct trace_made made = {0};
    bool memory = tables.made && walk;
    for (uint64_t i = 0; i < count && memory && !walk->lost; i++) {
        if (index[i].kind != TRACE_BLOCK_RECORDS)
            continue;
        if (i == 0 || index[i - 1].kind != TRACE_BLOCK_RECORDS || index[i - 1].thread != index[i].thread) {
            made = (struct trace_made){0};
            walk->depth = 0;
            walk->team.word = 0;
        }
        tables.made[i] = made;
        memory = block_take(walk, (const void *)((const char *)map + index[i].offset), (uint32_t)((index[i].offset - TRACE_HEADER_BYTES) / TRACE_BLOCK_BYTES), count_slots, &made, &tables.lasting);
    }
    *ret_known = memory && !walk->lost;
    free(walk);
    if (!*ret_known)
        lasting_tables_done(&tables);
    *ret_tables = tables;
    return memory ? PCERE_OK : pcere_fail_memory(error, "a trace's tables");
}

void lasting_tables_done(struct lasting_tables *tables)
{
    free(tables->made);
    free(tables->lasting.list);
    *tables = (struct lasting_tables){0};
}
