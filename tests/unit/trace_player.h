/* tests/unit/trace_player.h - a traced program's part, played in a test: records and tables in a file as the library inside the program writes it, sealed as the recorder does. */
#ifndef PCERE_TESTS_UNIT_TRACE_PLAYER_H
#define PCERE_TESTS_UNIT_TRACE_PLAYER_H

#include "profiler/host/trace_file.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[] = "/tmp/pcere-trace-XXXXXX", path[256];

struct player { int file; uint64_t offset; struct trace_block block; struct trace_record records[4092]; uint32_t used; };
static struct player players[3];
static uint64_t blocks_taken, played_end;       /* played_end: when the program ended by itself; 0: it did not */
static int trace;

static inline void directory_remove(void)
{
    unlink(path);
    rmdir(directory);
}

static inline void trace_begin(unsigned events)
{
    static bool made;
    if (!made) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(directory));
        atexit(directory_remove);
    }
    made = true;
    snprintf(path, sizeof path, "%s/trace", directory);
    unlink(path);
    struct trace_header wanted = {.event_count = events, .bytes_most = 1u << 30};
    for (unsigned i = 0; i < events; i++)
        snprintf(wanted.events[i].name, sizeof wanted.events[i].name, "event-%u", i);
    struct pcere_error error;
    CU_ASSERT_EQUAL_FATAL(trace_file_make(path, &wanted, &trace, &error), PCERE_OK);
    blocks_taken = 0;
    memset(players, 0, sizeof players);
}

static inline void block_put(const struct trace_block *block, const void *data, size_t bytes)
{
    static char whole[TRACE_BLOCK_BYTES];
    memset(whole, 0, sizeof whole);
    memcpy(whole, block, sizeof *block);
    memcpy(whole + sizeof *block, data, bytes);
    CU_ASSERT_EQUAL_FATAL(pwrite(trace, whole, sizeof whole, (off_t)(TRACE_HEADER_BYTES + blocks_taken++ * TRACE_BLOCK_BYTES)), (ssize_t)sizeof whole);
}

static inline void record(unsigned thread, uint64_t ticks, uint32_t type, uint32_t flags, uint32_t extra, uint64_t value)
{
    players[thread].records[players[thread].used++] = (struct trace_record){(uint32_t)ticks, TRACE_WORD(type, flags, extra), value};
}

static inline void record_counted(unsigned thread, uint64_t ticks, uint32_t type, uint32_t extra, uint64_t value, uint64_t count)
{
    struct player *player = &players[thread];
    player->records[player->used++] = (struct trace_record){(uint32_t)ticks, TRACE_WORD(type, 0, extra) | TRACE_COUNTS, value};
    uint64_t counts[2] = {count, 0};
    memcpy(&player->records[player->used++], counts, sizeof counts);
}

static inline void player_put(unsigned thread, uint32_t sequence)
{
    struct trace_block block = {.magic = TRACE_BLOCK_MAGIC, .kind = TRACE_BLOCK_RECORDS, .thread = (uint16_t)thread, .sequence = sequence, .used = players[thread].used};
    block_put(&block, players[thread].records, players[thread].used * sizeof(struct trace_record));
    players[thread].used = 0;
}

/* Constructs 1 to 3 on lines 10, 20, 30: a region, a loop, a task. */
static inline void tables_put(void)
{
    static const uint8_t kinds[] = {TRACE_PARALLEL, TRACE_LOOP, TRACE_TASK};
    char data[512] = {0};
    uint32_t used = 0;
    for (uint32_t i = 0; i < 3; i++) {
        struct trace_entry entry = {.bytes = sizeof(struct trace_entry) + 40, .kind = TRACE_ENTRY_CONSTRUCT, .construct_kind = kinds[i], .basis = TRACE_BY_SOURCE,
                                    .index = i + 1, .id = 100 + i};
        memcpy(data + used, &entry, sizeof entry);
        snprintf(data + used + sizeof entry, 40, ";dir/x.c;f;%u;5", 10 * (i + 1));
        used += entry.bytes;
    }
    struct trace_block block = {.magic = TRACE_BLOCK_MAGIC, .kind = TRACE_BLOCK_TABLE, .used = used};
    block_put(&block, data, used);
}

static inline void trace_end(unsigned threads)
{
    struct trace_header header;
    CU_ASSERT_EQUAL_FATAL(pread(trace, &header, sizeof header, 0), (ssize_t)sizeof header);
    header.attached = TRACE_VERSION;
    header.tool_started = 1;
    header.clock = TRACE_CLOCK_MONOTONIC;
    header.thread_count = threads;
    header.construct_count = 3;
    header.block_count = blocks_taken;
    header.ended = played_end != 0;
    header.end.ticks = header.end.monotonic_ns = played_end;
    CU_ASSERT_EQUAL_FATAL(pwrite(trace, &header, sizeof header, 0), (ssize_t)sizeof header);
    struct pcere_error error;
    CU_ASSERT_EQUAL_FATAL(trace_file_seal(trace, true, 0, 1000, &error), PCERE_OK);
    close(trace);
}

static inline uint64_t id(unsigned thread, uint64_t count)
{
    return (uint64_t)thread << TRACE_ID_THREAD_SHIFT | count;
}

#endif
