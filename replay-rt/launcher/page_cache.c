/* replay-rt/launcher/page_cache.c - see page_cache.h. */
#include "replay-rt/launcher/page_cache.h"

#include "core/faults.h"
#include "core/files.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <xxhash.h>

#define INDEX_MAGIC "PCEREMX2"
#define INDEX_BYTES_MOST (1ull << 30)
#define BOOT_BYTES 40u

struct index_header {                 /* | loaded, page_count | runs | found | check, 8: xxh64 of all before */
    char magic[8];
    char boot[BOOT_BYTES];
    struct page_cache_layout layout;
    uint64_t identity;                /* of the file: a copy of it may not be whole */
    uint64_t run_count, found_count;
};

/* Another one after each start of the machine. */
static bool boot_read(char boot[BOOT_BYTES])
{
    memset(boot, 0, BOOT_BYTES);
    int descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = descriptor < 0 ? -1 : read(descriptor, boot, BOOT_BYTES - 1);
    if (descriptor >= 0)
        close(descriptor);
    return length >= 32;
}

static bool header_make(const struct page_cache_layout *layout, uint64_t identity, size_t run_count, size_t found_count, struct index_header *header)
{
    memset(header, 0, sizeof *header);
    memcpy(header->magic, INDEX_MAGIC, sizeof header->magic);
    header->layout = *layout;
    header->identity = identity;
    header->run_count = run_count;
    header->found_count = found_count;
    return boot_read(header->boot);
}

static bool index_is_sound(const unsigned char *data, size_t bytes, const struct page_cache_layout *layout, uint64_t identity,
                           struct index_header *header)
{
    struct index_header wanted;
    uint64_t check;
    if (bytes < sizeof *header + sizeof check)
        return false;
    memcpy(header, data, sizeof *header);
    memcpy(&check, data + bytes - sizeof check, sizeof check);
    if (!header_make(layout, identity, (size_t)header->run_count, (size_t)header->found_count, &wanted) || memcmp(header, &wanted, sizeof wanted)
        || XXH64(data, bytes - sizeof check, 0) != check)
        return false;
    uint64_t left = bytes - sizeof *header - sizeof check;
    if (layout->page_count > left || header->run_count > (left - layout->page_count) / sizeof(struct store_run))
        return false;
    return header->found_count == left - layout->page_count - header->run_count * sizeof(struct store_run);
}

static void *copy_of(const void *data, size_t bytes)
{
    void *copy = malloc(bytes ? bytes : 1);
    return copy ? memcpy(copy, data, bytes) : NULL;
}

static void index_take(const unsigned char *data, const struct index_header *header, struct page_cache_index *index)
{
    const unsigned char *runs = data + sizeof *header + header->layout.page_count, *found = runs + header->run_count * sizeof *index->runs;
    index->loaded = copy_of(data + sizeof *header, header->layout.page_count);
    index->runs = copy_of(runs, header->run_count * sizeof *index->runs);
    index->found = copy_of(found, header->found_count);
    index->run_count = header->run_count;
    index->found_count = header->found_count;
    for (uint64_t i = 0; index->loaded && i < header->layout.page_count; i++)
        index->loaded_pages += index->loaded[i] != 0;
    if (!index->loaded || !index->runs || !index->found)
        page_cache_index_done(index);
}

static void index_load(int directory, const struct page_cache_layout *layout, uint64_t identity, struct page_cache_index *ret_index)
{
    void *data = NULL;
    size_t bytes = 0;
    struct index_header header;
    if (file_read(directory, "index", INDEX_BYTES_MOST, &data, &bytes, NULL))
        return;
    if (index_is_sound(data, bytes, layout, identity, &header))
        index_take(data, &header, ret_index);
    free(data);
}

static bool has_room(int descriptor, uint64_t bytes)
{
    struct statvfs system;
    if (fault_point("pages.room"))
        return false;
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 && bytes / (uint64_t)page_bytes <= (uint64_t)pages / 2 && !fstatvfs(descriptor, &system)
           && system.f_frsize && bytes / system.f_frsize <= system.f_bavail / 2;
}

