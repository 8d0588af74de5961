/* replay-rt/launcher/export_memory.c - memory.txt and memory.bin: which page lies where, and what it holds before and behind the region.
 *
 * memory.bin is plain pages, those of the region's start first; zero pages are not in it. The format is told at the head of replay-rt/export/memory.c.
 */
#include "replay-rt/launcher/export_work.h"

#include "core/files.h"
#include "include/pcere/rt_abi.h"
#include "replay-rt/ranges.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CALLER_FRAME_BYTES 65536u         /* of the calling function's frame, where its temporaries may lie */
#define BUFFER_BYTES (1u << 20)

enum content { CONTENT_ABSENT, CONTENT_ZERO, CONTENT_STORED, CONTENT_SAME };

struct export_page {
    uint64_t address, before_source, after_source;      /* offsets in the pool */
    uint64_t before, after;           /* numbers in memory.bin */
    uint8_t before_content, after_content;
};

struct memory_writer {
    struct export_work *work;
    struct export_page *pages;
    size_t page_count, page_capacity;
    struct plan_range *skips;
    size_t skip_count, skip_capacity;
    struct text lines;
    int descriptor;
    unsigned char *buffer;            /* BUFFER_BYTES */
    size_t buffered;
    uint64_t written_pages;
};

/* ---- which pages ---------------------------------------------------------------------------------------------------------------------- */

static struct export_page *page_add(struct memory_writer *writer, uint64_t address)
{
    if (!array_reserve(&writer->pages, &writer->page_capacity, writer->page_count + 1, sizeof *writer->pages))
        return NULL;
    struct export_page *page = &writer->pages[writer->page_count++];
    *page = (struct export_page){.address = address, .after_content = CONTENT_SAME};
    return page;
}

