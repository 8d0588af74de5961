/* profiler/host/trace_file.c - reading a sealed trace file: header, index, tables, and each thread's records in order. */
#include "profiler/host/trace_file.h"
#include "profiler/host/trace_part.h"
#include "profiler/host/trace_salvage.h"

#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define BLOCK_ROOM (TRACE_BLOCK_BYTES - (uint32_t)sizeof(struct trace_block))
#define LONG_BYTES ((size_t)1 << 28)
#define BLOCK_SLOTS (BLOCK_ROOM / (uint32_t)sizeof(struct trace_record))

static enum pcere_status damaged(struct pcere_error *error, const char *path, const char *what)
{
    return pcere_fail(error, PCERE_DATA, 0, "record it again", "'%s' is damaged: %s", path, what);
}

static enum pcere_status header_check(const struct trace_file *file, const char *path, struct pcere_error *error)
{
    const struct trace_header *header = file->header;
    if (file->map_bytes < TRACE_HEADER_BYTES || memcmp(header->magic, TRACE_MAGIC, sizeof header->magic) != 0)
        return pcere_fail(error, PCERE_DATA, 0, NULL, "'%s' is no trace of PCERE", path);
    if (header->version != TRACE_VERSION)
        return pcere_fail(error, PCERE_DATA, 0, "record it again, or use the PCERE that wrote it", "'%s' has version %u of the trace format, not %u", path,
                          header->version, TRACE_VERSION);
    struct trace_header *copy = malloc(TRACE_HEADER_BYTES);
    if (!copy)
        return pcere_fail_memory(error, "a trace file's header");
    memcpy(copy, header, TRACE_HEADER_BYTES);
    copy->header_checksum = 0;
    bool same = !header->sealed || XXH64(copy, TRACE_HEADER_BYTES, 0) == header->header_checksum;
    free(copy);
    if (!same || header->header_bytes != TRACE_HEADER_BYTES || header->block_bytes != TRACE_BLOCK_BYTES || header->event_count > TRACE_EVENTS_MOST ||
        header->runtime[sizeof header->runtime - 1] || header->library[sizeof header->library - 1])
        return damaged(error, path, "its header does not have its checksum");
    for (uint32_t i = 0; i < header->event_count; i++)
        if (!memchr(header->events[i].name, '\0', sizeof header->events[i].name))
            return damaged(error, path, "the name of an event does not end");
    if (header->thread_count > TRACE_THREADS_MOST || header->construct_count >= TRACE_CONSTRUCTS_MOST)
        return damaged(error, path, "it has more threads or constructs than there can be");
    return PCERE_OK;
}

static enum pcere_status index_check(const struct trace_file *file, const char *path, struct pcere_error *error)
{
    const struct trace_header *header = file->header;
    if (!header->sealed)
        return pcere_fail(error, PCERE_DATA, 0, "record it again", "'%s' was never finished: what recorded it was ended before its program", path);
    if (header->index_offset > file->map_bytes || header->index_offset % 8 ||
        header->index_count != (file->map_bytes - header->index_offset) / sizeof(struct trace_index))
        return damaged(error, path, "it does not end where its index does");
    if (XXH64((const char *)file->map + header->index_offset, header->index_count * sizeof(struct trace_index), 0) != header->index_checksum)
        return damaged(error, path, "its index does not have its checksum");
    if (!trace_part_sound(file))
        return damaged(error, path, "the tables before its index");
    return PCERE_OK;
}

/* ---- tables ------------------------------------------------------------------------------------------------------------------ */

/* The n-th field, from 0, of ";file;function;line;column"; false: there is none. */
static bool source_field(const char *source, size_t n, const char **ret_field, size_t *ret_bytes)
{
    const char *at = source;
    for (size_t i = 0; i <= n; i++) {
        if (*at != ';')
            return false;
        at++;
        if (i < n)
            at += strcspn(at, ";");
    }
    *ret_field = at;
    *ret_bytes = strcspn(at, ";");
    return true;
}

static bool construct_source(struct trace_construct *construct, const char *source)
{
    const char *field;
    size_t bytes;
    if (source_field(source, 0, &field, &bytes) && bytes && !(bytes == 7 && memcmp(field, "unknown", 7) == 0) &&
        !(construct->file = strndup(field, bytes)))
        return false;
    if (source_field(source, 1, &field, &bytes) && bytes && !(bytes == 7 && memcmp(field, "unknown", 7) == 0) &&
        !(construct->function = strndup(field, bytes)))
        return false;
    if (source_field(source, 2, &field, &bytes) && bytes < 10)
        construct->line = (uint32_t)strtoul(field, NULL, 10);
    if (source_field(source, 3, &field, &bytes) && bytes < 10)
        construct->column = (uint32_t)strtoul(field, NULL, 10);
    return true;
}

