/* heap.c - captured blocks are no blocks of this process's allocator: the region may free and grow them all the same, and have again what it freed of them (reclaim.c).
 */
#define _GNU_SOURCE
#include "codelet.h"
#include "reclaim.h"
#include "region.h"

#include <dlfcn.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static bool inside;                                 /* the region runs */

void heap_start(void)
{
    pcere_reclaim_on = RECLAIMS;
}

void heap_inside(bool runs)
{
    if (runs)
        pcere_reclaim_run();
    inside = runs;
}

void heap_restore(void)
{
    pcere_reclaim_end();
}

/* ---- the C library's blocks, and captured ones ------------------------------------------------------------------------------------- */

void __libc_free(void *block);
void *__libc_realloc(void *block, size_t bytes);

/* The size stands in front of a block, where the GNU C library keeps it; bit 1: mapped on its own. */
static size_t captured_bytes(const void *block)
{
    size_t known = ((const size_t *)block)[-1];
    return (known & ~(size_t)7) - (known & 2 ? 16 : 8);
}

static void captured_give(char *block)
{
    size_t bytes = captured_bytes(block);
    if (inside && bytes && is_captured(block + bytes - 1))
        pcere_reclaim_give(block, bytes);
}

__attribute__((weak)) void free(void *block)
{
    if (is_captured(block)) {
        captured_give(block);
        return;
    }
    __libc_free(block);
    if (inside)
        pcere_reclaim_freed(block);
}

__attribute__((weak)) void *realloc(void *block, size_t bytes)
{
    if (!block || !is_captured(block)) {
        void *moved = __libc_realloc(block, bytes);
        if (inside && moved != block)
            pcere_reclaim_freed(block);
        return moved;
    }
    size_t known = captured_bytes(block);
    if (bytes && bytes <= known)
        return block;                 /* the C library leaves it where it is */
    void *grown = malloc(bytes);
    if (!grown)
        return NULL;
    memcpy(grown, block, known < bytes ? known : bytes);
    captured_give(block);
    return grown;
}

__attribute__((weak)) size_t malloc_usable_size(void *block)
{
    static size_t (*next)(void *);
    if (block && is_captured(block))
        return captured_bytes(block);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "malloc_usable_size");
    return next(block);
}

/* The same for blocks that the program had from the OpenMP runtime. Where an allocator's pool is limited, a block's charge goes back to the runtime's count of it. */
#define OPENMP_BLOCK_MARK 0x9d1f6b6c62706d6fu
struct openmp_block { uint64_t *account, charge, start, bytes, limited, mark; };      /* in front of the program's bytes */

static const struct openmp_block *openmp_block_of(const void *block)
{
    const struct openmp_block *header = (const struct openmp_block *)block - 1;
    return header->mark == OPENMP_BLOCK_MARK ? header : NULL;
}

static void openmp_block_discharge(const void *block)
{
    const struct openmp_block *header = openmp_block_of(block);
    if (header && header->limited)
        __atomic_fetch_sub(header->account, header->charge, __ATOMIC_RELAXED);
}

void omp_free(void *block, omp_allocator_handle_t allocator)
{
    static __typeof__(omp_free) *next;
    if (is_captured(block)) {
        openmp_block_discharge(block);
        return;
    }
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "omp_free");
    next(block, allocator);
}

void __kmpc_free(int thread, void *block, omp_allocator_handle_t allocator);
void __kmpc_free(int thread, void *block, omp_allocator_handle_t allocator)
{
    (void)thread;
    omp_free(block, allocator);
}

void *omp_realloc(void *block, size_t bytes, omp_allocator_handle_t allocator, omp_allocator_handle_t free_allocator)
{
    static __typeof__(omp_realloc) *next;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "omp_realloc");
    const struct openmp_block *header = block && is_captured(block) ? openmp_block_of(block) : NULL;
    if (!header)
        return next(block, bytes, allocator, free_allocator);
    void *grown = bytes ? omp_alloc(bytes, allocator) : NULL;
    if (grown)
        memcpy(grown, block, header->bytes < bytes ? header->bytes : bytes);
    if (grown || !bytes)
        openmp_block_discharge(block);
    return grown;
}

/* ---- what the region's own code asks for (the linker's --wrap) ----------------------------------------------------------------------- */

#if RECLAIMS
void *__real_malloc(size_t bytes), *__real_calloc(size_t count, size_t bytes);
__attribute__((weak)) void *__real__Znwm(size_t bytes), *__real__Znam(size_t bytes);      /* C++'s operators new, where it has any */
void *__wrap_malloc(size_t bytes), *__wrap_calloc(size_t count, size_t bytes), *__wrap__Znwm(size_t bytes), *__wrap__Znam(size_t bytes);

static void *noted(void *block)
{
    if (inside)
        pcere_reclaim_got(block);
    return block;
}

static void *again(size_t bytes)
{
    return inside ? pcere_reclaim_take(bytes) : NULL;
}

void *__wrap_malloc(size_t bytes)
{
    void *block = again(bytes);
    return block ? block : noted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    size_t total;
    void *block = __builtin_mul_overflow(count, bytes, &total) ? NULL : again(total);
    return block ? memset(block, 0, total) : noted(__real_calloc(count, bytes));
}

void *__wrap__Znwm(size_t bytes)
{
    void *block = again(bytes);
    return block ? block : noted(__real__Znwm(bytes));
}

void *__wrap__Znam(size_t bytes)
{
    void *block = again(bytes);
    return block ? block : noted(__real__Znam(bytes));
}
#endif
