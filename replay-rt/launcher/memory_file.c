/* replay-rt/launcher/memory_file.c - pages from the store into a memory file.
 *
 *   codelet   before  [a][b  ]   [c]        after   [a'] [d]
 *   file      | before's pages | pages of the program's file that were not captured | after's pages |
 *   expected  after over before: [a'][b  ][d][c]
 */
#include "replay-rt/launcher/memory_file.h"

#include "core/text.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE_PAGES 256u                  /* read at a time by one thread */

struct fill { uint64_t page, count, offset; };      /* pages of the store to an offset of the file */

struct filler {
    struct store *store;
    unsigned char *data;
    const struct fill *fills;
    size_t count;
    _Atomic size_t next;
    pthread_mutex_t lock;
    enum pcere_status status;
    struct pcere_error error;
};

struct maker {
    struct memory_file file;
    uint64_t page_bytes;
    struct fill *fills;
    size_t fill_count, fill_capacity, mapping_capacity, before_capacity, expected_capacity;
    struct { uint64_t source, file_offset, bytes; } *image_parts;    /* from the program's file */
    size_t image_count, image_capacity;
};

/* `fresh`: a mapping begins here, so that this is not the end of the copy before. */
static bool copy_add(struct plan_copy **copies, size_t *count, size_t *capacity, uint64_t address, uint64_t pages, uint64_t source,
                     uint64_t page_bytes, bool fresh)
{
    struct plan_copy *last = *count ? &(*copies)[*count - 1] : NULL;
    if (!fresh && last && last->address + last->pages * page_bytes == address
        && (source == PLAN_ZERO ? last->source == PLAN_ZERO
                                : last->source != PLAN_ZERO && last->source + last->pages * page_bytes == source)) {
        last->pages += pages;
        return true;
    }
    if (!array_reserve(copies, capacity, *count + 1, sizeof **copies))
        return false;
    (*copies)[(*count)++] = (struct plan_copy){address, pages, source};
    return true;
}

static bool fill_add(struct maker *maker, uint64_t page, uint64_t count)
{
    for (uint64_t done = 0; done < count; done += PIECE_PAGES) {
        uint64_t piece = count - done < PIECE_PAGES ? count - done : PIECE_PAGES;
        if (!array_reserve(&maker->fills, &maker->fill_capacity, maker->fill_count + 1, sizeof *maker->fills))
            return false;
        maker->fills[maker->fill_count++] = (struct fill){page + done, piece, maker->file.pages_bytes};
        maker->file.pages_bytes += piece * maker->page_bytes;
    }
    return true;
}

