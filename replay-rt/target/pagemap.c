/* replay-rt/target/pagemap.c - which pages of this process are there, and which of them it has written: /proc/self/pagemap. */
#include "replay-rt/target/codelet.h"

#include <fcntl.h>
#include <unistd.h>

#define ENTRY_PRESENT (1ull << 63)
#define ENTRY_SWAPPED (1ull << 62)
#define ENTRY_OF_FILE (1ull << 61)

enum { BATCH = 4096 };

static uint64_t entries[BATCH], first, count;
static int descriptor = -2;
static const struct plan_range *shared;
static size_t shared_count;

void pcere_pagemap_share(const struct plan_range *ranges, size_t range_count)
{
    shared = ranges;
    shared_count = range_count;
}

static bool is_shared(uint64_t address)
{
    size_t at = shared_count ? pcere_plan_range_from(shared, shared_count, address) : 0;
    return at < shared_count && shared[at].address <= address;
}

void pcere_pagemap_refresh(void)
{
    count = 0;
}

enum page_state pcere_pagemap_state(uint64_t address, uint64_t page_bytes)
{
    uint64_t page = address / page_bytes;
    if (is_shared(address))
        return PAGE_OWN;
    if (descriptor == -2)
        descriptor = pcere_descriptor_raise(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    if (descriptor < 0)
        return PAGE_UNKNOWN;
    if (page < first || page >= first + count) {
        ssize_t got = pread(descriptor, entries, sizeof entries, (off_t)(page * sizeof(uint64_t)));
        first = page;
        count = got > 0 ? (uint64_t)got / sizeof *entries : 0;
        if (!count)
            return PAGE_UNKNOWN;
    }
    uint64_t entry = entries[page - first];
    if (entry & ENTRY_SWAPPED)
        return PAGE_OWN;
    if (!(entry & ENTRY_PRESENT))
        return PAGE_ABSENT;
    return entry & ENTRY_OF_FILE ? PAGE_OF_FILE : PAGE_OWN;
}
