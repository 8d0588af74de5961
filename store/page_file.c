#include "store/page_file.h"

#include "core/faults.h"
#include "core/text.h"
#include "include/pcere/bisect.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define CACHE_BLOCKS 32u                           /* 8 MiB of 4 KiB pages: runs that cut blocks read each of them once */
#define THREADS_MOST 16u
#define THREAD_BLOCKS 16u                          /* a thread is worth its start from so many blocks on */

struct block {
    uint64_t offset;                               /* of its header */
    uint64_t first_page;
    uint64_t body_check;
    uint32_t pages, stored_bytes, coding;
};

struct block_index { struct block *blocks; size_t count, capacity; uint64_t pages, bytes; };     /* bytes: of the file, up to its end; 0: not made */

struct cached { uint64_t block_plus_one, used; unsigned char *data; };

struct page_file {
    int descriptor;
    uint64_t page_bytes;
    uint64_t page_count, file_bytes;               /* as the manifest says, or, if that is not complete, as many as are whole */
    struct block_index early, all;                 /* early: up to the first page that was asked for. Each is made once */
    pthread_mutex_t lock;                          /* guards the cache, and making indices */
    struct cached cache[CACHE_BLOCKS];
    uint64_t clock;
};

static enum pcere_status damaged(struct pcere_error *error, uint64_t offset, const char *what)
{
    return pcere_fail(error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "the file 'pages' is damaged at byte %llu: %s",
                      (unsigned long long)offset, what);
}

/* Exactly `bytes` from `offset`; PCERE_DATA if the file ends before. */
static enum pcere_status read_exactly(int descriptor, uint64_t offset, void *out, size_t bytes, struct pcere_error *error)
{
    char *at = out;
    for (size_t done = 0; done < bytes;) {
        int errnum = fault_point("pages.read");
        ssize_t got = errnum ? -1 : pread(descriptor, at + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && !errnum)
            errnum = errno;
        if (got < 0 && errnum == EINTR)
            continue;
        if (got < 0)
            return pcere_fail(error, PCERE_SYSTEM, errnum, NULL, "cannot read the file 'pages'");
        if (got == 0)
            return damaged(error, offset + done, "it ends too early");
        done += (size_t)got;
    }
    return PCERE_OK;
}

/* ---- index --------------------------------------------------------------------------------------------------------------- */

static enum pcere_status check_pages_header(int descriptor, uint64_t store_id, uint64_t page_bytes, struct pcere_error *error)
{
    struct pages_header header;
    enum pcere_status status = read_exactly(descriptor, 0, &header, sizeof header, error);
    if (status)
        return status;
    if (memcmp(header.magic, PAGES_MAGIC, sizeof header.magic) != 0)
        return damaged(error, 0, "it does not begin as a file of pages does");
    if (header.check != XXH64(&header, offsetof(struct pages_header, check), 0))
        return damaged(error, 0, "the checksum of its header does not match");
    if (header.version != STORE_SCHEMA_VERSION)
        return pcere_fail(error, PCERE_DATA, 0, "capture the program again with this version",
                          "the file 'pages' was written by another version of PCERE (format %u, this one reads %d)", header.version,
                          STORE_SCHEMA_VERSION);
    if (header.store_id != store_id || header.page_bytes != page_bytes)
        return damaged(error, 0, "it belongs to another store");
    return PCERE_OK;
}

/* The block at `offset` of a file that ends at `end`, which begins with page `first_page`; *ret_next is where the following one starts. */
static enum pcere_status read_block_header(const struct page_file *file, uint64_t offset, uint64_t end, uint64_t first_page, struct block *ret_block,
                                           uint64_t *ret_next, struct pcere_error *error)
{
    struct block_header header;
    if (end - offset < sizeof header)
        return damaged(error, offset, "it ends too early");
    enum pcere_status status = read_exactly(file->descriptor, offset, &header, sizeof header, error);
    if (status)
        return status;
    if (memcmp(header.magic, BLOCK_MAGIC, sizeof header.magic) != 0 ||
        header.check != XXH64(&header, offsetof(struct block_header, check), 0))
        return damaged(error, offset, "the checksum of a block's header does not match");
    if (!header.pages || header.pages > STORE_BLOCK_PAGES || header.raw_bytes != header.pages * file->page_bytes ||
        header.first_page != first_page || header.stored_bytes > header.raw_bytes ||
        !(header.coding == BLOCK_LZ4 || (header.coding == BLOCK_RAW && header.stored_bytes == header.raw_bytes)))
        return damaged(error, offset, "a block's header contradicts itself");
    uint64_t body = header.pages * sizeof(struct page_hash) + header.stored_bytes;
    if (end - offset - sizeof header < body)
        return damaged(error, offset, "it ends within a block");
    *ret_block = (struct block){.offset = offset, .first_page = header.first_page, .body_check = header.body_check,
                                .pages = header.pages, .stored_bytes = header.stored_bytes, .coding = header.coding};
    *ret_next = offset + sizeof header + body;
    return PCERE_OK;
}

