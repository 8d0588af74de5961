/* tests/unit/test_launcher_page_places.c - pages that follow each other in a codelet follow each other in the pool's file, whatever their numbers are. */
#include "replay-rt/launcher/page_places.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum { PAGES = 12 };

/* Two threads of a capture wrote one array: pages 4 to 6 hold what lies before 1 to 3. The second codelet has another page 2. */
static struct store_run first_runs[] = {{0x1000, 4, 3}, {0x4000, 1, 3}, {0x9000, STORE_PAGE_ZERO, 5}}, after_runs[] = {{0x1000, 8, 1}};
static struct store_run second_runs[] = {{0x1000, 4, 3}, {0x4000, 1, 1}, {0x5000, 7, 1}, {0x6000, 3, 1}}, file_runs[] = {{0, 9, 3}, {0x3000, 10, 2}};
static const struct store_codelet first = {.before = first_runs, .before_count = 3, .after = after_runs, .after_count = 1};
static const struct store_codelet second = {.before = second_runs, .before_count = 4, .contents = file_runs, .content_count = 2};

static uint64_t *found_of(bool files)
{
    struct page_places places = {0};
    CU_ASSERT_FATAL(page_places_add(&places, &first));
    if (files)
        CU_ASSERT_FATAL(page_places_add(&places, &second));
    uint64_t *found = page_places_find(&places, PAGES);
    CU_ASSERT_FATAL(found != NULL);
    page_places_done(&places);
    return found;
}

static void ascending_addresses(void)
{
    uint64_t *found = found_of(false);
    const uint64_t pages[] = {4, 5, 6, 1, 2, 3, 8};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        CU_ASSERT_EQUAL(found[pages[i]], i);
    free(found);
}

static void every_page_once(void)
{
    uint64_t *found = found_of(true);
    unsigned seen = 0;
    for (size_t i = 0; i < PAGES; i++) {
        CU_ASSERT_FATAL(found[i] < PAGES);
        CU_ASSERT_FALSE(seen & 1u << found[i]);
        seen |= 1u << found[i];
    }
    free(found);
}

static void files_in_one_piece(void)
{
    uint64_t *found = found_of(true);
    CU_ASSERT_EQUAL(found[10], found[9] + 1);
    CU_ASSERT_EQUAL(found[11], found[10] + 1);
    CU_ASSERT_EQUAL(found[5], found[4] + 1);
    CU_ASSERT_EQUAL(found[1], found[6] + 1);
    free(found);
}

int main(void)
{
    static const struct unit_test tests[] = {
        {"pages lie as the first codelet has them by address, then what changed in it", ascending_addresses},
        {"each page of the store has a place of its own", every_page_once},
        {"pages of a file that the program read stay together", files_in_one_piece},
    };
    return unit_main("page places", tests, sizeof tests / sizeof *tests);
}
