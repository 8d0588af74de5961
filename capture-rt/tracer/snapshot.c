#include "capture-rt/tracer/snapshot.h"

#include "capture-rt/tracer/holes.h"
#include "capture-rt/tracer/snapshot_chunks.h"
#include "core/text.h"
#include "include/pcere/bisect.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define CHUNK_BYTES ((uint64_t)CAPTURE_COPY_BYTES)
#define SECOND_READER_BYTES ((uint64_t)8 << 20)     /* less than this is read faster by one thread than by two */
#define COPY_LEAST_BYTES ((uint64_t)64 << 10)        /* shorter stretches are read, */
#define COPIES_LEAST_BYTES ((uint64_t)6 << 20)       /* and all, where the others together are less: waking the program takes as long as reading 1 MiB */
#define PAGE_UNREADABLE (STORE_PAGE_ZERO - 1)

enum pcere_status snapshotter_open(pid_t pid, struct store_writer *writer, uint64_t page_bytes, uint64_t fault_ns, struct snapshotter *ret_snapshotter,
                                   struct pcere_error *error)
{
    struct snapshotter result = {.pid = pid, .memory = -1, .page_bytes = page_bytes, .writer = writer, .fault_ns = fault_ns,
                                 .pagemap = {.descriptor = -1, .tracking = -1}};
    chunks_begin(&result);
    for (int i = 0; i < 2; i++)
        if (!(result.buffers[i] = malloc(CHUNK_BYTES))) {
            snapshotter_close(&result);
            return pcere_fail_memory(error, "the buffers for reading");
        }
    for (int i = 0; i < 2; i++)
        memset(result.buffers[i], 1, CHUNK_BYTES);      /* touched now, not in a stop */
    *ret_snapshotter = result;
    return PCERE_OK;
}

enum pcere_status snapshotter_track(struct snapshotter *snapshotter, int tracking, bool scan, struct pcere_error *error)
{
    char path[64];
    enum pcere_status status = pagemap_open(snapshotter->pid, tracking, scan, snapshotter->page_bytes, &snapshotter->pagemap, error);
    if (status != PCERE_OK)
        return status;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)snapshotter->pid);
    snapshotter->memory = open(path, O_RDONLY | O_CLOEXEC);
    if (snapshotter->memory < 0)
        return pcere_fail(error, errno == EACCES || errno == EPERM ? PCERE_REFUSED : PCERE_SYSTEM, errno, NULL,
                          "cannot read the program's memory");
    return PCERE_OK;
}

void snapshotter_close(struct snapshotter *snapshotter)
{
    pagemap_close(&snapshotter->pagemap);
    if (snapshotter->memory >= 0)
        close(snapshotter->memory);
    free(snapshotter->buffers[0]);
    free(snapshotter->buffers[1]);
    free(snapshotter->spans);
    free(snapshotter->numbers);
    free(snapshotter->chunks);
    run_list_done(&snapshotter->last);
    run_list_done(&snapshotter->spare);
    *snapshotter = (struct snapshotter){.memory = -1, .pagemap = {.descriptor = -1, .tracking = -1}};
}

/* ---- what to read ---------------------------------------------------------------------------------------------------------- */

/* One part of the new snapshot, in order of addresses. */
struct part {
    uint64_t address, pages;
    enum { PART_ZERO, PART_LAST, PART_READ } kind;
    uint64_t number;            /* last: of the run in the last snapshot that it begins in; read: place among the numbers */
    bool plain;                 /* memory of the program's own, which it can read */
};

struct plan {
    struct snapshotter *snapshotter;
    const struct map_list *maps;
    struct part *parts;
    size_t count, capacity;
    uint64_t pages;             /* to be read */
    uint64_t untracked_pages;   /* of these, whether they were written or not */
    bool plain;                 /* of the mapping that is looked at */
    bool all;                   /* is to be tracked */
    size_t known;               /* where in `last` the search goes on: addresses ascend */
};

static bool part_add(struct plan *plan, struct part part)
{
    uint64_t page_bytes = plan->snapshotter->page_bytes;
    struct part *last = plan->count ? &plan->parts[plan->count - 1] : NULL;
    if (part.kind == PART_READ) {
        part.number = plan->pages;
        part.plain = plan->plain;
        plan->pages += part.pages;
        if (last && last->kind == PART_READ && last->plain == part.plain && last->address + last->pages * page_bytes == part.address) {
            last->pages += part.pages;
            return true;
        }
    }
    if (!array_reserve(&plan->parts, &plan->capacity, plan->count + 1, sizeof *plan->parts))
        return false;
    plan->parts[plan->count++] = part;
    return true;
}

