/* replay-rt/target/reclaim.c - whose blocks export/reclaim.c is about: the program's own code, whose calls of allocators go through here where a region that allocates is timed.
 */
#include "include/pcere/object_divert.h"
#include "replay-rt/target/codelet.h"

#include <dlfcn.h>
#include <omp.h>
#include <string.h>

static struct {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t count, size_t bytes);
    void *(*new_one)(size_t bytes);
    void *(*new_array)(size_t bytes);
} next;

extern __attribute__((weak)) void *pcere_program_malloc(size_t bytes);

static void *noted(void *block)
{
    if (pcere_heap_in_region())
        pcere_reclaim_got(block);
    return block;
}

static void *own_malloc(size_t bytes)
{
    void *block = pcere_heap_in_region() ? pcere_reclaim_take(bytes) : NULL;
    return block ? block : noted(next.malloc(bytes));
}

static void *own_calloc(size_t count, size_t bytes)
{
    size_t total;
    void *block = __builtin_mul_overflow(count, bytes, &total) || !pcere_heap_in_region() ? NULL : pcere_reclaim_take(total);
    return block ? memset(block, 0, total) : noted(next.calloc(count, bytes));
}

static void *own_new(size_t bytes)
{
    void *block = pcere_heap_in_region() ? pcere_reclaim_take(bytes) : NULL;
    return block ? block : noted(next.new_one(bytes));
}

static void *own_new_array(size_t bytes)
{
    void *block = pcere_heap_in_region() ? pcere_reclaim_take(bytes) : NULL;
    return block ? block : noted(next.new_array(bytes));
}

static uint64_t own_address(const char *name)
{
    if (!strcmp(name, "malloc"))
        return (uint64_t)own_malloc;
    if (!strcmp(name, "calloc"))
        return (uint64_t)own_calloc;
    if (!strcmp(name, "_Znwm") && next.new_one)
        return (uint64_t)own_new;
    return !strcmp(name, "_Znam") && next.new_array ? (uint64_t)own_new_array : 0;
}

/* The executable, whose rebuilt units it holds, and what was rebuilt of libraries; not where the OpenMP runtime lies in it, too. */
static int object_serve(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    if (object_has(info, (uintptr_t)omp_get_thread_num))
        return 0;
    if (object_has(info, (uintptr_t)pcere_reclaim_begin) || pcere_images_are_at(context, (const void *)info->dlpi_addr))
        object_divert(info, own_address);
    return 0;
}

void pcere_reclaim_begin(const struct codelet *codelet)
{
    const struct { const char *name; void *to; } wanted[] = {{"malloc", &next.malloc}, {"calloc", &next.calloc}, {"_Znwm", &next.new_one}, {"_Znam", &next.new_array}};
    if (codelet->plan->policy.task != PLAN_MEASURE || !codelet->plan->allocates || codelet->plan->foreign_allocator || pcere_program_malloc)
        return;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *symbol = dlsym(RTLD_DEFAULT, wanted[i].name);
        memcpy(wanted[i].to, &symbol, sizeof symbol);
    }
    pcere_reclaim_on = next.malloc && next.calloc;
    if (pcere_reclaim_on)
        dl_iterate_phdr(object_serve, (void *)(uintptr_t)codelet);
}

void *pcere_reclaim_symbol(const char *name)
{
    return pcere_reclaim_on ? (void *)own_address(name) : NULL;
}