static int page_order(const void *left, const void *right)
{
    const struct export_page *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static struct export_page *page_find(struct memory_writer *writer, size_t count, uint64_t address)
{
    const struct export_page wanted = {.address = address};
    return count ? bsearch(&wanted, writer->pages, count, sizeof wanted, page_order) : NULL;
}

static enum pcere_status pages_collect(struct memory_writer *writer, struct pcere_error *error)
{
    const struct export_work *work = writer->work;
    const struct page_pool *pool = &work->session.pool;
    for (size_t i = 0; i < work->memory.before_count; i++) {
        const struct plan_copy *copy = &work->memory.before[i];
        for (uint64_t j = 0; j < copy->pages; j++) {
            struct export_page *page = page_add(writer, copy->address + j * pool->page_bytes);
            if (!page)
                return pcere_fail_memory(error, "the list of pages");
            page->before_content = copy->zero ? CONTENT_ZERO : CONTENT_STORED;
            page->before_source = copy->source + j * pool->page_bytes;
        }
    }
    size_t known = writer->page_count;
    for (size_t i = 0; i < work->codelet.after_count; i++) {
        const struct store_run *run = &work->codelet.after[i];
        for (uint64_t j = 0; j < run->count; j++) {
            uint64_t address = run->address + j * pool->page_bytes;
            struct export_page *page = page_find(writer, known, address);
            if (!page && !(page = page_add(writer, address)))
                return pcere_fail_memory(error, "the list of pages");
            page->after_content = run->page == STORE_PAGE_ZERO ? CONTENT_ZERO : CONTENT_STORED;
            page->after_source = run->page == STORE_PAGE_ZERO ? 0 : page_pool_offset(pool, run->page + j, 1, NULL);
        }
    }
    if (writer->page_count)
        qsort(writer->pages, writer->page_count, sizeof *writer->pages, page_order);
    return PCERE_OK;
}

/* ---- memory.bin ---------------------------------------------------------------------------------------------------------------------- */

static enum pcere_status buffer_flush(struct memory_writer *writer, struct pcere_error *error)
{
    enum pcere_status status = file_write_all(writer->descriptor, -1, writer->buffer, writer->buffered, "memory.bin", EXPORT_FAULT, error);
    writer->buffered = 0;
    return status;
}

static enum pcere_status page_read(const struct memory_writer *writer, uint64_t source, unsigned char *out, struct pcere_error *error)
{
    uint64_t bytes = writer->work->session.pool.page_bytes;
    if (pread(writer->work->session.pool.fd, out, bytes, (off_t)source) != (ssize_t)bytes)
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot read a memory file");
    return PCERE_OK;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    return !bytes[0] && !memcmp(bytes, bytes + 1, count - 1);
}

/* Locks of the original's critical constructs are free in another process. */
static void zeroed_apply(const struct export_work *work, uint64_t address, unsigned char *page, uint64_t page_bytes)
{
    const struct plan_range *zeroed = EXPORT_TABLE(work, zeroed, struct plan_range);
    for (uint64_t i = 0; i < work->plan.plan->zeroed.count; i++) {
        uint64_t low = zeroed[i].address > address ? zeroed[i].address : address;
        uint64_t high = zeroed[i].address + zeroed[i].bytes < address + page_bytes ? zeroed[i].address + zeroed[i].bytes : address + page_bytes;
        if (low < high)
            memset(page + (low - address), 0, high - low);
    }
}

static enum pcere_status page_write(struct memory_writer *writer, uint64_t address, uint64_t source, uint8_t *content, uint64_t *ret_number,
                                    struct pcere_error *error)
{
    uint64_t page_bytes = writer->work->session.pool.page_bytes;
    unsigned char *page = writer->buffer + writer->buffered;
    enum pcere_status status = page_read(writer, source, page, error);
    if (status)
        return status;
    zeroed_apply(writer->work, address, page, page_bytes);
    if (is_zero(page, page_bytes)) {
        *content = CONTENT_ZERO;
        return PCERE_OK;
    }
    *ret_number = writer->written_pages++;
    writer->buffered += page_bytes;
    return writer->buffered + page_bytes > BUFFER_BYTES ? buffer_flush(writer, error) : PCERE_OK;
}

/* What files held that the program had open. */
static enum pcere_status contents_write(struct memory_writer *writer, struct pcere_error *error)
{
    struct export_work *work = writer->work;
    uint64_t page_bytes = work->session.pool.page_bytes;
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; !status && i < work->memory.content_count; i++) {
        const struct plan_copy *copy = &work->memory.contents[i];
        text_addf(&writer->lines, "content %" PRIu64 " %" PRIu64, copy->address, copy->pages);
        text_addf(&writer->lines, copy->zero ? " zero\n" : " %" PRIu64 "\n", writer->written_pages);
        for (uint64_t page = 0; !status && !copy->zero && page < copy->pages; page++) {
            status = page_read(writer, copy->source + page * page_bytes, writer->buffer + writer->buffered, error);
            writer->written_pages++;
            writer->buffered += page_bytes;
            if (!status && writer->buffered + page_bytes > BUFFER_BYTES)
                status = buffer_flush(writer, error);
        }
        work->content_count++;
    }
    return status;
}

static enum pcere_status pages_write(struct memory_writer *writer, struct pcere_error *error)
{
    writer->descriptor = openat(writer->work->folder, "memory.bin", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (writer->descriptor < 0)
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot write 'memory.bin'");
    if (!(writer->buffer = malloc(BUFFER_BYTES)))
        return pcere_fail_memory(error, "a buffer");
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; !status && i < writer->page_count; i++) {
        struct export_page *page = &writer->pages[i];
        if (page->before_content == CONTENT_STORED)
            status = page_write(writer, page->address, page->before_source, &page->before_content, &page->before, error);
    }
    for (size_t i = 0; !status && i < writer->page_count; i++) {
        struct export_page *page = &writer->pages[i];
        if (page->after_content == CONTENT_STORED)
            status = page_write(writer, page->address, page->after_source, &page->after_content, &page->after, error);
    }
    if (!status)
        status = contents_write(writer, error);
    return status ? status : buffer_flush(writer, error);
}

/* ---- what is not compared ------------------------------------------------------------------------------------------------------------- */

static bool skip_add(struct memory_writer *writer, uint64_t address, uint64_t bytes)
{
    if (!bytes)
        return true;
    if (!array_reserve(&writer->skips, &writer->skip_capacity, writer->skip_count + 1, sizeof *writer->skips))
        return false;
    writer->skips[writer->skip_count++] = (struct plan_range){address, bytes};
    return true;
}

