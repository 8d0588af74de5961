/* replay-rt/target/made.c - what a region allocates where its codelet is verified: blocks come from a room of their own then, cut as the capture did (fresh_blocks.h), by calls of
 * malloc and the like that all loaded objects but the OpenMP runtime make. What they hold, made_compare.c compares.
 */
#include "include/pcere/bisect.h"
#include "include/pcere/fresh_blocks.h"
#include "include/pcere/object_divert.h"
#include "replay-rt/target/codelet.h"

#include <dlfcn.h>
#include <malloc.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

#define ROOM_BYTES_LEAST ((size_t)64 << 20)
#define ROOM_APART ((uint64_t)1 << 30)
#define LIBRARY_BYTES ((uint64_t)1 << 28)           /* before what is known of a library others of its pages may lie */

static struct {
    char *start;                      /* NULL: nothing is served */
    bool in_place;                    /* it is where the capture had its own */
    struct fresh_blocks blocks;
    pthread_mutex_t mutex;
    bool again;                       /* freed blocks were used again */
} made = {.mutex = PTHREAD_MUTEX_INITIALIZER};

extern __attribute__((weak)) void *pcere_program_malloc(size_t bytes);

/* ---- allocation ---------------------------------------------------------------------------------------------------------------- */

static struct {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t count, size_t bytes);
    void *(*memalign)(size_t alignment, size_t bytes);
} next;

static struct fresh_blocks owners[FRESH_OWNERS];
static uint32_t owners_given;
static __thread uint32_t owner_number;              /* from 1; 0: this thread has none yet */

/* This thread's; NULL: there are too many. */
static struct fresh_blocks *own_blocks(void)
{
    uint32_t number = fresh_owner(&owner_number, &owners_given);
    return number <= FRESH_OWNERS ? &owners[number - 1] : NULL;
}

static void *own_allocate(struct fresh_blocks *own, size_t chunk, size_t alignment)
{
    bool used = own->freed_bytes > FRESH_KEPT_BYTES;
    void *block = fresh_own(own, chunk, alignment);
    if (used)
        __atomic_store_n(&made.again, true, __ATOMIC_RELAXED);
    if (block)
        return block;
    pthread_mutex_lock(&made.mutex);
    bool room = fresh_slab(&made.blocks, own);
    pthread_mutex_unlock(&made.mutex);
    return room ? fresh_own(own, chunk, alignment) : NULL;
}

static void *allocate(size_t bytes, size_t alignment)
{
    if (!pcere_heap_in_region() || bytes > FRESH_BYTES_MOST || alignment > FRESH_ALIGNMENT_MOST || (alignment & (alignment - 1)))
        return NULL;
    size_t chunk = fresh_chunk_bytes(bytes);
    struct fresh_blocks *own = fresh_is_own(chunk, alignment) ? own_blocks() : NULL;
    void *owned = own ? own_allocate(own, chunk, alignment < 16 ? 16 : alignment) : NULL;
    if (owned)
        return owned;
    pthread_mutex_lock(&made.mutex);
    char *again = alignment <= 16 ? fresh_again(&made.blocks, chunk) : NULL;
    made.again |= again != NULL;
    char *block = again ? NULL : fresh_place(&made.blocks, chunk, alignment < 16 ? 16 : alignment);
    if (block)
        fresh_take(&made.blocks, block, chunk);
    pthread_mutex_unlock(&made.mutex);
    return again ? fresh_clear(again, chunk) : block;
}

static void *own_malloc(size_t bytes)
{
    void *block = allocate(bytes, 16);
    return block ? block : next.malloc(bytes);
}

static void *own_calloc(size_t count, size_t bytes)
{
    size_t total;
    void *block = __builtin_mul_overflow(count, bytes, &total) ? NULL : allocate(total, 16);
    return block ? block : next.calloc(count, bytes);
}

