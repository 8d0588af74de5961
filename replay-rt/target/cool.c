/* replay-rt/target/cool.c - caches as if somebody else had used them since: nothing of the region's is in them, and what is there instead was written
 * in part, as the region itself writes a part of what it uses.
 *
 * To read much other memory does not do that. A last-level cache that keeps what is used again gives it up only after several passes: a region was twice
 * as fast behind one as in its program. So each line is told to leave. And a cache that holds nothing but clean lines takes new ones in at no cost, where
 * the program's had to write old ones back first.
 */
#include "replay-rt/target/codelet.h"
#include "replay-rt/target/machine.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES 64u
#define ALL_PAGES_LEAST 1024u             /* captured pages that are worth threads on processors which the team does not have */

#define SAME_FAULTS_MOST 64u              /* since which pages are there was asked last: these few make no difference */
#define HUGE_BYTES ((size_t)2 << 20)
#define TRIED_PAGES 64u                   /* of the file, which tell what mapping a page costs */
#define DEAR_PAGE_NS 2000u                /* usual: 100 to 300, some pages at a time */

struct cooling {
    struct plan_range *runs;              /* of pages of captured memory, that are there */
    size_t run_count, run_capacity;
    uint64_t count, written, page_bytes;  /* count: of these pages */
    bool touches;                         /* the filler is to be mapped first */
};

static volatile unsigned char *filler;    /* of the launcher's file: its pages are there since the first process used it; or memory of this process, in huge pages */
static bool filler_own;
static uint64_t filler_bytes;

/* This thread's share of the pages. */
static void pages_leave(const struct cooling *cooling, uint32_t thread, uint32_t threads)
{
    uint64_t from = cooling->count * thread / threads, end = cooling->count * (thread + 1) / threads, before = 0;
    for (size_t i = 0; i < cooling->run_count && before < end; i++) {
        uint64_t pages = cooling->runs[i].bytes / cooling->page_bytes, first = from > before ? from - before : 0, stop = end - before < pages ? end - before : pages;
        for (; first < stop; first++)
            pcere_lines_leave((const void *)(cooling->runs[i].address + first * cooling->page_bytes), cooling->page_bytes);
        before += pages;
    }
    pcere_lines_left();
}

/* Pages that are written lie evenly among those that are only read. */
static void filler_use(void *context, uint32_t thread, uint32_t threads)
{
    const struct cooling *cooling = context;
    uint64_t pages = filler_bytes / cooling->page_bytes, of = cooling->count ? cooling->count : 1;
    for (uint64_t page = pages * thread / threads; page < pages * (thread + 1) / threads; page++) {
        bool write = (page + 1) * cooling->written / of != page * cooling->written / of;
        for (uint64_t offset = 0; offset < cooling->page_bytes; offset += LINE_BYTES) {
            volatile unsigned char *byte = filler + page * cooling->page_bytes + offset;
            unsigned char value = *byte;
            if (write)
                *byte = (unsigned char)(value + 1);
        }
    }
}

/* By reading, which maps what is there some pages at a time: madvise by two threads at once takes three times as long. What is read of new memory would be zeros that all
 * have in common. */
static void filler_touch(const struct cooling *cooling, uint32_t thread, uint32_t threads)
{
    uint64_t page_bytes = cooling->page_bytes, pages = filler_bytes / page_bytes;
    for (uint64_t page = pages * thread / threads; page < pages * (thread + 1) / threads; page++) {
        if (filler_own)
            filler[page * page_bytes] = 1;
        else
            (void)filler[page * page_bytes];
    }
}

/* Lines leave all caches, whichever processor tells them to. */
static void caches_empty(void *context, uint32_t thread, uint32_t threads)
{
    const struct cooling *cooling = context;
    if (cooling->touches)
        filler_touch(cooling, thread, threads);
    pages_leave(cooling, thread, threads);
}

/* Each page of the file is dear to map. The session's first process makes them as well, at 1 to 5 us each: that is paid once, and is not what is asked. */
static bool mapping_is_dear(unsigned char *start, uint64_t bytes, uint64_t page_bytes)
{
    uint64_t pages = bytes / page_bytes < TRIED_PAGES ? bytes / page_bytes : TRIED_PAGES, begin_ns = 0;
    for (int turn = 0; turn < 2; turn++) {
        if (turn && madvise(start, pages * page_bytes, MADV_DONTNEED))
            return false;
        begin_ns = pcere_clock_ns(CLOCK_MONOTONIC);
        for (uint64_t page = 0; page < pages; page++)
            (void)((volatile unsigned char *)start)[page * page_bytes];
    }
    return pcere_clock_ns(CLOCK_MONOTONIC) - begin_ns >= pages * DEAR_PAGE_NS;
}

/* Under a hypervisor that keeps page tables of its own each page of the file costs 5 us, in each process; memory of the process itself in huge pages, which the machine had
 * before, 0.1 us for as much (and 1 to 5 where the machine has to make room for them first). NULL: pages are not dear, or there is no such memory. */
