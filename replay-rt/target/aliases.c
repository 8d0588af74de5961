/* replay-rt/target/aliases.c - memory that the program had at several addresses, as by two mappings of one memfd: one memory again.
 *
 *   original  |======|   shared, anonymous; filled from the captured pages
 *   aliases   |======|   |======|   the same pages once more: mremap(2) of a shared mapping with an old size of 0
 */
#include "replay-rt/ranges.h"
#include "replay-rt/target/codelet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct plan_range *ranges_new(struct codelet *codelet, size_t count)
{
    struct plan_range *ranges = calloc(count, sizeof *ranges);
    if (!ranges)
        pcere_plan_end(codelet, PLAN_FAILED, "no memory for the page tables of the codelet");
    return ranges;
}

void pcere_aliases_find(struct memory *memory)
{
    const struct plan_alias *aliases = PLAN_TABLE(memory->codelet, aliases, struct plan_alias);
    size_t count = memory->codelet->plan->aliases.count;
    if (!count)
        return;
    memory->originals = ranges_new(memory->codelet, count);
    memory->shared = ranges_new(memory->codelet, 2 * count);
    for (size_t i = 0; i < count; i++) {
        memory->originals[i] = memory->shared[2 * i] = (struct plan_range){aliases[i].original, aliases[i].bytes};
        memory->shared[2 * i + 1] = (struct plan_range){aliases[i].address, aliases[i].bytes};
    }
    memory->original_count = plan_ranges_merge(memory->originals, count);
    memory->shared_count = plan_ranges_merge(memory->shared, 2 * count);
    pcere_pagemap_share(memory->shared, memory->shared_count);
}

static void end_unmapped(const struct memory *memory, uint64_t start, uint64_t bytes)
{
    pcere_plan_end(memory->codelet, PLAN_UNMAPPED, "cannot map addresses 0x%llx to 0x%llx as shared memory: %s", (unsigned long long)start,
                   (unsigned long long)(start + bytes), strerror(errno));
}

/* What the capture has of an original. New memory is zero already. */
static void original_fill(const struct memory *memory, const struct plan_range *original)
{
    uint64_t page_bytes = memory->codelet->plan->page_bytes, original_end = original->address + original->bytes;
    for (uint64_t i = 0; i < memory->codelet->plan->before.count; i++) {
        const struct plan_copy *copy = &memory->copies[i];
        uint64_t copy_end = copy->address + copy->pages * page_bytes;
        uint64_t start = copy->address > original->address ? copy->address : original->address, end = copy_end < original_end ? copy_end : original_end;
        if (start < end && !copy->zero)
            memcpy((void *)start, memory->codelet->pages + copy->source + (start - copy->address), end - start);
    }
}

/* Not by the function: libucm, which comes with MPICH, writes a jump to its own into that, which forgets the new address. */
static bool alias_map(const struct plan_alias *alias)
{
    return syscall(SYS_mremap, alias->original, 0, alias->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, alias->address) != -1;
}

void pcere_aliases_map(const struct memory *memory)
{
    const struct plan_alias *aliases = PLAN_TABLE(memory->codelet, aliases, struct plan_alias);
    for (size_t i = 0; i < memory->original_count; i++) {
        const struct plan_range *original = &memory->originals[i];
        if (mmap((void *)original->address, original->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
            end_unmapped(memory, original->address, original->bytes);
        original_fill(memory, original);
    }
    for (uint64_t i = 0; i < memory->codelet->plan->aliases.count; i++)
        if (!alias_map(&aliases[i]))
            end_unmapped(memory, aliases[i].address, aliases[i].bytes);
}

bool pcere_aliases_hold(const struct memory *memory, uint64_t address)
{
    const struct plan_alias *aliases = PLAN_TABLE(memory->codelet, aliases, struct plan_alias);
    return plan_alias_at(aliases, memory->codelet->plan->aliases.count, address) != NULL;
}
