/* replay-rt/target/memory.c - the captured memory at its old addresses: mapped, restored, and what a run writes.
 *
 *   mapping   |--------------------------------------------|
 *   copies        [pages 0..2]   [3..4]          [5..9]            present at the region's start
 *   gaps      [--]            [-]      [--------]      [---]       absent: a first touch costs a page fault, as it did in the
 * original
 */
#include "replay-rt/target/codelet.h"
#include "include/pcere/bisect.h"
#include "replay-rt/target/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COUNTING_STACK_BYTES (64u << 10)   /* below the captured stack, that code which counts may use */

#define HUGE_PAGE_BYTES (2ull << 20)
#define POPULATE_SLICES 16u                /* of a thread */
#define LAZY_COPIES_MOST 20000u           /* mappings of a process are limited (vm.max_map_count) */
#define STRETCH_PAGES 1024u               /* between pages that are known to change: probably written as well */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

static void *array_new(struct codelet *codelet, size_t count, size_t item_bytes)
{
    void *array = calloc(count ? count : 1, item_bytes);
    if (!array)
        pcere_plan_end(codelet, PLAN_FAILED, "no memory for the page tables of the codelet");
    return array;
}

static void range_map(struct codelet *codelet, uint64_t start, uint64_t end)
{
    void *wanted = (void *)start;
    void *got = mmap(wanted, end - start, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == wanted)
        return;
    int cause = errno;
    struct plan_result *result = &codelet->plan->result;
    result->collision_start = start;
    result->collision_end = end;
    if (got != MAP_FAILED || cause == EEXIST)
        pcere_plan_end(codelet, PLAN_COLLIDED, "addresses 0x%llx to 0x%llx are taken", (unsigned long long)start,
                       (unsigned long long)end);
    pcere_plan_end(codelet, PLAN_UNMAPPED, "cannot map addresses 0x%llx to 0x%llx: %s", (unsigned long long)start,
                   (unsigned long long)end, strerror(cause));
}

