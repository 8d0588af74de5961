/* capture-rt/tracer/run_list.c - lists of runs of stored pages: merging neighbours, and what differs between two of them. */
#include "capture-rt/tracer/snapshot.h"

#include "core/text.h"

#include <stdlib.h>
#include <string.h>

static uint64_t number_at(const struct store_run *run, uint64_t index)
{
    return run->page == STORE_PAGE_ZERO ? STORE_PAGE_ZERO : run->page + index;
}

bool run_list_add(struct run_list *list, struct store_run run, uint64_t page_bytes)
{
    struct store_run *last = list->count ? &list->runs[list->count - 1] : NULL;
    if (run.count == 0)
        return true;
    if (last && last->address + last->count * page_bytes == run.address &&
        (last->page == STORE_PAGE_ZERO ? run.page == STORE_PAGE_ZERO : last->page + last->count == run.page)) {
        last->count += run.count;
        return true;
    }
    if (!array_reserve(&list->runs, &list->capacity, list->count + 1, sizeof *list->runs))
        return false;
    list->runs[list->count++] = run;
    return true;
}

bool run_list_append(struct run_list *list, const struct store_run *runs, size_t count)
{
    if (!array_reserve(&list->runs, &list->capacity, list->count + count, sizeof *list->runs))
        return false;
    if (count)
        memcpy(list->runs + list->count, runs, count * sizeof *runs);
    list->count += count;
    return true;
}

bool run_list_difference(const struct run_list *before, const struct run_list *after, uint64_t page_bytes, struct run_list *ret_list)
{
    struct run_list result = {0};
    size_t old = 0;
    for (size_t i = 0; i < after->count; i++) {
        const struct store_run *run = &after->runs[i];
        for (uint64_t done = 0; done < run->count;) {
            uint64_t address = run->address + done * page_bytes, number = number_at(run, done), count = run->count - done;
            while (old < before->count && before->runs[old].address + before->runs[old].count * page_bytes <= address)
                old++;
            const struct store_run *known = old < before->count ? &before->runs[old] : NULL;
            bool same = false;
            if (known && known->address <= address) {
                uint64_t index = (address - known->address) / page_bytes;
                count = count < known->count - index ? count : known->count - index;
                same = number_at(known, index) == number;   /* then of all `count` pages: both count up, or both are zero */
            } else if (known && (known->address - address) / page_bytes < count)
                count = (known->address - address) / page_bytes;
            if (!same && !run_list_add(&result, (struct store_run){address, number, count}, page_bytes)) {
                run_list_done(&result);
                return false;
            }
            done += count;
        }
    }
    *ret_list = result;
    return true;
}

bool run_list_union(const struct run_list *left, const struct run_list *right, uint64_t page_bytes, struct run_list *ret_list)
{
    struct run_list result = {0};
    uint64_t end = 0;                /* of what is there already */
    for (size_t i = 0, j = 0; i < left->count || j < right->count;) {
        bool first = j == right->count || (i < left->count && left->runs[i].address <= right->runs[j].address);
        const struct store_run *run = first ? &left->runs[i++] : &right->runs[j++];
        uint64_t known = end > run->address ? (end - run->address) / page_bytes : 0;
        if (known >= run->count)
            continue;
        struct store_run rest = {run->address + known * page_bytes, number_at(run, known), run->count - known};
        if (!run_list_add(&result, rest, page_bytes)) {
            run_list_done(&result);
            return false;
        }
        end = rest.address + rest.count * page_bytes;
    }
    *ret_list = result;
    return true;
}

bool run_list_inside(const struct run_list *list, const struct store_mapping *mappings, size_t count, uint64_t page_bytes,
                     struct run_list *ret_list)
{
    struct run_list result = {0};
    size_t next = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct store_run *run = &list->runs[i];
        uint64_t end = run->address + run->count * page_bytes;
        while (next < count && mappings[next].end <= run->address)
            next++;
        for (size_t j = next; j < count && mappings[j].start < end; j++) {
            uint64_t low = mappings[j].start > run->address ? mappings[j].start : run->address;
            uint64_t high = mappings[j].end < end ? mappings[j].end : end;
            struct store_run part = {low, number_at(run, (low - run->address) / page_bytes), (high - low) / page_bytes};
            if (!run_list_add(&result, part, page_bytes)) {
                run_list_done(&result);
                return false;
            }
        }
    }
    *ret_list = result;
    return true;
}

bool run_list_outside(const struct run_list *list, const struct store_alias *aliases, size_t count, uint64_t page_bytes, struct run_list *ret_list)
{
    struct run_list result = {0};
    size_t next = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct store_run *run = &list->runs[i];
        for (uint64_t at = run->address, end = at + run->count * page_bytes; at < end;) {
            while (next < count && aliases[next].address + aliases[next].bytes <= at)
                next++;
            uint64_t low = next < count && aliases[next].address < end ? aliases[next].address : end;
            if (low > at && !run_list_add(&result, (struct store_run){at, number_at(run, (at - run->address) / page_bytes), (low - at) / page_bytes}, page_bytes)) {
                run_list_done(&result);
                return false;
            }
            at = low < end ? aliases[next].address + aliases[next].bytes : end;
        }
    }
    *ret_list = result;
    return true;
}

uint64_t run_list_pages(const struct run_list *list)
{
    uint64_t pages = 0;
    for (size_t i = 0; i < list->count; i++)
        pages += list->runs[i].count;
    return pages;
}

bool run_list_copy(const struct run_list *list, struct run_list *ret_list)
{
    struct store_run *runs = malloc((list->count ? list->count : 1) * sizeof *runs);
    if (!runs)
        return false;
    if (list->count)
        memcpy(runs, list->runs, list->count * sizeof *runs);
    *ret_list = (struct run_list){runs, list->count, list->count};
    return true;
}

void run_list_done(struct run_list *list)
{
    free(list->runs);
    *list = (struct run_list){0};
}
