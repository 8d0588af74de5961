/* capture-rt/target/arena.c - memory for the OpenMP runtime, so that its words are not among the program's.
 *
 * One mapping, cut from its start; blocks of powers of two, recycled by size through lists.
 *
 *   | header 16 bytes | payload: a multiple of 16 | header | payload ...     header.offset: payload minus start of the block
 *
 * A runtime that is built with its assertions (Debian's) makes and frees a text for each chunk that it hands out, on all threads at once: behind one lock chunks of
 * 1 us took three times as long as without this library. So each thread has a shelf of small blocks: what it frees lies there until it asks again, and no line of
 * memory goes from one thread to the other, and no instruction is locked, which would wait for what the thread stored for others. Threads beyond SHELVES_OWN share those behind; who finds
 * one in use goes to the lists of all.
 */
#include "capture-rt/target/target.h"

#include <pthread.h>

#define ARENA_BYTES ((size_t)1 << 30)
#define ARENA_BYTES_LEAST ((size_t)1 << 24)
#define CLASS_MIN 5u                    /* 32 bytes */
#define CLASS_COUNT 31u
#define TEACHING_BYTES ((size_t)128 << 10)      /* the C library maps none that are smaller, as it begins */

struct arena_header { uint32_t class; uint32_t offset; uint64_t magic; };
#define HEADER_MAGIC 0x61656e6172657063u
_Static_assert(sizeof(struct arena_header) == 16, "payloads stay aligned to 16 bytes");

struct arena_free { struct arena_free *next; };

static struct {
    struct target_room room;
    char *next;
    pthread_mutex_t mutex;
    struct arena_free *lists[CLASS_COUNT];
    size_t asked[CLASS_COUNT], taught;  /* most bytes of a large block; of those the next allocator has seen freed */
} arena = {.mutex = PTHREAD_MUTEX_INITIALIZER};
struct target_whose target_whose;

#define SHELVES_OWN 256u
#define SHELVES (2 * SHELVES_OWN)
#define SHELF_CLASSES 7u                /* up to 2 KiB */
#define SHELF_SPAN_BYTES 4096u          /* what a thread's blocks are cut from, and what moves at once between its shelf and the lists of all */
#define SHELF_MOST_BYTES 16384u         /* of a class */

static struct shelf {
    _Alignas(128) uint32_t in_use;
    uint32_t counts[SHELF_CLASSES];
    struct arena_free *lists[SHELF_CLASSES];
} shelves[SHELVES];
static uint32_t shelves_given;
static __thread uint32_t shelf_number __attribute__((tls_model("initial-exec")));       /* from 1; 0: this thread has none yet */

static void arena_lock(void) { pthread_mutex_lock(&arena.mutex); }
static void arena_unlock(void) { pthread_mutex_unlock(&arena.mutex); }

bool target_arena_open(void)
{
    if (arena.room.start)
        return true;
    if (!target_room_take(&arena.room, ARENA_BYTES, ARENA_BYTES_LEAST))
        return false;
    arena.next = arena.room.start;
    target_whose.arena_start = (uintptr_t)arena.room.start;
    target_whose.arena_bytes = (uintptr_t)arena.room.end - target_whose.arena_start;
    return pthread_atfork(arena_lock, arena_unlock, arena_unlock) == 0;
}

void target_arena_range(uint64_t *ret_start, uint64_t *ret_end)
{
    *ret_start = (uintptr_t)arena.room.start;
    *ret_end = (uintptr_t)arena.room.end;
}

static uint32_t class_of(size_t bytes)
{
    return bytes <= ((size_t)1 << CLASS_MIN) ? 0 : (uint32_t)(64 - __builtin_clzll(bytes - 1)) - CLASS_MIN;
}

static size_t bytes_of(uint32_t class)
{
    return (size_t)1 << (class + CLASS_MIN);
}

/* With the lock of all. */
static char *block_take(uint32_t class)
{
    struct arena_free *block = arena.lists[class];
    if (block) {
        arena.lists[class] = block->next;
        return (char *)block;
    }
    if ((size_t)(arena.room.end - arena.next) < bytes_of(class) || !target_room_use(&arena.room, arena.next + bytes_of(class)))
        return NULL;
    char *fresh = arena.next;
    arena.next += bytes_of(class);
    return fresh;
}

/* ---- shelves ------------------------------------------------------------------------------------------------------------------- */

static void shelf_put(struct shelf *shelf, uint32_t class, struct arena_free *block)
{
    block->next = shelf->lists[class];
    shelf->lists[class] = block;
    shelf->counts[class]++;
}

static struct arena_free *shelf_get(struct shelf *shelf, uint32_t class)
{
    struct arena_free *block = shelf->lists[class];
    if (block) {
        shelf->lists[class] = block->next;
        shelf->counts[class]--;
    }
    return block;
}

static uint32_t shelf_choose(uint32_t before)
{
    return before < SHELVES_OWN ? before + 1 : SHELVES_OWN + before % SHELVES_OWN + 1;
}

