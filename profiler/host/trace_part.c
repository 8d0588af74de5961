/* profiler/host/trace_part.c - see trace_part.h. */
#include "profiler/host/trace_part.h"
#include "include/pcere/bisect.h"
#include "profiler/host/trace_lasting.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define COUNT_MASK (((uint64_t)1 << TRACE_ID_THREAD_SHIFT) - 1)

struct counting { size_t entry; uint32_t slot; uint64_t base, count, ticks; bool begun; };       /* of a thread: tasks until then */

struct trace_part {
    const struct trace_index *index;
    const struct trace_made *made;       /* [index entry] */
    const struct trace_lasting *lasting;
    uint64_t count, lasting_count;
    uint64_t *entries;           /* of the index, by thread and in its order */
    size_t *first;               /* [thread]: of entries; one more at the end */
    bool *chosen;                /* [index entry] */
    uint64_t *lasting_first;     /* [thread]; one more at the end */
    uint64_t *entry_of;          /* [block] + 1; 0: none */
    uint64_t block_count;
    struct counting *counting;   /* [thread] */
    struct trace_block **gaps;   /* lasting records as blocks */
    size_t gap_count;
};

void trace_part_free(struct trace_part *part)
{
    if (!part)
        return;
    for (size_t i = 0; i < part->gap_count; i++)
        free(part->gaps[i]);
    free(part->gaps);
    free(part->entries);
    free(part->first);
    free(part->chosen);
    free(part->lasting_first);
    free(part->entry_of);
    free(part->counting);
    free(part);
}

static const struct trace_block *block_at(const struct trace_file *file, uint64_t offset)
{
    return (const void *)((const char *)file->map + offset);
}

bool trace_part_can(const struct trace_file *file)
{
    return file->header->part_offset != 0 && file->header->ended;
}

/* ---- tables ------------------------------------------------------------------------------------------------------------------- */

bool trace_part_sound(const struct trace_file *file)
{
    const struct trace_header *header = file->header;
    uint64_t made_bytes = header->index_count * sizeof(struct trace_made), room = header->index_offset - header->part_offset;
    if (!header->part_offset)
        return true;
    if (header->part_offset % 8 || header->part_offset < TRACE_HEADER_BYTES || header->part_offset > header->index_offset || made_bytes > room ||
        header->lasting_count != (room - made_bytes) / sizeof(struct trace_lasting) || header->lasting_count * sizeof(struct trace_lasting) != room - made_bytes)
        return false;
    const char *tables = (const char *)file->map + header->part_offset;
    return XXH64(tables + made_bytes, room - made_bytes, XXH64(tables, made_bytes, 0)) == header->part_checksum;
}

/* Entries by thread, and whose block is whose. */
static bool entries_sound(const struct trace_file *file, struct trace_part *part)
{
    size_t threads = file->thread_count;
    for (uint64_t i = 0; i < part->count; i++) {
        const struct trace_index *one = &part->index[i];
        uint64_t block = (one->offset - TRACE_HEADER_BYTES) / TRACE_BLOCK_BYTES;
        if (one->offset < TRACE_HEADER_BYTES || block >= part->block_count || one->thread >= threads)
            return false;
        part->entry_of[block] = i + 1;
        part->chosen[i] = one->kind != TRACE_BLOCK_RECORDS;
        if (one->kind == TRACE_BLOCK_RECORDS && one->used)
            part->first[one->thread + 1]++;
    }
    for (size_t i = 0; i < threads; i++)
        part->first[i + 1] += part->first[i];
    for (uint64_t i = 0; i < part->count; i++)
        if (part->index[i].kind == TRACE_BLOCK_RECORDS && part->index[i].used)
            part->entries[part->first[part->index[i].thread]++] = i;
    for (size_t i = threads; i > 0; i--)
        part->first[i] = part->first[i - 1];
    part->first[0] = 0;
    size_t thread = 0;
    for (uint64_t i = 0; i < part->lasting_count; i++) {
        uint64_t entry = part->lasting[i].block < part->block_count ? part->entry_of[part->lasting[i].block] : 0;
        if (!entry || part->index[entry - 1].thread < thread)
            return false;
        while (thread < part->index[entry - 1].thread)
            part->lasting_first[++thread] = i;
    }
    while (thread < threads)
        part->lasting_first[++thread] = part->lasting_count;
    return true;
}

/* ---- what is needed ----------------------------------------------------------------------------------------------------------- */

/* Of a thread's entries the last one that begins before `ticks`; the first one if there is none. */
static size_t entry_find(const struct trace_part *part, size_t thread, uint64_t ticks)
{
    BISECT(low, part->first[thread], part->first[thread + 1], i, part->index[part->entries[i]].first_ticks < ticks);
    return low > part->first[thread] ? low - 1 : low;
}

