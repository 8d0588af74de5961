/* replay-rt/target/pagemap.c - which pages of this process are there, and which of them it has written: /proc/self/pagemap. */
#include "replay-rt/target/codelet.h"

#include "include/pcere/bisect.h"
#include "include/pcere/pagemap_scan.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#define ENTRY_PRESENT (1ull << 63)
#define ENTRY_SWAPPED (1ull << 62)
#define ENTRY_OF_FILE (1ull << 61)

enum { BATCH = 4096, RUNS = 256 };

static uint64_t entries[BATCH], entry_first, entry_count;
static struct page_region runs[RUNS];     /* of pages that are there, ascending */
static uint64_t runs_from, runs_end;      /* between these, no other is */
static long run_count;
static bool scan_fails;
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
    entry_count = runs_from = runs_end = 0;
}

uint64_t pcere_faults_so_far(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? UINT64_MAX / 2 : (uint64_t)usage.ru_minflt + pcere_ahead_filled();
}

static bool is_open(void)
{
    if (descriptor == -2)
        descriptor = pcere_descriptor_raise(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    return descriptor >= 0;
}

static enum page_state state_of(uint64_t entry)
{
    if (entry & ENTRY_SWAPPED)
        return PAGE_OWN;
    if (!(entry & ENTRY_PRESENT))
        return PAGE_ABSENT;
    return entry & ENTRY_OF_FILE ? PAGE_OF_FILE : PAGE_OWN;
}

enum page_state pcere_pagemap_state(uint64_t address, uint64_t page_bytes)
{
    uint64_t page = address / page_bytes;
    if (is_shared(address))
        return PAGE_OWN;
    if (!is_open())
        return PAGE_UNKNOWN;
    if (page < entry_first || page >= entry_first + entry_count) {
        ssize_t got = pread(descriptor, entries, sizeof entries, (off_t)(page * sizeof(uint64_t)));
        entry_first = page;
        entry_count = got > 0 ? (uint64_t)got / sizeof *entries : 0;
        if (!entry_count)
            return PAGE_UNKNOWN;
    }
    return state_of(entries[page - entry_first]);
}

enum page_state pcere_pagemap_state_alone(uint64_t address, uint64_t page_bytes)
{
    uint64_t entry;
    if (is_shared(address))
        return PAGE_OWN;
    if (!is_open() || pread(descriptor, &entry, sizeof entry, (off_t)(address / page_bytes * sizeof entry)) != sizeof entry)
        return PAGE_UNKNOWN;
    return state_of(entry);
}

/* Which pages are there, without what each of them is: a third of the time. */
static bool runs_scan(uint64_t from, uint64_t end, uint64_t page_bytes)
{
    uint64_t least_end = from + BATCH * page_bytes;
    struct pm_scan_arg scan = {.size = sizeof scan, .start = from, .end = end > least_end ? end : least_end, .vec = (uint64_t)(uintptr_t)runs, .vec_len = RUNS,
                               .category_anyof_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED, .return_mask = PAGE_IS_PRESENT};
    if (scan_fails || !is_open())
        return false;
    run_count = ioctl(descriptor, PAGEMAP_SCAN, &scan);
    if (run_count < 0 && scan.end > end) {        /* behind the last address that a process may have, as where it looks at its stack */
        scan.end = end;
        run_count = ioctl(descriptor, PAGEMAP_SCAN, &scan);
    }
    if (run_count < 0) {
        scan_fails = true;            /* before Linux 6.7 */
        return false;
    }
    runs_from = from;
    runs_end = scan.walk_end;
    return runs_end > from;
}

static bool run_by_states(uint64_t from, uint64_t end, uint64_t page_bytes, struct plan_range *ret_run)
{
    uint64_t stop;
    while (from < end && pcere_pagemap_state(from, page_bytes) == PAGE_ABSENT)
        from += page_bytes;
    for (stop = from; stop < end && pcere_pagemap_state(stop, page_bytes) != PAGE_ABSENT;)
        stop += page_bytes;
    *ret_run = (struct plan_range){from, stop - from};
    return from < stop;
}

bool pcere_pagemap_run(uint64_t from, uint64_t end, uint64_t page_bytes, struct plan_range *ret_run)
{
    if (shared_count)
        return run_by_states(from, end, page_bytes, ret_run);
    while (from < end) {
        if ((from < runs_from || from >= runs_end) && !runs_scan(from, end, page_bytes))
            return run_by_states(from, end, page_bytes, ret_run);
        BISECT(at, 0, (uint64_t)run_count, i, runs[i].end <= from);
        if (at < (uint64_t)run_count && runs[at].start < end) {
            uint64_t start = runs[at].start > from ? runs[at].start : from, stop = runs[at].end < end ? runs[at].end : end;
            *ret_run = (struct plan_range){start, stop - start};
            return true;
        }
        from = runs_end;
    }
    return false;
}
