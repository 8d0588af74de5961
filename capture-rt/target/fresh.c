/* capture-rt/target/fresh.c - what the program allocates and frees inside a region that is being captured.
 *
 * A replay has another allocator, so the C library's bookkeeping between the blocks of the program's heap would differ. Therefore new blocks
 * come from a mapping of their own, and blocks of the heap that are freed stay as they are until the region's end was read: all that
 * changes in the heap is then what the region itself writes. Such an invocation is not timed.
 *
 *   | heap blocks to be freed later | blocks, never moved, dumped as the program's memory from the next capture on | not used yet
 *
 * How blocks look, include/pcere/fresh_blocks.h tells. Freed ones are used again inside the same invocation only: what a later one allocates lies on
 * pages that no dump before it knows.
 */
#include "capture-rt/target/target.h"
#include "include/pcere/fresh_blocks.h"

#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define FRESH_BYTES_LEAST ((size_t)16 << 20)
#define LATER_MOST ((size_t)1 << 20)        /* blocks that can wait to be freed */
#define LATER_BYTES (LATER_MOST * sizeof(void *))
#define PAGE 4096u
#define TRIM_BYTES ((size_t)1 << 16)        /* so large freed blocks are not read */
#define LARGE_BYTES ((size_t)128 << 10)    /* from there on the C library may map a block by itself, and give it back when it is freed (mallopt(3), M_MMAP_THRESHOLD) */
#define OPEN_MOST 64u                       /* deeper ones count as part of those around them */

static struct {
    char *start;                            /* of blocks, which lie in the other room */
    struct fresh_blocks blocks;
    struct target_room waiting, room;
    char *opened[OPEN_MOST];                /* what the captured regions that run allocated lies from here on: the innermost's last */
    void **later;
    size_t later_count;
    uint64_t large_pages;                   /* of large blocks that the outermost captured region freed and allocated again, however often */
    uint32_t openings;
    pthread_mutex_t mutex;
} fresh = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct owner { struct fresh_blocks blocks; uint32_t opening; } owners[FRESH_OWNERS];
static uint32_t owners_given;
static __thread uint32_t owner_number __attribute__((tls_model("initial-exec")));      /* from 1; 0: this thread has none yet */

static void fresh_lock(void) { pthread_mutex_lock(&fresh.mutex); }
static void fresh_unlock(void) { pthread_mutex_unlock(&fresh.mutex); }

void target_fresh_reserve(void)
{
    if (!target_room_take(&fresh.waiting, LATER_BYTES, LATER_BYTES / 64) || !target_room_take(&fresh.room, FRESH_BYTES_MOST, FRESH_BYTES_LEAST) ||
        pthread_atfork(fresh_lock, fresh_unlock, fresh_unlock) != 0)
        return;
    fresh.later = (void **)fresh.waiting.start;
    fresh.start = fresh.blocks.next = fresh.room.start;
    fresh.blocks.end = fresh.room.end;
    target_whose.fresh_start = (uintptr_t)fresh.start;
    target_whose.fresh_bytes = (uintptr_t)fresh.room.end - target_whose.fresh_start;
}

static uintptr_t whole_pages(const char *end) { return ((uintptr_t)end + PAGE - 1) & ~(uintptr_t)(PAGE - 1); }

void target_fresh_ranges(uint64_t ret_ranges[4])
{
    ret_ranges[0] = (uintptr_t)fresh.waiting.start;
    ret_ranges[1] = (uintptr_t)fresh.waiting.end;
    ret_ranges[2] = whole_pages(fresh.blocks.next);
    ret_ranges[3] = (uintptr_t)fresh.room.end;
}

static const char *opened(void)
{
    uint32_t depth = __atomic_load_n(&target_whose.fresh_depth, __ATOMIC_RELAXED);
    return fresh.opened[depth > OPEN_MOST ? OPEN_MOST - 1 : depth - 1];
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
    fresh.blocks.next = (char *)whole_pages(fresh.blocks.next);
    if (target_whose.fresh_depth < OPEN_MOST)
        fresh.opened[target_whose.fresh_depth] = fresh.blocks.next;
    memset(fresh.blocks.lists, 0, sizeof fresh.blocks.lists);
    fresh.blocks.freed_bytes = 0;
    fresh.large_pages = target_whose.fresh_depth ? fresh.large_pages : 0;
    __atomic_store_n(&fresh.openings, fresh.openings + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&target_whose.fresh_depth, target_whose.fresh_depth + 1, __ATOMIC_RELEASE);
    fresh_unlock();
}

