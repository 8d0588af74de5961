/* capture-rt/target/fresh.c - what the program allocates and frees inside a region that is being captured.
 *
 * A replay has another allocator, so the C library's bookkeeping between the blocks of the program's heap would differ. Therefore new blocks
 * come from a mapping of their own, and blocks of the heap that are freed stay as they are until the region's end was read: all that
 * changes in the heap is then what the region itself writes. Such an invocation is not timed.
 *
 *   | heap blocks to be freed later | blocks, never moved, dumped as the program's memory from the next capture on | not used yet
 *
 * Blocks look like the C library's (size and a flag in front), so that malloc_usable_size and a replay's realloc understand them. Freed
 * ones are used again inside the same invocation only: what a later one allocates lies on pages that no dump before it knows.
 */
#include "capture-rt/target/target.h"

#include <malloc.h>
#include <pthread.h>
#include <string.h>

#define FRESH_BYTES_MOST ((size_t)16 << 30)
#define FRESH_BYTES_LEAST ((size_t)16 << 20)
#define LATER_MOST ((size_t)1 << 20)        /* blocks that can wait to be freed */
#define LATER_BYTES (LATER_MOST * sizeof(void *))
#define PAGE 4096u
#define SMALL_BYTES 4096u                   /* up to here, freed blocks are kept by their size; above, by powers of two */
#define SMALL_LISTS (SMALL_BYTES / 16 + 1)
#define LISTS (SMALL_LISTS + 40)
#define IN_USE ((size_t)1)
#define OPEN_MOST 64u                       /* deeper ones count as part of those around them */

struct fresh_free { struct fresh_free *next; };

static struct {
    char *start, *next;                     /* of blocks, which lie in the other room */
    struct target_room waiting, room;
    char *opened[OPEN_MOST];                /* what the captured regions that run allocated lies from here on: the innermost's last */
    uint32_t depth;                         /* captured regions that run */
    void **later;
    size_t later_count;
    struct fresh_free *lists[LISTS];
    pthread_mutex_t mutex;
} fresh = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void fresh_lock(void) { pthread_mutex_lock(&fresh.mutex); }
static void fresh_unlock(void) { pthread_mutex_unlock(&fresh.mutex); }

void target_fresh_reserve(void)
{
    if (!target_room_take(&fresh.waiting, LATER_BYTES, LATER_BYTES / 64) || !target_room_take(&fresh.room, FRESH_BYTES_MOST, FRESH_BYTES_LEAST) ||
        pthread_atfork(fresh_lock, fresh_unlock, fresh_unlock) != 0)
        return;
    fresh.later = (void **)fresh.waiting.start;
    fresh.start = fresh.next = fresh.room.start;
}

void target_fresh_ranges(uint64_t ret_ranges[4])
{
    ret_ranges[0] = (uintptr_t)fresh.waiting.start;
    ret_ranges[1] = (uintptr_t)fresh.waiting.end;
    ret_ranges[2] = ((uintptr_t)fresh.next + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    ret_ranges[3] = (uintptr_t)fresh.room.end;
}

bool target_fresh_is_open(void)
{
    return __atomic_load_n(&fresh.depth, __ATOMIC_RELAXED) > 0;
}

static const char *opened(void)
{
    uint32_t depth = __atomic_load_n(&fresh.depth, __ATOMIC_RELAXED);
    return fresh.opened[depth > OPEN_MOST ? OPEN_MOST - 1 : depth - 1];
}

bool target_fresh_owns(const void *block)
{
    return (const char *)block >= fresh.start && (const char *)block < fresh.room.end;
}

bool target_fresh_is_new(const void *block)
{
    return target_fresh_is_open() && target_fresh_owns(block) && (const char *)block >= opened();
}

void target_fresh_open(void)
{
    if (!fresh.start)
        return;
    fresh_lock();
    fresh.next = (char *)(((uintptr_t)fresh.next + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
    if (fresh.depth < OPEN_MOST)
        fresh.opened[fresh.depth] = fresh.next;
    memset(fresh.lists, 0, sizeof fresh.lists);
    __atomic_store_n(&fresh.depth, fresh.depth + 1, __ATOMIC_RELEASE);
    fresh_unlock();
}

/* What waits to be freed may be of an outer one: it waits for that one's end. */
void target_fresh_close(void)
{
    if (!target_fresh_is_open())
        return;
    fresh_lock();
    __atomic_store_n(&fresh.depth, fresh.depth - 1, __ATOMIC_RELEASE);
    size_t count = fresh.depth ? 0 : fresh.later_count;
    fresh.later_count -= count;
    fresh_unlock();
    for (size_t i = 0; i < count; i++)
        target_next.free(fresh.later[i]);
}

static size_t *size_word(const void *block) { return (size_t *)((uintptr_t)block - sizeof(size_t)); }

/* Bytes from one block to the next: what the block holds, and the size word of the next. */
static size_t chunk_bytes(size_t bytes)
{
    size_t chunk = (bytes + sizeof(size_t) + 15) & ~(size_t)15;
    if (chunk < 32)
        return 32;
    return chunk <= SMALL_BYTES ? chunk : (size_t)1 << (64 - __builtin_clzll(chunk - 1));
}

static struct fresh_free **list_of(size_t chunk)
{
    return &fresh.lists[chunk <= SMALL_BYTES ? chunk / 16 : SMALL_LISTS + (size_t)__builtin_ctzll(chunk) - 12];
}

static char *block_cut(size_t chunk, size_t alignment)
{
    uintptr_t at = ((uintptr_t)fresh.next + 16 + alignment - 1) & ~(uintptr_t)(alignment - 1);
    if (chunk > (size_t)(fresh.room.end - fresh.next) || !target_room_use(&fresh.room, (char *)at + chunk + sizeof(size_t)))
        return NULL;
    fresh.next = (char *)at + chunk - 16;
    *size_word((char *)at + chunk) = IN_USE;        /* what would follow is in use, as the C library asks before it tells a size */
    return (char *)at;
}

void *target_fresh_allocate(size_t bytes, size_t alignment)
{
    if (!target_fresh_is_open() || bytes > FRESH_BYTES_MOST || alignment > FRESH_BYTES_LEAST)
        return NULL;
    alignment = alignment < 16 ? 16 : alignment;
    size_t chunk = chunk_bytes(bytes);
    fresh_lock();
    struct fresh_free **list = list_of(chunk);
    char *block = alignment == 16 ? (char *)*list : NULL;
    if (block)
        *list = (*list)->next;
    else
        block = block_cut(chunk, alignment);
    fresh_unlock();
    if (block)
        *size_word(block) = chunk | IN_USE;
    return block;
}

size_t target_fresh_bytes(const void *block)
{
    return (*size_word(block) & ~(size_t)15) - sizeof(size_t);
}

void target_fresh_free(void *block)
{
    size_t chunk = *size_word(block) & ~(size_t)15;
    bool ours = chunk >= 32 && (chunk <= SMALL_BYTES || (chunk & (chunk - 1)) == 0);
    if (!target_fresh_is_new(block) || !ours)
        return;
    struct fresh_free *freed = block;
    fresh_lock();
    freed->next = *list_of(chunk);
    *list_of(chunk) = freed;
    fresh_unlock();
}

bool target_fresh_free_later(void *block)
{
    if (!target_fresh_is_open() || !block)
        return false;
    fresh_lock();
    bool room = target_room_use(&fresh.waiting, (const char *)(fresh.later + fresh.later_count + 1));
    if (room)
        fresh.later[fresh.later_count++] = block;
    fresh_unlock();
    return room;
}
