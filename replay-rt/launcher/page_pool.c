/* replay-rt/launcher/page_pool.c - fills the file that codelets map. */
#include "replay-rt/launcher/page_pool.h"

#include "core/files.h"
#include "core/host.h"
#include "core/text.h"
#include "core/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#define PIECE_PAGES 256u                  /* decompressed at a time by one thread */
#define EXTRA_PARTS 8                     /* of the machine's memory: for pages that codelets have more than once */
#define FILE_BYTES_MOST (1ull << 46)

struct piece { uint64_t page, count; };

struct loading {
    struct page_pool *pool;
    struct store *store;
    const struct piece *pieces;
    size_t count;
    _Atomic size_t next;
    pthread_mutex_t lock;
    enum pcere_status status;
    struct pcere_error error;
};

static enum pcere_status image_write(const struct page_pool *pool, const struct loaded_image *image, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; !status && i < image->file.segment_count; i++) {
        const struct image_segment *segment = &image->file.segments[i];
        if (segment->file_bytes)
            status = file_write_all(pool->fd, (int64_t)(image->pool_offset + segment->address + image->bias - image->low),
                                    (const char *)image->file.file + segment->file_offset, segment->file_bytes, "a memory file", NULL, error);
    }
    return status;
}

/* Each image takes its span of addresses; what its file does not fill is a hole. */
static uint64_t images_place(struct images *images, uint64_t page_bytes)
{
    uint64_t offset = 0;
    for (size_t i = 0; i < images->count && offset <= FILE_BYTES_MOST; i++) {
        images->items[i].pool_offset = offset;
        offset += (images->items[i].high - images->items[i].low + page_bytes - 1) / page_bytes * page_bytes;
    }
    return offset;
}

/* The cache's file, with what it holds already; else one in memory. */
static bool file_open(const struct store *store, struct page_pool *pool)
{
    uint64_t places = XXH64(pool->table.places, pool->page_count * sizeof *pool->table.places, 0);
    pool->layout = (struct page_cache_layout){store_identity(store), pool->page_bytes, pool->zeros_offset, pool->pages_offset, pool->page_count,
                                              XXH64(pool->table.again, pool->table.place_count * sizeof *pool->table.again, places)};
    pool->fd = page_cache_open(store, &pool->layout, pool->file_bytes, &pool->cache, &pool->before);
    pool->loaded = pool->before.loaded;
    pool->loaded_pages = pool->before.loaded_pages;
    pool->before.loaded = NULL;
    if (pool->fd < 0)
        pool->fd = memfd_create("pcere-pages", MFD_CLOEXEC);
    return pool->fd >= 0 && (pool->cache.directory >= 0 || !ftruncate(pool->fd, (off_t)pool->file_bytes));
}

/* Does the kernel give huge pages to every program? Then captured memory lay in few pieces. */
static bool huge_pages_are_usual(void)
{
    char mode[64] = "";
    int descriptor = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
    ssize_t length = descriptor < 0 ? -1 : read(descriptor, mode, sizeof mode - 1);
    if (descriptor >= 0)
        close(descriptor);
    return length > 0 && strstr(mode, "[always]");
}

enum pcere_status page_pool_new(const struct store *store, struct images *images, uint64_t page_bytes, uint64_t zero_pages, uint64_t page_count,
                                const struct page_places *places, struct page_pool *ret_pool, struct pcere_error *error)
{
    uint64_t image_bytes = images_place(images, page_bytes);
    uint64_t most = FILE_BYTES_MOST / page_bytes;
    if (image_bytes > FILE_BYTES_MOST || zero_pages > most || page_count > most)
        return pcere_fail(error, PCERE_DATA, 0, "capture the program again", "the store's codelets are larger than any memory");
    struct page_pool pool = {
        .fd = -1,
        .cache = {.directory = -1},
        .page_bytes = page_bytes,
        .huge = huge_pages_are_usual(),
        .zeros_offset = image_bytes,
        .pages_offset = image_bytes + zero_pages * page_bytes,
        .zero_pages = zero_pages,
        .page_count = page_count,
    };
    enum pcere_status status = PCERE_OK;
    bool found = place_table_find(places, page_count, host_memory_bytes() / page_bytes / EXTRA_PARTS, &pool.table);
    pool.file_bytes = pool.pages_offset + pool.table.place_count * page_bytes;
    if (!found)
        status = pcere_fail_memory(error, "the table of pages");
    else if (!file_open(store, &pool))
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot make a memory file");
    else if (!pool.loaded && !(pool.loaded = calloc(page_count ? page_count : 1, 1)))
        status = pcere_fail_memory(error, "the table of pages");
    if (!status && !(pool.pointers = calloc(1, sizeof *pool.pointers + pool.table.place_count)))
        status = pcere_fail_memory(error, "the table of pages");
    for (size_t i = 0; !status && i < images->count; i++)
        status = image_write(&pool, &images->items[i], error);
    if (status)
        page_pool_done(&pool);
    else
        *ret_pool = pool;
    return status;
}

