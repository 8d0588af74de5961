/* profiler/target/record.c - records and the blocks they go to.
 *
 * It knows clocks, and how a thread's records come into the file: each thread has one block of it mapped, and copies that to another place when it is full. Room
 * is reserved before it is mapped, since a write to a mapping that the disk has no room for would kill the program.
 */
#include "profiler/target/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BLOCK_SLOTS ((TRACE_BLOCK_BYTES - sizeof(struct trace_block)) / sizeof(struct trace_record))
#define ROOM_BLOCKS 64u             /* 4 MiB */

__thread struct recorder *recorder_self;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t recorder_monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* The two clocks are read as near to each other as a few tries allow. */
struct trace_anchor recorder_anchor(void)
{
    struct trace_anchor best = {0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = recorder_ticks();
        uint64_t monotonic_ns = recorder_monotonic_ns();
        uint64_t after = recorder_ticks();
        if (after - before >= least)
            continue;
        least = after - before;
        best.ticks = before + least / 2;
        best.monotonic_ns = monotonic_ns;
    }
    best.realtime_ns = clock_ns(CLOCK_REALTIME);
    return best;
}

static uint64_t room_refuse(struct trace_header *header, int errnum)
{
    uint32_t none = 0;
    __atomic_compare_exchange_n(&header->full_errno, &none, (uint32_t)errnum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return 0;
}

/* The program may have closed the descriptor, and opened a file of its own by its number. */
static bool file_is_ours(const struct recorder_state *state)
{
    struct stat facts;
    return fstat(state->file, &facts) == 0 && state->header->device == (uint64_t)facts.st_dev && state->header->inode == (uint64_t)facts.st_ino;
}

/* Writing takes half as long where the disk's room was found before, for many blocks at once. The sealing cuts off what is left of it; short runs do without. */
static void room_prepare(const struct recorder_state *state, uint64_t number, uint64_t offset)
{
    if (number && number % ROOM_BLOCKS == 0 && offset + ROOM_BLOCKS * TRACE_BLOCK_BYTES <= state->header->bytes_most)
        fallocate(state->file, FALLOC_FL_KEEP_SIZE, (off_t)offset, ROOM_BLOCKS * TRACE_BLOCK_BYTES);
}

/* Offset of a block of the file that nobody has; 0: there is no room. */
static uint64_t room_take(const struct recorder_state *state)
{
    struct trace_header *header = state->header;
    if (header->full_errno)
        return 0;
    if (!file_is_ours(state))
        return room_refuse(header, EBADF);
    uint64_t number = __atomic_fetch_add(&header->block_count, 1, __ATOMIC_RELAXED), offset = TRACE_HEADER_BYTES + number * TRACE_BLOCK_BYTES;
    room_prepare(state, number, offset);
    return offset + TRACE_BLOCK_BYTES > header->bytes_most ? room_refuse(header, EFBIG) : offset;
}

struct trace_block *recorder_block(uint16_t kind, uint16_t thread, uint32_t sequence)
{
    const struct recorder_state *state = recorder_state;
    int errnum = errno;
    uint64_t offset = room_take(state);
    struct trace_block *block = NULL;
    if (offset && fallocate(state->file, 0, (off_t)offset, TRACE_BLOCK_BYTES) != 0) {
        room_refuse(state->header, errno);
    } else if (offset) {
        void *memory = mmap(NULL, TRACE_BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, state->file, (off_t)offset);
        if (memory == MAP_FAILED)
            room_refuse(state->header, errno);
        else
            block = memory;
    }
    if (block) {
#ifdef MADV_POPULATE_WRITE
        madvise(block, TRACE_BLOCK_BYTES, MADV_POPULATE_WRITE);
#endif
        block->kind = kind;
        block->thread = thread;
        block->sequence = sequence;
        block->monotonic_ns = recorder_monotonic_ns();
        block->base_ticks = recorder_ticks();
        __atomic_store_n(&block->magic, TRACE_BLOCK_MAGIC, __ATOMIC_RELEASE);
    }
    errno = errnum;
    return block;
}

static void block_start(struct recorder *recorder)
{
    recorder->base_ticks = recorder->block->base_ticks;
    recorder->next = (struct trace_record *)(void *)(recorder->block + 1);
    recorder->end = recorder->next + BLOCK_SLOTS;
    recorder->limit = recorder_state->clock == TRACE_CLOCK_TSC && !recorder_state->count_slots ? recorder->end : NULL;
}

static void block_leave(struct recorder *recorder)
{
    if (recorder->block)
        munmap(recorder->block, TRACE_BLOCK_BYTES);
    recorder->block = NULL;
    recorder->next = recorder->end = recorder->limit = NULL;
}

/* A full block is copied to its place, and the mapped one, whose pages are warm, is used again. */
static bool block_flush(struct recorder *recorder)
{
    const struct recorder_state *state = recorder_state;
    struct trace_block *block = recorder->block;
    int errnum = errno;
    uint64_t offset = block ? room_take(state) : 0;
    ssize_t bytes = offset ? pwrite(state->file, block, TRACE_BLOCK_BYTES, (off_t)offset) : -1;
    bool written = bytes == (ssize_t)TRACE_BLOCK_BYTES;
    if (offset && !written)
        room_refuse(state->header, bytes < 0 ? errno : ENOSPC);      /* a part of it went in */
    if (written) {
        __atomic_store_n(&block->used, 0, __ATOMIC_RELEASE);
        block->sequence++;
        block->monotonic_ns = recorder_monotonic_ns();
        block->base_ticks = recorder_ticks();
        block_start(recorder);
    }
    errno = errnum;
    return written;
}

void recorder_put_slow(struct recorder *recorder, uint32_t word, uint64_t value)
{
    uint64_t ticks = recorder_ticks();
    uint32_t slots = 1 + recorder_state->count_slots, cpu = recorder_cpu(recorder);
    if (recorder->end - recorder->next < (ptrdiff_t)slots + 2 && !block_flush(recorder)) {
        __atomic_fetch_add(&recorder_state->header->dropped, 1, __ATOMIC_RELAXED);
        return;
    }
    if (ticks < recorder->base_ticks)       /* taken just before the block was */
        ticks = recorder->base_ticks;
    if ((ticks - recorder->base_ticks) >> 32) {
        struct trace_record *base = recorder->next++;
        base->time = 0;
        base->value = ticks;
        base->word = TRACE_WORD(TRACE_TIME, 0, 0);
        recorder->base_ticks = ticks;
    }
    if (cpu != recorder->cpu) {
        *recorder->next++ = (struct trace_record){.time = (uint32_t)(ticks - recorder->base_ticks), .word = TRACE_WORD(TRACE_CPU, 0, 0), .value = cpu};
        recorder->cpu = cpu;
    }
    struct trace_record *record = recorder->next;
    if (recorder_state->count_slots) {
        counters_read(&recorder->counters, (uint64_t *)(void *)(record + 1));
        word |= TRACE_COUNTS;
    }
    record->time = (uint32_t)(ticks - recorder->base_ticks);
    record->value = value;
    record->word = word;
    recorder_publish(recorder, record + slots);
}

struct recorder *recorder_start(void)
{
    struct recorder_state *state = recorder_state;
    uint64_t thread = __atomic_fetch_add(&state->header->thread_count, 1, __ATOMIC_RELAXED);
    if (thread >= TRACE_THREADS_MOST)
        return NULL;
    int errnum = errno;
    void *memory = mmap(NULL, sizeof(struct recorder), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        errno = errnum;
        return NULL;
    }
    struct recorder *recorder = memory;
    recorder->thread = (uint32_t)thread;
    recorder->cpu = UINT32_MAX;
    recorder->cpu_place = state->cpu_place;
    recorder_self = recorder;
    recorder_thread_entry(recorder->thread, (uint32_t)syscall(SYS_gettid), 0);
    if (state->event_count)
        counters_open(&recorder->counters);
    recorder->block = recorder_block(TRACE_BLOCK_RECORDS, (uint16_t)recorder->thread, 0);
    if (recorder->block)
        block_start(recorder);
    errno = errnum;
    return recorder;
}

void recorder_thread_end(void)
{
    struct recorder *recorder = recorder_self;
    if (!recorder || !recorder_state->active)
        return;
    recorder_put(recorder, TRACE_WORD(TRACE_THREAD_END, 0, 0), 0);
    int errnum = errno;
    recorder_self = NULL;
    counters_close(&recorder->counters);
    block_leave(recorder);
    munmap(recorder, sizeof *recorder);
    errno = errnum;
}
