/* capture-rt/target/arena.c - memory for the OpenMP runtime, so that its words are not among the program's.
 *
 * One mapping, cut from its start; blocks of powers of two, recycled by size through lists. Slow and simple: the runtime
 * allocates when it starts, when a team grows, and for tasks.
 *
 *   | header 16 bytes | payload: a multiple of 16 | header | payload ...     header.offset: payload minus start of the block
 */
#include "capture-rt/target/target.h"

#include <pthread.h>
#include <sys/mman.h>

#define ARENA_BYTES ((size_t)1 << 30)
#define CLASS_MIN 5u                    /* 32 bytes */
#define CLASS_COUNT 31u

struct arena_header { uint32_t class; uint32_t offset; uint64_t magic; };
#define HEADER_MAGIC 0x61656e6172657063u
_Static_assert(sizeof(struct arena_header) == 16, "payloads stay aligned to 16 bytes");

struct arena_free { struct arena_free *next; };

static struct {
    char *start, *next, *end;
    pthread_mutex_t mutex;
    struct arena_free *lists[CLASS_COUNT];
} arena = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void arena_lock(void) { pthread_mutex_lock(&arena.mutex); }
static void arena_unlock(void) { pthread_mutex_unlock(&arena.mutex); }

bool target_arena_open(void)
{
    if (arena.start)
        return true;
    for (size_t bytes = ARENA_BYTES; bytes >= ((size_t)1 << 24); bytes /= 4) {
        char *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start == MAP_FAILED)
            continue;
        arena.start = arena.next = start;
        arena.end = start + bytes;
        return pthread_atfork(arena_lock, arena_unlock, arena_unlock) == 0;
    }
    return false;
}

void target_arena_range(uint64_t *ret_start, uint64_t *ret_end)
{
    *ret_start = (uintptr_t)arena.start;
    *ret_end = (uintptr_t)arena.end;
}

bool target_arena_owns(const void *block)
{
    return (const char *)block >= arena.start && (const char *)block < arena.end;
}

static uint32_t class_of(size_t bytes)
{
    return bytes <= ((size_t)1 << CLASS_MIN) ? 0 : (uint32_t)(64 - __builtin_clzll(bytes - 1)) - CLASS_MIN;
}

static char *block_take(uint32_t class)
{
    size_t bytes = (size_t)1 << (class + CLASS_MIN);
    struct arena_free *block = arena.lists[class];
    if (block) {
        arena.lists[class] = block->next;
        return (char *)block;
    }
    if ((size_t)(arena.end - arena.next) < bytes)
        return NULL;
    char *fresh = arena.next;
    arena.next += bytes;
    return fresh;
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
    arena_lock();
    char *block = block_take(class);
    arena_unlock();
    if (!block)
        return NULL;
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
    arena_lock();
    start->next = arena.lists[class];
    arena.lists[class] = start;
    arena_unlock();
}