static unsigned char *huge_filler(const struct codelet *codelet, unsigned char *start, size_t bytes)
{
    if (bytes % HUGE_BYTES || !mapping_is_dear(start, bytes, codelet->plan->page_bytes))
        return NULL;
    unsigned char *all = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    unsigned char *aligned = all + (HUGE_BYTES - (uintptr_t)all % HUGE_BYTES) % HUGE_BYTES;
    if (!madvise(aligned, bytes, MADV_HUGEPAGE))
        return aligned;
    munmap(all, bytes + HUGE_BYTES);
    return NULL;
}

/* Without it, lines only leave. True: it is new here. */
static bool filler_map(const struct codelet *codelet)
{
    struct stat about;
    if (filler || !codelet->plan->policy.fill || codelet->filler_fd < 0 || fstat(codelet->filler_fd, &about) || about.st_size <= 0)
        return false;
    uint64_t bytes = (uint64_t)about.st_size;
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, codelet->filler_fd, 0);
    if (start == MAP_FAILED)
        return false;
    unsigned char *own = huge_filler(codelet, start, bytes);
    filler_own = own != NULL;
    if (own)
        munmap(start, bytes);
    filler = own ? own : start;
    filler_bytes = bytes;
    return true;
}

static void filler_make(void *context, uint32_t thread, uint32_t threads)
{
    (void)thread;
    (void)threads;
    const struct memory *memory = context;
    const struct cooling cooling = {.page_bytes = memory->codelet->plan->page_bytes};
    if (filler_map(memory->codelet))
        filler_touch(&cooling, 0, 1);
}

void pcere_memory_cool_ahead(const struct memory *memory)
{
    if (!filler && memory->codelet->plan->policy.fill > 1)
        pcere_processors_beside(filler_make, (void *)(uintptr_t)memory, memory->codelet->plan->result.threads);
}

static void run_add(const struct memory *memory, struct cooling *cooling, const struct plan_range *run)
{
    if (cooling->run_count == cooling->run_capacity) {
        size_t capacity = cooling->run_capacity ? 2 * cooling->run_capacity : 256;
        struct plan_range *grown = realloc(cooling->runs, capacity * sizeof *grown);
        if (!grown)
            pcere_plan_end(memory->codelet, PLAN_FAILED, "no memory for the page tables of the codelet");
        cooling->runs = grown;
        cooling->run_capacity = capacity;
    }
    cooling->runs[cooling->run_count++] = *run;
    cooling->count += run->bytes / cooling->page_bytes;
}

static void runs_find(const struct memory *memory, struct cooling *cooling)
{
    pcere_pagemap_refresh();
    cooling->run_count = cooling->count = 0;
    for (uint64_t i = 0; i < memory->codelet->plan->before.count; i++) {
        const struct plan_copy *copy = &memory->copies[i];
        uint64_t at = copy->address, end = at + copy->pages * cooling->page_bytes;
        struct plan_range run;
        for (bool readable = pcere_memory_protection(memory, at) & PROT_READ; readable && pcere_pagemap_run(at, end, cooling->page_bytes, &run); at = run.address + run.bytes)
            run_add(memory, cooling, &run);
    }
}

/* Which pages are the process's own takes longer to ask for than which are there: so it is asked once, and is taken to be as large a part later. */
static uint64_t own_count(const struct cooling *cooling)
{
    static uint64_t own, of;
    for (size_t i = 0; !of && i < cooling->run_count; i++)
        for (uint64_t at = cooling->runs[i].address; at < cooling->runs[i].address + cooling->runs[i].bytes; at += cooling->page_bytes)
            own += pcere_pagemap_state(at, cooling->page_bytes) != PAGE_OF_FILE;
    of = of ? of : cooling->count;
    return of ? (uint64_t)((double)own / (double)of * (double)cooling->count) : 0;
}

void pcere_memory_cool(struct memory *memory)
{
    static struct cooling cooling;
    static uint64_t left_faults, others;          /* when it was left last; between that and now, since `runs` was asked for */
    pcere_processors_beside_end();
    cooling.page_bytes = memory->codelet->plan->page_bytes;
    others += pcere_faults_so_far() - left_faults;
    if (!cooling.run_count || others > SAME_FAULTS_MOST) {
        runs_find(memory, &cooling);
        others = 0;
    }
    cooling.written = memory->learned ? memory->written_count : own_count(&cooling);
    cooling.written = cooling.written < cooling.count ? cooling.written : cooling.count;
    cooling.touches = filler_map(memory->codelet);
    if (cooling.touches || cooling.count >= ALL_PAGES_LEAST)
        pcere_processors_run(caches_empty, &cooling, memory->codelet->plan->result.threads);
    else
        pcere_team_run(caches_empty, &cooling);
    pcere_team_run(filler_use, &cooling);
    left_faults = pcere_faults_so_far();
}