static int folder_open(const struct store *store)
{
    char *builds = NULL;
    if (store_file(store, "build", &builds, NULL))
        return -1;
    int directory = -1, parent = open(builds, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent >= 0 && !directory_make(parent, "memory", NULL))
        directory = openat(parent, "memory", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (parent >= 0)
        close(parent);
    free(builds);
    return directory;
}

/* Its number, and when it was made where the file system tells: numbers are used again. */
static bool identity_read(int descriptor, uint64_t *ret_identity, uint64_t *ret_bytes)
{
    struct statx status;
    if (statx(descriptor, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_SIZE | STATX_BTIME, &status) || !S_ISREG(status.stx_mode))
        return false;
    uint64_t words[3] = {status.stx_ino};
    if (status.stx_mask & STATX_BTIME) {
        words[1] = (uint64_t)status.stx_btime.tv_sec;
        words[2] = status.stx_btime.tv_nsec;
    }
    *ret_identity = XXH64(words, sizeof words, 0);
    *ret_bytes = status.stx_size;
    return true;
}

/* A file that is as its index says. Other names of it may belong to stores that share it: it is added to, and never cut. */
static int file_reopen(int directory, const struct page_cache_layout *layout, uint64_t bytes, struct page_cache *cache,
                       struct page_cache_index *ret_index)
{
    uint64_t found_bytes = 0;
    int descriptor = openat(directory, "pages", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0)
        return -1;
    bool own = !flock(descriptor, LOCK_EX | LOCK_NB);
    cache->in_use = !own;
    if (own && identity_read(descriptor, &cache->identity, &found_bytes) && found_bytes == bytes)
        index_load(directory, layout, cache->identity, ret_index);
    if (ret_index->loaded)
        return descriptor;
    close(descriptor);
    return -1;
}

static int file_make(int directory, uint64_t bytes, struct page_cache *cache)
{
    uint64_t made_bytes = 0;
    if (unlinkat(directory, "pages", 0) && errno != ENOENT)
        return -1;
    int descriptor = openat(directory, "pages", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return -1;
    cache->without_room = !has_room(descriptor, bytes);
    if (!cache->without_room && !flock(descriptor, LOCK_EX | LOCK_NB) && !ftruncate(descriptor, (off_t)bytes)
        && identity_read(descriptor, &cache->identity, &made_bytes))
        return descriptor;
    close(descriptor);
    return -1;
}

int page_cache_open(const struct store *store, const struct page_cache_layout *layout, uint64_t bytes, struct page_cache *ret_cache,
                    struct page_cache_index *ret_index)
{
    struct page_cache cache = {.directory = folder_open(store)};
    *ret_cache = (struct page_cache){.directory = -1};
    *ret_index = (struct page_cache_index){0};
    if (cache.directory < 0)
        return -1;
    int descriptor = file_reopen(cache.directory, layout, bytes, &cache, ret_index);
    bool index_gone = !cache.in_use && (!unlinkat(cache.directory, "index", 0) || errno == ENOENT);
    if (descriptor < 0 && index_gone)
        descriptor = file_make(cache.directory, bytes, &cache);
    if (descriptor < 0 || !index_gone) {
        if (descriptor >= 0)
            close(descriptor);
        page_cache_index_done(ret_index);
        page_cache_done(&cache);
        ret_cache->without_room = cache.without_room;
        return -1;
    }
    *ret_cache = cache;
    return descriptor;
}

void page_cache_save(const struct page_cache *cache, const struct page_cache_layout *layout, const struct page_cache_index *index)
{
    struct index_header header;
    struct text text = {0};
    if (cache->directory < 0 || !header_make(layout, cache->identity, index->run_count, index->found_count, &header))
        return;
    text_add_bytes(&text, &header, sizeof header);
    text_add_bytes(&text, index->loaded, layout->page_count);
    text_add_bytes(&text, index->runs, index->run_count * sizeof *index->runs);
    text_add_bytes(&text, index->found, index->found_count);
    uint64_t check = text.failed ? 0 : XXH64(text.data, text.length, 0);
    text_add_bytes(&text, &check, sizeof check);
    if (!text.failed)
        file_replace(cache->directory, "index", text.data, text.length, false, NULL, NULL);
    text_done(&text);
}

void page_cache_done(struct page_cache *cache)
{
    if (cache->directory >= 0)
        close(cache->directory);
    cache->directory = -1;
}

void page_cache_index_done(struct page_cache_index *index)
{
    free(index->loaded);
    free(index->runs);
    free(index->found);
    *index = (struct page_cache_index){0};
}