/* Index the blocks up to byte `end`, and no further than the one that has page number `last`; or up to the first one that is not whole. */
static enum pcere_status index_blocks(const struct page_file *file, uint64_t end, uint64_t last, struct block_index *ret_index, struct pcere_error *error)
{
    struct block_index index = {.bytes = sizeof(struct pages_header)};
    enum pcere_status status = PCERE_OK;
    while (index.bytes < end && index.pages <= last && !status) {
        if (!array_reserve(&index.blocks, &index.capacity, index.count + 1, sizeof *index.blocks)) {
            free(index.blocks);
            return pcere_fail_memory(error, "the index of stored pages");
        }
        struct block *block = &index.blocks[index.count];
        status = read_block_header(file, index.bytes, end, index.pages, block, &index.bytes, error);
        if (!status) {
            index.pages += block->pages;
            index.count++;
        }
    }
    *ret_index = index;
    return status;
}

static enum pcere_status fail_length(uint64_t bytes, uint64_t wanted_bytes, struct pcere_error *error)
{
    return pcere_fail(error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "the file 'pages' is damaged: it holds %llu bytes of pages, and the manifest says %llu",
                      (unsigned long long)bytes, (unsigned long long)wanted_bytes);
}

static enum pcere_status index_all(struct page_file *file, struct pcere_error *error)
{
    struct block_index index = {0};
    enum pcere_status status = index_blocks(file, file->file_bytes, UINT64_MAX, &index, error);
    if (!status && (index.bytes != file->file_bytes || index.pages != file->page_count))
        status = fail_length(index.bytes, file->file_bytes, error);
    if (status)
        free(index.blocks);
    else
        file->all = index;
    return status;
}

/* An index that has page number `last`. Reading the headers of a GiB takes as long as starting some codelets, and who finds all pages decompressed already needs
 * but a few of the first ones. */
static enum pcere_status index_find(struct page_file *file, uint64_t last, const struct block_index **ret_index, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    pthread_mutex_lock(&file->lock);
    if (!file->all.bytes && !file->early.bytes && (status = index_blocks(file, file->file_bytes, last, &file->early, error))) {
        free(file->early.blocks);
        file->early = (struct block_index){0};
    }
    if (!status && !file->all.bytes && last >= file->early.pages)
        status = index_all(file, error);
    *ret_index = file->all.bytes ? &file->all : &file->early;
    pthread_mutex_unlock(&file->lock);
    return status;
}

/* What a killed capture left: as many blocks as are whole, at least those that the manifest knows. */
static enum pcere_status index_incomplete(struct page_file *file, const struct manifest_files *files, uint64_t end, struct pcere_error *error)
{
    enum pcere_status status = index_blocks(file, end, UINT64_MAX, &file->all, error);
    file->file_bytes = file->all.bytes;
    file->page_count = file->all.pages;
    bool enough = file->file_bytes >= files->pages_bytes && file->page_count >= files->page_count;
    if (enough)
        return status == PCERE_DATA ? PCERE_OK : status;
    return status ? status : fail_length(file->file_bytes, files->pages_bytes, error);
}