static bool construct_place(const struct trace_file *file, struct trace_construct *construct)
{
    struct text place = {0};
    if (construct->file && construct->line)
        text_addf(&place, "%s:%u", base_name(construct->file), construct->line);
    else if (construct->basis == TRACE_BY_ID)
        text_addf(&place, "pcere:%016llx", (unsigned long long)construct->id);
    else if (construct->module && construct->module < file->module_count && file->modules[construct->module].path)
        text_addf(&place, "%s+0x%llx", file->modules[construct->module].path[0] ? base_name(file->modules[construct->module].path) : "main",
                  (unsigned long long)construct->offset);
    else
        text_add(&place, "unknown");
    construct->place = text_take(&place);
    for (char *at = construct->place; at && *at; at++)
        if ((unsigned char)*at < ' ' || *at == '@')
            *at = '_';                           /* a label is one line, and '@' is its own */
    return construct->place != NULL;
}

static enum pcere_status entry_read(struct trace_file *file, const struct trace_entry *entry, const char *path, struct pcere_error *error)
{
    const char *text = entry->text, *end = (const char *)entry + entry->bytes;
    if (entry->kind == TRACE_ENTRY_CONSTRUCT) {
        if (entry->index == 0 || entry->index >= file->construct_count || !entry->construct_kind || entry->construct_kind >= TRACE_KINDS || !memchr(text, '\0', (size_t)(end - text)))
            return damaged(error, path, "a construct in its tables");
        struct trace_construct *construct = &file->constructs[entry->index];
        if (construct->kind)
            return damaged(error, path, "a construct is there twice");
        *construct = (struct trace_construct){.id = entry->id, .kind = entry->construct_kind, .basis = entry->basis, .module = entry->module, .offset = entry->offset};
        if (!construct_source(construct, text))
            return pcere_fail_memory(error, "a construct's name");
    } else if (entry->kind == TRACE_ENTRY_MODULE) {
        const char *first = memchr(text, '\0', (size_t)(end - text));
        if (entry->index == 0 || entry->index >= file->module_count || !first || !memchr(first + 1, '\0', (size_t)(end - first - 1)))
            return damaged(error, path, "a module in its tables");
        file->modules[entry->index] = (struct trace_module){text, first + 1};
    } else if (entry->kind == TRACE_ENTRY_THREAD) {
        if (entry->index >= file->thread_count)
            return damaged(error, path, "a thread in its tables");
        file->threads[entry->index].kernel_id = entry->module;
    }
    return PCERE_OK;
}

