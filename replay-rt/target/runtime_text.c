/* replay-rt/target/runtime_text.c - whether it is the OpenMP runtime that calls: what it asks for itself is not the region's. */
#include "replay-rt/target/codelet.h"

#include <dlfcn.h>
#include <link.h>

static uintptr_t runtime_low, runtime_bytes;    /* of its image */

static int runtime_look(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    uintptr_t inside = (uintptr_t)context, low = UINTPTR_MAX, high = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD)
            continue;
        low = start < low ? start : low;
        high = start + header->p_memsz > high ? start + header->p_memsz : high;
    }
    if (inside < low || inside >= high)
        return 0;
    runtime_low = low;
    runtime_bytes = high - low;
    return 1;
}

/* This executable may have one in front of it. */
__attribute__((constructor)) static void runtime_find(void)
{
    dl_iterate_phdr(runtime_look, dlsym(RTLD_NEXT, "__kmpc_fork_call"));
}

bool pcere_runtime_holds(const void *address)
{
    return (uintptr_t)address - runtime_low < runtime_bytes;
}