/* Addresses below a stack that it may grow into: as far as the kernel would have let it, and not onto another mapping. */
static void stack_extend(struct codelet *codelet, uint64_t floor, uint64_t start)
{
    uint64_t room = plan_stack_room(start - floor, codelet->plan->page_bytes);
    if (room)
        mmap((void *)(start - room), room, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

/* A huge page would make absent neighbours present. */
static void keep_small_pages(uint64_t start, uint64_t end)
{
    uint64_t low = start & ~(HUGE_PAGE_BYTES - 1), high = (end + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
    if (end - start < HUGE_PAGE_BYTES) {
        madvise((void *)low, high - low, MADV_NOHUGEPAGE);
        return;
    }
    if (low != start)
        madvise((void *)low, HUGE_PAGE_BYTES, MADV_NOHUGEPAGE);
    if (high != end)
        madvise((void *)(high - HUGE_PAGE_BYTES), HUGE_PAGE_BYTES, MADV_NOHUGEPAGE);
}

/* Captured pages as a private mapping of the pages file: a page costs memory only once it is written. */
static bool copies_map(const struct memory *memory)
{
    uint64_t page_bytes = memory->codelet->plan->page_bytes;
    for (uint64_t i = 0; i < memory->codelet->plan->before.count; i++) {
        const struct plan_copy *copy = &memory->copies[i];
        if (mmap((void *)copy->address, copy->pages * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                 memory->codelet->pages_fd, (off_t)copy->source) == MAP_FAILED)
            return false;
    }
    return true;
}

/* What is at several addresses is no gap where it has no page: there it is all the same. */
static void gap_add(struct memory *memory, uint64_t start, uint64_t end)
{
    size_t at = start < end ? pcere_plan_range_from(memory->shared, memory->shared_count, start) : 0;
    while (start < end) {
        const struct plan_range *shared = at < memory->shared_count ? &memory->shared[at++] : NULL;
        uint64_t stop = shared && shared->address < end ? shared->address : end;
        if (start < stop)
            memory->gaps[memory->gap_count++] = (struct plan_range){start, stop - start};
        start = stop < end ? shared->address + shared->bytes : end;
    }
}

static void gaps_find(struct memory *memory)
{
    const struct replay_plan *plan = memory->codelet->plan;
    uint64_t copy = 0;
    for (uint64_t i = 0; i < plan->mappings.count; i++) {
        const struct plan_mapping *mapping = &memory->mappings[i];
        uint64_t at = mapping->start;
        for (; copy < plan->before.count && memory->copies[copy].address < mapping->end; copy++) {
            const struct plan_copy *present = &memory->copies[copy];
            uint64_t end = present->address + present->pages * plan->page_bytes;
            if (present->address < mapping->start || end > mapping->end)
                pcere_plan_end(memory->codelet, PLAN_FAILED, "pages at 0x%llx lie outside every mapping",
                               (unsigned long long)present->address);
            gap_add(memory, at, present->address);
            at = end;
        }
        gap_add(memory, at, mapping->end);
    }
    if (copy != plan->before.count)
        pcere_plan_end(memory->codelet, PLAN_FAILED, "pages lie outside every mapping");
    memory->lazy = !plan->huge_pages && plan->before.count <= LAZY_COPIES_MOST
                   && pcere_pagemap_state((uint64_t)memory->codelet->plan, plan->page_bytes) != PAGE_UNKNOWN;
    for (size_t i = 0; plan->huge_pages && i < memory->gap_count; i++)
        keep_small_pages(memory->gaps[i].address, memory->gaps[i].address + memory->gaps[i].bytes);
}

void pcere_memory_map(struct codelet *codelet, struct memory *ret_memory)
{
    const struct replay_plan *plan = codelet->plan;
    struct memory memory = {
        .codelet = codelet,
        .mappings = PLAN_TABLE(codelet, mappings, struct plan_mapping),
        .copies = PLAN_TABLE(codelet, before, struct plan_copy),
        .first_page = array_new(codelet, plan->before.count + 1, sizeof(uint64_t)),
        .gaps = array_new(codelet, plan->before.count + plan->mappings.count + 2 * plan->aliases.count, sizeof(struct plan_range)),
    };
    pcere_aliases_find(&memory);
    uint64_t floor = 0;
    for (uint64_t i = 0; i < plan->mappings.count; i++) {
        const struct plan_mapping *mapping = &memory.mappings[i];
        if (mapping->start < floor || mapping->start >= mapping->end || (mapping->start | mapping->end) % plan->page_bytes)
            pcere_plan_end(codelet, PLAN_FAILED, "the plan's mappings are not in order");
        range_map(codelet, mapping->start, mapping->end);
        if (mapping->flags & PLAN_MAPPING_GROWS)
            stack_extend(codelet, floor, mapping->start);
        floor = mapping->end;
    }
    gaps_find(&memory);
    for (uint64_t i = 0; i < plan->before.count; i++)
        memory.first_page[i + 1] = memory.first_page[i] + memory.copies[i].pages;
    memory.dirty = array_new(codelet, memory.first_page[plan->before.count], 1);
    if (memory.lazy && !copies_map(&memory))
        pcere_plan_end(codelet, PLAN_FAILED, "cannot map the captured pages: %s", strerror(errno));
    pcere_aliases_map(&memory);
    *ret_memory = memory;
}

/* The copy that holds page number `page`. */
static uint64_t copy_of_page(const struct memory *memory, uint64_t page)
{
    BISECT(next, 1, memory->codelet->plan->before.count, i, memory->first_page[i] <= page);
    return next - 1;
}

typedef void pages_fn(struct memory *memory, uint64_t page, const struct plan_copy *copy, uint64_t first, uint64_t count);

/* Call `visit` for this thread's share of all pages, in pieces that lie in one copy. */
static void pages_visit(struct memory *memory, uint32_t thread, uint32_t threads, pages_fn *visit)
{
    uint64_t copies = memory->codelet->plan->before.count;
    uint64_t pages = memory->first_page[copies];
    uint64_t at = pages * thread / threads, end = pages * (thread + 1) / threads;
    if (at == end)
        return;
    for (uint64_t i = copy_of_page(memory, at); at < end; i++) {
        uint64_t stop = memory->first_page[i + 1] < end ? memory->first_page[i + 1] : end;
        visit(memory, at, &memory->copies[i], at - memory->first_page[i], stop - at);
        at = stop;
    }
}

void pcere_page_move(const struct codelet *codelet, const struct page_move *move, uint64_t bytes)
{
    if (move->zero == PLAN_COPY_ABSENT) {
        madvise((void *)move->address, bytes, MADV_DONTNEED);
        return;
    }
    if (move->zero) {
        memset((void *)move->address, 0, bytes);
        return;
    }
    const unsigned char *from = codelet->pages + move->source;
    memcpy((void *)move->address, from, bytes);
    pcere_lines_leave(from, bytes);
}

void pcere_pages_moved(void)
{
    pcere_lines_left();
}

static void restore_piece(struct memory *memory, uint64_t page, const struct plan_copy *copy, uint64_t first, uint64_t count)
{
    (void)page;
    if (memory->guarded && !(pcere_memory_protection(memory, copy->address) & PROT_WRITE))
        return;
    uint64_t page_bytes = memory->codelet->plan->page_bytes;
    const struct page_move move = {copy->address + first * page_bytes, copy->source + first * page_bytes, copy->zero};
    pcere_page_move(memory->codelet, &move, count * page_bytes);
}

/* Index of the mapping that holds the address, or the number of mappings. */
static uint64_t mapping_of(const struct memory *memory, uint64_t address)
{
    BISECT(low, 0, memory->codelet->plan->mappings.count, i, memory->mappings[i].end <= address);
    uint64_t count = memory->codelet->plan->mappings.count;
    return low < count && memory->mappings[low].start <= address ? low : count;
}

/* The mapping that holds the address, if pages of it may be read and written now. */
static const struct plan_mapping *writable_mapping(const struct memory *memory, uint64_t address)
{
    uint64_t i = mapping_of(memory, address);
    if (i == memory->codelet->plan->mappings.count || pcere_mapping_changes_protection(&memory->mappings[i])
        || (memory->guarded && memory->mappings[i].protection != (PROT_READ | PROT_WRITE)))
        return NULL;
    return &memory->mappings[i];
}

/* What is the process's own now. */
static void range_shadow(const struct memory *memory, struct shadow_span *span, uint64_t start, uint64_t end)
{
    const struct plan_mapping *mapping = memory->shadowed ? NULL : writable_mapping(memory, start);
    if (mapping && end <= mapping->end)
        pcere_shadow_add(span, mapping, start, end);
}

static void populate_write(const struct memory *memory, struct shadow_span *span, uint64_t start, uint64_t end)
{
    if (start >= end)
        return;
    if (!madvise((void *)start, end - start, MADV_POPULATE_WRITE)) {
        range_shadow(memory, span, start, end);
        return;
    }
    for (uint64_t at = start; at < end; at += span->page_bytes) {
        volatile unsigned char *byte = (volatile unsigned char *)at;
        *byte = *byte;
    }
}

/* Where it is known what changes, that and short stretches between it; the rest is only mapped, to be read. */
static void populate_piece(struct memory *memory, uint64_t page, const struct plan_copy *copy, uint64_t first, uint64_t count)
{
    (void)page;
    if (memory->guarded && !(pcere_memory_protection(memory, copy->address) & PROT_WRITE))
        return;
    const struct plan_range *changed = PLAN_TABLE(memory->codelet, changed, struct plan_range);
    uint64_t page_bytes = memory->codelet->plan->page_bytes, known = memory->codelet->plan->changed.count;
    uint64_t at = copy->address + first * page_bytes, end = at + count * page_bytes;
    uint64_t i = pcere_plan_range_from(changed, known, at);
    struct shadow_span span = {.page_bytes = page_bytes};
    for (; i < known && at < end; i++) {
        uint64_t from = changed[i].address < end ? changed[i].address : end;
        uint64_t stop = changed[i].address + changed[i].bytes < end ? changed[i].address + changed[i].bytes : end;
        bool near = i && changed[i].address - (changed[i - 1].address + changed[i - 1].bytes) <= STRETCH_PAGES * page_bytes;
        if (from > at && !near)
            madvise((void *)at, from - at, MADV_POPULATE_READ);
        else
            from = at;
        if (from < end)
            populate_write(memory, &span, from, stop);
        at = stop;
    }
    if (!known)
        populate_write(memory, &span, at, end);
    else if (at < end)
        madvise((void *)at, end - at, MADV_POPULATE_READ);
    pcere_shadow_fill(&span);
}

/* In turn, since what is only mapped costs next to nothing. */
static void populate_all(void *context, uint32_t thread, uint32_t threads)
{
    for (uint32_t slice = thread; slice < POPULATE_SLICES * threads; slice += threads)
        pages_visit(context, slice, POPULATE_SLICES * threads, populate_piece);
}

/* Without MADV_POPULATE_WRITE the first run does it. */
static void populate_changed(void *context, uint32_t thread, uint32_t threads)
{
    const struct memory *memory = context;
    const struct plan_range *changed = PLAN_TABLE(memory->codelet, changed, struct plan_range);
    uint64_t count = memory->codelet->plan->changed.count, page_bytes = memory->codelet->plan->page_bytes, pages = 0, seen = 0;
    struct shadow_span span = {.page_bytes = page_bytes};
    for (uint64_t i = 0; i < count; i++)
        pages += changed[i].bytes / page_bytes;
    uint64_t first = pages * thread / threads, end = pages * (thread + 1) / threads;
    for (uint64_t i = 0; i < count && seen < end; i++) {
        uint64_t next = seen + changed[i].bytes / page_bytes;
        uint64_t from = first > seen ? first : seen, to = end < next ? end : next;
        uint64_t start = changed[i].address + (from - seen) * page_bytes, bytes = from < to ? (to - from) * page_bytes : 0;
        if (bytes && !madvise((void *)start, bytes, MADV_POPULATE_WRITE))
            range_shadow(memory, &span, start, start + bytes);
        seen = next;
    }
    pcere_shadow_fill(&span);
}

/* Did populate_piece make it the process's own? `i`: the first of the known ranges that ends behind it. */
static bool is_populated(const struct plan_range *changed, uint64_t known, uint64_t i, uint64_t address, uint64_t page_bytes)
{
    if (!known || (i < known && changed[i].address <= address))
        return true;
    return i && i < known && changed[i].address - (changed[i - 1].address + changed[i - 1].bytes) <= STRETCH_PAGES * page_bytes;
}

uint64_t pcere_memory_made_own(const struct memory *memory)
{
    const struct plan_range *changed = PLAN_TABLE(memory->codelet, changed, struct plan_range);
    uint64_t page_bytes = memory->codelet->plan->page_bytes, known = memory->codelet->plan->changed.count, i = 0, count = 0;
    pcere_pagemap_refresh();
    for (uint64_t c = 0; c < memory->codelet->plan->before.count; c++) {
        const struct plan_copy *copy = &memory->copies[c];
        for (uint64_t at = copy->address, end = at + copy->pages * page_bytes; at < end; at += page_bytes) {
            while (i < known && changed[i].address + changed[i].bytes <= at)
                i++;
            count += !is_populated(changed, known, i, at, page_bytes) && pcere_pagemap_state(at, page_bytes) == PAGE_OWN;
        }
    }
    return count;
}

static void restore_all(void *context, uint32_t thread, uint32_t threads)
{
    pages_visit(context, thread, threads, restore_piece);
    pcere_pages_moved();
}

static void restore_written(void *context, uint32_t thread, uint32_t threads)
{
    struct memory *memory = context;
    uint64_t page_bytes = memory->codelet->plan->page_bytes;
    size_t end = memory->written_count * (thread + 1) / threads;
    for (size_t i = memory->written_count * thread / threads; i < end; i++)
        pcere_page_move(memory->codelet, &memory->written[i], page_bytes);
    pcere_pages_moved();
}

static void drop(const struct plan_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        madvise((void *)ranges[i].address, ranges[i].bytes, MADV_DONTNEED);
}

void pcere_memory_populate(struct memory *memory)
{
    pcere_processors_run(memory->lazy ? populate_all : restore_all, memory, memory->codelet->plan->result.threads);
    memory->shadowed = true;
}

void pcere_memory_prepare(struct memory *memory)
{
    if (!memory->lazy || !memory->codelet->plan->changed.count)
        return;
    pcere_processors_run(populate_changed, memory, memory->codelet->plan->result.threads);
    memory->shadowed = true;
}

void pcere_memory_restore(struct memory *memory)
{
    pcere_reclaim_end();
    if (memory->learned) {
        drop(memory->dropped, memory->drop_count);
        pcere_team_run(restore_written, memory);
    } else {
        drop(memory->gaps, memory->gap_count);
        pcere_team_run(restore_all, memory);
    }
}

static const unsigned char zero_page[1u << 16];

static bool page_changed(const struct memory *memory, const struct plan_copy *copy, uint64_t offset)
{
    const unsigned char *before = copy->zero ? zero_page : memory->codelet->pages + copy->source + offset;
    return memcmp((const void *)(copy->address + offset), before, memory->codelet->plan->page_bytes) != 0;
}

static void learn_piece(struct memory *memory, uint64_t page, const struct plan_copy *copy, uint64_t first, uint64_t count)
{
    uint64_t page_bytes = memory->codelet->plan->page_bytes;
    if (!(pcere_memory_protection(memory, copy->address) & PROT_WRITE))
        return;
    for (uint64_t i = 0; i < count; i++)
        if (!memory->lazy || memory->dirty[page + i])
            memory->dirty[page + i] = page_changed(memory, copy, (first + i) * page_bytes);
}

static void learn_share(void *context, uint32_t thread, uint32_t threads)
{
    pages_visit(context, thread, threads, learn_piece);
}

/* Only pages that are no longer the file's can have changed, and those that the region dropped. */
static void candidates_mark(struct memory *memory)
{
    uint64_t page_bytes = memory->codelet->plan->page_bytes;
    pcere_pagemap_refresh();
    for (uint64_t i = 0; i < memory->codelet->plan->before.count; i++) {
        if (!(pcere_memory_protection(memory, memory->copies[i].address) & PROT_WRITE))
            continue;
        for (uint64_t page = memory->first_page[i]; page < memory->first_page[i + 1]; page++) {
            uint64_t address = memory->copies[i].address + (page - memory->first_page[i]) * page_bytes;
            enum page_state state = pcere_pagemap_state(address, page_bytes);
            memory->dirty[page] = state == PAGE_OWN || state == PAGE_UNKNOWN || (state == PAGE_ABSENT && pcere_mappings_replaced());
        }
    }
}

static void written_collect(struct memory *memory)
{
    uint64_t copies = memory->codelet->plan->before.count, page_bytes = memory->codelet->plan->page_bytes;
    uint64_t pages = memory->first_page[copies];
    size_t count = 0;
    for (uint64_t i = 0; i < pages; i++)
        count += memory->dirty[i];
    free(memory->written);
    memory->written_count = 0;
    memory->written = array_new(memory->codelet, count, sizeof *memory->written);
    for (uint64_t i = 0; i < copies; i++)
        for (uint64_t page = memory->first_page[i]; page < memory->first_page[i + 1]; page++)
            if (memory->dirty[page]) {
                uint64_t offset = (page - memory->first_page[i]) * page_bytes;
                memory->written[memory->written_count++] = (struct page_move){
                    memory->copies[i].address + offset, memory->copies[i].source + offset, memory->copies[i].zero};
            }
}

/* From the first page of a gap that is there now to the last one; unknown counts as there. */
static bool gap_touched(const struct plan_range *gap, uint64_t page_bytes, struct plan_range *ret_touched)
{
    uint64_t end = gap->address + gap->bytes;
    struct plan_range run;
    bool touched = pcere_pagemap_run(gap->address, end, page_bytes, ret_touched);
    while (touched && pcere_pagemap_run(ret_touched->address + ret_touched->bytes, end, page_bytes, &run))
        ret_touched->bytes = run.address + run.bytes - ret_touched->address;
    return touched;
}

/* Code that counts lies deeper on the stack than the region's own: pages just below the captured one are not new ones of the region's. */
static bool counting_used(const struct replay_plan *plan, const struct plan_range *touched)
{
    uint64_t end = touched->address + touched->bytes;
    return plan->policy.task == PLAN_CHARACTER && end <= plan->stack_pointer && plan->stack_pointer - touched->address <= COUNTING_STACK_BYTES;
}

void pcere_memory_learn_drops(struct memory *memory)
{
    uint64_t page_bytes = memory->codelet->plan->page_bytes;
    struct plan_range *dropped = array_new(memory->codelet, memory->gap_count, sizeof *dropped);
    size_t count = 0, known = 0;
    uint64_t pages = 0;
    pcere_pagemap_refresh();
    for (size_t i = 0; i < memory->gap_count; i++) {
        struct plan_range touched, *before = known < memory->drop_count ? &memory->dropped[known] : NULL;
        uint64_t gap_end = memory->gaps[i].address + memory->gaps[i].bytes;
        before = before && before->address < gap_end ? before : NULL;
        known += before != NULL;
        if (!gap_touched(&memory->gaps[i], page_bytes, &touched)) {
            if (!before)
                continue;
            touched = *before;
        }
        uint64_t end = touched.address + touched.bytes;
        if (before && before->address + before->bytes > end)
            end = before->address + before->bytes;
        if (before && before->address < touched.address)
            touched.address = before->address;
        touched.bytes = end - touched.address;
        dropped[count++] = touched;
        pages += counting_used(memory->codelet->plan, &touched) ? 0 : touched.bytes / page_bytes;
    }
    free(memory->dropped);
    memory->dropped = dropped;
    memory->drop_count = count;
    memory->codelet->plan->result.dropped_pages = pages;
}

void pcere_memory_drop(struct memory *memory)
{
    drop(memory->dropped, memory->drop_count);
}

void pcere_memory_learn(struct memory *memory)
{
    if (memory->lazy)
        candidates_mark(memory);
    pcere_team_run(learn_share, memory);
    written_collect(memory);
    pcere_memory_learn_drops(memory);
    memory->codelet->plan->result.written_pages = memory->written_count;
    memory->learned = true;
}

bool pcere_memory_is_mapped(const struct memory *memory, uint64_t address)
{
    return mapping_of(memory, address) < memory->codelet->plan->mappings.count;
}

uint32_t pcere_memory_protection(const struct memory *memory, uint64_t address)
{
    uint64_t i = mapping_of(memory, address);
    if (i == memory->codelet->plan->mappings.count)
        return 0;
    return memory->mappings[i].protection | (pcere_mapping_changes_protection(&memory->mappings[i]) ? PROT_READ | PROT_WRITE : 0);
}

uint64_t pcere_memory_copy_from(const struct memory *memory, uint64_t address)
{
    uint64_t page_bytes = memory->codelet->plan->page_bytes;
    BISECT(low, 0, memory->codelet->plan->before.count, i, memory->copies[i].address + memory->copies[i].pages * page_bytes <= address);
    return low;
}

const struct plan_copy *pcere_memory_copy(const struct memory *memory, uint64_t address)
{
    uint64_t i = pcere_memory_copy_from(memory, address);
    return i < memory->codelet->plan->before.count && memory->copies[i].address <= address ? &memory->copies[i] : NULL;
}

const unsigned char *pcere_memory_pristine(const struct memory *memory, uint64_t address)
{
    const struct plan_copy *copy = pcere_memory_copy(memory, address);
    return copy && !copy->zero ? memory->codelet->pages + copy->source + (address - copy->address) : NULL;
}

static void adjusted_add(struct memory *memory, uint64_t address, size_t count)
{
    if (memory->adjusted_count == memory->adjusted_capacity) {
        size_t capacity = memory->adjusted_capacity ? memory->adjusted_capacity * 2 : 256;
        struct plan_range *grown = realloc(memory->adjusted, capacity * sizeof *grown);
        if (!grown)
            pcere_plan_end(memory->codelet, PLAN_FAILED, "no memory for the list of changed words");
        memory->adjusted = grown;
        memory->adjusted_capacity = capacity;
    }
    memory->adjusted[memory->adjusted_count++] = (struct plan_range){address, count};
}

bool pcere_memory_adjust(struct memory *memory, uint64_t address, const void *bytes, size_t count)
{
    const unsigned char *from = bytes;
    for (size_t done = 0; done < count;) {
        uint64_t page_left = memory->codelet->plan->page_bytes - (address + done) % memory->codelet->plan->page_bytes;
        size_t piece = count - done < page_left ? count - done : (size_t)page_left;
        unsigned char *pristine = (unsigned char *)(uintptr_t)pcere_memory_pristine(memory, address + done);
        if (!pristine)
            return false;
        memcpy(pristine, from + done, piece);
        memcpy((void *)(address + done), from + done, piece);
        done += piece;
    }
    adjusted_add(memory, address, count);
    return true;
}

void pcere_memory_protect(struct memory *memory)
{
    const struct replay_plan *plan = memory->codelet->plan;
    uint64_t copy = 0;
    for (uint64_t i = 0; i < plan->mappings.count; i++) {
        const struct plan_mapping *mapping = &memory->mappings[i];
        while (copy < plan->before.count && memory->copies[copy].address < mapping->start)
            copy++;
        bool has_pages = copy < plan->before.count && memory->copies[copy].address < mapping->end;
        int protection = (int)(mapping->protection & (PROT_READ | PROT_WRITE | PROT_EXEC)) | (has_pages ? PROT_READ : 0);
        if (protection != (PROT_READ | PROT_WRITE))
            mprotect((void *)mapping->start, mapping->end - mapping->start, protection);
    }
    memory->guarded = true;
}
