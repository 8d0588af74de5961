/* profiler/host/trace_file.h - the trace file on this side: making it for a run, sealing it afterwards, reading it.
 *
 * docs/format/trace.md is normative. What is read is hostile: every count and offset is checked, checksums are compared when the file is
 * opened, and a walk over its records never leaves a block. The file stays mapped while it is open: nobody may cut it meanwhile.
 */
#ifndef PCERE_PROFILER_HOST_TRACE_FILE_H
#define PCERE_PROFILER_HOST_TRACE_FILE_H

#include "core/error.h"
#include "profiler/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Make PATH (mode 0600; it must not exist) with the header's words of the runner, of which magic, version, sizes and identity are filled in.
 * *ret_file is O_CLOEXEC and the caller's. PCERE_USAGE: it exists. PCERE_SYSTEM. */
enum pcere_status trace_file_make(const char *path, const struct trace_header *wanted, int *ret_file, struct pcere_error *error);

/* The program has ended: close the blocks that it left open, put checksums and the index; with `parts` also the tables by which parts of the file are read (trace_part.h), which take
 * one more pass over all records. PCERE_DATA: the program damaged the file. PCERE_SYSTEM: no room. */
enum pcere_status trace_file_seal(int file, bool parts, int program_status, uint64_t wall_ns, struct pcere_error *error);

/* What a block's checksum must be. `used` must not reach beyond the block. */
uint64_t trace_block_checksum(const struct trace_block *block);
/* Of its first and its last record, likewise. */
void trace_block_times(const struct trace_block *block, uint32_t count_slots, uint64_t *ret_first_ticks, uint64_t *ret_last_ticks);
/* Put blocks in the order of kind, thread and sequence number, and return how many are left: a program that is killed after it copied a full block and before it began the next leaves it twice. */
uint64_t trace_copies_drop(void *map, struct trace_index *index, uint64_t count);

struct trace_module { const char *path, *build_id; };       /* path "": the executable */

struct trace_construct {
    uint64_t id;
    uint32_t kind;               /* enum trace_construct_kind; 0: an index that the tables do not have */
    uint32_t basis;              /* enum trace_basis */
    uint32_t line, column;       /* 0: unknown */
    uint32_t module;             /* of `modules`, from 1; 0: unknown */
    uint64_t offset;
    char *file, *function;       /* NULL: unknown */
    char *place;                 /* "cg.c:405", "cg+0x1234", "pcere:0123456789abcdef": the same in each run, not unique */
};

struct trace_thread {
    uint32_t kernel_id;
    const struct trace_block **blocks;      /* in their order */
    size_t block_count;
};

struct trace_file {
    const struct trace_header *header;
    struct trace_construct *constructs;     /* [0] is what is not known */
    size_t construct_count;
    struct trace_module *modules;           /* [0] is none */
    size_t module_count;
    struct trace_thread *threads;
    size_t thread_count;
    uint64_t slots;                         /* of all records */
    double ns_per_tick;
    const char *cut_why;                    /* what is wrong with it, after its name: "is damaged: ..."; NULL: it is whole */
    uint64_t until_ticks;                   /* its records go until here: what some thread has no records of is left out for all; UINT64_MAX: to the end */
    uint64_t lost_blocks;
    struct trace_part *part;                /* only a part of it is here (trace_part.h); NULL: all of it is */
    void *map;
    size_t map_bytes;
};

/* PCERE_USAGE: there is no such file. PCERE_DATA: damaged, cut, not sealed, of another version. PCERE_SYSTEM. */
enum pcere_status trace_file_open(const char *path, struct trace_file **ret_file, struct pcere_error *error);
/* As trace_file_open; but of a file whose index or blocks are damaged or cut off, or that was not sealed, what is whole, with `cut_why`. PCERE_DATA: there is no record in that, or no header. */
enum pcere_status trace_file_salvage(const char *path, struct trace_file **ret_file, struct pcere_error *error);
void trace_file_close(struct trace_file *file);             /* accepts NULL */

/* So many ticks in ns, at most 9e18. */
static inline uint64_t trace_span_ns(const struct trace_file *file, uint64_t ticks)
{
    double ns = ticks >> 62 ? 9e18 : (double)(int64_t)ticks * file->ns_per_tick;
    return ns < 9e18 ? (uint64_t)(int64_t)ns : (uint64_t)9e18;
}

/* Since the run's start. */
static inline uint64_t trace_ns(const struct trace_file *file, uint64_t ticks)
{
    uint64_t start = file->header->start.ticks;
    return ticks > start ? trace_span_ns(file, ticks - start) : 0;
}

struct trace_item { uint64_t ticks, value; uint32_t type, flags, extra; const uint64_t *counts; /* of all events, or NULL */ };

struct trace_cursor {
    const struct trace_record *at, *end;     /* in its block */
    const struct trace_file *file;
    const struct trace_thread *thread;
    size_t block;                /* of the thread: the next one */
    uint64_t base_ticks, torn;
    uint32_t count_slots;
};

void trace_cursor_start(struct trace_cursor *cursor, const struct trace_file *file, size_t thread);
bool trace_cursor_block(struct trace_cursor *cursor);            /* goes to the next block; false: there is none */

/* The thread's next record, whose time is base_ticks + its own; NULL: no more. TRACE_TIME is seen to. Records that make no sense end their block, counted in `torn`. */
static inline const struct trace_record *trace_cursor_record(struct trace_cursor *cursor)
{
    for (;;) {
        const struct trace_record *record = cursor->at;
        if (record == cursor->end) {
            if (!trace_cursor_block(cursor))
                return NULL;
            continue;
        }
        uint32_t type = TRACE_TYPE(record->word), counts = record->word & TRACE_COUNTS ? cursor->count_slots : 0;
        if ((counts && counts >= (size_t)(cursor->end - record)) || type == 0 || type >= TRACE_TYPES) {
            cursor->torn++;
            cursor->at = cursor->end;
            continue;
        }
        cursor->at = record + 1 + counts;
        if (type != TRACE_TIME)
            return record;
        cursor->base_ticks = record->value;
    }
}

/* The same as an item; false: no more, up to until_ticks. */
static inline bool trace_cursor_next(struct trace_cursor *cursor, struct trace_item *ret_item)
{
    const struct trace_record *record = trace_cursor_record(cursor);
    if (!record)
        return false;
    *ret_item = (struct trace_item){.ticks = cursor->base_ticks + record->time, .value = record->value, .type = TRACE_TYPE(record->word), .flags = TRACE_FLAGS(record->word),
                                    .extra = TRACE_EXTRA(record->word), .counts = cursor->at - record > 1 ? (const uint64_t *)(const void *)(record + 1) : NULL};
    return ret_item->ticks <= cursor->file->until_ticks;
}

#endif