static enum pcere_status table_read(struct trace_file *file, const struct trace_block *block, const char *path, struct pcere_error *error)
{
    const char *room = (const char *)(block + 1);
    enum pcere_status status = PCERE_OK;
    for (uint32_t at = 0; status == PCERE_OK && at < block->used;) {
        const struct trace_entry *entry = (const void *)(room + at);
        if (block->used - at < sizeof *entry || entry->bytes < sizeof *entry || entry->bytes % 8 || entry->bytes > block->used - at)
            return damaged(error, path, "an entry of its tables has no length");
        status = entry_read(file, entry, path, error);
        at += entry->bytes;
    }
    return status;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------------------ */

static int by_sequence(const void *a, const void *b)
{
    const struct trace_block *const *left = a, *const *right = b;
    return (*left)->sequence < (*right)->sequence ? -1 : (*left)->sequence > (*right)->sequence;
}

/* A long file need not stay in memory behind who has read it. Of one that was copied nothing else has its bytes. */
static void block_leave(const struct trace_file *file, const struct trace_block *block)
{
    const char *at = (const char *)block, *map = file->map;
    if (file->map_bytes > LONG_BYTES && file->header->sealed && at >= map && at < map + file->map_bytes)
        madvise((void *)(uintptr_t)(at - TRACE_HEADER_BYTES), TRACE_BLOCK_BYTES + TRACE_HEADER_BYTES, MADV_DONTNEED);     /* what a block's first fault brings with it of the one before, too */
}

/* They have their order, but in a file that is not whole. */
static void blocks_sort(const struct trace_file *file, struct trace_thread *thread)
{
    bool sorted = true;
    for (size_t i = 1; i < thread->block_count && sorted; i++) {
        sorted = by_sequence(&thread->blocks[i - 1], &thread->blocks[i]) < 0;
        block_leave(file, thread->blocks[i - 1]);
    }
    if (!sorted)
        qsort(thread->blocks, thread->block_count, sizeof(const struct trace_block *), by_sequence);
}

static enum pcere_status block_check(const struct trace_file *file, const struct trace_index *index, const char *path, struct pcere_error *error)
{
    if (index->offset < TRACE_HEADER_BYTES || (index->offset - TRACE_HEADER_BYTES) % TRACE_BLOCK_BYTES ||
        index->offset > file->header->index_offset || file->header->index_offset - index->offset < TRACE_BLOCK_BYTES)
        return damaged(error, path, "a block lies outside of it");
    const struct trace_block *block = (const void *)((const char *)file->map + index->offset);
    bool records = block->kind == TRACE_BLOCK_RECORDS;
    if (block->magic != TRACE_BLOCK_MAGIC || (!records && block->kind != TRACE_BLOCK_TABLE) || block->used > (records ? BLOCK_SLOTS : BLOCK_ROOM) || block->used != index->used ||
        block->kind != index->kind || block->thread != index->thread)
        return damaged(error, path, "the head of a block");
    if (trace_block_checksum(block) != block->checksum)
        return damaged(error, path, "a block does not have its checksum");
    return PCERE_OK;
}

struct checking {                /* a share of the blocks */
    const struct trace_file *file;
    const char *path;
    uint64_t first, end;
    enum pcere_status status;
    struct pcere_error error;
    pthread_t thread;
};

static void *checking_main(void *argument)
{
    struct checking *checking = argument;
    const struct trace_index *index = (const void *)((const char *)checking->file->map + checking->file->header->index_offset);
    for (uint64_t i = checking->first; checking->status == PCERE_OK && i < checking->end; i++) {
        checking->status = block_check(checking->file, &index[i], checking->path, &checking->error);
        if (checking->status == PCERE_OK)
            block_leave(checking->file, (const void *)((const char *)checking->file->map + index[i].offset));
    }
    return NULL;
}

/* By as many threads as there are processors; what is told is the first that is wrong. */
static enum pcere_status blocks_check(const struct trace_file *file, const char *path, struct pcere_error *error)
{
    enum { MOST = 8, LEAST_BLOCKS = 64 };
    enum pcere_status status = index_check(file, path, error);
    uint64_t count = status == PCERE_OK ? file->header->index_count : 0;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t parts = processors > MOST ? MOST : processors > 1 ? (size_t)processors : 1, helpers = 0;
    parts = count / LEAST_BLOCKS < parts ? count / LEAST_BLOCKS + 1 : parts;
    struct checking checks[MOST];
    for (size_t i = 0; i < parts; i++)
        checks[i] = (struct checking){.file = file, .path = path, .first = count * i / parts, .end = count * (i + 1) / parts, .status = PCERE_OK};
    while (helpers + 1 < parts && pthread_create(&checks[helpers].thread, NULL, checking_main, &checks[helpers]) == 0)
        helpers++;
    for (size_t i = helpers; i < parts; i++)
        checking_main(&checks[i]);
    for (size_t i = 0; i < helpers; i++)
        pthread_join(checks[i].thread, NULL);
    for (size_t i = 0; i < parts && status == PCERE_OK; i++) {
        status = checks[i].status;
        if (status != PCERE_OK && error)
            *error = checks[i].error;
    }
    return status;
}

static enum pcere_status blocks_read(struct trace_file *file, const struct trace_index *index, uint64_t count, const char *path, struct pcere_error *error)
{
    for (uint64_t i = 0; i < count; i++) {
        if (index[i].kind != TRACE_BLOCK_RECORDS)
            continue;
        if (index[i].thread >= file->thread_count)
            return damaged(error, path, "a block of a thread that is not there");
        file->threads[index[i].thread].block_count++;
        file->slots += index[i].used;
    }
    for (size_t i = 0; i < file->thread_count; i++) {
        file->threads[i].blocks = calloc(file->threads[i].block_count + 1, sizeof *file->threads[i].blocks);
        if (!file->threads[i].blocks)
            return pcere_fail_memory(error, "a trace's blocks");
        file->threads[i].block_count = 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        const struct trace_block *block = (const void *)((const char *)file->map + index[i].offset);
        if (index[i].kind == TRACE_BLOCK_RECORDS) {
            struct trace_thread *thread = &file->threads[index[i].thread];
            thread->blocks[thread->block_count++] = block;
        } else {
            enum pcere_status status = table_read(file, block, path, error);
            if (status != PCERE_OK && !(file->cut_why && status == PCERE_DATA))
                return status;
        }
    }
    for (size_t i = 0; i < file->thread_count; i++)
        blocks_sort(file, &file->threads[i]);
    return PCERE_OK;
}

/* What is said of a file that is not whole is that of `error`, which also holds where nothing is left of it. */
static enum pcere_status whole_read(struct trace_file *file, const char *path, struct pcere_error *error)
{
    struct trace_index *index = NULL;
    struct pcere_error of_salvage;
    uint64_t count = 0;
    file->cut_why = !file->header->sealed ? "was never finished: what recorded it was ended before its program" : "is cut or damaged";
    enum pcere_status status = trace_salvage(file, &index, &count, &of_salvage);
    if (status == PCERE_OK)
        status = blocks_read(file, index, count, path, &of_salvage);
    free(index);
    if (status != PCERE_OK)
        *error = of_salvage;
    else if (!file->slots)
        status = PCERE_DATA;
    return status;
}

/* Between the run's two anchors; a killed program has none at its end, and its last block serves. */
static void clock_fit(struct trace_file *file)
{
    const struct trace_header *header = file->header;
    const struct trace_anchor *start = &header->start;
    uint64_t ticks = header->end.ticks, ns = header->end.monotonic_ns;
    for (size_t i = 0; !header->ended && i < file->thread_count; i++)
        for (size_t j = 0; j < file->threads[i].block_count; j++)
            if (file->threads[i].blocks[j]->base_ticks > ticks) {
                ticks = file->threads[i].blocks[j]->base_ticks;
                ns = file->threads[i].blocks[j]->monotonic_ns;
            }
    bool fits = header->clock == TRACE_CLOCK_TSC && ticks > start->ticks && ns > start->monotonic_ns;
    file->ns_per_tick = fits ? (double)(ns - start->monotonic_ns) / (double)(ticks - start->ticks) : 1;
}

struct opening { bool salvage, part; uint64_t from_ns, to_ns; };     /* salvage: what is whole of a file that is not; part: of one that can be read so */

static enum pcere_status part_read(struct trace_file *file, const char *path, const struct opening *opening, struct pcere_error *error)
{
    struct trace_index *index = NULL;
    uint64_t count = 0;
    clock_fit(file);
    enum pcere_status status = trace_part_select(file, path, opening->from_ns, opening->to_ns, &index, &count, error);
    for (uint64_t i = 0; status == PCERE_OK && i < count; i++)
        status = block_check(file, &index[i], path, error);
    if (status == PCERE_OK)
        status = blocks_read(file, index, count, path, error);
    if (status == PCERE_OK)
        status = trace_part_fill(file, error);
    free(index);
    return status;
}

static enum pcere_status file_fill(struct trace_file *file, const char *path, const struct opening *opening, struct pcere_error *error)
{
    enum pcere_status status = header_check(file, path, error);
    if (status != PCERE_OK)
        return status;
    const struct trace_header *header = file->header;
    file->thread_count = header->thread_count;
    file->construct_count = (size_t)header->construct_count + 1;
    file->module_count = 513;
    file->threads = calloc(file->thread_count + 1, sizeof *file->threads);
    file->constructs = calloc(file->construct_count, sizeof *file->constructs);
    file->modules = calloc(file->module_count, sizeof *file->modules);
    if (!file->threads || !file->constructs || !file->modules)
        return pcere_fail_memory(error, "a trace's tables");
    if (opening->part && trace_part_can(file) && index_check(file, path, error) == PCERE_OK) {
        status = part_read(file, path, opening, error);
    } else {
        status = blocks_check(file, path, error);
        if (status == PCERE_OK)
            status = blocks_read(file, (const void *)((const char *)file->map + header->index_offset), header->index_count, path, error);
        else if (status == PCERE_DATA && opening->salvage)
            status = whole_read(file, path, error);
    }
    for (size_t i = 0; status == PCERE_OK && i < file->construct_count; i++)
        if (!construct_place(file, &file->constructs[i]))
            status = pcere_fail_memory(error, "a construct's name");
    if (status == PCERE_OK)
        clock_fit(file);
    return status;
}

/* A file that is not sealed may still be written. */
static bool map_copy(int descriptor, void **map, size_t bytes)
{
    void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return false;
    for (size_t at = 0; at < bytes;) {
        ssize_t count = pread(descriptor, (char *)copy + at, bytes - at, (off_t)at);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            int errnum = errno;
            munmap(copy, bytes);
            errno = errnum;
            return false;
        }
        if (count == 0)
            break;
        at += (size_t)count;
    }
    munmap(*map, bytes);
    *map = copy;
    return true;
}