/* Pages that were not written: as the snapshot before knew them; what it did not know is read. */
static bool known_add(struct plan *plan, uint64_t start, uint64_t end)
{
    const struct run_list *last = &plan->snapshotter->last;
    uint64_t page_bytes = plan->snapshotter->page_bytes;
    while (start < end) {
        while (plan->known < last->count &&
               last->runs[plan->known].address + last->runs[plan->known].count * page_bytes <= start)
            plan->known++;
        const struct store_run *run = plan->known < last->count ? &last->runs[plan->known] : NULL;
        uint64_t stop = end;
        if (!run || run->address >= end) {
            if (!part_add(plan, (struct part){start, (end - start) / page_bytes, PART_READ, 0, false}))
                return false;
        } else if (run->address > start) {
            stop = run->address;
            if (!part_add(plan, (struct part){start, (stop - start) / page_bytes, PART_READ, 0, false}))
                return false;
        } else {
            size_t first = plan->known;
            while (stop = last->runs[plan->known].address + last->runs[plan->known].count * page_bytes,
                   stop < end && plan->known + 1 < last->count && last->runs[plan->known + 1].address == stop)
                plan->known++;
            stop = stop < end ? stop : end;
            if (!part_add(plan, (struct part){start, (stop - start) / page_bytes, PART_LAST, first, false}))
                return false;
        }
        start = stop;
    }
    return true;
}

static bool piece_plan(struct plan *plan, const struct map_entry *entry, const struct page_piece *piece)
{
    uint64_t pages = (piece->end - piece->start) / plan->snapshotter->page_bytes;
    bool constant = piece->flags & PAGE_FILE && entry->file && !entry->shared && !(entry->mapping.protection & 2u /* PROT_WRITE */);
    if (piece->flags & PAGE_ZERO)
        return part_add(plan, (struct part){piece->start, pages, PART_ZERO, 0, false});
    if (constant || (!(piece->flags & PAGE_WRITTEN) && !entry->shared))
        return known_add(plan, piece->start, piece->end);
    return part_add(plan, (struct part){piece->start, pages, PART_READ, 0, false});
}

#define SPARSE_BYTES ((uint64_t)128 << 20)   /* smaller mappings are looked at in no time */
#define SPARSE_PARTS 8u

/* Of most of its pages there was none the last time. */
static bool is_sparse(const struct snapshotter *snapshotter, const struct store_mapping *mapping)
{
    const struct run_list *last = &snapshotter->last;
    uint64_t pages = 0, most = (mapping->end - mapping->start) / snapshotter->page_bytes / SPARSE_PARTS;
    if (mapping->end - mapping->start < SPARSE_BYTES)
        return false;
    BISECT(low, 0, last->count, i, last->runs[i].address < mapping->start);
    for (; low < last->count && last->runs[low].address < mapping->end && pages <= most; low++)
        pages += last->runs[low].count;
    return pages <= most;
}

static bool is_guard(const struct map_entry *entry)
{
    return entry->mapping.protection == 0 && entry->file;
}

/* What of a mapping was not tracked since the snapshot before: it is read for that reason alone. */
static uint64_t untracked_pages(const struct snapshotter *snapshotter)
{
    const struct pagemap *pagemap = &snapshotter->pagemap;
    uint64_t bytes = 0;
    for (size_t i = 0; i < pagemap->count; i++) {
        const struct page_piece *piece = &pagemap->pieces[i];
        uint64_t at = piece->flags & (PAGE_ZERO | PAGE_FILE) ? piece->end : piece->start;
        for (uint64_t next; at < piece->end; at = next) {
            bool tracked;
            next = chunks_tracked_until(snapshotter, at, piece->end, &tracked);
            bytes += tracked ? 0 : next - at;
        }
    }
    return bytes / snapshotter->page_bytes;
}

static enum pcere_status entry_look(struct plan *plan, const struct map_entry *entry, struct pcere_error *error)
{
    struct pagemap *pagemap = &plan->snapshotter->pagemap;
    uint64_t start = entry->mapping.start, end = entry->mapping.end;
    if (entry->shared || plan->all)
        return pagemap_look(pagemap, start, end, entry->shared ? PAGEMAP_UNTRACKED : PAGEMAP_RENEW, error);
    enum pcere_status status = PCERE_OK;
    for (uint64_t at = start, next; at < end && status == PCERE_OK; at = next) {
        bool due;
        next = chunks_due_until(plan->snapshotter, at, end, &due);
        status = pagemap_look(pagemap, at, next, due ? PAGEMAP_RENEW : PAGEMAP_UNTRACKED, error);
    }
    return status;
}

