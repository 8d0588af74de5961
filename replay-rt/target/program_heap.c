/* replay-rt/target/program_heap.c - the allocator that a program has in its own executable: the region goes on with it, from its captured state.
 *
 * It is part of a codelet only where the program's executable defines malloc or the like: there the launcher makes malloc a jump to
 * pcere_served_malloc (replay-rt/launcher/link_symbols.c), and the program's is called pcere_program_malloc. In the region that serves whoever it served
 * in the program; before and after, and always for the OpenMP runtime, the C library does: the allocator's state is the captured one, and goes
 * back to it, and the runtime's blocks are no part of the region.
 */
#include "replay-rt/target/codelet.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

extern __attribute__((weak)) void *pcere_program_malloc(size_t bytes);
extern __attribute__((weak)) void *pcere_program_calloc(size_t count, size_t bytes);
extern __attribute__((weak)) void *pcere_program_realloc(void *block, size_t bytes);
extern __attribute__((weak)) void pcere_program_free(void *block);
extern __attribute__((weak)) void *pcere_program_memalign(size_t alignment, size_t bytes);
extern __attribute__((weak)) void *pcere_program_aligned_alloc(size_t alignment, size_t bytes);
extern __attribute__((weak)) int pcere_program_posix_memalign(void **ret_block, size_t alignment, size_t bytes);
extern __attribute__((weak)) size_t pcere_program_malloc_usable_size(void *block);

extern void *__libc_memalign(size_t alignment, size_t bytes);

#define SERVES(function) \
    (function && pcere_heap_in_region() && !pcere_runtime_holds(__builtin_return_address(0)))

void *pcere_served_malloc(size_t bytes)
{
    return SERVES(pcere_program_malloc) ? pcere_program_malloc(bytes) : __libc_malloc(bytes);
}

void *pcere_served_calloc(size_t count, size_t bytes)
{
    return SERVES(pcere_program_calloc) ? pcere_program_calloc(count, bytes) : __libc_calloc(count, bytes);
}

void *pcere_served_realloc(void *block, size_t bytes)
{
    return SERVES(pcere_program_realloc) ? pcere_program_realloc(block, bytes) : pcere_heap_grow(block, bytes);
}

void pcere_served_free(void *block)
{
    if (SERVES(pcere_program_free))
        pcere_program_free(block);
    else
        pcere_heap_release(block);
}

size_t pcere_served_malloc_usable_size(void *block)
{
    return SERVES(pcere_program_malloc_usable_size) ? pcere_program_malloc_usable_size(block) : pcere_heap_usable(block);
}

void *pcere_served_memalign(size_t alignment, size_t bytes)
{
    return SERVES(pcere_program_memalign) ? pcere_program_memalign(alignment, bytes) : __libc_memalign(alignment, bytes);
}

void *pcere_served_aligned_alloc(size_t alignment, size_t bytes)
{
    return SERVES(pcere_program_aligned_alloc) ? pcere_program_aligned_alloc(alignment, bytes) : __libc_memalign(alignment, bytes);
}

int pcere_served_posix_memalign(void **ret_block, size_t alignment, size_t bytes)
{
    if (SERVES(pcere_program_posix_memalign))
        return pcere_program_posix_memalign(ret_block, alignment, bytes);
    return pcere_heap_posix_memalign(__libc_memalign, ret_block, alignment, bytes);
}
