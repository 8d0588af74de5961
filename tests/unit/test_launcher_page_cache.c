/* tests/unit/test_launcher_page_cache.c - what a later session finds of the pages that an earlier one decompressed, and what it does not believe. */
#include "replay-rt/launcher/page_cache.h"
#include "replay-rt/launcher/page_pool.h"
#include "tests/unit/store_sample.h"
#include "tests/unit/unit.h"

enum { PAGES = 5, FOUND = 3 };

struct cached {
    struct sample_store made;
    struct store *store;
    struct page_cache_layout layout;
    uint64_t bytes;
};

static void prepare(struct cached *cached)
{
    struct pcere_error error = {0};
    sample_store_make_of(&cached->made, 6, false, NULL);
    CU_ASSERT_EQUAL_FATAL(sample_add_codelet(&cached->made, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(sample_add_manifest(&cached->made, true, &error), PCERE_OK);
    store_writer_close(cached->made.writer);
    cached->made.writer = NULL;
    cached->store = sample_store_open(&cached->made);
    cached->layout = (struct page_cache_layout){store_identity(cached->store), SAMPLE_PAGE, 0, 2 * SAMPLE_PAGE, PAGES, 1};
    cached->bytes = (2 + PAGES) * SAMPLE_PAGE;
}

static void finish(struct cached *cached)
{
    store_close(cached->store);
    sample_store_done(&cached->made);
}

/* One session: makes page 2 and a table with two runs, unless it was killed. */
static void session(const struct cached *cached, bool killed)
{
    struct page_cache cache;
    struct page_cache_index found;
    unsigned char loaded[PAGES] = {0, 0, 1, 0, 0}, marks[FOUND] = {1, 0, 1}, page[SAMPLE_PAGE];
    struct store_run runs[2] = {{.address = 0, .page = 3, .count = 1}, {.address = SAMPLE_PAGE, .page = 4, .count = 1}};
    int file = page_cache_open(cached->store, &cached->layout, cached->bytes, &cache, &found);
    CU_ASSERT_FATAL(file >= 0);
    memset(page, 'p', sizeof page);
    CU_ASSERT_EQUAL(pwrite(file, page, sizeof page, 4 * SAMPLE_PAGE), (ssize_t)sizeof page);
    const struct page_cache_index index = {.loaded = loaded, .loaded_pages = 1, .runs = runs, .run_count = 2, .found = marks, .found_count = FOUND};
    if (!killed)
        page_cache_save(&cache, &cached->layout, &index);
    page_cache_index_done(&found);
    page_cache_done(&cache);
    close(file);
}

/* True: the next session believes that page 2 is there, and it is. */
static bool finds(const struct cached *cached, const struct page_cache_layout *layout)
{
    struct page_cache cache;
    struct page_cache_index index;
    int file = page_cache_open(cached->store, layout, cached->bytes, &cache, &index);
    CU_ASSERT_FATAL(file >= 0);
    bool found = index.loaded != NULL;
    unsigned char page[SAMPLE_PAGE] = {0};
    CU_ASSERT_EQUAL(pread(file, page, sizeof page, 4 * SAMPLE_PAGE), (ssize_t)sizeof page);
    CU_ASSERT_EQUAL(page[0], found ? 'p' : 0);
    if (found) {
        CU_ASSERT_EQUAL(index.loaded_pages, 1);
        CU_ASSERT(index.loaded[2] && !index.loaded[1]);
        CU_ASSERT(index.run_count == 2 && index.runs[1].page == 4);
        CU_ASSERT(index.found_count == FOUND && index.found[0] && !index.found[1] && index.found[2]);
    }
    page_cache_index_done(&index);
    page_cache_done(&cache);
    close(file);
    return found;
}

static void path_of(const struct cached *cached, const char *name, char path[300])
{
    snprintf(path, 300, "%s/build/memory/%s", cached->made.path, name);
}

static void found_again(void)
{
    struct cached cached;
    prepare(&cached);
    CU_ASSERT_FALSE(finds(&cached, &cached.layout));
    session(&cached, false);
    CU_ASSERT(finds(&cached, &cached.layout));
    finish(&cached);
}

static void killed_session(void)
{
    struct cached cached;
    prepare(&cached);
    session(&cached, false);
    session(&cached, true);
    CU_ASSERT_FALSE(finds(&cached, &cached.layout));
    finish(&cached);
}

static void another_layout(void)
{
    struct cached cached;
    prepare(&cached);
    session(&cached, false);
    struct page_cache_layout other = cached.layout;
    other.store_id++;
    CU_ASSERT_FALSE(finds(&cached, &other));
    session(&cached, false);
    other = cached.layout;
    other.zeros_offset = SAMPLE_PAGE;
    CU_ASSERT_FALSE(finds(&cached, &other));
    finish(&cached);
}

static void damaged_index(void)
{
    char path[300];
    struct cached cached;
    prepare(&cached);
    path_of(&cached, "index", path);
    for (size_t at = 0;; at += 7) {
        session(&cached, false);
        size_t bytes;
        unsigned char *data = sample_read(path, &bytes);
        if (at < bytes) {
            data[at] ^= 0x10;
            sample_write(path, data, bytes);
            CU_ASSERT_FALSE(finds(&cached, &cached.layout));
            session(&cached, false);
            sample_write(path, data, at);
            CU_ASSERT_FALSE(finds(&cached, &cached.layout));
        }
        free(data);
        if (at >= bytes)
            break;
    }
    finish(&cached);
}

/* Such as one whose copying was interrupted. */
static void another_file(void)
{
    char path[300], aside[320];
    struct cached cached;
    prepare(&cached);
    session(&cached, false);
    path_of(&cached, "pages", path);
    snprintf(aside, sizeof aside, "%s.aside", path);
    CU_ASSERT_EQUAL_FATAL(rename(path, aside), 0);
    sample_write(path, "", 0);
    CU_ASSERT_EQUAL_FATAL(truncate(path, (off_t)cached.bytes), 0);
    CU_ASSERT_FALSE(finds(&cached, &cached.layout));
    unlink(aside);
    finish(&cached);
}

/* Stores that share files by hard links: what one starts anew is not cut off from the other. */
static void shared_file(void)
{
    char path[300], other[320];
    struct cached cached;
    prepare(&cached);
    session(&cached, false);
    path_of(&cached, "pages", path);
    snprintf(other, sizeof other, "%s.shared", path);
    CU_ASSERT_EQUAL_FATAL(link(path, other), 0);
    session(&cached, true);
    CU_ASSERT_FALSE(finds(&cached, &cached.layout));
    size_t bytes;
    unsigned char *data = sample_read(other, &bytes);
    CU_ASSERT(bytes == cached.bytes && data[4 * SAMPLE_PAGE] == 'p');
    free(data);
    unlink(other);
    finish(&cached);
}

static void one_at_a_time(void)
{
    struct cached cached;
    struct page_cache first, second;
    struct page_cache_index index;
    prepare(&cached);
    session(&cached, false);
    int file = page_cache_open(cached.store, &cached.layout, cached.bytes, &first, &index);
    CU_ASSERT_FATAL(file >= 0 && index.loaded);
    page_cache_save(&first, &cached.layout, &index);
    page_cache_index_done(&index);
    CU_ASSERT_EQUAL(page_cache_open(cached.store, &cached.layout, cached.bytes, &second, &index), -1);
    CU_ASSERT(second.directory < 0 && !index.loaded);
    page_cache_done(&first);
    close(file);
    CU_ASSERT(finds(&cached, &cached.layout));
    finish(&cached);
}

static void too_large(void)
{
    struct cached cached;
    struct page_cache cache;
    struct page_cache_index index;
    prepare(&cached);
    CU_ASSERT_EQUAL(page_cache_open(cached.store, &cached.layout, 1ull << 46, &cache, &index), -1);
    CU_ASSERT(cache.directory < 0 && cache.without_room && !index.loaded);
    finish(&cached);
}

static const struct unit_test tests[] = {
    {"a later session finds what an earlier one left", found_again},
    {"after a session that was killed nothing is there", killed_session},
    {"what was made for another store or layout does not count", another_layout},
    {"an index that was damaged or cut anywhere does not count", damaged_index},
    {"an index does not count for another file of pages", another_file},
    {"a file that stores share is never cut", shared_file},
    {"a second session at the same time gets no file, and the first one keeps its own", one_at_a_time},
    {"what does not fit onto the disk is not begun", too_large},
};
UNIT_MAIN("page cache", tests)