/* The mapping that holds the address, or the next one above it, or NULL. */
static const struct store_mapping *mapping_above(const struct store_codelet *codelet, uint64_t address)
{
    size_t low = 0, high = codelet->mapping_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (codelet->mappings[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < codelet->mapping_count ? &codelet->mappings[low] : NULL;
}

/* One run of the store, cut where mappings end. */
static enum pcere_status run_add(struct maker *maker, const struct store_codelet *codelet, const struct store_run *run, bool after,
                                 struct pcere_error *error)
{
    struct memory_file *file = &maker->file;
    for (uint64_t done = 0; done < run->count;) {
        uint64_t address = run->address + done * maker->page_bytes;
        const struct store_mapping *mapping = mapping_above(codelet, address);
        if (!mapping || mapping->start > address)
            return pcere_fail(error, PCERE_DATA, 0, "capture the program again", "a page of region '%s' lies outside its mappings",
                              codelet->region);
        uint64_t pages = (mapping->end - address) / maker->page_bytes;
        pages = pages < run->count - done ? pages : run->count - done;
        uint64_t source = run->page == STORE_PAGE_ZERO ? PLAN_ZERO : file->pages_bytes;
        bool added = source == PLAN_ZERO || fill_add(maker, run->page + done, pages);
        if (after)
            added = added && copy_add(&file->expected, &file->expected_count, &maker->expected_capacity, address, pages, source,
                                      maker->page_bytes, address == mapping->start);
        else
            added = added && copy_add(&file->before, &file->before_count, &maker->before_capacity, address, pages, source,
                                      maker->page_bytes, address == mapping->start);
        if (!added)
            return pcere_fail_memory(error, "the pages of a codelet");
        done += pages;
    }
    return PCERE_OK;
}

static int mapping_order(const void *left, const void *right)
{
    const struct plan_mapping *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static int copy_order(const void *left, const void *right)
{
    const struct plan_copy *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static enum pcere_status mappings_add(struct maker *maker, const struct store_codelet *codelet, struct pcere_error *error)
{
    struct memory_file *file = &maker->file;
    for (size_t i = 0; i < codelet->mapping_count; i++) {
        const struct store_mapping *mapping = &codelet->mappings[i];
        if (!array_reserve(&file->mappings, &maker->mapping_capacity, file->mapping_count + 1, sizeof *file->mappings))
            return pcere_fail_memory(error, "the mappings of a codelet");
        file->mappings[file->mapping_count++] = (struct plan_mapping){
            .start = mapping->start,
            .end = mapping->end,
            .protection = mapping->protection,
            .flags = mapping->role == STORE_ROLE_STACK ? PLAN_MAPPING_GROWS : 0,
        };
    }
    return PCERE_OK;
}

/* Does the capture hold the page at this address? */
static bool is_captured(const struct store_codelet *codelet, uint64_t address, uint64_t page_bytes)
{
    size_t low = 0, high = codelet->before_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (codelet->before[middle].address + codelet->before[middle].count * page_bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < codelet->before_count && codelet->before[low].address <= address;
}

/* Pages of a file are never absent to the program that maps them: text and constants that nobody dumped come from the file. */
static enum pcere_status segment_add(struct maker *maker, const struct store_codelet *codelet, const struct image_segment *segment,
                                     uint64_t bias, struct pcere_error *error)
{
    struct memory_file *file = &maker->file;
    uint64_t low = segment->address + bias, high = low + segment->file_bytes;
    for (uint64_t page = low - low % maker->page_bytes; page < high; page += maker->page_bytes) {
        if (is_captured(codelet, page, maker->page_bytes))
            continue;
        const struct store_mapping *mapping = mapping_above(codelet, page);
        bool fresh = mapping && mapping->start == page;
        if (!mapping || mapping->start > page) {
            struct plan_mapping *last = file->mapping_count ? &file->mappings[file->mapping_count - 1] : NULL;
            if (last && last->end == page && last->protection == segment->protection) {
                last->end += maker->page_bytes;
            } else {
                fresh = true;
                if (!array_reserve(&file->mappings, &maker->mapping_capacity, file->mapping_count + 1, sizeof *file->mappings))
                    return pcere_fail_memory(error, "the mappings of a codelet");
                file->mappings[file->mapping_count++] =
                    (struct plan_mapping){page, page + maker->page_bytes, segment->protection, 0};
            }
        }
        uint64_t from = page > low ? page - low : 0, inside = page > low ? 0 : low - page;
        uint64_t bytes = maker->page_bytes - inside < segment->file_bytes - from ? maker->page_bytes - inside : segment->file_bytes - from;
        if (!array_reserve(&maker->image_parts, &maker->image_capacity, maker->image_count + 1, sizeof *maker->image_parts)
            || !copy_add(&file->before, &file->before_count, &maker->before_capacity, page, 1, file->pages_bytes, maker->page_bytes,
                         fresh))
            return pcere_fail_memory(error, "the pages of a codelet");
        maker->image_parts[maker->image_count].source = segment->file_offset + from;
        maker->image_parts[maker->image_count].file_offset = file->pages_bytes + inside;
        maker->image_parts[maker->image_count++].bytes = bytes;
        file->pages_bytes += maker->page_bytes;
    }
    return PCERE_OK;
}

/* Memory after the region: what changed over what was there. `expected` holds the changes, ascending. */
static enum pcere_status expected_merge(struct maker *maker, struct pcere_error *error)
{
    struct memory_file *file = &maker->file;
    struct plan_copy *changes = file->expected;
    size_t change_count = file->expected_count, change = 0;
    file->expected = NULL;
    file->expected_count = maker->expected_capacity = 0;
    bool added = true;
    for (size_t i = 0; added && i < file->before_count; i++) {
        const struct plan_copy *copy = &file->before[i];
        uint64_t end = copy->address + copy->pages * maker->page_bytes;
        for (uint64_t at = copy->address; added && at < end;) {
            while (change < change_count && changes[change].address + changes[change].pages * maker->page_bytes <= at)
                change++;
            const struct plan_copy *next = change < change_count ? &changes[change] : NULL;
            bool changed = next && next->address <= at;
            uint64_t stop = !next ? end : changed ? next->address + next->pages * maker->page_bytes : next->address;
            stop = stop < end ? stop : end;
            const struct plan_copy *from = changed ? next : copy;
            added = copy_add(&file->expected, &file->expected_count, &maker->expected_capacity, at, (stop - at) / maker->page_bytes,
                             from->source == PLAN_ZERO ? PLAN_ZERO : from->source + (at - from->address), maker->page_bytes,
                             false);
            at = stop;
        }
    }
    /* Pages that were absent before. */
    size_t known = file->before_count, cursor = 0;
    for (size_t i = 0; added && i < change_count; i++)
        for (uint64_t page = 0; added && page < changes[i].pages; page++) {
            uint64_t at = changes[i].address + page * maker->page_bytes;
            while (cursor < known && file->before[cursor].address + file->before[cursor].pages * maker->page_bytes <= at)
                cursor++;
            if (cursor < known && file->before[cursor].address <= at)
                continue;
            added = copy_add(&file->expected, &file->expected_count, &maker->expected_capacity, at, 1,
                             changes[i].source == PLAN_ZERO ? PLAN_ZERO : changes[i].source + page * maker->page_bytes,
                             maker->page_bytes, false);
        }
    free(changes);
    if (file->expected_count)
        qsort(file->expected, file->expected_count, sizeof *file->expected, copy_order);
    return added ? PCERE_OK : pcere_fail_memory(error, "the pages of a codelet");
}

/* ---- filling --------------------------------------------------------------------------------------------------------------- */

static void *fill_work(void *context)
{
    struct filler *filler = context;
    for (;;) {
        size_t index = atomic_fetch_add(&filler->next, 1);
        if (index >= filler->count)
            return NULL;
        const struct fill *fill = &filler->fills[index];
        struct pcere_error error = {0};
        enum pcere_status status = store_pages_read(filler->store, fill->page, fill->count, filler->data + fill->offset, &error);
        if (!status)
            continue;
        pthread_mutex_lock(&filler->lock);
        if (!filler->status) {
            filler->status = status;
            filler->error = error;
        }
        pthread_mutex_unlock(&filler->lock);
        atomic_store(&filler->next, filler->count);
    }
}

static enum pcere_status pages_fill(struct store *store, const struct maker *maker, unsigned char *data, struct pcere_error *error)
{
    enum { WORKERS_MOST = 64 };
    struct filler filler = {.store = store, .data = data, .fills = maker->fills, .count = maker->fill_count,
                            .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t workers[WORKERS_MOST];
    cpu_set_t cpus;
    size_t count = sched_getaffinity(0, sizeof cpus, &cpus) ? 1 : (size_t)CPU_COUNT(&cpus), started = 0;
    count = count < maker->fill_count ? count : maker->fill_count;
    count = count < WORKERS_MOST ? count : WORKERS_MOST;
    while (started + 1 < count && !pthread_create(&workers[started], NULL, fill_work, &filler))
        started++;
    fill_work(&filler);
    while (started)
        pthread_join(workers[--started], NULL);
    if (filler.status && error)
        *error = filler.error;
    return filler.status;
}

static enum pcere_status file_fill(struct store *store, struct maker *maker, const struct image *image, struct pcere_error *error)
{
    struct memory_file *file = &maker->file;
    file->pages_fd = memfd_create("pcere-pages", MFD_CLOEXEC);
    if (file->pages_fd < 0 || ftruncate(file->pages_fd, (off_t)file->pages_bytes))
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot make a memory file of %llu bytes",
                          (unsigned long long)file->pages_bytes);
    if (!file->pages_bytes)
        return PCERE_OK;
    unsigned char *data = mmap(NULL, file->pages_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->pages_fd, 0);
    if (data == MAP_FAILED)
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot map a memory file of %llu bytes",
                          (unsigned long long)file->pages_bytes);
    for (size_t i = 0; i < maker->image_count; i++)
        memcpy(data + maker->image_parts[i].file_offset, (const unsigned char *)image->file + maker->image_parts[i].source,
               maker->image_parts[i].bytes);
    enum pcere_status status = pages_fill(store, maker, data, error);
    munmap(data, file->pages_bytes);
    return status;
}

enum pcere_status memory_file_new(struct store *store, const struct store_codelet *codelet, const struct image *image,
                                  bool expected, struct memory_file *ret_file, struct pcere_error *error)
{
    const struct store_manifest *manifest = store_manifest(store);
    struct maker maker = {.file = {.pages_fd = -1}, .page_bytes = manifest->page_size};
    struct memory_file *file = &maker.file;
    enum pcere_status status = mappings_add(&maker, codelet, error);
    for (size_t i = 0; !status && i < codelet->before_count; i++)
        status = run_add(&maker, codelet, &codelet->before[i], false, error);
    for (size_t i = 0; !status && i < image->segment_count; i++)
        status = segment_add(&maker, codelet, &image->segments[i], manifest->image_bias, error);
    if (!status && file->mapping_count)
        qsort(file->mappings, file->mapping_count, sizeof *file->mappings, mapping_order);
    if (!status && file->before_count)
        qsort(file->before, file->before_count, sizeof *file->before, copy_order);
    for (size_t i = 0; !status && expected && i < codelet->after_count; i++)
        status = run_add(&maker, codelet, &codelet->after[i], true, error);
    if (!status && expected)
        status = expected_merge(&maker, error);
    if (!status)
        status = file_fill(store, &maker, image, error);
    free(maker.fills);
    free(maker.image_parts);
    if (status)
        memory_file_done(file);
    else
        *ret_file = *file;
    return status;
}

void memory_file_done(struct memory_file *file)
{
    if (file->pages_fd >= 0)
        close(file->pages_fd);
    free(file->mappings);
    free(file->before);
    free(file->expected);
    *file = (struct memory_file){.pages_fd = -1};
}
