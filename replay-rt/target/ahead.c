/* replay-rt/target/ahead.c - captured pages that are known to change: made the process's own some at a time.
 *
 *   a copy     |--------------------------------------------|     of the pages file
 *   changed         |----|   |------|   |-|
 *   range           |---------------------|                       memory of its own, absent; its first touch is a signal, whose handler fills pages in:
 *   touches           ^ 1 ^ 2  ^ 4                               each time twice as many, as long as a touch is where earlier ones end
 *
 * Such a page costs two faults otherwise: one that maps the file's page to read it, and one that copies it and takes the first mapping back on every
 * processor that runs a thread of the team.
 */
#include "replay-rt/target/codelet.h"
#include "include/pcere/bisect.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RANGE_PAGES_LEAST 16u             /* shorter ones are left as they are */
#define RANGES_MOST 4096u
#define STRETCH_PAGES 64u                 /* between pages that are known to change: made the process's own as well */
enum { PAGES_MOST = 64, STREAMS = 8 };
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

struct range { uint64_t start, end; const unsigned char *pages; };

static struct {
    struct range *ranges;             /* ascending */
    size_t count;
    uint64_t page_bytes;
    int descriptor;
    _Atomic uint64_t filled;          /* pages so far */
} ahead = {.descriptor = -1};

static __thread struct {
    struct stream { uint64_t next; uint32_t pages; } streams[STREAMS];     /* arrays that are gone through side by side */
    uint32_t oldest;
} thread;

static int descriptor_open(void)
{
    int descriptor = pcere_descriptor_raise((int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_SIGBUS};
    if (descriptor >= 0 && ioctl(descriptor, UFFDIO_API, &api)) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

/* False: it stays as it is. */
static bool range_take(const struct range *range)
{
    struct uffdio_register asked = {.range = {range->start, range->end - range->start}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    size_t bytes = range->end - range->start;
    if (mmap((void *)range->start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
        return false;
    return !ioctl(ahead.descriptor, UFFDIO_REGISTER, &asked);
}

static bool copy_suits(const struct memory *memory, const struct plan_copy *copy)
{
    size_t shared = pcere_plan_range_from(memory->shared, memory->shared_count, copy->address);
    if (shared < memory->shared_count && memory->shared[shared].address < copy->address + copy->pages * memory->codelet->plan->page_bytes)
        return false;
    for (uint64_t i = 0; i < memory->codelet->plan->mappings.count; i++)
        if (memory->mappings[i].start <= copy->address && copy->address < memory->mappings[i].end)
            return memory->mappings[i].protection == (PROT_READ | PROT_WRITE) && !(memory->mappings[i].flags & PLAN_MAPPING_GROWS);
    return false;
}

static void range_add(const struct memory *memory, const struct plan_copy *copy, uint64_t start, uint64_t end)
{
    if (end - start < RANGE_PAGES_LEAST * ahead.page_bytes || ahead.count == RANGES_MOST)
        return;
    ahead.ranges[ahead.count] = (struct range){start, end, memory->codelet->pages + copy->source + (start - copy->address)};
    if (!range_take(&ahead.ranges[ahead.count++]))
        pcere_plan_end(memory->codelet, PLAN_FAILED, "cannot map the captured pages again");
}

/* What of a copy is known to change, with short stretches between. `at`: of the changed ranges, the first that ends behind the copy's start. */
static void copy_add(const struct memory *memory, const struct plan_copy *copy, const struct plan_range *changed, uint64_t changed_count, uint64_t at)
{
    uint64_t end = copy->address + copy->pages * ahead.page_bytes, range_start = copy->address, range_end = copy->address;
    for (; at < changed_count && changed[at].address < end; at++) {
        uint64_t first = changed[at].address > copy->address ? changed[at].address : copy->address;
        uint64_t stop = changed[at].address + changed[at].bytes;
        if (first - range_end > STRETCH_PAGES * ahead.page_bytes || range_end == range_start) {
            range_add(memory, copy, range_start, range_end);
            range_start = first;
        }
        range_end = stop < end ? stop : end;
    }
    range_add(memory, copy, range_start, range_end);
}

void pcere_ahead_begin(const struct memory *memory)
{
    const struct replay_plan *plan = memory->codelet->plan;
    const struct plan_range *changed = PLAN_TABLE(memory->codelet, changed, struct plan_range);
    if (!memory->lazy || !plan->changed.count || ahead.ranges || (ahead.descriptor = descriptor_open()) < 0
        || !(ahead.ranges = calloc(RANGES_MOST, sizeof *ahead.ranges)))
        return;
    ahead.page_bytes = plan->page_bytes;
    for (uint64_t i = 0, at = 0; i < plan->before.count; i++) {
        while (at < plan->changed.count && changed[at].address + changed[at].bytes <= memory->copies[i].address)
            at++;
        if (at < plan->changed.count && copy_suits(memory, &memory->copies[i]))
            copy_add(memory, &memory->copies[i], changed, plan->changed.count, at);
    }
}

static const struct range *range_of(uint64_t address)
{
    BISECT(low, 0, ahead.count, i, ahead.ranges[i].end <= address);
    return low < ahead.count && ahead.ranges[low].start <= address ? &ahead.ranges[low] : NULL;
}

/* How many pages from here on: of a stream twice as many as last time. */
static uint64_t pages_ahead(uint64_t start, uint64_t pages_most)
{
    uint32_t at = 0;
    while (at < STREAMS && (thread.streams[at].next != start || !thread.streams[at].pages))
        at++;
    uint32_t pages = at == STREAMS ? 1 : thread.streams[at].pages < PAGES_MOST ? 2 * thread.streams[at].pages : PAGES_MOST;
    if (at == STREAMS)
        at = thread.oldest++ % STREAMS;
    if (pages > pages_most)
        pages = (uint32_t)pages_most;
    thread.streams[at] = (struct stream){start + pages * ahead.page_bytes, pages};
    return pages;
}

/* Pages that another thread fills in at the same time are passed over. */
bool pcere_ahead_serve(uint64_t address)
{
    const struct range *range = range_of(address);
    if (!range)
        return false;
    uint64_t start = address & ~(ahead.page_bytes - 1);
    uint64_t end = start + pages_ahead(start, (range->end - start) / ahead.page_bytes) * ahead.page_bytes;
    for (uint64_t at = start; at < end; at += ahead.page_bytes)
        (void)*(const volatile unsigned char *)(range->pages + (at - range->start));
    struct uffdio_copy copy = {.dst = start, .src = (uint64_t)(range->pages + (start - range->start)), .len = end - start};
    ioctl(ahead.descriptor, UFFDIO_COPY, &copy);
    if (copy.copy > 0)                        /* up to a page that is there already */
        atomic_fetch_add(&ahead.filled, (uint64_t)copy.copy / ahead.page_bytes);
    return true;
}

uint64_t pcere_ahead_filled(void)
{
    return atomic_load(&ahead.filled);
}