enum pcere_status page_file_open(int directory, const struct manifest_files *files, uint64_t page_bytes, bool complete,
                                 struct page_file **ret_file, struct pcere_error *error)
{
    struct page_file *file = calloc(1, sizeof *file);
    if (!file)
        return pcere_fail_memory(error, "the store's pages");
    file->page_bytes = page_bytes;
    file->page_count = files->page_count;
    file->file_bytes = files->pages_bytes;
    pthread_mutex_init(&file->lock, NULL);
    file->descriptor = openat(directory, "pages", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat about;
    enum pcere_status status = PCERE_OK;
    if (file->descriptor < 0 || fstat(file->descriptor, &about) != 0)
        status = pcere_fail(error, errno == ENOENT ? PCERE_DATA : PCERE_SYSTEM, errno, NULL, "cannot read the store's file 'pages'");
    else if (!S_ISREG(about.st_mode))
        status = pcere_fail(error, PCERE_DATA, 0, NULL, "the store's 'pages' is not a regular file");
    else
        status = check_pages_header(file->descriptor, files->store_id, page_bytes, error);
    if (!status && !complete)
        status = index_incomplete(file, files, (uint64_t)about.st_size, error);
    else if (!status && (uint64_t)about.st_size != files->pages_bytes)
        status = fail_length((uint64_t)about.st_size, files->pages_bytes, error);
    else if (!status && files->page_count > files->pages_bytes / sizeof(struct page_hash))
        status = pcere_fail(error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "the manifest speaks of more pages than the file 'pages' has room for");
    if (status) {
        page_file_close(file);
        return status;
    }
    *ret_file = file;
    return PCERE_OK;
}

void page_file_close(struct page_file *file)
{
    if (!file)
        return;
    if (file->descriptor >= 0)
        close(file->descriptor);
    for (unsigned i = 0; i < CACHE_BLOCKS; i++)
        free(file->cache[i].data);
    pthread_mutex_destroy(&file->lock);
    free(file->early.blocks);
    free(file->all.blocks);
    free(file);
}

uint64_t page_file_count(const struct page_file *file)
{
    return file->page_count;
}

static size_t find_block(const struct block_index *index, uint64_t page)
{
    BISECT(next, 1, index->count, i, index->blocks[i].first_page <= page);
    return next - 1;
}

/* ---- one block ----------------------------------------------------------------------------------------------------------- */

/* All pages of the block into `out`. `body` has room for its pages and their hashes, and holds the page hashes first afterwards. */
static enum pcere_status block_decode(const struct page_file *file, const struct block *block, unsigned char *body, unsigned char *out,
                                      struct pcere_error *error)
{
    size_t hashes = block->pages * sizeof(struct page_hash), raw = block->pages * (size_t)file->page_bytes;
    enum pcere_status status = read_exactly(file->descriptor, block->offset + sizeof(struct block_header), body,
                                            hashes + block->stored_bytes, error);
    if (status)
        return status;
    if (XXH64(body, hashes + block->stored_bytes, 0) != block->body_check)
        return damaged(error, block->offset, "a block's checksum does not match");
    if (block->coding == BLOCK_RAW)
        memcpy(out, body + hashes, raw);
    else if (LZ4_decompress_safe((const char *)body + hashes, (char *)out, (int)block->stored_bytes, (int)raw) != (int)raw)
        return damaged(error, block->offset, "a block does not decompress");
    return PCERE_OK;
}

static bool cache_copy(struct page_file *file, size_t index, uint64_t skip, uint64_t count, unsigned char *out)
{
    bool found = false;
    pthread_mutex_lock(&file->lock);
    for (unsigned i = 0; i < CACHE_BLOCKS && !found; i++)
        if (file->cache[i].block_plus_one == index + 1) {
            memcpy(out, file->cache[i].data + skip * file->page_bytes, count * file->page_bytes);
            file->cache[i].used = ++file->clock;
            found = true;
        }
    pthread_mutex_unlock(&file->lock);
    return found;
}

/* Takes `data`, in place of the block that was used longest ago. */
static void cache_put(struct page_file *file, size_t index, unsigned char *data)
{
    pthread_mutex_lock(&file->lock);
    struct cached *oldest = &file->cache[0];
    for (unsigned i = 0; i < CACHE_BLOCKS; i++)
        if (file->cache[i].used < oldest->used)
            oldest = &file->cache[i];
    free(oldest->data);
    *oldest = (struct cached){index + 1, ++file->clock, data};
    pthread_mutex_unlock(&file->lock);
}

static enum pcere_status read_part(struct page_file *file, const struct block *block, size_t index, uint64_t skip, uint64_t count, unsigned char *body,
                                   unsigned char *out, struct pcere_error *error)
{
    if (cache_copy(file, index, skip, count, out))
        return PCERE_OK;
    unsigned char *data = malloc(block->pages * file->page_bytes);
    if (!data)
        return pcere_fail_memory(error, "a block of stored pages");
    enum pcere_status status = block_decode(file, block, body, data, error);
    if (status) {
        free(data);
        return status;
    }
    memcpy(out, data + skip * file->page_bytes, count * file->page_bytes);
    cache_put(file, index, data);
    return PCERE_OK;
}

/* ---- runs of pages ------------------------------------------------------------------------------------------------------- */

struct reading {
    struct page_file *file;
    const struct block_index *index;
    uint64_t first, count;
    unsigned char *out;                            /* NULL: check every page against its hash instead */
    size_t last_block;
    atomic_size_t next_block;
    pthread_mutex_t lock;                          /* guards the first failure */
    enum pcere_status status;
    struct pcere_error error;
};

static enum pcere_status check_hashes(const struct page_file *file, const struct block *block, const unsigned char *body,
                                      const unsigned char *pages, struct pcere_error *error)
{
    for (uint32_t i = 0; i < block->pages; i++) {
        struct page_hash stored;
        memcpy(&stored, body + i * sizeof stored, sizeof stored);
        XXH128_hash_t hash = XXH3_128bits(pages + i * file->page_bytes, (size_t)file->page_bytes);
        if (hash.low64 != stored.low || hash.high64 != stored.high)
            return damaged(error, block->offset, "a page does not match its hash");
    }
    return PCERE_OK;
}

static enum pcere_status reading_block(struct reading *reading, size_t index, unsigned char *body, unsigned char *scratch,
                                       struct pcere_error *error)
{
    struct page_file *file = reading->file;
    const struct block *block = &reading->index->blocks[index];
    if (!reading->out) {
        enum pcere_status status = block_decode(file, block, body, scratch, error);
        return status ? status : check_hashes(file, block, body, scratch, error);
    }
    uint64_t end = block->first_page + block->pages, reading_end = reading->first + reading->count;
    uint64_t from = block->first_page > reading->first ? block->first_page : reading->first;
    uint64_t to = end < reading_end ? end : reading_end;
    unsigned char *out = reading->out + (from - reading->first) * file->page_bytes;
    if (to - from == block->pages && block->pages == STORE_BLOCK_PAGES)
        return block_decode(file, block, body, out, error);
    return read_part(file, block, index, from - block->first_page, to - from, body, out, error);
}

static void *reading_main(void *argument)
{
    struct reading *reading = argument;
    struct pcere_error error = {0};
    uint64_t pages = 0;                            /* of the largest block */
    for (size_t i = atomic_load(&reading->next_block); i <= reading->last_block; i++)
        pages = reading->index->blocks[i].pages > pages ? reading->index->blocks[i].pages : pages;
    size_t room = (size_t)pages * (sizeof(struct page_hash) + reading->file->page_bytes);
    unsigned char *body = malloc(2 * room + 1);
    enum pcere_status status = body ? PCERE_OK : pcere_fail_memory(&error, "a block of stored pages");
    for (size_t index; !status && (index = atomic_fetch_add(&reading->next_block, 1)) <= reading->last_block;)
        status = reading_block(reading, index, body, body + room, &error);
    free(body);
    if (status) {
        pthread_mutex_lock(&reading->lock);
        if (!reading->status) {
            reading->status = status;
            reading->error = error;
        }
        pthread_mutex_unlock(&reading->lock);
        atomic_store(&reading->next_block, reading->last_block + 1);
    }
    return NULL;
}

/* This thread takes part, so that no thread that cannot be started is missed. */
static enum pcere_status reading_run(struct reading *reading, struct pcere_error *error)
{
    size_t blocks = reading->last_block - atomic_load(&reading->next_block) + 1;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned wanted = online > 1 ? (unsigned)online : 1, helpers = 0;
    if (wanted > THREADS_MOST)
        wanted = THREADS_MOST;
    if (wanted > blocks / THREAD_BLOCKS)
        wanted = (unsigned)(blocks / THREAD_BLOCKS);
    pthread_t threads[THREADS_MOST];
    pthread_mutex_init(&reading->lock, NULL);
    while (helpers + 1 < wanted && pthread_create(&threads[helpers], NULL, reading_main, reading) == 0)
        helpers++;
    reading_main(reading);
    for (unsigned i = 0; i < helpers; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&reading->lock);
    if (reading->status && error)
        *error = reading->error;
    return reading->status;
}

enum pcere_status page_file_read(struct page_file *file, uint64_t first, uint64_t count, void *out, struct pcere_error *error)
{
    if (first >= file->page_count || count > file->page_count - first) {
        if (!count)
            return PCERE_OK;
        return pcere_fail(error, PCERE_DATA, 0, STORE_HINT_DAMAGED, "page %llu is not in the file 'pages', which holds %llu",
                          (unsigned long long)first, (unsigned long long)file->page_count);
    }
    const struct block_index *index = NULL;
    enum pcere_status status = count ? index_find(file, first + count - 1, &index, error) : PCERE_OK;
    if (!count || status)
        return status;
    size_t from = find_block(index, first), to = find_block(index, first + count - 1);
    if (from == to && cache_copy(file, from, first - index->blocks[from].first_page, count, out))
        return PCERE_OK;
    struct reading reading = {.file = file, .index = index, .first = first, .count = count, .out = out, .last_block = to};
    atomic_store(&reading.next_block, from);
    return reading_run(&reading, error);
}

enum pcere_status page_file_check(struct page_file *file, struct pcere_error *error)
{
    const struct block_index *index = NULL;
    enum pcere_status status = index_find(file, UINT64_MAX, &index, error);
    if (status || !index->count)
        return status;
    struct reading reading = {.file = file, .index = index, .last_block = index->count - 1};
    return reading_run(&reading, error);
}
