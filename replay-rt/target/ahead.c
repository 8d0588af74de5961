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

#include <errno.h>
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
#define PIECE_PAGES_LEAST 16u             /* so many at once are worth bringing the file's pages into this process's page tables, which the kernel does so many at a time */
enum { PAGES_MOST = 64, STREAMS = 256, COPY_PAGES_MOST = PIECE_PAGES_LEAST };
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Of a page: nobody needed it yet; a thread fills it in; it is there; and its words in the file are not all that it is to hold. */
enum { PAGE_FREE, PAGE_TAKEN, PAGE_FILLED, PAGE_ADJUSTED };

struct range {
    uint64_t start, end, source;      /* source: of its first page, in the file */
    const unsigned char *pages;
    _Atomic unsigned char *states;    /* of each page */
};

static struct {
    const struct memory *memory;
    struct range *ranges;             /* ascending */
    size_t count;
    uint64_t page_bytes;
    int descriptor;
    _Atomic uint64_t filled;          /* pages so far that the kernel did not count as faults */
} ahead = {.descriptor = -1};

/* Arrays that are gone through side by side, and each page by page or in steps: where a walk goes on, keyed by that place. */
static __thread struct {
    struct stream { uint64_t next; int64_t step_bytes; uint32_t pages; } streams[STREAMS];
    uint64_t last;                    /* touch */
    int64_t last_step_bytes;
    unsigned char *copies;            /* room for COPY_PAGES_MOST */
    uint64_t waited;                  /* the last address that pcere_ahead_waits met */
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
    uint64_t source = copy->source + (start - copy->address);
    struct range *range = &ahead.ranges[ahead.count];
    *range = (struct range){start, end, source, memory->codelet->pages + source, calloc((end - start) / ahead.page_bytes, 1)};
    if (!range->states)
        return;
    ahead.count++;
    if (!range_take(range))
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

static const struct range *range_of(uint64_t address)
{
    BISECT(low, 0, ahead.count, i, ahead.ranges[i].end <= address);
    return low < ahead.count && ahead.ranges[low].start <= address ? &ahead.ranges[low] : NULL;
}

static _Atomic unsigned char *state_of(const struct range *range, uint64_t address)
{
    return &range->states[(address - range->start) / ahead.page_bytes];
}

static void adjusted_mark(const struct memory *memory)
{
    for (size_t i = 0; i < memory->adjusted_count; i++) {
        uint64_t end = memory->adjusted[i].address + memory->adjusted[i].bytes;
        for (uint64_t at = memory->adjusted[i].address & ~(ahead.page_bytes - 1); at < end; at += ahead.page_bytes) {
            const struct range *range = range_of(at);
            if (range)
                atomic_store(state_of(range, at), PAGE_ADJUSTED);
        }
    }
}

void pcere_ahead_begin(const struct memory *memory)
{
    const struct replay_plan *plan = memory->codelet->plan;
    const struct plan_range *changed = PLAN_TABLE(memory->codelet, changed, struct plan_range);
    if (!memory->lazy || !plan->changed.count || ahead.ranges || (ahead.descriptor = descriptor_open()) < 0
        || !(ahead.ranges = calloc(RANGES_MOST, sizeof *ahead.ranges)))
        return;
    ahead.memory = memory;
    ahead.page_bytes = plan->page_bytes;
    for (uint64_t i = 0, at = 0; i < plan->before.count; i++) {
        while (at < plan->changed.count && changed[at].address + changed[at].bytes <= memory->copies[i].address)
            at++;
        if (at < plan->changed.count && copy_suits(memory, &memory->copies[i]))
            copy_add(memory, &memory->copies[i], changed, plan->changed.count, at);
    }
    adjusted_mark(memory);
}

static size_t stream_slot(uint64_t next)
{
    return next / ahead.page_bytes * 0x9e3779b97f4a7c15u >> 56;
}

/* The walk that this touch goes on with, with twice as many pages as last time; or a new one. Two steps of one width, not of a page, make one as well. */
static struct stream stream_at(uint64_t start)
{
    const struct stream *known = &thread.streams[stream_slot(start)];
    int64_t step_bytes = (int64_t)(start - thread.last);
    struct stream stream = {start, (int64_t)ahead.page_bytes, 1};
    if (known->pages && known->next == start) {
        stream = *known;
        stream.pages = stream.pages < PAGES_MOST ? 2 * stream.pages : PAGES_MOST;
    } else if (step_bytes == thread.last_step_bytes && step_bytes) {
        stream.step_bytes = step_bytes;
        stream.pages = 2;
    }
    thread.last_step_bytes = step_bytes;
    thread.last = start;
    return stream;
}

/* How many pages of the walk from its start on are this thread's to fill in: up to one that is not free. */
static uint32_t pages_take(const struct range *range, const struct stream *stream)
{
    uint32_t taken = 0;
    uint64_t at = stream->next;
    for (; taken < stream->pages && range->start <= at && at < range->end; taken++, at += (uint64_t)stream->step_bytes) {
        unsigned char state = PAGE_FREE;
        if (!atomic_compare_exchange_strong(state_of(range, at), &state, PAGE_TAKEN))
            break;
    }
    return taken;
}

static void pages_copy(uint64_t start, const void *from, uint64_t bytes)
{
    struct uffdio_copy copy = {.dst = start, .src = (uint64_t)from, .len = bytes};
    ioctl(ahead.descriptor, UFFDIO_COPY, &copy);
    if (copy.copy > 0)
        atomic_fetch_add(&ahead.filled, (uint64_t)copy.copy / ahead.page_bytes);
}

/* From the file, at one go: dearer, but where a hypervisor keeps page tables of its own they are filled as well, if nobody else can write there meanwhile. */
static bool pages_remap(const struct range *range, uint64_t start, uint64_t bytes)
{
    const struct codelet *codelet = ahead.memory->codelet;
    if (codelet->plan->result.threads != 1 || pcere_shadow_is_cheap())
        return false;
    if (mmap((void *)start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, codelet->pages_fd, (off_t)(range->source + (start - range->start)))
        == MAP_FAILED)
        return false;
    if (!madvise((void *)start, bytes, MADV_POPULATE_WRITE)) {
        struct shadow_span span = {.page_bytes = ahead.page_bytes};
        pcere_shadow_add(&span, NULL, start, start + bytes);
        pcere_shadow_fill(&span);
    }
    return true;
}

static void piece_fill(const struct range *range, uint64_t start, uint64_t bytes)
{
    const unsigned char *from = range->pages + (start - range->start);
    if (pages_remap(range, start, bytes))
        return;
    for (uint64_t at = 0; at < bytes; at += PIECE_PAGES_LEAST * ahead.page_bytes)
        (void)*(const volatile unsigned char *)(from + at);
    pages_copy(start, from, bytes);
}

/* Few pages through a buffer: the mapped file would have to be brought into this process's page tables first. */
static void pages_fill(const struct range *range, uint64_t start, uint64_t bytes)
{
    if (bytes >= PIECE_PAGES_LEAST * ahead.page_bytes) {
        piece_fill(range, start, bytes);
        return;
    }
    if (!thread.copies) {
        thread.copies = mmap(NULL, COPY_PAGES_MOST * ahead.page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        thread.copies = thread.copies == MAP_FAILED ? NULL : thread.copies;
    }
    for (uint64_t done = 0; done < bytes;) {
        uint64_t piece = bytes - done < COPY_PAGES_MOST * ahead.page_bytes ? bytes - done : COPY_PAGES_MOST * ahead.page_bytes;
        const unsigned char *from = range->pages + (start + done - range->start);
        bool read = thread.copies && syscall(SYS_pread64, ahead.memory->codelet->pages_fd, thread.copies, piece,
                                              range->source + (start + done - range->start)) == (long)piece;
        if (!read)
            for (uint64_t at = 0; at < piece; at += ahead.page_bytes)
                (void)*(const volatile unsigned char *)(from + at);
        pages_copy(start + done, read ? thread.copies : from, piece);
        done += piece;
    }
}

/* What somebody dropped, and what this process adjusted, comes page by page; a page that another thread fills in is waited for by touching it again. */
static void page_serve(const struct range *range, uint64_t address)
{
    uint64_t start = address & ~(ahead.page_bytes - 1);
    struct stream stream = stream_at(start);
    uint32_t pages = pages_take(range, &stream);
    bool together = stream.step_bytes == (int64_t)ahead.page_bytes;
    if (!pages && atomic_load(state_of(range, start)) != PAGE_TAKEN) {
        const unsigned char *from = range->pages + (start - range->start);
        (void)*(const volatile unsigned char *)from;
        pages_copy(start, from, ahead.page_bytes);
        return;
    }
    if (together && pages)
        pages_fill(range, start, pages * ahead.page_bytes);
    uint64_t at = start;
    for (uint32_t i = 0; i < pages; i++, at += (uint64_t)stream.step_bytes) {
        if (!together)
            pages_fill(range, at, ahead.page_bytes);
        atomic_store(state_of(range, at), PAGE_FILLED);
    }
    if (pages) {
        stream.next = at;
        stream.pages = pages;
        thread.streams[stream_slot(at)] = stream;
    }
}

bool pcere_ahead_serve(uint64_t address)
{
    const struct range *range = range_of(address);
    int kept = errno;                 /* the region's */
    if (range)
        page_serve(range, address);
    errno = kept;
    return range != NULL;
}

bool pcere_ahead_waits(uint64_t address)
{
    const struct range *range = range_of(address);
    unsigned char state = range ? atomic_load(state_of(range, address & ~(ahead.page_bytes - 1))) : PAGE_FREE;
    bool again = state == PAGE_TAKEN || (state == PAGE_FILLED && thread.waited != address);
    thread.waited = state == PAGE_FILLED ? address : 0;
    return again;
}

uint64_t pcere_ahead_filled(void)
{
    return atomic_load(&ahead.filled);
}
