/* profiler/host/trace_salvage.c - see trace_salvage.h.
 *
 * It knows what the order of blocks in a file tells: a thread's first place has its last block, so that a thread is all there if the numbers have no gap and the highest one lies first.
 */
#include "profiler/host/trace_salvage.h"

#include <stdlib.h>

#define BLOCK_ROOM (TRACE_BLOCK_BYTES - (uint32_t)sizeof(struct trace_block))
#define BLOCK_SLOTS (BLOCK_ROOM / (uint32_t)sizeof(struct trace_record))

static const struct trace_block *block_at(const struct trace_file *file, uint64_t offset)
{
    return (const void *)((const char *)file->map + offset);
}

/* `room` of its bytes are in the file: what is not used of it may be cut off. */
static bool block_whole(const struct trace_file *file, const struct trace_block *block, uint64_t room)
{
    if (room < sizeof *block || block->magic != TRACE_BLOCK_MAGIC)
        return false;
    bool records = block->kind == TRACE_BLOCK_RECORDS;
    if ((!records && block->kind != TRACE_BLOCK_TABLE) || block->used > (records ? BLOCK_SLOTS : BLOCK_ROOM) || (records && block->thread >= file->thread_count))
        return false;
    uint64_t bytes = records ? (uint64_t)block->used * sizeof(struct trace_record) : block->used;
    return bytes <= room - sizeof *block && (!file->header->sealed || trace_block_checksum(block) == block->checksum);
}

static uint64_t blocks_find(const struct trace_file *file, uint64_t end, struct trace_index *index)
{
    uint32_t count_slots = (file->header->event_count + 1) / 2;
    uint64_t count = 0;
    for (uint64_t offset = TRACE_HEADER_BYTES; offset < end; offset += TRACE_BLOCK_BYTES) {
        const struct trace_block *block = block_at(file, offset);
        if (!block_whole(file, block, end - offset < TRACE_BLOCK_BYTES ? end - offset : TRACE_BLOCK_BYTES))
            continue;
        struct trace_index found = {.offset = offset, .used = block->used, .thread = block->thread, .kind = block->kind};
        if (block->kind == TRACE_BLOCK_RECORDS)
            trace_block_times(block, count_slots, &found.first_ticks, &found.last_ticks);
        index[count++] = found;
    }
    return count;
}

/* Of the blocks of one thread, in their order, those before the first gap. */
static uint64_t thread_keep(struct trace_file *file, const struct trace_index *index, uint64_t count)
{
    uint64_t kept = 0, lowest = 0;
    while (kept < count && block_at(file, index[kept].offset)->sequence == kept)
        kept++;
    for (uint64_t i = 1; i < count; i++)
        lowest = index[i].offset < index[lowest].offset ? i : lowest;
    bool whole = kept == count && lowest == count - 1;
    if (!whole && kept && index[kept - 1].last_ticks < file->until_ticks)
        file->until_ticks = index[kept - 1].last_ticks;
    return kept;
}

enum pcere_status trace_salvage(struct trace_file *file, struct trace_index **ret_index, uint64_t *ret_count, struct pcere_error *error)
{
    const struct trace_header *header = file->header;
    uint64_t end = file->map_bytes, kept = 0;
    if (header->sealed && header->index_offset >= TRACE_HEADER_BYTES && header->index_offset < end)
        end = header->index_offset;
    struct trace_index *index = calloc((end - TRACE_HEADER_BYTES) / TRACE_BLOCK_BYTES + 2, sizeof *index);
    if (!index)
        return pcere_fail_memory(error, "a trace's blocks");
    uint64_t count = blocks_find(file, end, index), taken = header->sealed ? header->index_count : header->block_count;
    file->until_ticks = UINT64_MAX;
    file->lost_blocks = taken > count ? taken - count : 0;
    count = trace_copies_drop(file->map, index, count);
    for (uint64_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && index[next].kind == index[first].kind && index[next].thread == index[first].thread;)
            next++;
        uint64_t whole = index[first].kind == TRACE_BLOCK_RECORDS ? thread_keep(file, index + first, next - first) : next - first;
        for (uint64_t i = 0; i < whole; i++)
            index[kept++] = index[first + i];
    }
    *ret_index = index;
    *ret_count = kept;
    return PCERE_OK;
}
