/* own_malloc_allocator.c - malloc and the like in the executable: a list of free blocks for each power of two, in one static area. in_library_allocator.c has another AREA. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct block { struct block *next; size_t bytes, class; uint64_t mark; };
enum { CLASSES = 40, MARK = 0x5ca1ab1e, AREA_BYTES = 64 << 20 };
#ifndef AREA
static _Alignas(64) char area[AREA_BYTES];
#define AREA area
#endif
static size_t used;
static struct block *available[CLASSES];
static long live;
static char busy;

static void *take(size_t alignment, size_t bytes)
{
    size_t class = 6, room = bytes + sizeof(struct block) + (alignment > 16 ? alignment : 0);
    while (((size_t)1 << class) < room)
        if (++class == CLASSES) return NULL;
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        ;
    struct block *block = alignment > 16 ? NULL : available[class];
    if (block) {
        available[class] = block->next;
    } else if (((size_t)1 << class) <= AREA_BYTES - used) {
        uintptr_t start = (uintptr_t)AREA + used + sizeof *block;
        block = (struct block *)((start + alignment - 1) / alignment * alignment) - 1;
        used += (size_t)1 << class;
    }
    if (block) {
        *block = (struct block){.bytes = bytes, .class = alignment > 16 ? 0 : class, .mark = MARK};
        live++;
    }
    __atomic_clear(&busy, __ATOMIC_RELEASE);
    return block ? block + 1 : NULL;
}

static void give(void *start)
{
    struct block *block = (struct block *)start - 1;
    if (!start)
        return;
    if (block->mark != MARK)
        __builtin_trap();
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        ;
    block->mark = 0;
    live--;
    if (block->class) {
        block->next = available[block->class];
        available[block->class] = block;
    }
    __atomic_clear(&busy, __ATOMIC_RELEASE);
}

void free(void *start) { give(start); }
void *malloc(size_t bytes) { return take(16, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return take(alignment < 16 ? 16 : alignment, bytes); }
void *memalign(size_t alignment, size_t bytes) { return aligned_alloc(alignment, bytes); }
int posix_memalign(void **ret_start, size_t alignment, size_t bytes) { return (*ret_start = aligned_alloc(alignment, bytes)) ? 0 : ENOMEM; }

void *calloc(size_t count, size_t bytes)
{
    void *start = bytes && count > SIZE_MAX / bytes ? NULL : take(16, count * bytes);
    return start ? memset(start, 0, count * bytes) : NULL;
}

void *realloc(void *start, size_t bytes)
{
    size_t known = start ? ((struct block *)start - 1)->bytes : 0;
    void *grown = take(16, bytes);
    if (grown && start) {
        memcpy(grown, start, known < bytes ? known : bytes);
        give(start);
    }
    return grown;
}