/* What waits to be freed may be of an outer one: it waits for that one's end. */
bool target_fresh_close(void)
{
    if (!target_fresh_is_open())
        return false;
    fresh_lock();
    bool used = fresh.blocks.next > opened() || fresh.later_count > 0;
    __atomic_store_n(&target_whose.fresh_depth, target_whose.fresh_depth - 1, __ATOMIC_RELEASE);
    size_t count = target_whose.fresh_depth ? 0 : fresh.later_count;
    fresh.later_count -= count;
    fresh_unlock();
    for (size_t i = 0; i < count; i++)
        target_next.free(fresh.later[i]);
    return used;
}

/* Pages that lie in it and hold nothing but what nobody has any more. */
static void freed_drop(struct fresh_freed *freed)
{
    uintptr_t start = whole_pages((const char *)(freed + 1)), end = ((uintptr_t)freed + target_fresh_bytes(freed)) & ~(uintptr_t)(PAGE - 1);
    if (start < end)
        madvise((void *)start, end - start, MADV_DONTNEED);
}

uint64_t target_fresh_large_pages(void)
{
    fresh_lock();
    uint64_t pages = target_fresh_is_open() ? fresh.large_pages : 0;
    fresh_unlock();
    return pages;
}

void target_fresh_trim(void)
{
    if (!target_fresh_is_open())
        return;
    fresh_lock();
    for (size_t chunk = TRIM_BYTES; chunk <= FRESH_BYTES_MOST; chunk *= 2)
        for (struct fresh_freed *freed = *fresh_list(&fresh.blocks, chunk); freed; freed = freed->next)
            freed_drop(freed);
    fresh_unlock();
}

/* This thread's, which begins anew with each captured region; NULL: there are too many threads. */
static struct fresh_blocks *own_blocks(void)
{
    uint32_t number = fresh_owner(&owner_number, &owners_given);
    struct owner *owner = number <= FRESH_OWNERS ? &owners[number - 1] : NULL;
    uint32_t opening = __atomic_load_n(&fresh.openings, __ATOMIC_RELAXED);
    if (owner && owner->opening != opening)
        *owner = (struct owner){.opening = opening};
    return owner ? &owner->blocks : NULL;
}

static void *own_allocate(struct fresh_blocks *own, size_t chunk, size_t alignment)
{
    void *block = fresh_own(own, chunk, alignment);
    if (block)
        return block;
    fresh_lock();
    bool room = target_room_use(&fresh.room, fresh.blocks.next + FRESH_SLAB_BYTES) && fresh_slab(&fresh.blocks, own);
    fresh_unlock();
    return room ? fresh_own(own, chunk, alignment) : NULL;
}

static char *block_cut(size_t chunk, size_t alignment)
{
    char *block = fresh_place(&fresh.blocks, chunk, alignment);
    if (!block || !target_room_use(&fresh.room, block + chunk))
        return NULL;
    fresh_take(&fresh.blocks, block, chunk);
    return block;
}

void *target_fresh_allocate(size_t bytes, size_t alignment)
{
    if (!target_fresh_is_open() || bytes > FRESH_BYTES_MOST || alignment > FRESH_ALIGNMENT_MOST)
        return NULL;
    alignment = alignment < 16 ? 16 : alignment;
    size_t chunk = fresh_chunk_bytes(bytes);
    struct fresh_blocks *own = fresh_is_own(chunk, alignment) ? own_blocks() : NULL;
    void *owned = own ? own_allocate(own, chunk, alignment) : NULL;
    if (owned)
        return owned;
    fresh_lock();
    void *again = alignment == 16 ? fresh_again(&fresh.blocks, chunk) : NULL;
    char *block = again ? NULL : block_cut(chunk, alignment);
    fresh.large_pages += again && chunk >= LARGE_BYTES ? chunk / PAGE : 0;
    fresh_unlock();
    return again ? fresh_clear(again, chunk) : block;
}

size_t target_fresh_bytes(const void *block)
{
    return fresh_bytes(block);
}

void target_fresh_free(void *block)
{
    size_t chunk = fresh_chunk_of(*fresh_size(block));
    if (!chunk || !target_fresh_is_new(block))
        return;
    struct fresh_blocks *own = fresh_is_own(chunk, 16) ? own_blocks() : NULL;
    if (own) {
        fresh_free(own, block, chunk);
        return;
    }
    fresh_lock();
    fresh_free(&fresh.blocks, block, chunk);
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
