/* tests/unit/test_launcher_page_places.c - pages that follow each other in a codelet follow each other in the pool's file, whatever their numbers are. */
#include "replay-rt/launcher/page_places.h"
#include "tests/unit/unit.h"


enum { PAGES = 12 };

/* Two threads of a capture wrote one array: pages 4 to 6 hold what lies before 1 to 3. The second codelet has another page 2. */
static struct store_run first_runs[] = {{0x1000, 4, 3}, {0x4000, 1, 3}, {0x9000, STORE_PAGE_ZERO, 5}}, after_runs[] = {{0x1000, 8, 1}};
static struct store_run second_runs[] = {{0x1000, 4, 3}, {0x4000, 1, 1}, {0x5000, 7, 1}, {0x6000, 3, 1}}, file_runs[] = {{0, 9, 3}, {0x3000, 10, 2}};
static const struct store_codelet first = {.before = first_runs, .before_count = 3, .after = after_runs, .after_count = 1};
static const struct store_codelet second = {.before = second_runs, .before_count = 4, .contents = file_runs, .content_count = 2};

/* An array of three alike pages, with another page before the last one; then four of them. */
static struct store_run alike_runs[] = {{0x1000, 2, 1}, {0x2000, 2, 1}, {0x3000, 5, 1}, {0x4000, 2, 1}}, alike_after[] = {{0x1000, 6, 1}, {0x2000, 6, 1}};
static struct store_run more_runs[] = {{0x1000, 2, 1}, {0x2000, 2, 1}, {0x3000, 2, 1}, {0x4000, 2, 1}};
static const struct store_codelet alike = {.before = alike_runs, .before_count = 4, .after = alike_after, .after_count = 2};
static const struct store_codelet more = {.before = more_runs, .before_count = 4};

static struct place_table table_of(const struct store_codelet *one, const struct store_codelet *other, uint64_t extra)
{
    struct page_places places = {0};
    struct place_table table = {0};
    CU_ASSERT_FATAL(page_places_add(&places, one));
    if (other)
        CU_ASSERT_FATAL(page_places_add(&places, other));
    CU_ASSERT_FATAL(place_table_find(&places, PAGES, extra, &table));
    page_places_done(&places);
    return table;
}

static struct place_table found_of(bool files)
{
    return table_of(&first, files ? &second : NULL, PAGES);
}

/* The places of a codelet's pages, one after the other. */
static void take_all(const struct place_table *table, const struct store_codelet *codelet, uint64_t *ret_places)
{
    for (size_t i = 0; i < codelet->before_count; i++) {
        uint64_t place = place_table_look(table, codelet->before[i].page);
        ret_places[i] = place_table_take(table, codelet->before[i].page);
        CU_ASSERT_EQUAL(place, ret_places[i]);
        CU_ASSERT_EQUAL(table->pages[place], codelet->before[i].page);
    }
    place_table_give_back(table, codelet->before, codelet->before_count);
    for (size_t i = 0; i < PAGES; i++)
        CU_ASSERT_EQUAL(table->taken[i], 0);
}

/* Memory that a program has twice takes twice as much of a cache. */
static void alike_pages_apart(void)
{
    struct place_table table = table_of(&alike, &more, PAGES);
    uint64_t places[4];
    CU_ASSERT_EQUAL(table.place_count, PAGES + 3);
    take_all(&table, &alike, places);
    for (uint64_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(places[i], i);
    take_all(&table, &alike, places);
    for (uint64_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(places[i], i);
    take_all(&table, &more, places);
    CU_ASSERT(places[0] == 0 && places[1] == 1 && places[2] == 3 && places[3] > 3);
    place_table_done(&table);
}

static void alike_pages_limited(void)
{
    struct place_table table = table_of(&more, NULL, 2);
    uint64_t places[4];
    CU_ASSERT_EQUAL(table.place_count, PAGES + 2);
    take_all(&table, &more, places);
    CU_ASSERT(places[0] == 0 && places[1] == 1 && places[2] == 2 && places[3] == 2);
    place_table_done(&table);
}

/* What only comparisons read is there once. */
static void after_the_region_once(void)
{
    struct place_table table = table_of(&alike, NULL, PAGES);
    CU_ASSERT_EQUAL(table.again[table.places[6]], PAGE_NOWHERE);
    place_table_done(&table);
}

static void ascending_addresses(void)
{
    struct place_table table = found_of(false);
    const uint32_t *found = table.places;
    const uint64_t pages[] = {4, 5, 6, 1, 2, 3, 8};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        CU_ASSERT_EQUAL(found[pages[i]], i);
    place_table_done(&table);
}

static void every_page_once(void)
{
    struct place_table table = found_of(true);
    const uint32_t *found = table.places;
    unsigned seen = 0;
    for (size_t i = 0; i < PAGES; i++) {
        CU_ASSERT_FATAL(found[i] < PAGES);
        CU_ASSERT_FALSE(seen & 1u << found[i]);
        seen |= 1u << found[i];
    }
    place_table_done(&table);
}

static void files_in_one_piece(void)
{
    struct place_table table = found_of(true);
    const uint32_t *found = table.places;
    CU_ASSERT_EQUAL(found[10], found[9] + 1);
    CU_ASSERT_EQUAL(found[11], found[10] + 1);
    CU_ASSERT_EQUAL(found[5], found[4] + 1);
    CU_ASSERT_EQUAL(found[1], found[6] + 1);
    place_table_done(&table);
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"pages lie as the first codelet has them by address, then what changed in it", ascending_addresses},
        {"each page of the store has a place of its own", every_page_once},
        {"a page that a codelet has at several addresses has as many places, in their order", alike_pages_apart},
        {"as many as are allowed, and the rest shares one", alike_pages_limited},
        {"memory after the region is not meant by that", after_the_region_once},
        {"pages of a file that the program read stay together", files_in_one_piece},
    };
    return unit_main("page places", tests, sizeof tests / sizeof *tests);
}