/* Between the probe and the fork the calling function may have spilled the fork's arguments once more, and the serial path its thread's
 * number, into its own frame. The region cannot see these words, and a replay does not write them. */
static bool temporary_skip(struct memory_writer *writer, uint64_t address, const unsigned char *before, const unsigned char *after)
{
    static const unsigned char zeros[4];
    const struct store_codelet *codelet = &writer->work->codelet;
    if (!memcmp(before, after, 8))
        return true;
    for (size_t i = 0; i < codelet->word_count; i++)
        if (!memcmp(&codelet->words[i], after, sizeof *codelet->words))
            return skip_add(writer, address, 8);
    for (size_t half = 0; codelet->path == PCERE_PATH_SERIALIZED && half < 8; half += sizeof zeros)
        if ((!memcmp(after + half, zeros, sizeof zeros) || !memcmp(after + half, &codelet->setting.global_thread, sizeof zeros))
            && !skip_add(writer, address + half, sizeof zeros))
            return false;
    return true;
}

static enum pcere_status temporaries_skip(struct memory_writer *writer, struct pcere_error *error)
{
    const struct export_work *work = writer->work;
    uint64_t page_bytes = work->session.pool.page_bytes, stack = work->codelet.stack_pointer;
    unsigned char *before = calloc(2, page_bytes), *after = before ? before + page_bytes : NULL;
    enum pcere_status status = before ? PCERE_OK : pcere_fail_memory(error, "a buffer");
    for (size_t i = 0; !status && i < writer->page_count; i++) {
        const struct export_page *page = &writer->pages[i];
        if (page->before_content == CONTENT_ABSENT || page->after_content == CONTENT_SAME || page->address + page_bytes <= stack
            || page->address >= stack + CALLER_FRAME_BYTES)
            continue;
        memset(before, 0, 2 * page_bytes);
        if (page->before_content == CONTENT_STORED)
            status = page_read(writer, page->before_source, before, error);
        if (!status && page->after_content == CONTENT_STORED)
            status = page_read(writer, page->after_source, after, error);
        for (uint64_t at = 0; !status && at < page_bytes; at += 8)
            if (page->address + at >= stack && !temporary_skip(writer, page->address + at, before + at, after + at))
                status = pcere_fail_memory(error, "ranges");
    }
    free(before);
    return status;
}

static enum pcere_status skips_write(struct memory_writer *writer, struct pcere_error *error)
{
    struct export_work *work = writer->work;
    const struct plan_range *ignored = EXPORT_TABLE(work, ignored, struct plan_range), *zeroed = EXPORT_TABLE(work, zeroed, struct plan_range);
    bool added = true;
    for (uint64_t i = 0; added && i < work->plan.plan->ignored.count; i++)
        added = skip_add(writer, ignored[i].address, ignored[i].bytes);
    for (uint64_t i = 0; added && i < work->plan.plan->zeroed.count; i++)
        added = skip_add(writer, zeroed[i].address, zeroed[i].bytes);
    if (!added)
        return pcere_fail_memory(error, "ranges");
    enum pcere_status status = temporaries_skip(writer, error);
    writer->skip_count = plan_ranges_merge(writer->skips, writer->skip_count);
    for (size_t i = 0; i < writer->skip_count; i++) {
        text_addf(&writer->lines, "skip %" PRIx64 " %" PRIx64 "\n", writer->skips[i].address, writer->skips[i].address + writer->skips[i].bytes);
        work->skip_count++;
    }
    return status;
}

/* ---- memory.txt ---------------------------------------------------------------------------------------------------------------------- */

static void mapping_line(struct memory_writer *writer, uint64_t start, uint64_t end, uint32_t protection, bool fresh)
{
    text_addf(&writer->lines, "mapping %" PRIx64 " %" PRIx64 " %c%c%c%s\n", start, end, protection & PROT_READ ? 'r' : '-',
              protection & PROT_WRITE ? 'w' : '-', protection & PROT_EXEC ? 'x' : '-', fresh ? "z" : "");
    writer->work->mapping_count++;
}

