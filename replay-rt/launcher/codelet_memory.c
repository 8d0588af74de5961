/* replay-rt/launcher/codelet_memory.c - which piece of the page pool lies at which captured address.
 *
 *   codelet   before  [a][b  ]   [c]        after   [a'] [d]
 *   expected  after over before: [a'][b  ][d][c], and what the region allocated
 */
#include "replay-rt/launcher/codelet_memory.h"

#include "core/text.h"
#include "include/pcere/bisect.h"
#include "replay-rt/ranges.h"

#include <stdlib.h>
#include <string.h>

struct maker {
    struct codelet_memory memory;
    const struct page_pool *pool;
    uint64_t page_bytes;
    uint64_t zero_pages;                  /* of the pool's hole, given away */
    size_t mapping_capacity, before_capacity, expected_capacity;
};

/* `fresh`: a mapping begins here, so that this is not the end of the copy before. */
static bool copy_add(struct plan_copy **copies, size_t *count, size_t *capacity, const struct plan_copy *copy, uint64_t page_bytes,
                     bool fresh)
{
    struct plan_copy *last = *count ? &(*copies)[*count - 1] : NULL;
    if (!fresh && last && last->address + last->pages * page_bytes == copy->address && last->zero == copy->zero
        && last->source + last->pages * page_bytes == copy->source) {
        last->pages += copy->pages;
        return true;
    }
    if (!array_reserve(copies, capacity, *count + 1, sizeof **copies))
        return false;
    (*copies)[(*count)++] = *copy;
    return true;
}

const struct store_mapping *codelet_mapping_above(const struct store_codelet *codelet, uint64_t address)
{
    BISECT(low, 0, codelet->mapping_count, i, codelet->mappings[i].end <= address);
    return low < codelet->mapping_count ? &codelet->mappings[low] : NULL;
}

const struct store_mapping *codelet_mapping_at(const struct store_codelet *codelet, uint64_t address)
{
    const struct store_mapping *mapping = codelet_mapping_above(codelet, address);
    return mapping && mapping->start <= address ? mapping : NULL;
}

/* One run of the store, cut where mappings end. */
static enum pcere_status run_add(struct maker *maker, const struct store_codelet *codelet, const struct store_run *run, bool after,
                                 struct pcere_error *error)
{
    struct codelet_memory *memory = &maker->memory;
    const struct page_pool *pool = maker->pool;
    bool zero = run->page == STORE_PAGE_ZERO;
    for (uint64_t done = 0; done < run->count;) {
        struct plan_copy copy = {.address = run->address + done * maker->page_bytes, .zero = zero};
        const struct store_mapping *mapping = codelet_mapping_above(codelet, copy.address);
        if (!mapping || mapping->start > copy.address)
            return pcere_fail(error, PCERE_DATA, 0, "capture the program again", "a page of region '%s' lies outside its mappings",
                              codelet->region);
        copy.pages = (mapping->end - copy.address) / maker->page_bytes;
        copy.pages = copy.pages < run->count - done ? copy.pages : run->count - done;
        copy.source = zero    ? pool->zeros_offset + maker->zero_pages * maker->page_bytes
                      : after ? page_pool_offset(pool, run->page + done, copy.pages, &copy.pages)
                              : page_pool_take(pool, run->page + done, copy.pages, &copy.pages);
        if (zero && !after)
            maker->zero_pages += copy.pages;
        if (zero && maker->zero_pages > pool->zero_pages)
            return pcere_fail(error, PCERE_DATA, 0, "capture the program again", "region '%s' changed while it was read", codelet->region);
        bool fresh = copy.address == mapping->start;
        if (!(after ? copy_add(&memory->expected, &memory->expected_count, &maker->expected_capacity, &copy, maker->page_bytes, fresh)
                    : copy_add(&memory->before, &memory->before_count, &maker->before_capacity, &copy, maker->page_bytes, fresh)))
            return pcere_fail_memory(error, "the pages of a codelet");
        done += copy.pages;
    }
    return PCERE_OK;
}

