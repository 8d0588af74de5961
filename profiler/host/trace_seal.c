/* profiler/host/trace_seal.c - a trace file before and after the run: made, and sealed with counts, checksums and index.
 *
 * The program could write anything into the file, and may have been killed while it did.
 */
#include "profiler/host/trace_file.h"

#include "core/files.h"
#include "profiler/host/trace_lasting.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define BLOCK_ROOM (TRACE_BLOCK_BYTES - (uint32_t)sizeof(struct trace_block))
#define BLOCK_SLOTS (BLOCK_ROOM / (uint32_t)sizeof(struct trace_record))

uint64_t trace_block_checksum(const struct trace_block *block)
{
    struct trace_block head = *block;
    head.checksum = 0;
    size_t bytes = block->kind == TRACE_BLOCK_RECORDS ? (size_t)block->used * sizeof(struct trace_record) : block->used;
    return XXH64(block + 1, bytes, XXH64(&head, sizeof head, 0));
}

enum pcere_status trace_file_make(const char *path, const struct trace_header *wanted, int *ret_file, struct pcere_error *error)
{
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return pcere_fail(error, errno == EEXIST ? PCERE_USAGE : PCERE_SYSTEM, errno, errno == EEXIST ? "name another file, or remove it" : NULL,
                          "cannot make '%s'", path);
    struct stat facts;
    struct trace_header *header = calloc(1, TRACE_HEADER_BYTES);
    enum pcere_status status = PCERE_OK;
    if (!header)
        status = pcere_fail_memory(error, "a trace file's header");
    else if (fstat(file, &facts) != 0)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot look at '%s'", path);
    if (status == PCERE_OK) {
        *header = *wanted;
        memcpy(header->magic, TRACE_MAGIC, sizeof header->magic);
        header->version = TRACE_VERSION;
        header->header_bytes = TRACE_HEADER_BYTES;
        header->block_bytes = TRACE_BLOCK_BYTES;
        header->device = (uint64_t)facts.st_dev;
        header->inode = (uint64_t)facts.st_ino;
        status = file_write_all(file, 0, header, TRACE_HEADER_BYTES, path, "trace.write", error);
    }
    free(header);
    if (status != PCERE_OK) {
        close(file);
        unlink(path);
        return status;
    }
    *ret_file = file;
    return PCERE_OK;
}

void trace_block_times(const struct trace_block *block, uint32_t count_slots, uint64_t *ret_first_ticks, uint64_t *ret_last_ticks)
{
    const struct trace_record *records = (const void *)(block + 1);
    uint64_t base = block->base_ticks, first_ticks = base, last = base;
    bool first = true;
    for (uint32_t slot = 0; slot < block->used;) {
        const struct trace_record *record = &records[slot];
        if (TRACE_TYPE(record->word) == TRACE_TIME)
            base = record->value;
        last = base + record->time;
        if (first)
            first_ticks = last;
        first = false;
        slot += 1 + (record->word & TRACE_COUNTS ? count_slots : 0);
    }
    *ret_first_ticks = first_ticks;
    *ret_last_ticks = last;
}

static uint32_t block_number(const struct trace_index *index)
{
    return (uint32_t)((index->offset - TRACE_HEADER_BYTES) / TRACE_BLOCK_BYTES);
}