static enum pcere_status file_open(const char *path, const struct opening *opening, struct trace_file **ret_file, struct pcere_error *error)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat facts;
    if (descriptor < 0)
        return pcere_fail(error, errno == ENOENT ? PCERE_USAGE : PCERE_SYSTEM, errno, NULL, "cannot open '%s'", path);
    if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size < (off_t)TRACE_HEADER_BYTES) {
        close(descriptor);
        return pcere_fail(error, PCERE_DATA, 0, NULL, "'%s' is no trace of PCERE", path);
    }
    void *map = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    int errnum = errno;
    bool copied = map == MAP_FAILED || !opening->salvage || ((const struct trace_header *)map)->sealed || map_copy(descriptor, &map, (size_t)facts.st_size);
    errnum = copied ? errnum : errno;
    close(descriptor);
    struct trace_file *file = calloc(1, sizeof *file);
    if (map == MAP_FAILED || !copied || !file) {
        if (map != MAP_FAILED)
            munmap(map, (size_t)facts.st_size);
        free(file);
        return pcere_fail(error, PCERE_SYSTEM, errnum, NULL, "cannot map '%s'", path);
    }
    file->map = map;
    file->map_bytes = (size_t)facts.st_size;
    file->header = map;
    file->until_ticks = UINT64_MAX;
    enum pcere_status status = file_fill(file, path, opening, error);
    if (status != PCERE_OK) {
        trace_file_close(file);
        return status;
    }
    *ret_file = file;
    return PCERE_OK;
}