/* What of a mapping of a file lies between pages that are there: all of it has content, but for what the file does not have either. */
static bool gap_plan(struct plan *plan, const struct map_entry *entry, int file, uint64_t start, uint64_t end)
{
    uint64_t pages = plan->pages, next;
    bool enough = true;
    for (uint64_t at = start; at < end && enough; at = next)
        if (!holes_at(file, entry, plan->snapshotter->page_bytes, at, end, &next))
            enough = piece_plan(plan, entry, &(struct page_piece){at, next, PAGE_FILE | PAGE_WRITTEN});
    plan->untracked_pages += entry->shared ? 0 : plan->pages - pages;
    return enough;
}

/* In mappings of files absent pages have content as well: the gaps between pieces are read. What a library has as its file has it is in the
 * store's copy of the file. */
static enum pcere_status entry_plan(struct plan *plan, const struct map_entry *entry, struct pcere_error *error)
{
    struct pagemap *pagemap = &plan->snapshotter->pagemap;
    pagemap->count = 0;
    pagemap->anonymous = !entry->file && !entry->shared;
    pagemap->sparse = pagemap->anonymous && is_sparse(plan->snapshotter, &entry->mapping);
    pagemap->mapping_start = entry->mapping.start;
    pagemap->mapping_end = entry->mapping.end;
    plan->plain = pagemap->anonymous && entry->mapping.protection & 1u /* PROT_READ */;
    if (is_guard(entry))
        return PCERE_OK;
    enum pcere_status status = entry_look(plan, entry, error);
    if (status != PCERE_OK)
        return status;
    plan->untracked_pages += entry->shared ? 0 : untracked_pages(plan->snapshotter);
    uint64_t at = entry->mapping.start, before = plan->pages;
    bool enough = true, stored = entry->file && entry->mapping.role == STORE_ROLE_LIBRARY, may_be = holes_may_be(plan->maps, entry);
    int file = -1;
    for (size_t i = 0; i <= pagemap->count && enough; i++) {
        struct page_piece end = {entry->mapping.end, entry->mapping.end, 0};
        const struct page_piece *piece = i < pagemap->count ? &pagemap->pieces[i] : &end;
        if (entry->file && !stored && at < piece->start) {
            file = may_be && file < 0 ? holes_open(plan->snapshotter->pid, entry) : file;
            may_be = file >= 0;
            enough = gap_plan(plan, entry, file, at, piece->start);
        }
        if (enough && piece->start < piece->end && !(stored && piece->flags & PAGE_FILE))
            enough = piece_plan(plan, entry, piece);
        at = piece->end;
    }
    if (file >= 0)
        close(file);
    plan->untracked_pages += entry->shared ? plan->pages - before : 0;
    return enough ? PCERE_OK : pcere_fail_memory(error, "the plan of a dump");
}

/* ---- reading --------------------------------------------------------------------------------------------------------------- */

struct reading {
    struct snapshotter *snapshotter;
    _Atomic(size_t) next;       /* span to be read next */
    _Atomic(int) failed;
    struct pcere_error error;   /* of whoever set `failed` first */
    pthread_mutex_t mutex;
};

static enum pcere_status spans_make(struct snapshotter *snapshotter, const struct plan *plan, struct pcere_error *error)
{
    uint64_t chunk = CHUNK_BYTES / snapshotter->page_bytes;
    snapshotter->span_count = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const struct part *part = &plan->parts[i];
        for (uint64_t done = 0; part->kind == PART_READ && done < part->pages; done += chunk) {
            if (!array_reserve(&snapshotter->spans, &snapshotter->span_capacity, snapshotter->span_count + 1,
                               sizeof *snapshotter->spans))
                return pcere_fail_memory(error, "the plan of a dump");
            uint64_t pages = part->pages - done < chunk ? part->pages - done : chunk;
            snapshotter->spans[snapshotter->span_count++] =
                (struct snapshot_span){part->address + done * snapshotter->page_bytes, pages, part->number + done,
                                       part->plain && pages * snapshotter->page_bytes >= COPY_LEAST_BYTES};
        }
    }
    if (!array_reserve(&snapshotter->numbers, &snapshotter->number_capacity, plan->pages, sizeof *snapshotter->numbers))
        return pcere_fail_memory(error, "the numbers of pages");
    return PCERE_OK;
}