/* The first block of a window: one before the last that begins before it, which may begin with what belongs to that one's last record. */
static size_t window_first(const struct trace_part *part, size_t thread, uint64_t from)
{
    size_t entry = entry_find(part, thread, from);
    return entry > part->first[thread] ? entry - 1 : entry;
}

/* Blocks from there to the first one that begins behind it, which has what ends in between. */
static void window_choose(const struct trace_file *file, struct trace_part *part, uint64_t from, uint64_t to)
{
    for (size_t thread = 0; thread < file->thread_count; thread++)
        for (size_t i = window_first(part, thread, from); i < part->first[thread + 1]; i++) {
            part->chosen[part->entries[i]] = true;
            if (part->index[part->entries[i]].first_ticks > to)
                break;
        }
}

/* The block in which the task of this id was made, and the next one, where its dependences may go on. */
static void maker_choose(const struct trace_file *file, struct trace_part *part, uint64_t id)
{
    uint64_t thread = id >> TRACE_ID_THREAD_SHIFT, count = id & COUNT_MASK;
    if (!id || thread >= file->thread_count)
        return;
    BISECT(low, part->first[thread], part->first[thread + 1], i, part->made[part->entries[i]].ids < count);
    for (size_t i = low > part->first[thread] ? low - 1 : low; i <= low && i < part->first[thread + 1]; i++)
        part->chosen[part->entries[i]] = true;
}

static bool block_sound(const struct trace_file *file, const struct trace_index *index)
{
    const struct trace_block *block = block_at(file, index->offset);
    return block->magic == TRACE_BLOCK_MAGIC && block->kind == index->kind && block->used == index->used &&
           block->used <= (TRACE_BLOCK_BYTES - sizeof *block) / sizeof(struct trace_record) && trace_block_checksum(block) == block->checksum;
}

/* The block in which the region of this team begins and ends, if it is no lasting one: each implicit task of it begins in between. Workers hear late of its end. */
static void region_choose(const struct trace_file *file, struct trace_part *part, uint64_t team, uint64_t ticks)
{
    uint64_t master = team >> TRACE_ID_THREAD_SHIFT;
    if (team && master < file->thread_count && part->first[master] < part->first[master + 1])
        part->chosen[part->entries[entry_find(part, (size_t)master, ticks)]] = true;
}

/* Who made the tasks that go on in a block, and whose regions those are that its thread enters. */
static void makers_of_block(const struct trace_file *file, struct trace_part *part, const struct trace_index *index)
{
    const struct trace_block *block = block_at(file, index->offset);
    const struct trace_record *records = (const void *)(block + 1);
    uint32_t count_slots = (file->header->event_count + 1) / 2;
    uint64_t base = block->base_ticks;
    if (!block_sound(file, index))
        return;                          /* found again, and told, when blocks are checked */
    for (uint32_t slot = 0; slot < block->used; slot += 1 + (records[slot].word & TRACE_COUNTS ? count_slots : 0)) {
        uint32_t type = TRACE_TYPE(records[slot].word);
        if (type == TRACE_TIME)
            base = records[slot].value;
        if (type == TRACE_TASK_SWITCH)
            maker_choose(file, part, records[slot].value);
        if (type == TRACE_TEAM)
            region_choose(file, part, records[slot].value, base + records[slot].time);
    }
}

/* Who made the tasks that the thread is in where its first chosen block begins. */
static bool makers_of_state(const struct trace_file *file, struct trace_part *part, size_t thread, uint64_t entry, struct lasting_walk *walk)
{
    struct lasting_list list = {0};
    bool memory = true;
    walk->depth = 0;
    walk->team.word = 0;
    for (uint64_t i = part->lasting_first[thread]; i < part->lasting_first[thread + 1] && memory && part->entry_of[part->lasting[i].block] - 1 < entry; i++) {
        memory = lasting_take(walk, &part->lasting[i], &list);
        list.count = 0;
    }
    for (size_t i = 0; i < walk->depth; i++) {
        const struct lasting_frame *frame = &walk->frames[i];
        const struct trace_lasting *last = &frame->records[frame->count - 1];
        if (frame->type == TRACE_TASK_SWITCH)
            maker_choose(file, part, last->value);
        if (frame->type == TRACE_IMPLICIT_BEGIN && frame->count == 2)
            region_choose(file, part, frame->records[0].value, last->ticks);
    }
    free(list.list);
    return memory;
}