enum pcere_status trace_file_open(const char *path, struct trace_file **ret_file, struct pcere_error *error)
{
    return file_open(path, &(struct opening){0}, ret_file, error);
}

enum pcere_status trace_file_salvage(const char *path, struct trace_file **ret_file, struct pcere_error *error)
{
    return file_open(path, &(struct opening){.salvage = true}, ret_file, error);
}

/* What is damaged where a part would need it is another matter for who takes what is whole. */
enum pcere_status trace_part_open(const char *path, uint64_t from_ns, uint64_t to_ns, struct trace_file **ret_file, struct pcere_error *error)
{
    enum pcere_status status = file_open(path, &(struct opening){.salvage = true, .part = true, .from_ns = from_ns, .to_ns = to_ns}, ret_file, error);
    return status == PCERE_DATA ? trace_file_salvage(path, ret_file, error) : status;
}

void trace_file_close(struct trace_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; file->constructs && i < file->construct_count; i++) {
        free(file->constructs[i].file);
        free(file->constructs[i].function);
        free(file->constructs[i].place);
    }
    for (size_t i = 0; file->threads && i < file->thread_count; i++)
        free(file->threads[i].blocks);
    free(file->constructs);
    free(file->threads);
    free(file->modules);
    trace_part_free(file->part);
    munmap(file->map, file->map_bytes);
    free(file);
}

/* ---- records ----------------------------------------------------------------------------------------------------------------- */

void trace_cursor_start(struct trace_cursor *cursor, const struct trace_file *file, size_t thread)
{
    *cursor = (struct trace_cursor){.file = file, .thread = &file->threads[thread], .count_slots = (file->header->event_count + 1) / 2};
}

bool trace_cursor_block(struct trace_cursor *cursor)
{
    const struct trace_thread *thread = cursor->thread;
    if (cursor->block)
        block_leave(cursor->file, thread->blocks[cursor->block - 1]);
    if (cursor->block == thread->block_count)
        return false;
    const struct trace_block *block = thread->blocks[cursor->block++];
    cursor->base_ticks = block->base_ticks;
    cursor->at = (const void *)(block + 1);
    cursor->end = cursor->at + block->used;
    return true;
}
