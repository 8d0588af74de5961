/* replay-rt/target/openmp_heap.c - captured blocks that the program has from the OpenMP runtime may be freed and grown, although this process's runtime
 * knows none of them. As in heap.c: freed, nothing happens; grown, they are copied into a block of this process.
 */
#include "include/pcere/openmp_block.h"
#include "replay-rt/target/codelet.h"

#include <dlfcn.h>
#include <string.h>

#define REPLACED __attribute__((weak, visibility("default")))

static void captured_release(void *block)
{
    openmp_block_discharge(openmp_block_of(block));
    pcere_heap_release(block);
}

/* The size is known of blocks that the capture made; of others as much is copied as both can hold. */
static void *captured_move(void *block, void *moved, size_t bytes)
{
    const struct openmp_block *header = openmp_block_of(block);
    size_t known = pcere_heap_captured(block);
    if (header && header->bytes < known)
        known = header->bytes;
    if (moved)
        memcpy(moved, block, known < bytes ? known : bytes);
    if (moved || !bytes)
        captured_release(block);
    return moved;
}

#define NEXT(name, type, parameters)                                        \
    static type (*next_##name) parameters;                                  \
    REPLACED type name parameters;                                          \
    REPLACED type name parameters

#define FREES(name, parameters, arguments)                                  \
    NEXT(name, void, parameters)                                            \
    {                                                                       \
        if (pcere_heap_captured(block))                                     \
            captured_release(block);                                        \
        else if (next_##name)                                               \
            next_##name arguments;                                          \
    }
FREES(omp_free, (void *block, uintptr_t allocator), (block, allocator))
FREES(kmp_free, (void *block), (block))
FREES(__kmpc_free, (int thread, void *block, uintptr_t allocator), (thread, block, allocator))

extern void *omp_alloc(size_t bytes, uintptr_t allocator);
extern void *kmp_malloc(size_t bytes);

#define MOVES(name, parameters, arguments, allocated)                       \
    NEXT(name, void *, parameters)                                          \
    {                                                                       \
        if (pcere_heap_captured(block))                                     \
            return captured_move(block, bytes ? allocated : NULL, bytes);   \
        return next_##name ? next_##name arguments : NULL;                  \
    }
MOVES(omp_realloc, (void *block, size_t bytes, uintptr_t allocator, uintptr_t free_allocator), (block, bytes, allocator, free_allocator),
      omp_alloc(bytes, allocator))
MOVES(kmp_realloc, (void *block, size_t bytes), (block, bytes), kmp_malloc(bytes))

void pcere_heap_openmp(void)
{
#define FIND(name) *(void **)&next_##name = dlsym(RTLD_NEXT, #name)
    FIND(omp_free);
    FIND(kmp_free);
    FIND(__kmpc_free);
    FIND(omp_realloc);
    FIND(kmp_realloc);
}