static int by_time(const void *a, const void *b)
{
    const struct trace_index *left = a, *right = b;
    if (left->first_ticks != right->first_ticks)
        return left->first_ticks < right->first_ticks ? -1 : 1;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static int by_place(const void *a, const void *b, void *map)
{
    const struct trace_index *left = a, *right = b;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    const struct trace_block *l = (const void *)((const char *)map + left->offset), *r = (const void *)((const char *)map + right->offset);
    if (l->sequence != r->sequence)
        return l->sequence < r->sequence ? -1 : 1;
    if (!left->used != !right->used)
        return !left->used ? 1 : -1;             /* the copy stands, and the other was emptied, but not numbered anew */
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

uint64_t trace_copies_drop(void *map, struct trace_index *index, uint64_t count)
{
    qsort_r(index, count, sizeof *index, by_place, map);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        const struct trace_index *last = kept ? &index[kept - 1] : NULL;
        const struct trace_block *block = (const void *)((const char *)map + index[i].offset);
        if (last && index[i].kind == TRACE_BLOCK_RECORDS && last->kind == TRACE_BLOCK_RECORDS && last->thread == index[i].thread &&
            ((const struct trace_block *)(const void *)((const char *)map + last->offset))->sequence == block->sequence)
            continue;
        index[kept++] = index[i];
    }
    return kept;
}

/* The index by time, and what belongs to its entries in their order. */
static enum pcere_status index_order(struct trace_index *index, uint64_t count, struct trace_made *made, struct pcere_error *error)
{
    uint32_t most = 0;
    for (uint64_t i = 0; i < count; i++)
        most = block_number(&index[i]) > most ? block_number(&index[i]) : most;
    struct trace_made *by_block = made ? calloc((size_t)most + 1, sizeof *by_block) : NULL;
    if (made && !by_block)
        return pcere_fail_memory(error, "a trace file's index");
    for (uint64_t i = 0; made && i < count; i++)
        by_block[block_number(&index[i])] = made[i];
    qsort(index, count, sizeof *index, by_time);
    for (uint64_t i = 0; made && i < count; i++)
        made[i] = by_block[block_number(&index[i])];
    free(by_block);
    return PCERE_OK;
}

/* `tables` is NULL, or zeroed. */
static enum pcere_status seal_map(char *map, uint64_t blocks, struct trace_index *index, uint64_t *ret_count, struct lasting_tables *tables, struct pcere_error *error)
{
    const struct trace_header *header = (const void *)map;
    uint32_t count_slots = (header->event_count + 1) / 2;
    uint64_t count = 0;
    for (uint64_t i = 0; i < blocks; i++) {
        uint64_t offset = TRACE_HEADER_BYTES + i * TRACE_BLOCK_BYTES;
        struct trace_block *block = (void *)(map + offset);
        if (block->magic != TRACE_BLOCK_MAGIC)
            continue;                            /* taken, but no room was found for it */
        bool records = block->kind == TRACE_BLOCK_RECORDS;
        if (!records && block->kind != TRACE_BLOCK_TABLE)
            continue;
        if (block->used > (records ? BLOCK_SLOTS : BLOCK_ROOM))
            block->used = 0;                     /* the program wrote over it */
        if (records)
            trace_block_times(block, count_slots, &block->first_ticks, &block->last_ticks);
        block->checksum = trace_block_checksum(block);
        index[count++] = (struct trace_index){offset, block->used, block->thread, block->kind, block->first_ticks, block->last_ticks};
    }
    *ret_count = trace_copies_drop(map, index, count);
    bool known;
    enum pcere_status status = tables ? lasting_tables_make(map, index, *ret_count, tables, &known, error) : PCERE_OK;
    return status == PCERE_OK ? index_order(index, *ret_count, tables ? tables->made : NULL, error) : status;
}

/* Tables and index, behind the blocks. *ret_index_offset is where the index begins. */
static enum pcere_status tail_write(int file, uint64_t offset, const struct trace_index *index, uint64_t count, const struct lasting_tables *tables, struct trace_header *header,
                                    uint64_t *ret_index_offset, struct pcere_error *error)
{
    size_t made_bytes = (size_t)count * sizeof *tables->made, lasting_bytes = tables->lasting.count * sizeof *tables->lasting.list;
    enum pcere_status status = PCERE_OK;
    header->part_offset = header->lasting_count = header->part_checksum = 0;
    *ret_index_offset = offset;
    if (tables->made) {
        header->part_offset = offset;
        header->lasting_count = tables->lasting.count;
        header->part_checksum = XXH64(tables->lasting.list, lasting_bytes, XXH64(tables->made, made_bytes, 0));
        status = file_write_all(file, (int64_t)offset, tables->made, made_bytes, "the trace file", "trace.write", error);
        if (status == PCERE_OK)
            status = file_write_all(file, (int64_t)(offset + made_bytes), tables->lasting.list, lasting_bytes, "the trace file", "trace.write", error);
        *ret_index_offset = offset + made_bytes + lasting_bytes;
    }
    if (status == PCERE_OK)
        status = file_write_all(file, (int64_t)*ret_index_offset, index, (size_t)count * sizeof *index, "the trace file", "trace.write", error);
    if (status == PCERE_OK && ftruncate(file, (off_t)(*ret_index_offset + count * sizeof *index)) != 0)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot cut the trace file to its length");
    return status;
}

enum pcere_status trace_file_seal(int file, bool parts, int program_status, uint64_t wall_ns, struct pcere_error *error)
{
    struct stat facts;
    if (fstat(file, &facts) != 0)
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot look at the trace file");
    if (facts.st_size < (off_t)TRACE_HEADER_BYTES)
        return pcere_fail(error, PCERE_DATA, 0, NULL, "the program cut its trace file");
    uint64_t blocks = ((uint64_t)facts.st_size - TRACE_HEADER_BYTES) / TRACE_BLOCK_BYTES;
    uint64_t blocks_end = TRACE_HEADER_BYTES + blocks * TRACE_BLOCK_BYTES, index_offset = blocks_end;
    char *map = mmap(NULL, blocks_end, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED)
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot map the trace file");
    struct trace_index *index = calloc(blocks + 1, sizeof *index);
    struct trace_header *header = (void *)map;
    enum pcere_status status = PCERE_OK;
    struct lasting_tables tables = {0};
    uint64_t count = 0;
    if (!index)
        status = pcere_fail_memory(error, "a trace file's index");
    else if (memcmp(header->magic, TRACE_MAGIC, sizeof header->magic) != 0 || header->version != TRACE_VERSION || header->event_count > TRACE_EVENTS_MOST)
        status = pcere_fail(error, PCERE_DATA, 0, NULL, "the program damaged its trace file");
    else
        status = seal_map(map, blocks, index, &count, parts ? &tables : NULL, error);
    if (status == PCERE_OK)
        status = tail_write(file, blocks_end, index, count, &tables, header, &index_offset, error);
    if (status == PCERE_OK) {
        header->index_offset = index_offset;
        header->index_count = count;
        header->index_checksum = XXH64(index, count * sizeof *index, 0);
        header->program_status = program_status;
        header->wall_ns = wall_ns;
        header->runtime[sizeof header->runtime - 1] = '\0';
        header->library[sizeof header->library - 1] = '\0';
        header->sealed = 1;
        header->header_checksum = 0;
        header->header_checksum = XXH64(header, TRACE_HEADER_BYTES, 0);
    }
    lasting_tables_done(&tables);
    free(index);
    munmap(map, blocks_end);
    return status;
}
