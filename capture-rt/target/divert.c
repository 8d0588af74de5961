/* capture-rt/target/divert.c - calls of loaded objects are made to lead here, by their tables of addresses: the OpenMP runtime's of malloc, where the program's executable has
 * an allocator (lookup finds that first, so that the runtime's blocks would lie among the program's), and those that operators.c asks for.
 */
#include "capture-rt/target/target.h"
#include "include/pcere/object_divert.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* The same functions under names that no other object has. */
#define OWN(name) extern __typeof__(name) target_own_##name
OWN(malloc); OWN(calloc); OWN(realloc); OWN(free); OWN(memalign); OWN(aligned_alloc); OWN(posix_memalign); OWN(malloc_usable_size);
#undef OWN

struct runtime { uintptr_t inside; size_t diverted; };

static uint64_t own_address(const char *name)
{
#define OWN(wanted) {#wanted, (uint64_t)(uintptr_t)target_own_##wanted}
    const struct { const char *name; uint64_t address; } own[] = {OWN(malloc), OWN(calloc), OWN(realloc), OWN(free), OWN(memalign), OWN(aligned_alloc),
                                                                 OWN(posix_memalign), OWN(malloc_usable_size)};
#undef OWN
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(own[i].name, name))
            return own[i].address;
    return 0;
}

static int runtime_divert(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct runtime *runtime = context;
    bool found = object_has(info, runtime->inside);
    (void)bytes;
    if (found)
        runtime->diverted = object_divert(info, own_address);
    return found;
}

bool target_allocator_divert(const void *inside)
{
    struct runtime runtime = {.inside = (uintptr_t)inside};
    dl_iterate_phdr(runtime_divert, &runtime);
    return runtime.diverted > 0;
}
