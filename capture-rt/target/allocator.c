/* capture-rt/target/allocator.c - the allocation functions of the process: the runtime's calls go to the arena, all others to the next allocator.
 *
 * Who calls is told by the return address. What the program itself asks of the runtime (omp_alloc and its like) is the program's
 * memory (openmp_memory.c): what the runtime allocates for it is marked on its way in, and served like the program's own.
 */
#include "capture-rt/target/target.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uintptr_t runtime_low, runtime_bytes;    /* of the runtime's text; 0 bytes: nothing is separated */
static __thread uint32_t for_program __attribute__((tls_model("initial-exec")));

#define FROM_RUNTIME() \
    __builtin_expect((uintptr_t)__builtin_return_address(0) - runtime_low < runtime_bytes && for_program == 0, 0)

void target_allocator_separate(uintptr_t text_low, uintptr_t text_high)
{
    runtime_low = text_low;
    runtime_bytes = text_high - text_low;
}

void target_allocator_separated(uintptr_t *ret_text_low, uintptr_t *ret_text_high)
{
    *ret_text_low = runtime_low;
    *ret_text_high = runtime_low + runtime_bytes;
}

void target_allocator_for_program(int change)
{
    for_program += (uint32_t)change;
}

bool target_allocator_runtime(const void *address)
{
    return (uintptr_t)address - runtime_low < runtime_bytes;
}

TARGET_EXPORT void *malloc(size_t bytes)
{
    if (FROM_RUNTIME()) {
        void *block = target_arena_allocate(bytes, 16);
        if (block)
            return block;
    }
    void *block = __builtin_expect(target_fresh_is_open(), 0) ? target_fresh_allocate(bytes, 16) : NULL;
    return block ? block : target_next.malloc(bytes);
}

TARGET_EXPORT void *calloc(size_t count, size_t bytes)
{
    size_t total;
    if (FROM_RUNTIME() && !__builtin_mul_overflow(count, bytes, &total)) {
        void *block = target_arena_allocate(total, 16);
        if (block)
            return memset(block, 0, total);
    }
    void *block = __builtin_mul_overflow(count, bytes, &total) ? NULL : target_fresh_allocate(total, 16);
    return block ? block : target_next.calloc(count, bytes);
}

TARGET_EXPORT void free(void *block)
{
    if (__builtin_expect(target_arena_owns(block), 0))
        target_arena_free(block);
    else if (__builtin_expect(target_fresh_owns(block), 0))
        target_fresh_free(block);
    else if (!__builtin_expect(target_fresh_is_open(), 0) || !target_fresh_free_later(block))
        target_next.free(block);
}

TARGET_EXPORT size_t malloc_usable_size(void *block)
{
    if (target_arena_owns(block))
        return target_arena_bytes(block);
    return target_fresh_owns(block) ? target_fresh_bytes(block) : target_next.usable(block);
}

/* A block that is large enough already. The C library leaves it where it is, and so does a replay, where sizes stand in front of blocks. */
static bool stays(const void *block, bool fresh)
{
    if (!target_fresh_is_open() || target_fresh_is_new(block))
        return fresh;
    return !target_allocator_is_foreign();
}

/* A program's block, where one of the two is of a captured region. A replay moves whatever was there before the region and grows: so does this. */
static void *realloc_fresh(void *block, size_t bytes)
{
    bool fresh = block && target_fresh_owns(block);
    if (!fresh && !target_fresh_is_open())
        return target_next.realloc(block, bytes);
    size_t usable = block ? malloc_usable_size(block) : 0;
    if (bytes && block && bytes <= usable && stays(block, fresh))
        return block;
    void *moved = bytes || !block ? malloc(bytes) : NULL;
    if (moved && block)
        memcpy(moved, block, usable < bytes ? usable : bytes);
    if (moved || !bytes)
        free(block);
    return moved;
}

TARGET_EXPORT void *realloc(void *block, size_t bytes)
{
    if (block ? !target_arena_owns(block) : !FROM_RUNTIME())
        return realloc_fresh(block, bytes);
    if (block && bytes == 0) {
        target_arena_free(block);
        return NULL;
    }
    size_t usable = block ? target_arena_bytes(block) : 0;
    if (block && bytes <= usable)
        return block;
    void *larger = target_arena_allocate(bytes, 16);
    if (!larger)
        larger = target_next.malloc(bytes);
    if (larger && block) {
        memcpy(larger, block, usable);
        target_arena_free(block);
    }
    return larger;
}

TARGET_EXPORT void *reallocarray(void *block, size_t count, size_t bytes)
{
    size_t total;
    if (!__builtin_mul_overflow(count, bytes, &total))
        return realloc(block, total);
    errno = ENOMEM;
    return NULL;
}

static bool power_of_two(size_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

static void *aligned(bool from_runtime, size_t alignment, size_t bytes)
{
    void *block = from_runtime ? target_arena_allocate(bytes, alignment) : power_of_two(alignment) ? target_fresh_allocate(bytes, alignment) : NULL;
    return block ? block : target_next.memalign(alignment, bytes);
}

TARGET_EXPORT void *memalign(size_t alignment, size_t bytes)
{
    return aligned(FROM_RUNTIME() && power_of_two(alignment), alignment, bytes);
}

TARGET_EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    return aligned(FROM_RUNTIME() && power_of_two(alignment), alignment, bytes);
}

TARGET_EXPORT void *valloc(size_t bytes)
{
    return aligned(FROM_RUNTIME(), (size_t)sysconf(_SC_PAGESIZE), bytes);
}

TARGET_EXPORT void *pvalloc(size_t bytes)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page_bytes - 1) & ~(page_bytes - 1);
    return aligned(FROM_RUNTIME(), page_bytes, whole < bytes ? SIZE_MAX : whole);
}

TARGET_EXPORT int posix_memalign(void **ret_block, size_t alignment, size_t bytes)
{
    if (!power_of_two(alignment) || alignment % sizeof(void *) != 0)
        return EINVAL;
    int error = errno;
    void *block = aligned(FROM_RUNTIME(), alignment, bytes);
    errno = error;
    if (!block)
        return ENOMEM;
    *ret_block = block;
    return 0;
}

/* For divert.c: these very functions, where lookup would find the program's. */
#define OWN(name) __asm__(".globl target_own_" #name "\n.hidden target_own_" #name "\n.set target_own_" #name ", " #name)
OWN(malloc);
OWN(calloc);
OWN(realloc);
OWN(free);
OWN(memalign);
OWN(aligned_alloc);
OWN(posix_memalign);
OWN(malloc_usable_size);