static void *own_memalign(size_t alignment, size_t bytes)
{
    void *block = alignment ? allocate(bytes, alignment) : NULL;
    return block ? block : next.memalign(alignment, bytes);
}

static void *own_valloc(size_t bytes)
{
    return own_memalign((size_t)sysconf(_SC_PAGESIZE), bytes);
}

static void *own_pvalloc(size_t bytes)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page_bytes - 1) & ~(page_bytes - 1);
    return own_memalign(page_bytes, whole < bytes ? SIZE_MAX : whole);
}

static int own_posix_memalign(void **ret_block, size_t alignment, size_t bytes)
{
    return pcere_heap_posix_memalign(own_memalign, ret_block, alignment, bytes);
}

bool pcere_made_serves(void) { return made.start && pcere_heap_in_region(); }

bool pcere_made_owns(const void *block)
{
    return made.start && (const char *)block >= made.start && (const char *)block < made.blocks.end;
}

size_t pcere_made_usable(const void *block) { return fresh_bytes(block); }

void pcere_made_free(void *block)
{
    size_t chunk = fresh_chunk_of(*fresh_size(block));
    if (!chunk)
        return;
    struct fresh_blocks *own = fresh_is_own(chunk, 16) ? own_blocks() : NULL;
    if (own) {
        fresh_free(own, block, chunk);
        return;
    }
    pthread_mutex_lock(&made.mutex);
    fresh_free(&made.blocks, block, chunk);
    pthread_mutex_unlock(&made.mutex);
}

void *pcere_made_grow(void *block, size_t bytes)
{
    size_t usable = pcere_made_usable(block);
    if (bytes && bytes <= usable)
        return block;
    void *moved = bytes ? own_malloc(bytes) : NULL;
    if (moved)
        memcpy(moved, block, usable < bytes ? usable : bytes);
    if (moved || !bytes)
        pcere_made_free(block);
    return moved;
}

bool pcere_made_again(void) { return made.again; }

/* ---- who calls ------------------------------------------------------------------------------------------------------------------ */

static uint64_t own_address(const char *name)
{
    const struct { const char *name; uint64_t address; } own[] = {
        {"malloc", (uint64_t)own_malloc}, {"calloc", (uint64_t)own_calloc}, {"memalign", (uint64_t)own_memalign},
        {"aligned_alloc", (uint64_t)own_memalign}, {"posix_memalign", (uint64_t)own_posix_memalign},
        {"valloc", (uint64_t)own_valloc}, {"pvalloc", (uint64_t)own_pvalloc}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(own[i].name, name))
            return own[i].address;
    return 0;
}

/* The OpenMP runtime's blocks are no part of the region. */
static int object_serve(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    (void)context;
    if (!object_has(info, (uintptr_t)omp_get_thread_num))
        object_divert(info, own_address);
    return 0;
}

void *pcere_made_symbol(const char *name)
{
    return made.start ? (void *)own_address(name) : NULL;
}

/* How far room reaches that begins there: up to captured memory, and to where the capture had libraries, of which this process may need a page at its old address. */
static size_t room_left(const struct codelet *codelet, uint64_t start)
{
    const struct replay_plan *plan = codelet->plan;
    const struct plan_mapping *mappings = PLAN_TABLE(codelet, mappings, struct plan_mapping);
    const struct plan_external *externals = PLAN_TABLE(codelet, externals, struct plan_external);
    const struct plan_stream *streams = PLAN_TABLE(codelet, streams, struct plan_stream);
    uint64_t end = start + FRESH_BYTES_MOST, guard = plan_stack_limit() + STACK_GUARD_BYTES;
    BISECT(low, 0, plan->mappings.count, i, mappings[i].end <= start);
    if (low < plan->mappings.count && mappings[low].start - (mappings[low].flags & PLAN_MAPPING_GROWS ? guard : 0) < end)
        end = mappings[low].start - (mappings[low].flags & PLAN_MAPPING_GROWS ? guard : 0);
    for (uint64_t i = 0; i < plan->externals.count; i++)
        if (externals[i].address >= start && externals[i].address - LIBRARY_BYTES < end)
            end = externals[i].address - LIBRARY_BYTES;
    for (uint64_t i = 0; i < plan->streams.count; i++)
        if (streams[i].address >= start && streams[i].address - LIBRARY_BYTES < end && streams[i].kind != PLAN_STREAM_FILE)
            end = streams[i].address - LIBRARY_BYTES;
    return end > start ? (size_t)(end - start) : 0;
}