static bool has_pages(const struct export_work *work, const struct plan_mapping *mapping)
{
    for (size_t i = 0; i < work->memory.before_count; i++)
        if (work->memory.before[i].address >= mapping->start && work->memory.before[i].address < mapping->end)
            return true;
    return false;
}

/* Addresses below a stack that it may grow into are a mapping of their own. */
static bool mappings_write(struct memory_writer *writer)
{
    const struct export_work *work = writer->work;
    uint64_t floor = 0;
    for (size_t i = 0; i < work->memory.mapping_count; i++) {
        const struct plan_mapping *mapping = &work->memory.mappings[i];
        uint64_t room = plan_stack_room(mapping->start - floor, work->session.pool.page_bytes);
        if (mapping->flags & PLAN_MAPPING_GROWS && room) {
            mapping_line(writer, mapping->start - room, mapping->start, PROT_READ | PROT_WRITE, true);
            if (!skip_add(writer, mapping->start - room, room))
                return false;
        }
        mapping_line(writer, mapping->start, mapping->end, mapping->protection | (has_pages(work, mapping) ? PROT_READ : 0u),
                     mapping->flags & PLAN_MAPPING_FRESH);
        floor = mapping->end;
    }
    return true;
}

static void aliases_write(struct memory_writer *writer)
{
    const struct codelet_memory *memory = &writer->work->memory;
    for (size_t i = 0; i < memory->alias_count; i++)
        text_addf(&writer->lines, "same %" PRIx64 " %" PRIx64 " %" PRIx64 "\n", memory->aliases[i].address,
                  memory->aliases[i].address + memory->aliases[i].bytes, memory->aliases[i].original);
}

static void content_add(struct text *line, uint8_t content, uint64_t number)
{
    static const char *const words[] = {[CONTENT_ABSENT] = " absent", [CONTENT_ZERO] = " zero", [CONTENT_SAME] = " ="};
    if (content == CONTENT_STORED)
        text_addf(line, " %" PRIu64, number);
    else
        text_add(line, words[content]);
}

static bool continues(const struct export_page *first, const struct export_page *page, uint64_t distance, uint64_t page_bytes)
{
    return page->address == first->address + distance * page_bytes && page->before_content == first->before_content
           && page->after_content == first->after_content
           && (page->before_content != CONTENT_STORED || page->before == first->before + distance)
           && (page->after_content != CONTENT_STORED || page->after == first->after + distance);
}

static void lines_write(struct memory_writer *writer)
{
    uint64_t page_bytes = writer->work->session.pool.page_bytes;
    for (size_t i = 0; i < writer->page_count;) {
        const struct export_page *first = &writer->pages[i];
        size_t count = 1;
        while (i + count < writer->page_count && continues(first, &writer->pages[i + count], count, page_bytes))
            count++;
        text_addf(&writer->lines, "pages %" PRIx64 " %zu", first->address, count);
        content_add(&writer->lines, first->before_content, first->before);
        content_add(&writer->lines, first->after_content, first->after);
        text_add(&writer->lines, "\n");
        i += count;
    }
}

enum pcere_status export_memory_write(struct export_work *work, struct pcere_error *error)
{
    struct memory_writer writer = {.work = work, .descriptor = -1};
    enum pcere_status status = pages_collect(&writer, error);
    if (!status)
        status = pages_write(&writer, error);
    if (!status && !mappings_write(&writer))
        status = pcere_fail_memory(error, "ranges");
    if (!status) {
        aliases_write(&writer);
        lines_write(&writer);
        status = skips_write(&writer, error);
    }
    if (!status)
        status = export_text(work, "memory.txt", &writer.lines, error);
    for (size_t i = 0; i < writer.page_count; i++)
        work->report.memory_bytes += writer.pages[i].before_content == CONTENT_ABSENT ? 0 : work->session.pool.page_bytes;
    work->page_count = writer.page_count;
    work->report.stored_bytes = writer.written_pages * work->session.pool.page_bytes;
    if (writer.descriptor >= 0 && close(writer.descriptor) && !status)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot write 'memory.bin'");
    free(writer.pages);
    free(writer.skips);
    free(writer.buffer);
    text_done(&writer.lines);
    return status;
}