static bool needed_choose(const struct trace_file *file, struct trace_part *part, uint64_t from, uint64_t to)
{
    struct lasting_walk *walk = calloc(1, sizeof *walk);
    uint64_t *window = malloc((part->count + 1) * sizeof *window), count = 0;
    bool memory = walk && window;
    window_choose(file, part, from, to);
    for (uint64_t i = 0; memory && i < part->count; i++)
        if (part->chosen[i] && part->index[i].kind == TRACE_BLOCK_RECORDS)
            window[count++] = i;
    for (uint64_t i = 0; memory && i < count; i++)
        makers_of_block(file, part, &part->index[window[i]]);
    for (size_t thread = 0; memory && thread < file->thread_count; thread++)
        if (part->first[thread] < part->first[thread + 1])
            memory = makers_of_state(file, part, thread, part->entries[window_first(part, thread, from)], walk);
    free(walk);
    free(window);
    return memory;
}

static uint64_t ticks_of(const struct trace_file *file, uint64_t ns)
{
    double ticks = (double)ns / file->ns_per_tick;
    return ticks < 9e18 ? file->header->start.ticks + (uint64_t)ticks : UINT64_MAX - 1;
}

enum pcere_status trace_part_select(struct trace_file *file, const char *path, uint64_t from_ns, uint64_t to_ns, struct trace_index **ret_index, uint64_t *ret_count, struct pcere_error *error)
{
    uint64_t count = file->header->index_count;
    struct trace_part *part = calloc(1, sizeof *part);
    if (!part)
        return pcere_fail_memory(error, "a part of a trace");
    file->part = part;
    part->count = count;
    part->index = (const void *)((const char *)file->map + file->header->index_offset);
    part->made = (const void *)((const char *)file->map + file->header->part_offset);
    part->lasting = (const void *)(part->made + count);
    part->lasting_count = file->header->lasting_count;
    part->block_count = (file->header->part_offset - TRACE_HEADER_BYTES) / TRACE_BLOCK_BYTES;
    part->entries = calloc(count + 1, sizeof *part->entries);
    part->first = calloc(file->thread_count + 2, sizeof *part->first);
    part->chosen = calloc(count + 1, sizeof *part->chosen);
    part->lasting_first = calloc(file->thread_count + 2, sizeof *part->lasting_first);
    part->entry_of = calloc(part->block_count + 1, sizeof *part->entry_of);
    part->counting = calloc(file->thread_count + 1, sizeof *part->counting);
    struct trace_index *index = malloc((count + 1) * sizeof *index);
    bool memory = part->entries && part->first && part->chosen && part->lasting_first && part->entry_of && part->counting && index, sound = memory && entries_sound(file, part);
    uint64_t chosen = 0;
    if (sound)
        memory = needed_choose(file, part, ticks_of(file, from_ns), ticks_of(file, to_ns) + 1);
    for (uint64_t i = 0; memory && i < count; i++)
        if (part->chosen[i])
            index[chosen++] = part->index[i];
    if (!memory || !sound) {
        free(index);
        return memory ? pcere_fail(error, PCERE_DATA, 0, "record it again", "'%s' is damaged: its index", path) : pcere_fail_memory(error, "a part of a trace");
    }
    *ret_index = index;
    *ret_count = chosen;
    return PCERE_OK;
}

/* ---- lasting records as blocks ------------------------------------------------------------------------------------------------- */

/* `ticks` stands for a time where there is no record. What follows belongs to no record before: the first one says so. */
static struct trace_block *gap_make(const struct lasting_list *list, uint64_t ticks, uint16_t thread)
{
    uint32_t used = (uint32_t)list->count * 2 + 2;
    struct trace_block *block = calloc(1, sizeof *block + used * sizeof(struct trace_record));
    if (!block)
        return NULL;
    struct trace_record *record = (void *)(block + 1);
    *block = (struct trace_block){.magic = TRACE_BLOCK_MAGIC, .kind = TRACE_BLOCK_RECORDS, .thread = thread, .used = used};
    *record++ = (struct trace_record){0, TRACE_WORD(TRACE_TIME, 0, 0), list->count ? list->list[0].ticks : ticks};
    *record++ = (struct trace_record){0, TRACE_WORD(TRACE_CPU, 0, 0), 0};
    for (size_t i = 0; i < list->count; i++) {
        *record++ = (struct trace_record){0, TRACE_WORD(TRACE_TIME, 0, 0), list->list[i].ticks};
        *record++ = (struct trace_record){0, list->list[i].word, list->list[i].value};
    }
    return block;
}

/* Lasting records of the entries before `entry`, from *lasting on; what holds beyond them, or ends what held before them, goes to `list`. False: no memory. */
static bool lasting_pass(const struct trace_part *part, size_t thread, uint64_t entry, uint64_t *lasting, struct lasting_walk *walk, struct lasting_list *list)
{
    bool memory = true;
    list->count = 0;
    for (; memory && *lasting < part->lasting_first[thread + 1] && part->entry_of[part->lasting[*lasting].block] - 1 < entry; ++*lasting)
        memory = lasting_take(walk, &part->lasting[*lasting], list);
    return memory && lasting_block_end(walk, list);
}