static char *room_map(void *start, size_t bytes, int flags)
{
    char *room = mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    if (room != MAP_FAILED && start && room != start)
        munmap(room, bytes);
    return room == MAP_FAILED || (start && room != start) ? NULL : room;
}

static char *room_map_at(const struct codelet *codelet, uint64_t start, size_t *ret_bytes)
{
    char *room = NULL;
    for (size_t bytes = room_left(codelet, start); !room && bytes >= ROOM_BYTES_LEAST; bytes /= 2) {
        *ret_bytes = bytes & ~(size_t)(codelet->plan->page_bytes - 1);
        room = room_map((void *)start, *ret_bytes, MAP_FIXED_NOREPLACE);
    }
    return room;
}

/* A single thread allocates in the same order: its blocks lie where the original's do, and pointers to them are the same, whatever the program makes of them. Those of several threads lie beside, so
 * that no pointer to one looks like one to another; above what was there before, as in the capture, since programs put addresses in order. */
static char *room_find(const struct codelet *codelet, size_t *ret_bytes)
{
    const struct replay_plan *plan = codelet->plan;
    char *room = plan->made_in_place ? room_map_at(codelet, plan->made_address, ret_bytes) : NULL;
    made.in_place = room;
    if (!room)
        room = room_map_at(codelet, (plan->made_address + plan->made_bytes + ROOM_APART - 1) & ~(uint64_t)(ROOM_APART - 1), ret_bytes);
    for (size_t bytes = FRESH_BYTES_MOST; !room && bytes >= ROOM_BYTES_LEAST; bytes /= 4) {
        *ret_bytes = bytes;
        room = room_map(NULL, bytes, 0);
        if (room && (uint64_t)room < plan->made_address + plan->made_bytes && (uint64_t)room + bytes > plan->made_address) {
            munmap(room, bytes);
            room = NULL;
        }
    }
    return room;
}

bool pcere_made_in_place(void) { return made.in_place; }

void pcere_made_begin(const struct codelet *codelet)
{
    size_t bytes = 0;
    void *malloc_symbol = dlsym(RTLD_DEFAULT, "malloc"), *calloc_symbol = dlsym(RTLD_DEFAULT, "calloc"), *memalign_symbol = dlsym(RTLD_DEFAULT, "memalign");
    if (!codelet->plan->made_bytes || pcere_program_malloc || !malloc_symbol || !calloc_symbol || !memalign_symbol)
        return;
    memcpy(&next.malloc, &malloc_symbol, sizeof malloc_symbol);
    memcpy(&next.calloc, &calloc_symbol, sizeof calloc_symbol);
    memcpy(&next.memalign, &memalign_symbol, sizeof memalign_symbol);
    made.start = room_find(codelet, &bytes);
    if (!made.start)
        return;
    made.blocks = (struct fresh_blocks){.next = made.start, .end = made.start + bytes};
    dl_iterate_phdr(object_serve, NULL);
}

void pcere_made_visit(made_visit_fn *visit)
{
    for (char *block = made.start + FRESH_HEADER_BYTES; made.start && block < made.blocks.next;) {
        size_t word = *fresh_size(block), chunk = fresh_chunk_of(word);
        if (chunk)
            visit((uint64_t)block, word);
        block += chunk ? fresh_step(chunk) : 16;
    }
}