static int mapping_order(const void *left, const void *right)
{
    const struct plan_mapping *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static bool is_fresh(const struct store_mapping *mapping)
{
    return mapping->role == STORE_ROLE_HEAP || mapping->role == STORE_ROLE_STACK || (mapping->role == STORE_ROLE_ANONYMOUS && !*mapping->name);
}

static enum pcere_status mappings_add(struct maker *maker, const struct store_codelet *codelet, struct pcere_error *error)
{
    struct codelet_memory *memory = &maker->memory;
    for (size_t i = 0; i < codelet->mapping_count; i++) {
        const struct store_mapping *mapping = &codelet->mappings[i];
        if (!array_reserve(&memory->mappings, &maker->mapping_capacity, memory->mapping_count + 1, sizeof *memory->mappings))
            return pcere_fail_memory(error, "the mappings of a codelet");
        memory->mappings[memory->mapping_count++] = (struct plan_mapping){
            .start = mapping->start,
            .end = mapping->end,
            .protection = mapping->protection,
            .flags = (mapping->role == STORE_ROLE_STACK ? PLAN_MAPPING_GROWS : 0) | (is_fresh(mapping) ? PLAN_MAPPING_FRESH : 0),
        };
    }
    return PCERE_OK;
}

_Static_assert(sizeof(struct plan_alias) == sizeof(struct store_alias), "copied as they are");

static enum pcere_status aliases_add(struct codelet_memory *memory, const struct store_codelet *codelet, struct pcere_error *error)
{
    memory->aliases = calloc(codelet->alias_count + 1, sizeof *memory->aliases);
    if (!memory->aliases)
        return pcere_fail_memory(error, "the mappings of a codelet");
    memory->alias_count = codelet->alias_count;
    if (memory->alias_count)
        memcpy(memory->aliases, codelet->aliases, memory->alias_count * sizeof *memory->aliases);
    return PCERE_OK;
}

/* Does the capture hold the page at this address? */
static bool is_captured(const struct store_codelet *codelet, uint64_t address, uint64_t page_bytes)
{
    BISECT(low, 0, codelet->before_count, i, codelet->before[i].address + codelet->before[i].count * page_bytes <= address);
    return low < codelet->before_count && codelet->before[low].address <= address;
}

/* The mapping for an image page that the capture did not map: a new one, or more of the one before. *ret_fresh: it begins here. */
static bool image_mapping(struct maker *maker, uint64_t page, uint32_t protection, bool *ret_fresh)
{
    struct codelet_memory *memory = &maker->memory;
    struct plan_mapping *last = memory->mapping_count ? &memory->mappings[memory->mapping_count - 1] : NULL;
    *ret_fresh = !last || last->end != page || last->protection != protection;
    if (!*ret_fresh) {
        last->end += maker->page_bytes;
        return true;
    }
    if (!array_reserve(&memory->mappings, &maker->mapping_capacity, memory->mapping_count + 1, sizeof *memory->mappings))
        return false;
    memory->mappings[memory->mapping_count++] = (struct plan_mapping){page, page + maker->page_bytes, protection, 0};
    return true;
}

/* Pages of a file are never absent to the program that maps them: text and constants that nobody dumped come from the file. */
static enum pcere_status segment_add(struct maker *maker, const struct store_codelet *codelet, const struct loaded_image *image,
                                     const struct image_segment *segment, struct pcere_error *error)
{
    struct codelet_memory *memory = &maker->memory;
    uint64_t low = segment->address + image->bias, high = low + segment->file_bytes;
    for (uint64_t page = low - low % maker->page_bytes; page < high; page += maker->page_bytes) {
        if (is_captured(codelet, page, maker->page_bytes))
            continue;
        const struct store_mapping *mapping = codelet_mapping_above(codelet, page);
        bool mapped = mapping && mapping->start <= page, fresh = mapped && mapping->start == page;
        const struct plan_copy copy = {.address = page, .pages = 1, .source = page - image->low + image->pool_offset};
        if ((!mapped && !image_mapping(maker, page, segment->protection, &fresh))
            || !copy_add(&memory->before, &memory->before_count, &maker->before_capacity, &copy, maker->page_bytes, fresh))
            return pcere_fail_memory(error, "the pages of a codelet");
    }
    return PCERE_OK;
}

/* A part of a copy: what lies from `at`, `pages` long. */
static struct plan_copy copy_part(const struct plan_copy *copy, uint64_t at, uint64_t pages)
{
    return (struct plan_copy){at, pages, copy->source + (at - copy->address), copy->zero};
}

/* Memory after the region: what changed, over what was there. `expected` holds the changes, ascending. */
static enum pcere_status expected_merge(struct maker *maker, struct pcere_error *error)
{
    struct codelet_memory *memory = &maker->memory;
    struct plan_copy *changes = memory->expected;
    size_t change_count = memory->expected_count, change = 0;
    uint64_t page_bytes = maker->page_bytes;
    memory->expected = NULL;
    memory->expected_count = maker->expected_capacity = 0;
    bool added = true;
    for (size_t i = 0; added && i < memory->before_count; i++) {
        const struct plan_copy *copy = &memory->before[i];
        uint64_t end = copy->address + copy->pages * page_bytes;
        for (uint64_t at = copy->address; added && at < end;) {
            while (change < change_count && changes[change].address + changes[change].pages * page_bytes <= at)
                change++;
            const struct plan_copy *next = change < change_count ? &changes[change] : NULL;
            if (next && next->address <= at) {
                at = next->address + next->pages * page_bytes;
                continue;
            }
            uint64_t stop = next && next->address < end ? next->address : end;
            const struct plan_copy part = copy_part(copy, at, (stop - at) / page_bytes);
            added = copy_add(&memory->expected, &memory->expected_count, &maker->expected_capacity, &part, page_bytes, false);
            at = stop;
        }
    }
    for (size_t i = 0; added && i < change_count; i++)
        added = copy_add(&memory->expected, &memory->expected_count, &maker->expected_capacity, &changes[i], page_bytes, true);
    free(changes);
    if (memory->expected_count)
        qsort(memory->expected, memory->expected_count, sizeof *memory->expected, plan_copy_order);
    return added ? PCERE_OK : pcere_fail_memory(error, "the pages of a codelet");
}

/* What the region allocated lies in no mapping. */
static enum pcere_status made_add(struct maker *maker, const struct store_codelet *codelet, struct pcere_error *error)
{
    struct codelet_memory *memory = &maker->memory;
    const struct page_pool *pool = maker->pool;
    bool added = true;
    for (size_t i = 0; added && i < codelet->made_count; i++) {
        const struct store_run *run = &codelet->made[i];
        for (uint64_t done = 0; added && done < run->count;) {
            struct plan_copy copy = {.address = run->address + done * maker->page_bytes, .pages = run->count - done, .source = pool->zeros_offset,
                                     .zero = run->page == STORE_PAGE_ZERO};
            if (!copy.zero)
                copy.source = page_pool_offset(pool, run->page + done, copy.pages, &copy.pages);
            added = copy_add(&memory->expected, &memory->expected_count, &maker->expected_capacity, &copy, maker->page_bytes, !done);
            done += copy.pages;
        }
    }
    if (memory->expected_count)
        qsort(memory->expected, memory->expected_count, sizeof *memory->expected, plan_copy_order);
    return added ? PCERE_OK : pcere_fail_memory(error, "the pages of a codelet");
}

/* The parts of a run of pages after the region that were there before it. `at`: a copy before which there are none, moved on. */
static bool changed_add(struct codelet_memory *memory, size_t *capacity, const struct store_run *run, uint64_t page_bytes, size_t *at)
{
    uint64_t end = run->address + run->count * page_bytes;
    while (*at < memory->before_count && memory->before[*at].address + memory->before[*at].pages * page_bytes <= run->address)
        ++*at;
    for (size_t i = *at; i < memory->before_count && memory->before[i].address < end; i++) {
        const struct plan_copy *copy = &memory->before[i];
        uint64_t copy_end = copy->address + copy->pages * page_bytes;
        uint64_t low = copy->address > run->address ? copy->address : run->address, high = copy_end < end ? copy_end : end;
        struct plan_range *last = memory->changed_count ? &memory->changed[memory->changed_count - 1] : NULL;
        if (last && last->address + last->bytes == low) {
            last->bytes += high - low;
            continue;
        }
        if (!array_reserve(&memory->changed, capacity, memory->changed_count + 1, sizeof *memory->changed))
            return false;
        memory->changed[memory->changed_count++] = (struct plan_range){low, high - low};
    }
    return true;
}

static enum pcere_status changed_find(const struct store_codelet *codelet, uint64_t page_bytes, struct codelet_memory *memory,
                                      struct pcere_error *error)
{
    size_t capacity = 0, at = 0;
    for (size_t i = 0; i < codelet->after_count; i++)
        if (!changed_add(memory, &capacity, &codelet->after[i], page_bytes, &at))
            return pcere_fail_memory(error, "the pages of a codelet");
    return PCERE_OK;
}

bool codelet_memory_change(struct codelet_memory *memory, const struct plan_range *ranges, size_t count, uint64_t page_bytes)
{
    size_t capacity = 0, at = 0;
    free(memory->changed);
    memory->changed = NULL;
    memory->changed_count = 0;
    bool added = true;
    for (size_t i = 0; added && i < count; i++) {
        const struct store_run run = {.address = ranges[i].address, .count = ranges[i].bytes / page_bytes};
        added = changed_add(memory, &capacity, &run, page_bytes, &at);
    }
    return added;
}

static enum pcere_status contents_add(const struct page_pool *pool, const struct store_codelet *codelet, struct codelet_memory *memory,
                                      struct pcere_error *error)
{
    memory->contents = calloc(codelet->content_count + 1, sizeof *memory->contents);
    if (!memory->contents)
        return pcere_fail_memory(error, "the files of a codelet");
    for (size_t i = 0; i < codelet->content_count; i++) {
        const struct store_run *run = &codelet->contents[i];
        bool zero = run->page == STORE_PAGE_ZERO;
        memory->contents[memory->content_count++] = (struct plan_copy){
            .address = run->address, .pages = run->count, .source = zero ? 0 : page_pool_offset(pool, run->page, 1, NULL),
            .zero = zero};
    }
    return PCERE_OK;
}

enum pcere_status codelet_memory_new(struct store *store, struct page_pool *pool, const struct store_codelet *codelet,
                                     const struct images *images, bool expected, struct codelet_memory *ret_memory,
                                     struct pcere_error *error)
{
    struct maker maker = {.pool = pool, .page_bytes = pool->page_bytes};
    struct codelet_memory *memory = &maker.memory;
    enum pcere_status status = mappings_add(&maker, codelet, error);
    if (!status)
        status = aliases_add(memory, codelet, error);
    for (size_t i = 0; !status && i < codelet->before_count; i++)
        status = run_add(&maker, codelet, &codelet->before[i], false, error);
    page_pool_give_back(pool, codelet->before, codelet->before_count);
    for (size_t i = 0; !status && i < images->count; i++)
        for (size_t j = 0; !status && image_is_present(images, i, codelet) && j < images->items[i].file.segment_count; j++)
            status = segment_add(&maker, codelet, &images->items[i], &images->items[i].file.segments[j], error);
    if (!status && memory->mapping_count)
        qsort(memory->mappings, memory->mapping_count, sizeof *memory->mappings, mapping_order);
    if (!status && memory->before_count)
        qsort(memory->before, memory->before_count, sizeof *memory->before, plan_copy_order);
    if (!status)
        status = changed_find(codelet, maker.page_bytes, memory, error);
    for (size_t i = 0; !status && expected && i < codelet->after_count; i++)
        status = run_add(&maker, codelet, &codelet->after[i], true, error);
    if (!status && expected)
        status = expected_merge(&maker, error);
    if (!status && expected)
        status = made_add(&maker, codelet, error);
    if (!status)
        status = page_pool_externals(pool, store, codelet, error);
    if (!status)
        status = page_pool_load(pool, store, codelet->before, codelet->before_count, error);
    if (!status && expected)
        status = page_pool_load(pool, store, codelet->after, codelet->after_count, error);
    if (!status && expected)
        status = page_pool_load(pool, store, codelet->made, codelet->made_count, error);
    if (!status)
        status = contents_add(pool, codelet, memory, error);
    if (!status)
        status = page_pool_load(pool, store, codelet->contents, codelet->content_count, error);
    if (status)
        codelet_memory_done(memory);
    else
        *ret_memory = *memory;
    return status;
}

void codelet_memory_done(struct codelet_memory *memory)
{
    free(memory->mappings);
    free(memory->aliases);
    free(memory->before);
    free(memory->expected);
    free(memory->changed);
    free(memory->contents);
    *memory = (struct codelet_memory){0};
}

uint64_t codelet_memory_pages(const struct codelet_memory *memory)
{
    uint64_t count = 0;
    for (size_t i = 0; i < memory->before_count; i++)
        count += memory->before[i].pages;
    return count;
}

uint64_t codelet_memory_changed_pages(const struct codelet_memory *memory, uint64_t page_bytes)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < memory->changed_count; i++)
        bytes += memory->changed[i].bytes;
    return bytes / page_bytes;
}

uint64_t codelet_memory_made_pages(const struct codelet_memory *memory, const struct store_codelet *codelet, uint64_t page_bytes)
{
    uint64_t after = 0, changed = codelet_memory_changed_pages(memory, page_bytes);
    for (size_t i = 0; i < codelet->after_count; i++)
        after += codelet->after[i].count;
    return !codelet->has_after ? UINT64_MAX : after > changed ? after - changed : 0;
}