void page_pool_done(struct page_pool *pool)
{
    if (pool->fd >= 0)
        close(pool->fd);
    free(pool->pointers);
    free(pool->loaded);
    place_table_done(&pool->table);
    page_cache_done(&pool->cache);
    page_cache_index_done(&pool->before);
    external_table_done(&pool->externals);
    *pool = PAGE_POOL_NONE;
}

void page_pool_keep(struct page_pool *pool)
{
    const struct external_table *table = &pool->externals;
    struct page_cache_index index = pool->before;
    if (table->run_count)
        index = (struct page_cache_index){.runs = table->runs, .run_count = table->run_count, .found = table->found, .found_count = table->count};
    index.loaded = pool->loaded;
    page_cache_save(&pool->cache, &pool->layout, &index);
}

uint64_t page_pool_offset(const struct page_pool *pool, uint64_t page, uint64_t most, uint64_t *ret_together)
{
    uint64_t together = 1;
    const uint32_t *places = pool->table.places;
    while (ret_together && together < most && page + together < pool->page_count && places[page + together] == places[page] + together)
        together++;
    if (ret_together)
        *ret_together = together;
    return pool->pages_offset + places[page] * pool->page_bytes;
}

uint64_t page_pool_take(const struct page_pool *pool, uint64_t page, uint64_t most, uint64_t *ret_together)
{
    uint64_t together = 1, place = place_table_take(&pool->table, page);
    while (together < most && page + together < pool->page_count && place_table_look(&pool->table, page + together) == place + together)
        place_table_take(&pool->table, page + together++);
    *ret_together = together;
    return pool->pages_offset + place * pool->page_bytes;
}

void page_pool_give_back(const struct page_pool *pool, const struct store_run *runs, size_t count)
{
    place_table_give_back(&pool->table, runs, count);
}

uint64_t page_pool_page(const struct page_pool *pool, uint64_t offset)
{
    if (offset < pool->pages_offset || offset >= pool->file_bytes)
        return (uint64_t)PAGE_NOWHERE + offset / pool->page_bytes;
    return pool->table.pages[(offset - pool->pages_offset) / pool->page_bytes];
}

bool page_pool_same(const struct page_pool *pool, uint64_t a, uint64_t b)
{
    return a == b || page_pool_page(pool, a) == page_pool_page(pool, b);
}

/* What is written at once the file system may lay into one piece of the machine's memory, which processors find their way in much faster than in memory that was given page by page, as the
 * program's was. */
static enum pcere_status pages_write(const struct page_pool *pool, uint64_t offset, const char *bytes, uint64_t count, struct pcere_error *error)
{
    uint64_t together = pool->huge ? count : 1;
    enum pcere_status status = PCERE_OK;
    for (uint64_t i = 0; !status && i < count; i += together)
        status = file_write_all(pool->fd, (int64_t)(offset + i * pool->page_bytes), bytes + i * pool->page_bytes, together * pool->page_bytes, "a memory file", NULL, error);
    return status;
}

/* Where codelets have it more than once. */
static enum pcere_status page_again_write(const struct page_pool *pool, uint64_t page, const void *bytes, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    const struct place_table *table = &pool->table;
    for (uint64_t place = table->again[table->places[page]]; !status && place != PAGE_NOWHERE; place = table->again[place])
        status = pages_write(pool, pool->pages_offset + place * pool->page_bytes, bytes, 1, error);
    return status;
}

static enum pcere_status piece_load(const struct loading *loading, const struct piece *piece, void *buffer, struct pcere_error *error)
{
    const struct page_pool *pool = loading->pool;
    enum pcere_status status = store_pages_read(loading->store, piece->page, piece->count, buffer, error);
    if (status)
        return status;
    external_table_search(&pool->externals, buffer, piece->count * pool->page_bytes / sizeof(uint64_t));
    for (uint64_t done = 0, together; !status && done < piece->count; done += together) {
        uint64_t offset = page_pool_offset(pool, piece->page + done, piece->count - done, &together);
        status = pages_write(pool, offset, (const char *)buffer + done * pool->page_bytes, together, error);
    }
    for (uint64_t i = 0; !status && i < piece->count; i++)
        status = page_again_write(pool, piece->page + i, (const char *)buffer + i * pool->page_bytes, error);
    return status;
}