static bool thread_fill(struct trace_file *file, struct trace_part *part, size_t thread, struct lasting_walk *walk, struct lasting_list *list)
{
    struct trace_thread *of = &file->threads[thread];
    const struct trace_block **blocks = calloc(of->block_count * 2 + 2, sizeof *blocks);
    uint64_t lasting = part->lasting_first[thread];
    size_t count = 0, end = part->first[thread + 1];
    bool memory = blocks != NULL;
    walk->depth = 0;
    walk->team.word = 0;
    walk->regions = true;
    for (size_t i = part->first[thread]; memory;) {
        size_t next = i;
        while (next < end && !part->chosen[part->entries[next]])
            next++;
        if (next > i) {
            memory = lasting_pass(part, thread, next < end ? part->entries[next] : UINT64_MAX, &lasting, walk, list);
            struct trace_block *gap = memory ? gap_make(list, part->index[part->entries[next < end ? next : end - 1]].first_ticks, (uint16_t)thread) : NULL;
            memory = gap != NULL;
            if (gap)
                blocks[count++] = part->gaps[part->gap_count++] = gap;
        }
        if (next == end || !memory)
            break;
        blocks[count++] = block_at(file, part->index[part->entries[next]].offset);
        memory = lasting_pass(part, thread, part->entries[next] + 1, &lasting, walk, list);     /* they stand in the block itself */
        i = next + 1;
    }
    if (!memory) {
        free(blocks);
        return false;
    }
    free(of->blocks);
    of->blocks = blocks;
    of->block_count = count;
    return true;
}

enum pcere_status trace_part_fill(struct trace_file *file, struct pcere_error *error)
{
    struct trace_part *part = file->part;
    size_t blocks = file->thread_count;
    for (size_t i = 0; i < file->thread_count; i++)
        blocks += file->threads[i].block_count;
    part->gaps = calloc(blocks + 1, sizeof(struct trace_block *));
    struct lasting_walk *walk = calloc(1, sizeof *walk);
    struct lasting_list list = {0};
    bool memory = part->gaps && walk;
    file->slots = 0;
    for (size_t i = 0; memory && i < file->thread_count; i++)
        memory = thread_fill(file, part, i, walk, &list);
    free(walk);
    free(list.list);
    for (uint64_t i = 0; i < part->count; i++)
        file->slots += part->index[i].kind == TRACE_BLOCK_RECORDS ? part->index[i].used : 0;
    return memory ? PCERE_OK : pcere_fail_memory(error, "a part of a trace");
}

/* ---- numbers of tasks ---------------------------------------------------------------------------------------------------------- */

static uint64_t thread_tasks(const struct trace_file *file, struct trace_part *part, size_t thread, uint64_t id, uint64_t ticks)
{
    struct counting *counting = &part->counting[thread];
    size_t end = part->first[thread + 1], entry = entry_find(part, thread, ticks);
    if (entry == end || part->index[part->entries[entry]].first_ticks > ticks)
        return 0;
    const struct trace_index *index = &part->index[part->entries[entry]];
    uint64_t before = part->made[part->entries[entry]].tasks;
    if (entry + 1 < end && part->made[part->entries[entry + 1]].tasks == before)
        return before;
    const struct trace_block *block = block_at(file, index->offset);
    if (!counting->begun || counting->entry != entry || ticks < counting->ticks) {
        if (!block_sound(file, index))
            return before;
        *counting = (struct counting){.entry = entry, .base = block->base_ticks, .count = before, .begun = true};
    }
    const struct trace_record *records = (const void *)(block + 1);
    uint32_t count_slots = (file->header->event_count + 1) / 2;
    counting->ticks = ticks;
    while (counting->slot < block->used) {
        const struct trace_record *record = &records[counting->slot];
        uint32_t type = TRACE_TYPE(record->word);
        uint64_t base = type == TRACE_TIME ? record->value : counting->base, at = base + record->time;
        if (at > ticks || (at == ticks && type == TRACE_TASK_CREATE && record->value >= id))
            break;
        counting->base = base;
        counting->count += type == TRACE_TASK_CREATE;
        counting->slot += 1 + (record->word & TRACE_COUNTS ? count_slots : 0);
    }
    return counting->count;
}

uint64_t trace_part_tasks(const struct trace_file *file, uint64_t id, uint64_t ticks)
{
    uint64_t tasks = 0;
    for (size_t i = 0; i < file->thread_count; i++)
        tasks += thread_tasks(file, file->part, i, id, ticks);
    return tasks;
}
