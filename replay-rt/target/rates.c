/* replay-rt/target/rates.c - how fast memory is put back between repetitions, beside what the machine copies at best.
 *
 * Both by all threads of the team, in this process, between pages of the same size: from a file in memory to pages of the process's own. Copied is a stretch that no
 * cache holds.
 */
#include "replay-rt/target/codelet.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COPY_BYTES (64u << 20)
#define RUNS_NS 500000000u            /* no more rounds once the region took so long */

enum { ROUNDS = 5 };

struct copy { unsigned char *to; const unsigned char *from; };

static void copy_share(void *context, uint32_t thread, uint32_t threads)
{
    const struct copy *copy = context;
    size_t first = (size_t)COPY_BYTES * thread / threads, end = (size_t)COPY_BYTES * (thread + 1) / threads;
    memcpy(copy->to + first, copy->from + first, end - first);
}

static uint64_t clock_ns(void)
{
    return pcere_clock_ns(CLOCK_MONOTONIC);
}

static uint64_t median(uint64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t at = i; at > 0 && values[at - 1] > values[at]; at--) {
            uint64_t swapped = values[at];
            values[at] = values[at - 1];
            values[at - 1] = swapped;
        }
    return count ? values[count / 2] : 0;
}

static void copying_measure(struct plan_rates *rates)
{
    int file = memfd_create("pcere-copy", MFD_CLOEXEC);
    void *from = MAP_FAILED, *to = mmap(NULL, COPY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (file >= 0 && !ftruncate(file, COPY_BYTES))
        from = mmap(NULL, COPY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (from != MAP_FAILED && to != MAP_FAILED) {
        struct copy copy = {to, from};
        uint64_t times_ns[ROUNDS];
        madvise(to, COPY_BYTES, MADV_NOHUGEPAGE);
        memset(from, 1, COPY_BYTES);
        pcere_team_run(copy_share, &copy);
        for (size_t i = 0; i < ROUNDS; i++) {
            uint64_t start_ns = clock_ns();
            pcere_team_run(copy_share, &copy);
            times_ns[i] = clock_ns() - start_ns;
        }
        rates->copied_bytes = COPY_BYTES;
        rates->copy_ns = median(times_ns, ROUNDS);
    }
    if (from != MAP_FAILED)
        munmap(from, COPY_BYTES);
    if (to != MAP_FAILED)
        munmap(to, COPY_BYTES);
    if (file >= 0)
        close(file);
}

static void pages_count(const struct memory *memory, struct plan_rates *rates)
{
    uint64_t page_bytes = memory->codelet->plan->page_bytes;
    pcere_pagemap_refresh();
    for (uint64_t i = 0; i < memory->codelet->plan->before.count; i++)
        for (uint64_t page = 0; page < memory->copies[i].pages; page++)
            rates->touched_pages += pcere_pagemap_state(memory->copies[i].address + page * page_bytes, page_bytes) != PAGE_ABSENT;
    rates->captured_pages = memory->first_page[memory->codelet->plan->before.count];
}

void pcere_rates_measure(struct memory *memory, void (*run)(void *context), void *context)
{
    struct plan_rates rates = {0};
    uint64_t times_ns[ROUNDS], first_ns = clock_ns();
    size_t rounds = 0;
    pages_count(memory, &rates);
    if (!memory->learned)
        pcere_memory_learn(memory);
    pcere_memory_restore(memory);
    while (rounds < ROUNDS && (!rounds || clock_ns() - first_ns < RUNS_NS)) {
        run(context);
        uint64_t start_ns = clock_ns();
        pcere_memory_restore(memory);
        times_ns[rounds++] = clock_ns() - start_ns;
    }
    rates.restored_bytes = memory->written_count * memory->codelet->plan->page_bytes;
    rates.dropped_bytes = memory->codelet->plan->result.dropped_pages * memory->codelet->plan->page_bytes;
    rates.restore_ns = median(times_ns, rounds);
    copying_measure(&rates);
    memory->codelet->plan->result.rates = rates;
    pcere_plan_progress(memory->codelet);
}
