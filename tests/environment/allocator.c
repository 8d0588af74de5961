/* environment-allocator: a malloc of the user's own, as tcmalloc and the like are preloaded: bumps a pointer, puts the size in front. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define AREA_BYTES ((size_t)1 << 30)

static char *area;
static size_t used;

static char *area_get(void)
{
    char *known = __atomic_load_n(&area, __ATOMIC_ACQUIRE), *none = NULL;
    if (known)
        return known;
    char *made = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    if (__atomic_compare_exchange_n(&area, &none, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    munmap(made, AREA_BYTES);
    return none;
}

static void *take(size_t alignment, size_t bytes)
{
    char *start = area_get();
    alignment = alignment < 16 ? 16 : alignment;
    size_t whole = (bytes + alignment + 31) & ~(size_t)15;
    size_t at = start && bytes < AREA_BYTES ? __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED) : AREA_BYTES;
    if (at >= AREA_BYTES || whole > AREA_BYTES - at) {
        errno = ENOMEM;
        return NULL;
    }
    uintptr_t block = ((uintptr_t)start + at + 16 + alignment - 1) & ~(uintptr_t)(alignment - 1);
    ((size_t *)block)[-1] = bytes;
    return (void *)block;
}

void *malloc(size_t bytes) { return take(16, bytes); }
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t bytes) { return bytes && count > SIZE_MAX / bytes ? NULL : take(16, count * bytes); }
void *memalign(size_t alignment, size_t bytes) { return take(alignment, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return take(alignment, bytes); }
size_t malloc_usable_size(void *block) { return block ? ((size_t *)block)[-1] : 0; }

void *realloc(void *block, size_t bytes)
{
    void *grown = take(16, bytes);
    size_t known = malloc_usable_size(block);
    return grown && block ? memcpy(grown, block, known < bytes ? known : bytes) : grown;
}

int posix_memalign(void **ret_block, size_t alignment, size_t bytes)
{
    void *block = take(alignment, bytes);
    if (!block)
        return ENOMEM;
    *ret_block = block;
    return 0;
}
