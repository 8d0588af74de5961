/* scripts/evaluation/invocations.c - when each invocation of each region began and ended, for figure 3.
 * A library to preload into an instrumented program; PCERE_INVOCATIONS names the file that it writes when the program ends:
 * one line an invocation, in order: region, begin, end (ns of the monotonic clock). Regions inside regions are left out. */
#include "include/pcere/rt_abi.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PCERE_RT_CALL(name, result, parameters) __attribute__((visibility("default"))) result name parameters;
#include "include/pcere/rt_abi.inc"
#undef PCERE_RT_CALL

enum { INVOCATIONS_MOST = 1 << 20 };

static struct invocation {
    const char *region;
    uint64_t begin_ns, end_ns;
} invocations[INVOCATIONS_MOST];     /* untouched pages cost nothing */
static atomic_size_t invocation_count;
static _Thread_local unsigned depth;
static _Thread_local size_t current;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void __pcere_region_begin(struct pcere_site *site, int32_t path, int32_t num_threads, int32_t proc_bind, int32_t argc, ...)
{
    (void)path, (void)num_threads, (void)proc_bind, (void)argc;
    if (depth++)
        return;
    current = atomic_fetch_add_explicit(&invocation_count, 1, memory_order_relaxed);
    if (current < INVOCATIONS_MOST)
        invocations[current] = (struct invocation){.region = site->region, .begin_ns = now_ns()};
}

void __pcere_region_end(struct pcere_site *site)
{
    (void)site;
    if (--depth == 0 && current < INVOCATIONS_MOST)
        invocations[current].end_ns = now_ns();
}

__attribute__((destructor)) static void invocations_write(void)
{
    const char *path = getenv("PCERE_INVOCATIONS");
    FILE *file = path && atomic_load(&invocation_count) ? fopen(path, "w") : NULL;
    if (!file)
        return;
    size_t count = atomic_load(&invocation_count);
    for (size_t i = 0; i < count && i < INVOCATIONS_MOST; i++)
        if (invocations[i].end_ns)
            fprintf(file, "%s\t%llu\t%llu\n", invocations[i].region, (unsigned long long)invocations[i].begin_ns,
                    (unsigned long long)invocations[i].end_ns);
    fclose(file);
}
