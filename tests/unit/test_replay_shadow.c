/* tests/unit/test_replay_shadow.c - pages that are filled into a hypervisor's page tables: they, and what lies between them, stay what they were. Whether a
 * hypervisor has such tables decides nothing here: uses are said to be dear. */
#include "replay-rt/target/shadow.c"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

enum { PAGE = 4096, PAGES = 4096 };

static unsigned char *memory;
static struct plan_mapping mappings[2];
static struct shadow_span span;

static void world_make(void)
{
    memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_PTR_NOT_EQUAL_FATAL(memory, MAP_FAILED);
    span = (struct shadow_span){.page_bytes = PAGE};
    atomic_store(&uses, USES_DEAR);
}

static void world_end(void) { munmap(memory, PAGES * PAGE); }

static uint64_t address_of(uint64_t page) { return (uint64_t)memory + page * PAGE; }

static void pages_write(uint64_t first, uint64_t end)
{
    for (uint64_t page = first; page < end; page++)
        memcpy(memory + page * PAGE, &page, sizeof page);
}

static void pages_add(uint64_t first, uint64_t end)
{
    pages_write(first, end);
    pcere_shadow_add(&span, &mappings[0], address_of(first), address_of(end));
}

/* How many pages are there. */
static uint64_t present(void)
{
    unsigned char there[PAGES];
    uint64_t count = 0;
    CU_ASSERT_EQUAL_FATAL(mincore(memory, PAGES * PAGE, there), 0);
    for (size_t i = 0; i < PAGES; i++)
        count += there[i] & 1;
    return count;
}

/* All of it lies in one mapping that may be read and written. */
static bool is_writable(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[256], flags[5] = "";
    bool found = false;
    for (unsigned long start = 0, end = 0; maps && fgets(line, sizeof line, maps);)
        if (sscanf(line, "%lx-%lx %4s", &start, &end, flags) == 3 && start <= address_of(0) && address_of(PAGES) <= end)
            found = !strcmp(flags, "rw-p");
    if (maps)
        fclose(maps);
    return found;
}

static bool pages_are_as_written(uint64_t first, uint64_t end)
{
    bool good = true;
    for (uint64_t page = first; page < end; page++)
        good &= !memcmp(memory + page * PAGE, &page, sizeof page);
    return good;
}

static void only_what_was_added_is_touched(void)
{
    world_make();
    pages_add(3, 70);
    pages_add(75, 76);
    pages_add(900, 1000);
    CU_ASSERT_EQUAL(span.count, 3);
    CU_ASSERT_EQUAL(span.bytes, (67 + 1 + 100) * PAGE);
    pcere_shadow_fill(&span);
    CU_ASSERT_EQUAL(span.count, 0);
    CU_ASSERT_EQUAL(span.bytes, 0);
    CU_ASSERT_EQUAL(present(), 67 + 1 + 100);
    CU_ASSERT_TRUE(is_writable());
    CU_ASSERT_TRUE(pages_are_as_written(3, 70) && pages_are_as_written(75, 76) && pages_are_as_written(900, 1000));
    pages_write(3, 1000);
    world_end();
}

static void spans_end_where_ranges_lie_far_apart_or_elsewhere(void)
{
    world_make();
    pages_add(0, 64);
    pages_add(64 + SPAN_GAP_PAGES, 65 + SPAN_GAP_PAGES);
    CU_ASSERT_EQUAL(span.count, 2);
    pages_add(66 + 2 * SPAN_GAP_PAGES, 67 + 2 * SPAN_GAP_PAGES);
    CU_ASSERT_EQUAL(span.count, 1);
    pcere_shadow_add(&span, &mappings[1], address_of(67 + 2 * SPAN_GAP_PAGES), address_of(68 + 2 * SPAN_GAP_PAGES));
    CU_ASSERT_EQUAL(span.count, 1);
    CU_ASSERT_PTR_EQUAL(span.mapping, &mappings[1]);
    pcere_shadow_fill(&span);
    CU_ASSERT_EQUAL(present(), 66);
    CU_ASSERT_TRUE(is_writable());
    world_end();
}

static void more_ranges_than_a_span_holds_make_several(void)
{
    world_make();
    for (uint64_t i = 0; i < SHADOW_RANGES + 5; i++)
        pages_add(2 * i, 2 * i + 1);
    CU_ASSERT_EQUAL(span.count, 5);
    pcere_shadow_fill(&span);
    CU_ASSERT_EQUAL(present(), SHADOW_RANGES + 5);
    CU_ASSERT_TRUE(is_writable());
    world_end();
}

static void where_uses_are_cheap_nothing_happens(void)
{
    world_make();
    atomic_store(&uses, USES_CHEAP);
    pages_add(0, 200);
    CU_ASSERT_EQUAL(span.count, 0);
    pcere_shadow_fill(&span);
    CU_ASSERT_TRUE(pages_are_as_written(0, 200));
    world_end();
}

static void the_first_pages_tell_which_it_is(void)
{
    world_make();
    atomic_store(&uses, USES_UNKNOWN);
    pages_add(0, TRIED_PAGES - 1);
    CU_ASSERT_EQUAL(atomic_load(&uses), USES_UNKNOWN);
    pages_add(100, 100 + TRIED_PAGES);
    CU_ASSERT_NOT_EQUAL(atomic_load(&uses), USES_UNKNOWN);
    pages_write(3000, 3000 + TRIED_PAGES);                  /* used a moment ago: cheap anywhere */
    atomic_store(&uses, USES_UNKNOWN);
    uses_try(address_of(3000), PAGE);
    CU_ASSERT_EQUAL(atomic_load(&uses), USES_CHEAP);
    CU_ASSERT_TRUE(pages_are_as_written(100, 100 + TRIED_PAGES));
    world_end();
}

static const struct unit_test tests[] = {
    {"only pages that were added are touched, and all may be written", only_what_was_added_is_touched},
    {"a span ends where ranges lie far apart, or in another mapping", spans_end_where_ranges_lie_far_apart_or_elsewhere},
    {"more ranges than a span holds make several", more_ranges_than_a_span_holds_make_several},
    {"where first uses are cheap nothing happens", where_uses_are_cheap_nothing_happens},
    {"the first pages tell which it is", the_first_pages_tell_which_it_is},
};

UNIT_MAIN("replay: shadow", tests)
