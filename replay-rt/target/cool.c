/* replay-rt/target/cool.c - caches as if somebody else had used them since: nothing of the region's is in them, and what is there instead was written
 * in part, as the region itself writes a part of what it uses.
 *
 * To read much other memory does not do that. A last-level cache that keeps what is used again gives it up only after several passes: a region was twice
 * as fast behind one as in its program. So each line is told to leave. And a cache that holds nothing but clean lines takes new ones in at no cost, where
 * the program's had to write old ones back first.
 */
#include "replay-rt/target/codelet.h"
#include "replay-rt/target/machine.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 64u
#define ALL_PAGES_LEAST 1024u             /* captured pages that are worth threads on processors which the team does not have */

#define SAME_FAULTS_MOST 64u              /* since which pages are there was asked last: these few make no difference */
#define FILL_WAIT_NS 100000000            /* at one go; */
#define FILL_WAITS_MOST 50u               /* a launcher that is no more would never be done */

struct cooling {
    struct plan_range *runs;              /* of pages of captured memory, that are there */
    size_t run_count, run_capacity;
    uint64_t count, written, page_bytes;  /* count: of these pages */
};

static struct plan_filler *fillers;       /* of the launcher, which fills caches; NULL: nobody does */
static atomic_bool fillers_gone;          /* it did not answer */

/* This thread's share of the pages: their lines leave all caches, whichever processor tells them to. */
static void pages_leave(void *context, uint32_t thread, uint32_t threads)
{
    const struct cooling *cooling = context;
    uint64_t from = cooling->count * thread / threads, end = cooling->count * (thread + 1) / threads, before = 0;
    for (size_t i = 0; i < cooling->run_count && before < end; i++) {
        uint64_t pages = cooling->runs[i].bytes / cooling->page_bytes, first = from > before ? from - before : 0, stop = end - before < pages ? end - before : pages;
        for (; first < stop; first++)
            pcere_lines_leave((const void *)(cooling->runs[i].address + first * cooling->page_bytes), cooling->page_bytes);
        before += pages;
    }
    pcere_lines_left();
}

static bool filler_await(struct plan_filler *request)
{
    const struct timespec most = {.tv_nsec = FILL_WAIT_NS};
    for (uint32_t waits = 0; waits < FILL_WAITS_MOST && !atomic_load(&fillers_gone); waits++) {
        uint32_t done = atomic_load(&request->done);
        if (done == atomic_load(&request->asked))
            return true;
        syscall(SYS_futex, &request->done, FUTEX_WAIT, done, &most, NULL, 0);
    }
    atomic_store(&fillers_gone, true);
    return false;
}

/* This thread's share of it, by a thread of the launcher's on this thread's processor. One that was asked by a process which ended meanwhile may still be at work. */
static void filler_ask(void *context, uint32_t thread, uint32_t threads)
{
    const struct cooling *cooling = context;
    uint32_t served = 0;
    int processor = sched_getcpu();
    while (served < threads && served < PLAN_FILLERS && atomic_load(&fillers[served].served))
        served++;
    struct plan_filler *request = thread < served ? &fillers[thread] : NULL;
    if (!request || !filler_await(request))
        return;
    request->processor = processor < 0 ? UINT32_MAX : (uint32_t)processor;
    request->part = thread;
    request->parts = served;
    request->written = cooling->written;
    request->of = cooling->count;
    atomic_fetch_add(&request->asked, 1);
    syscall(SYS_futex, &request->asked, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    filler_await(request);
}

static bool fillers_map(const struct codelet *codelet)
{
    if (fillers || !codelet->plan->policy.fill || codelet->filler_fd < 0)
        return fillers != NULL && codelet->plan->policy.fill;
    void *requests = mmap(NULL, PLAN_FILLERS * sizeof *fillers, PROT_READ | PROT_WRITE, MAP_SHARED, codelet->filler_fd, 0);
    fillers = requests == MAP_FAILED ? NULL : requests;
    return fillers != NULL;
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

struct displacing { volatile unsigned char *others; uint64_t bytes; };

static void others_read(void *context, uint32_t thread, uint32_t threads)
{
    const struct displacing *displacing = context;
    (void)thread;
    (void)threads;
    for (uint64_t at = 0; at < displacing->bytes; at += LINE_BYTES)
        (void)displacing->others[at];
}

/* The same for all threads, so that the cache that they share has to find room for it once. In small pages, as most programs have: what finds pages is displaced as well. Where there
 * is no memory for it, data stay where they are. */
void pcere_caches_displace(uint64_t bytes)
{
    static struct displacing displacing;
    if (bytes != displacing.bytes) {
        if (displacing.bytes)
            munmap((void *)displacing.others, displacing.bytes);
        displacing.bytes = 0;
        void *others = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (others == MAP_FAILED)
            return;
        madvise(others, bytes, MADV_NOHUGEPAGE);
        displacing = (struct displacing){others, bytes};
        for (uint64_t at = 0; at < bytes; at += LINE_BYTES)
            displacing.others[at] = 1;            /* not the page of zeros */
    }
    pcere_team_run(others_read, &displacing);
}

void pcere_memory_cool(struct memory *memory)
{
    static struct cooling cooling;
    static uint64_t left_faults, others;          /* when it was left last; between that and now, since `runs` was asked for */
    cooling.page_bytes = memory->codelet->plan->page_bytes;
    others += pcere_faults_so_far() - left_faults;
    if (!cooling.run_count || others > SAME_FAULTS_MOST) {
        runs_find(memory, &cooling);
        others = 0;
    }
    cooling.written = memory->learned ? memory->written_count : own_count(&cooling);
    cooling.written = cooling.written < cooling.count ? cooling.written : cooling.count;
    if (cooling.count >= ALL_PAGES_LEAST)
        pcere_processors_run(pages_leave, &cooling, memory->codelet->plan->result.threads);
    else
        pcere_team_run(pages_leave, &cooling);
    if (fillers_map(memory->codelet))
        pcere_team_run(filler_ask, &cooling);
    left_faults = pcere_faults_so_far();
}