/* Bytes read from the start, in whole pages. Memory that the program may not read itself comes through /proc/PID/mem. */
static uint64_t memory_read(const struct snapshotter *snapshotter, unsigned char *buffer, uint64_t address, uint64_t bytes)
{
    struct iovec local = {buffer, bytes}, remote = {(void *)(uintptr_t)address, bytes};
    ssize_t got = process_vm_readv(snapshotter->pid, &local, 1, &remote, 1, 0);
    if (got < (ssize_t)bytes)
        got = pread(snapshotter->memory, buffer, bytes, (off_t)address);
    return got > 0 ? (uint64_t)got / snapshotter->page_bytes * snapshotter->page_bytes : 0;
}

static enum pcere_status span_read(struct snapshotter *snapshotter, const struct snapshot_span *span, unsigned char *buffer,
                                   struct pcere_error *error)
{
    uint64_t page_bytes = snapshotter->page_bytes, bytes = span->pages * page_bytes;
    uint64_t *numbers = snapshotter->numbers + span->first;
    for (uint64_t done = 0; done < bytes;) {
        uint64_t got = memory_read(snapshotter, buffer, span->address + done, bytes - done);
        if (got == 0) {                         /* beyond the end of a mapped file, or a device's */
            numbers[done / page_bytes] = PAGE_UNREADABLE;
            done += page_bytes;
            continue;
        }
        if (snapshotter->leads)
            leads_scan(snapshotter->leads, buffer, span->address + done, got);
        enum pcere_status status = store_writer_pages(snapshotter->writer, buffer, got / page_bytes, numbers + done / page_bytes, error);
        if (status != PCERE_OK)
            return status;
        done += got;
    }
    return PCERE_OK;
}

static enum pcere_status span_take(struct snapshotter *snapshotter, const struct snapshot_span *span, const void *data, struct pcere_error *error)
{
    if (snapshotter->leads)
        leads_scan(snapshotter->leads, data, span->address, span->pages * snapshotter->page_bytes);
    snapshotter->copied_bytes += span->pages * snapshotter->page_bytes;
    return store_writer_pages(snapshotter->writer, data, span->pages, snapshotter->numbers + span->first, error);
}

static bool are_worth_copying(const struct snapshotter *snapshotter)
{
    uint64_t pages = 0;
    for (size_t i = 0; i < snapshotter->span_count; i++)
        pages += snapshotter->spans[i].copied ? snapshotter->spans[i].pages : 0;
    return snapshotter->copier && pages * snapshotter->page_bytes >= COPIES_LEAST_BYTES;
}

/* From `at` on, or the end of the spans. */
static size_t span_find(const struct snapshotter *snapshotter, size_t at, bool copied)
{
    while (at < snapshotter->span_count && snapshotter->spans[at].copied != copied)
        at++;
    return at;
}

/* What the program copies is looked at while it copies the next; the rest is read by us meanwhile. */
static enum pcere_status spans_copy(struct snapshotter *snapshotter, struct pcere_error *error)
{
    struct copier *copier = snapshotter->copier;
    enum pcere_status status = PCERE_OK;
    size_t asked = span_find(snapshotter, 0, true), taken = asked, read = span_find(snapshotter, 0, false), count = snapshotter->span_count;
    copier_begin(copier);
    while (status == PCERE_OK && (taken < count || read < count)) {
        while (asked < count && copier->asked - copier->taken < CAPTURE_COPY_SLOTS &&
               copier_ask(copier, snapshotter->spans[asked].address, snapshotter->spans[asked].pages * snapshotter->page_bytes))
            asked = span_find(snapshotter, asked + 1, true);
        if (read < count && (taken == count || !copier_is_ready(copier))) {
            status = span_read(snapshotter, &snapshotter->spans[read], snapshotter->buffers[0], error);
            read = span_find(snapshotter, read + 1, false);
            continue;
        }
        const void *data = taken < asked ? copier_take(copier) : NULL;
        status = data ? span_take(snapshotter, &snapshotter->spans[taken], data, error)
                      : span_read(snapshotter, &snapshotter->spans[taken], snapshotter->buffers[0], error);
        taken = span_find(snapshotter, taken + 1, true);
    }
    struct pcere_error ignored;
    enum pcere_status ended = copier_end(copier, status == PCERE_OK ? error : &ignored);
    return status == PCERE_OK ? ended : status;
}

static void spans_read(struct reading *reading, unsigned char *buffer)
{
    struct snapshotter *snapshotter = reading->snapshotter;
    for (size_t i; !reading->failed && (i = reading->next++) < snapshotter->span_count;) {
        struct pcere_error error = {0};
        if (span_read(snapshotter, &snapshotter->spans[i], buffer, &error) == PCERE_OK)
            continue;
        pthread_mutex_lock(&reading->mutex);
        if (!reading->failed)
            reading->error = error;
        reading->failed = 1;
        pthread_mutex_unlock(&reading->mutex);
    }
}

