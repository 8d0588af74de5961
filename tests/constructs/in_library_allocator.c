/* in_library_allocator.c - a library that is the program's allocator, as mimalloc and tcmalloc: malloc and the like, and operators new and delete that do not call it. */
#include <sys/mman.h>

static char *mapped(void);
#define AREA mapped()
#include "own_malloc_allocator.c"

/* One thread at a time is inside. */
static char *mapped(void)
{
    static char *area;
    if (!area)
        area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return area;
}

size_t malloc_usable_size(void *start) { return start ? ((struct block *)start - 1)->bytes : 0; }

#define NEW(name, alignment) \
    void *name(size_t bytes, size_t second); \
    void *name(size_t bytes, size_t second) { (void)second; return take(alignment, bytes); }
#define DELETE(name) \
    void name(void *start); \
    void name(void *start) { give(start); }
NEW(_Znwm, 16)
NEW(_Znam, 16)
NEW(_ZnwmRKSt9nothrow_t, 16)
NEW(_ZnamRKSt9nothrow_t, 16)
NEW(_ZnwmSt11align_val_t, second)
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
