/* replay-rt/target/heap.c - captured heap blocks may be freed and grown, although no allocator of this process knows them.
 *
 * Freed: nothing happens, the block is part of what is restored. Grown: copied into a block of this process, or moved (grown.c). The old size stands in
 * front of a block, where the GNU C library keeps it; with another allocator as much is copied as the new block holds. Weak: program_heap.c takes
 * their place where the program's executable has an allocator.
 */
#include "replay-rt/target/codelet.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t *captured_releases;
static bool sizes_unknown;
static _Atomic bool region_runs;

void pcere_heap_protect(const struct plan_mapping *mappings, size_t count, bool foreign, _Atomic uint64_t *releases)
{
    sizes_unknown = foreign;
    captured_releases = releases;
    pcere_heap_openmp();
    pcere_mappings_protect(mappings, count);
}

size_t pcere_heap_captured(const void *block)
{
    const struct plan_mapping *mapping = block ? pcere_mapping_at((uint64_t)block) : NULL;
    return mapping ? (size_t)(mapping->end - (uint64_t)block) : 0;
}

static size_t captured_bytes(const void *block, const struct plan_mapping *mapping)
{
    uint64_t address = (uint64_t)block;
    if (sizes_unknown)
        return (size_t)(mapping->end - address);
    if (address - mapping->start < 2 * sizeof(size_t))
        return 0;
    size_t header;
    memcpy(&header, (const char *)block - sizeof header, sizeof header);
    size_t own = header & 2 ? 2 * sizeof header : sizeof header;    /* bit 1: a block mapped on its own */
    size_t bytes = header & ~(size_t)7;
    bytes = bytes > own ? bytes - own : 0;
    return bytes < mapping->end - address ? bytes : (size_t)(mapping->end - address);
}

static void captured_release(const void *block, const struct plan_mapping *mapping)
{
    if (!atomic_load_explicit(captured_releases, memory_order_relaxed))
        atomic_store_explicit(captured_releases, 1, memory_order_relaxed);
    pcere_made_release(block, sizes_unknown ? 1 : captured_bytes(block, mapping));
}

static struct {
    void (*free)(void *);
    void *(*realloc)(void *, size_t);
    size_t (*usable)(void *);
    bool asking;                      /* looking names up may free and grow blocks itself */
} next;

/* The next allocator's functions; false while they are being looked up. */
__attribute__((constructor)) static bool next_find(void)
{
    if (next.asking || next.usable)
        return !next.asking;
    next.asking = true;
    *(void **)&next.free = dlsym(RTLD_NEXT, "free");
    *(void **)&next.realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&next.usable = dlsym(RTLD_NEXT, "malloc_usable_size");
    next.asking = false;
    return true;
}

void pcere_heap_enter(bool running)
{
    if (running) {
        pcere_reclaim_run();
        pcere_grown_run();
    }
    atomic_store_explicit(&region_runs, running, memory_order_relaxed);
}

bool pcere_heap_in_region(void)
{
    return atomic_load_explicit(&region_runs, memory_order_relaxed);
}

/* Most blocks lie where the last one did. NULL: it is none of the captured ones. */
static const struct plan_mapping *mapping_of(const void *block)
{
    static __thread const struct plan_mapping *last;
    uint64_t address = (uint64_t)block;
    if (last && address >= last->start && address < last->end)
        return last;
    const struct plan_mapping *mapping = block ? pcere_mapping_at(address) : NULL;
    last = mapping ? mapping : last;
    return mapping;
}

/* Returns where it lies, if it is a captured one. */
static const struct plan_mapping *release(void *block)
{
    const struct plan_mapping *mapping = mapping_of(block);
    if (mapping)
        captured_release(block, mapping);
    else if (block && pcere_made_owns(block))
        pcere_made_free(block);
    else if (!pcere_grown_free(block) && block && next_find() && next.free)
        next.free(block);
    return mapping;
}

void pcere_heap_release(void *block)
{
    release(block);
}

void *pcere_heap_symbol(const char *name)
{
    void *made = pcere_made_symbol(name);
    return made ? made : pcere_reclaim_symbol(name);
}

void *pcere_heap_grow(void *block, size_t bytes)
{
    const struct plan_mapping *mapping = block ? pcere_mapping_at((uint64_t)block) : NULL;
    if (!mapping && pcere_made_owns(block))
        return pcere_made_grow(block, bytes);
    if (!block && pcere_made_serves())
        return malloc(bytes);
    void *again = NULL;
    if (!mapping && pcere_grown_again(block, bytes, &again))
        return again;
    if (!mapping) {
        void *moved = next_find() && next.realloc ? next.realloc(block, bytes) : block ? NULL : malloc(bytes);
        if (pcere_heap_in_region() && moved != block)
            pcere_reclaim_freed(block);
        return moved;
    }
    size_t known = captured_bytes(block, mapping);
    if (bytes && bytes <= known && !sizes_unknown)
        return block;                 /* the C library leaves it where it is */
    captured_release(block, mapping);
    void *moved = bytes && !sizes_unknown ? pcere_grown_make(block, known, bytes) : NULL;
    if (moved)
        return moved;
    void *grown = bytes ? malloc(bytes) : NULL;
    if (grown)
        memcpy(grown, block, known < bytes ? known : bytes);
    if (grown || !bytes)
        pcere_reclaim_give(block, (size_t)(mapping->end - (uint64_t)block));
    return grown;
}

size_t pcere_heap_usable(void *block)
{
    const struct plan_mapping *mapping = block ? pcere_mapping_at((uint64_t)block) : NULL;
    if (mapping)
        return captured_bytes(block, mapping);
    if (pcere_made_owns(block))
        return pcere_made_usable(block);
    return next_find() && next.usable ? next.usable(block) : 0;
}

int pcere_heap_posix_memalign(void *(*memalign_by)(size_t alignment, size_t bytes), void **ret_block, size_t alignment, size_t bytes)
{
    if (!alignment || alignment % sizeof(void *) || (alignment & (alignment - 1)))
        return EINVAL;
    int error = errno;
    void *block = memalign_by(alignment, bytes);
    errno = error;
    if (!block)
        return ENOMEM;
    *ret_block = block;
    return 0;
}

__attribute__((weak, visibility("default"))) void free(void *block)
{
    const struct plan_mapping *mapping = release(block);
    if (!pcere_heap_in_region())
        return;
    if (mapping)
        pcere_reclaim_give(block, (size_t)(mapping->end - (uint64_t)block));
    else
        pcere_reclaim_freed(block);
}

__attribute__((weak, visibility("default"))) void *realloc(void *block, size_t bytes)
{
    return pcere_heap_grow(block, bytes);
}

__attribute__((weak, visibility("default"))) size_t malloc_usable_size(void *block)
{
    return pcere_heap_usable(block);
}