/* This thread's; NULL: another one, or what a signal broke off, is at it. */
static struct shelf *shelf_open(void)
{
    if (!shelf_number)
        shelf_number = shelf_choose(__atomic_fetch_add(&shelves_given, 1, __ATOMIC_RELAXED));
    struct shelf *shelf = &shelves[shelf_number - 1];
    if (shelf_number > SHELVES_OWN)
        return __atomic_exchange_n(&shelf->in_use, 1, __ATOMIC_ACQUIRE) ? NULL : shelf;
    if (__atomic_load_n(&shelf->in_use, __ATOMIC_RELAXED))
        return NULL;
    __atomic_store_n(&shelf->in_use, 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return shelf;
}

static void shelf_close(struct shelf *shelf)
{
    __atomic_store_n(&shelf->in_use, 0, __ATOMIC_RELEASE);
}

/* What was freed, or else a span of new blocks: neighbours in memory are one thread's. */
static void shelf_fill(struct shelf *shelf, uint32_t class)
{
    size_t bytes = bytes_of(class);
    arena_lock();
    for (size_t had = 0; arena.lists[class] && had < SHELF_SPAN_BYTES; had += bytes)
        shelf_put(shelf, class, (struct arena_free *)block_take(class));
    char *span = (char *)(((uintptr_t)arena.next + SHELF_SPAN_BYTES - 1) & ~(uintptr_t)(SHELF_SPAN_BYTES - 1));
    if (!shelf->lists[class] && target_room_use(&arena.room, span + SHELF_SPAN_BYTES)) {
        arena.next = span + SHELF_SPAN_BYTES;
        for (size_t at = SHELF_SPAN_BYTES; at > 0; at -= bytes)
            shelf_put(shelf, class, (struct arena_free *)(span + at - bytes));
    }
    arena_unlock();
}

static void shelf_spill(struct shelf *shelf, uint32_t class)
{
    arena_lock();
    for (size_t gave = 0; gave < SHELF_SPAN_BYTES; gave += bytes_of(class)) {
        struct arena_free *block = shelf_get(shelf, class);
        block->next = arena.lists[class];
        arena.lists[class] = block;
    }
    arena_unlock();
}

static char *shelved_take(uint32_t class)
{
    struct shelf *shelf = class < SHELF_CLASSES ? shelf_open() : NULL;
    if (!shelf)
        return NULL;
    if (!shelf->lists[class])
        shelf_fill(shelf, class);
    struct arena_free *block = shelf_get(shelf, class);
    shelf_close(shelf);
    return (char *)block;
}

static bool shelved_give(uint32_t class, struct arena_free *block)
{
    struct shelf *shelf = class < SHELF_CLASSES ? shelf_open() : NULL;
    if (!shelf)
        return false;
    shelf_put(shelf, class, block);
    if (shelf->counts[class] * bytes_of(class) > SHELF_MOST_BYTES)
        shelf_spill(shelf, class);
    shelf_close(shelf);
    return true;
}

/* ---- blocks -------------------------------------------------------------------------------------------------------------------- */

/* The C library's malloc learns from the first large blocks that are freed from where on it maps blocks, and how much it keeps (mallopt(3), M_MMAP_THRESHOLD): the OpenMP runtime's, in a run
 * without this library. Without them a program that allocates and frees some 100 KB at a time has its heap grow and shrink each time, and took 13 times as long. */
static void next_teach(uint32_t class)
{
    size_t bytes = __atomic_load_n(&arena.asked[class], __ATOMIC_RELAXED), taught = __atomic_load_n(&arena.taught, __ATOMIC_RELAXED);
    if (bytes > taught && __atomic_compare_exchange_n(&arena.taught, &taught, bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        target_next.free(target_next.malloc(bytes));
}

void *target_arena_allocate(size_t bytes, size_t alignment)
{
    if (alignment < 16)
        alignment = 16;
    if (bytes > ARENA_BYTES || alignment > ARENA_BYTES)
        return NULL;
    uint32_t class = class_of(bytes + sizeof(struct arena_header) + (alignment > 16 ? alignment : 0));
    if (class >= CLASS_COUNT)
        return NULL;
    char *block = shelved_take(class);
    if (!block) {
        arena_lock();
        block = block_take(class);
        arena_unlock();
    }
    if (!block)
        return NULL;
    if (bytes >= TEACHING_BYTES && bytes > __atomic_load_n(&arena.asked[class], __ATOMIC_RELAXED))
        __atomic_store_n(&arena.asked[class], bytes, __ATOMIC_RELAXED);
    uintptr_t payload = ((uintptr_t)block + sizeof(struct arena_header) + alignment - 1) & ~(uintptr_t)(alignment - 1);
    struct arena_header *header = (struct arena_header *)payload - 1;
    *header = (struct arena_header){class, (uint32_t)(payload - (uintptr_t)block), HEADER_MAGIC};
    return (void *)payload;
}

size_t target_arena_bytes(const void *block)
{
    const struct arena_header *header = (const struct arena_header *)block - 1;
    return ((size_t)1 << (header->class + CLASS_MIN)) - header->offset;
}

void target_arena_free(void *block)
{
    struct arena_header *header = (struct arena_header *)block - 1;
    if (header->magic != HEADER_MAGIC || header->class >= CLASS_COUNT)
        return;         /* a pointer that was never given out: nothing good can be done with it here */
    uint32_t class = header->class;
    struct arena_free *start = (struct arena_free *)((char *)block - header->offset);
    header->magic = 0;
    if (shelved_give(class, start))
        return;
    arena_lock();
    start->next = arena.lists[class];
    arena.lists[class] = start;
    arena_unlock();
    next_teach(class);
}
