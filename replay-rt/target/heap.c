/* replay-rt/target/heap.c - captured heap blocks may be freed and grown, although no allocator of this process knows them.
 *
 * Freed: nothing happens, the block is part of what is restored. Grown: copied into a block of this process. The old size stands in
 * front of a block, where the GNU C library keeps it. Weak: a program that brings its own allocator keeps it.
 */
#include "replay-rt/target/codelet.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static const struct plan_mapping *captured;
static size_t captured_count;

void pcere_heap_protect(const struct plan_mapping *mappings, size_t count)
{
    captured = mappings;
    captured_count = count;
}

static const struct plan_mapping *captured_mapping(const void *block)
{
    uint64_t address = (uint64_t)block;
    size_t low = 0, high = captured_count;
    if (!high || address < captured[0].start || address >= captured[high - 1].end)
        return NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (captured[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < captured_count && captured[low].start <= address ? &captured[low] : NULL;
}

static size_t captured_bytes(const void *block, const struct plan_mapping *mapping)
{
    uint64_t address = (uint64_t)block;
    if (address - mapping->start < 2 * sizeof(size_t))
        return 0;
    size_t header;
    memcpy(&header, (const char *)block - sizeof header, sizeof header);
    size_t own = header & 2 ? 2 * sizeof header : sizeof header;    /* bit 1: a block mapped on its own */
    size_t bytes = header & ~(size_t)7;
    bytes = bytes > own ? bytes - own : 0;
    return bytes < mapping->end - address ? bytes : (size_t)(mapping->end - address);
}

__attribute__((weak, visibility("default"))) void free(void *block)
{
    static void (*next)(void *);
    if (!block || captured_mapping(block))
        return;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "free");
    if (next)
        next(block);
}

__attribute__((weak, visibility("default"))) void *realloc(void *block, size_t bytes)
{
    static void *(*next)(void *, size_t);
    const struct plan_mapping *mapping = block ? captured_mapping(block) : NULL;
    if (mapping) {
        if (!bytes)
            return NULL;
        void *grown = malloc(bytes);
        size_t known = captured_bytes(block, mapping);
        return grown ? memcpy(grown, block, known < bytes ? known : bytes) : NULL;
    }
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "realloc");
    return next ? next(block, bytes) : NULL;
}

__attribute__((weak, visibility("default"))) size_t malloc_usable_size(void *block)
{
    static size_t (*next)(void *);
    const struct plan_mapping *mapping = block ? captured_mapping(block) : NULL;
    if (mapping)
        return captured_bytes(block, mapping);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "malloc_usable_size");
    return next ? next(block) : 0;
}
