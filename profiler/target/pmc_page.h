/* profiler/target/pmc_page.h - counters of the processor read without a call of the kernel, where it permits that: by the page that it keeps for each event.
 *
 * The page says whether and where the event counts now, and what it had counted before; the kernel raises its lock before and after each change. See
 * perf_event_open(2), struct perf_event_mmap_page.
 */
#ifndef PCERE_PROFILER_TARGET_PMC_PAGE_H
#define PCERE_PROFILER_TARGET_PMC_PAGE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

typedef uint64_t pmc_read_fn(uint32_t counter);

/* The event's count on this thread. False: the kernel must be asked, since it forbids it (cap_user_rdpmc), the event has no counter now (lost, or not on this processor), has not
 * counted all the time, or the page did not stay the same for long enough. */
static inline bool pmc_page_read(const struct perf_event_mmap_page *page, pmc_read_fn *read, uint64_t *ret_count)
{
    enum { TRIES = 16 };
    for (int i = 0; i < TRIES; i++) {
        uint32_t lock = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
        uint32_t index = __atomic_load_n(&page->index, __ATOMIC_RELAXED);
        uint16_t width = __atomic_load_n(&page->pmc_width, __ATOMIC_RELAXED);
        uint64_t capabilities = __atomic_load_n(&page->capabilities, __ATOMIC_RELAXED);
        int64_t before = __atomic_load_n(&page->offset, __ATOMIC_RELAXED);
        uint64_t enabled = __atomic_load_n(&page->time_enabled, __ATOMIC_RELAXED), running = __atomic_load_n(&page->time_running, __ATOMIC_RELAXED);
        bool usable = capabilities >> 2 & 1 /* cap_user_rdpmc */ && index && width && width <= 64 && running >= enabled;
        uint64_t now = usable ? read(index - 1) : 0;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&page->lock, __ATOMIC_RELAXED) != lock || lock & 1)
            continue;
        if (!usable)
            return false;
        now <<= 64 - width;              /* a counter is a signed number of so many bits */
        *ret_count = (uint64_t)before + (uint64_t)((int64_t)now >> (64 - width));
        return true;
    }
    return false;
}

#endif