static void *second_reader(void *context)
{
    struct reading *reading = context;
    spans_read(reading, reading->snapshotter->buffers[1]);
    return NULL;
}

static enum pcere_status pages_read(struct snapshotter *snapshotter, uint64_t bytes, struct pcere_error *error)
{
    if (are_worth_copying(snapshotter))
        return spans_copy(snapshotter, error);
    struct reading reading = {.snapshotter = snapshotter, .mutex = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread;
    bool second = bytes >= SECOND_READER_BYTES && pthread_create(&thread, NULL, second_reader, &reading) == 0;
    spans_read(&reading, snapshotter->buffers[0]);
    if (second)
        pthread_join(thread, NULL);
    if (!reading.failed)
        return PCERE_OK;
    if (error)
        *error = reading.error;
    return reading.error.status;
}

/* ---- putting together ------------------------------------------------------------------------------------------------------ */

/* Runs that follow each other, of the last snapshot: the first and the last in part perhaps, those between as they are. */
static bool last_runs(struct run_list *list, const struct part *part, const struct run_list *last, uint64_t page_bytes)
{
    uint64_t at = part->address, end = at + part->pages * page_bytes;
    for (const struct store_run *run = &last->runs[part->number]; at < end;) {
        size_t whole = 0;
        uint64_t index = (at - run->address) / page_bytes, most = (end - at) / page_bytes, count = run->count - index < most ? run->count - index : most;
        if (!run_list_add(list, (struct store_run){at, run->page == STORE_PAGE_ZERO ? STORE_PAGE_ZERO : run->page + index, count}, page_bytes))
            return false;
        at += count * page_bytes;
        for (run++; at < end && run[whole].count <= (end - at) / page_bytes; whole++)
            at += run[whole].count * page_bytes;
        if (!run_list_append(list, run, whole))
            return false;
        run += whole;
    }
    return true;
}

static bool part_runs(struct run_list *list, const struct part *part, const struct run_list *last, const uint64_t *numbers, uint64_t page_bytes)
{
    if (part->kind == PART_ZERO)
        return run_list_add(list, (struct store_run){part->address, STORE_PAGE_ZERO, part->pages}, page_bytes);
    if (part->kind == PART_LAST)
        return last_runs(list, part, last, page_bytes);
    for (uint64_t i = 0; i < part->pages; i++) {
        uint64_t number = numbers[part->number + i];
        if (number != PAGE_UNREADABLE &&
            !run_list_add(list, (struct store_run){part->address + i * page_bytes, number, 1}, page_bytes))
            return false;
    }
    return true;
}

enum pcere_status snapshotter_take(struct snapshotter *snapshotter, const struct map_list *maps, bool all, struct pcere_error *error)
{
    struct plan plan = {.snapshotter = snapshotter, .maps = maps, .all = all || !snapshotter_spares_faults(snapshotter)};
    struct run_list list = snapshotter->spare;
    snapshotter->spare = (struct run_list){0};
    list.count = 0;
    snapshotter->copied_bytes = 0;
    array_reserve(&list.runs, &list.capacity, snapshotter->last.count + 64, sizeof *list.runs);     /* it would grow; if it cannot, it is found out then */
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < maps->count && status == PCERE_OK; i++)
        status = entry_plan(&plan, &maps->entries[i], error);
    if (status == PCERE_OK)
        status = spans_make(snapshotter, &plan, error);
    if (status == PCERE_OK)
        status = pages_read(snapshotter, plan.pages * snapshotter->page_bytes, error);
    for (size_t i = 0; i < plan.count && status == PCERE_OK; i++)
        if (!part_runs(&list, &plan.parts[i], &snapshotter->last, snapshotter->numbers, snapshotter->page_bytes))
            status = pcere_fail_memory(error, "the list of pages");
    free(plan.parts);
    if (status != PCERE_OK) {
        run_list_done(&list);
        return status;
    }
    snapshotter->repeated = snapshotter->last.count > 0;
    snapshotter->spare = snapshotter->last;
    snapshotter->last = list;
    snapshotter->read_bytes = plan.pages * snapshotter->page_bytes;
    snapshotter->untracked_bytes = plan.untracked_pages * snapshotter->page_bytes;
    chunks_taken(snapshotter, plan.all);
    return PCERE_OK;
}