static void *pieces_work(void *context)
{
    struct loading *loading = context;
    struct pcere_error error = {0};
    enum pcere_status status = PCERE_OK;
    void *buffer = malloc(PIECE_PAGES * loading->pool->page_bytes);
    if (!buffer)
        status = pcere_fail_memory(&error, "decompressed pages");
    for (;;) {
        size_t index = atomic_fetch_add(&loading->next, 1);
        if (index >= loading->count || status)
            break;
        status = piece_load(loading, &loading->pieces[index], buffer, &error);
    }
    free(buffer);
    if (!status)
        return NULL;
    atomic_store(&loading->next, loading->count);
    pthread_mutex_lock(&loading->lock);
    if (!loading->status) {
        loading->status = status;
        loading->error = error;
    }
    pthread_mutex_unlock(&loading->lock);
    return NULL;
}

static enum pcere_status pieces_load(struct loading *loading, struct pcere_error *error)
{
    workers_run(pieces_work, loading, loading->count);
    if (loading->status && error)
        *error = loading->error;
    return loading->status;
}

static void piece_mark(struct page_pool *pool, const struct piece *piece, bool loaded)
{
    for (uint64_t page = piece->page; page < piece->page + piece->count; page++) {
        pool->loaded_pages += (uint64_t)loaded - pool->loaded[page];
        pool->loaded[page] = loaded;
    }
}

/* Pages of a run that are not there yet, in pieces: each once, however often the codelet has it. */
static bool pieces_add(struct page_pool *pool, const struct store_run *run, struct piece **pieces, size_t *count, size_t *capacity)
{
    for (uint64_t i = 0; i < run->count; i++) {
        uint64_t page = run->page + i;
        if (pool->loaded[page])
            continue;
        struct piece *last = *count ? &(*pieces)[*count - 1] : NULL;
        bool longer = last && last->page + last->count == page && last->count < PIECE_PAGES;
        if (!longer && !array_reserve(pieces, capacity, *count + 1, sizeof **pieces))
            return false;
        if (longer)
            last->count++;
        else
            (*pieces)[(*count)++] = (struct piece){page, 1};
        piece_mark(pool, &(struct piece){page, 1}, true);
    }
    return true;
}

enum pcere_status page_pool_load(struct page_pool *pool, struct store *store, const struct store_run *runs, size_t run_count,
                                 struct pcere_error *error)
{
    struct piece *pieces = NULL;
    size_t count = 0, capacity = 0;
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; !status && i < run_count; i++) {
        if (runs[i].page == STORE_PAGE_ZERO)
            continue;
        if (runs[i].page >= pool->page_count || runs[i].count > pool->page_count - runs[i].page)
            status = pcere_fail(error, PCERE_DATA, 0, "capture the program again", "a codelet refers to pages that the store does not have");
        else if (!pieces_add(pool, &runs[i], &pieces, &count, &capacity))
            status = pcere_fail_memory(error, "the list of pages");
    }
    if (!status && count && !pool->externals.run_count)
        page_cache_index_done(&pool->before);     /* these were not searched for them */
    struct loading loading = {.pool = pool, .store = store, .pieces = pieces, .count = count, .lock = PTHREAD_MUTEX_INITIALIZER};
    if (!status && count)
        status = pieces_load(&loading, error);
    for (size_t i = 0; status && i < count; i++)
        piece_mark(pool, &pieces[i], false);
    free(pieces);
    return status;
}

/* True: earlier sessions searched the pages that are there for the same table. */
static bool found_before(struct page_pool *pool, const struct store_codelet *codelet)
{
    const struct page_cache_index *before = &pool->before;
    if (!before->runs || before->run_count != codelet->external_count || before->found_count != pool->externals.count
        || memcmp(before->runs, codelet->externals, before->run_count * sizeof *before->runs))
        return false;
    memcpy(pool->externals.found, before->found, before->found_count);
    return true;
}

enum pcere_status page_pool_externals(struct page_pool *pool, struct store *store, const struct store_codelet *codelet,
                                      struct pcere_error *error)
{
    if (!external_table_is(&pool->externals, codelet->externals, codelet->external_count)) {
        enum pcere_status status = external_table_read(store, codelet->externals, codelet->external_count, pool->page_bytes, &pool->externals, error);
        if (status)
            return status;
        if (!found_before(pool, codelet)) {
            memset(pool->loaded, 0, pool->page_count);
            pool->loaded_pages = 0;
        }
        page_cache_index_done(&pool->before);
    }
    external_table_search(&pool->externals, codelet->words, codelet->word_count);
    return PCERE_OK;
}

void page_pool_trim(struct page_pool *pool)
{
    if (pool->cache.directory >= 0 || pool->loaded_pages <= host_memory_bytes() / pool->page_bytes / 3)
        return;
    if (fallocate(pool->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)pool->pages_offset,
                  (off_t)(pool->table.place_count * pool->page_bytes)))
        return;
    memset(pool->loaded, 0, pool->page_count);
    pool->loaded_pages = 0;
}
