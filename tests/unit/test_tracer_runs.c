#include "capture-rt/tracer/codelet.h"
#include "capture-rt/tracer/snapshot.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 4096u

static void run_is(const struct store_run *run, uint64_t page_of_address, uint64_t page, uint64_t count)
{
    CU_ASSERT_EQUAL(run->address, page_of_address * PAGE);
    CU_ASSERT_EQUAL(run->page, page);
    CU_ASSERT_EQUAL(run->count, count);
}

static void add(struct run_list *list, uint64_t page_of_address, uint64_t page, uint64_t count)
{
    CU_ASSERT_TRUE(run_list_add(list, (struct store_run){page_of_address * PAGE, page, count}, PAGE));
}

static void merging(void)
{
    struct run_list list = {0};
    add(&list, 10, 5, 2);
    add(&list, 12, 7, 1);                       /* goes on */
    add(&list, 13, 9, 1);                       /* another number */
    add(&list, 14, STORE_PAGE_ZERO, 1);
    add(&list, 15, STORE_PAGE_ZERO, 3);         /* zero pages go on */
    add(&list, 20, STORE_PAGE_ZERO, 1);         /* a gap */
    add(&list, 21, 0, 1);
    add(&list, 22, 1, 0);                       /* nothing */
    CU_ASSERT_EQUAL_FATAL(list.count, 5);
    run_is(&list.runs[0], 10, 5, 3);
    run_is(&list.runs[1], 13, 9, 1);
    run_is(&list.runs[2], 14, STORE_PAGE_ZERO, 4);
    run_is(&list.runs[3], 20, STORE_PAGE_ZERO, 1);
    run_is(&list.runs[4], 21, 0, 1);
    CU_ASSERT_EQUAL(run_list_pages(&list), 10);
    run_list_done(&list);
}

static void appending(void)
{
    struct run_list list = {0}, other = {0};
    CU_ASSERT_TRUE(run_list_append(&list, NULL, 0));
    CU_ASSERT_EQUAL(list.count, 0);
    add(&list, 10, 5, 2);
    for (uint64_t i = 0; i < 100; i++)
        add(&other, 20 + 2 * i, 7 * i, 1);
    CU_ASSERT_TRUE(run_list_append(&list, other.runs, 60));
    CU_ASSERT_TRUE(run_list_append(&list, other.runs + 60, 40));
    add(&list, 219, 7 * 99 + 1, 3);             /* goes on */
    CU_ASSERT_EQUAL_FATAL(list.count, 101);
    run_is(&list.runs[0], 10, 5, 2);
    run_is(&list.runs[1], 20, 0, 1);
    run_is(&list.runs[61], 140, 420, 1);
    run_is(&list.runs[100], 218, 7 * 99, 4);
    run_list_done(&list);
    run_list_done(&other);
}

static void outside(void)
{
    struct run_list list = {0}, result;
    add(&list, 10, 100, 10);
    add(&list, 30, STORE_PAGE_ZERO, 4);
    add(&list, 40, 50, 2);
    const struct store_alias aliases[] = {{9 * PAGE, 0, 2 * PAGE}, {14 * PAGE, 0, PAGE}, {18 * PAGE, 0, 13 * PAGE}, {33 * PAGE, 0, 9 * PAGE}};
    CU_ASSERT_TRUE_FATAL(run_list_outside(&list, aliases, 4, PAGE, &result));
    CU_ASSERT_EQUAL_FATAL(result.count, 3);
    run_is(&result.runs[0], 11, 101, 3);
    run_is(&result.runs[1], 15, 105, 3);
    run_is(&result.runs[2], 31, STORE_PAGE_ZERO, 2);
    run_list_done(&result);
    CU_ASSERT_TRUE_FATAL(run_list_outside(&list, NULL, 0, PAGE, &result));
    CU_ASSERT_EQUAL(result.count, 3);
    run_list_done(&result);
    run_list_done(&list);
}

static void difference(void)
{
    struct run_list before = {0}, after = {0}, result;
    add(&before, 10, 100, 10);
    add(&before, 30, STORE_PAGE_ZERO, 4);
    add(&before, 40, 50, 2);
    add(&after, 8, 3, 2);                       /* was absent */
    add(&after, 10, 100, 4);                    /* same */
    add(&after, 14, 300, 2);                    /* changed */
    add(&after, 16, 106, 4);                    /* same */
    add(&after, 20, 110, 1);                    /* was absent, though the number goes on */
    add(&after, 30, STORE_PAGE_ZERO, 2);        /* same */
    add(&after, 32, 7, 2);                      /* zero before */
    add(&after, 40, STORE_PAGE_ZERO, 1);        /* zero now */
    CU_ASSERT_TRUE_FATAL(run_list_difference(&before, &after, PAGE, &result));
    CU_ASSERT_EQUAL_FATAL(result.count, 5);
    run_is(&result.runs[0], 8, 3, 2);
    run_is(&result.runs[1], 14, 300, 2);
    run_is(&result.runs[2], 20, 110, 1);
    run_is(&result.runs[3], 32, 7, 2);
    run_is(&result.runs[4], 40, STORE_PAGE_ZERO, 1);
    run_list_done(&result);
    CU_ASSERT_TRUE_FATAL(run_list_difference(&after, &after, PAGE, &result));
    CU_ASSERT_EQUAL(result.count, 0);
    run_list_done(&result);
    run_list_done(&before);
    run_list_done(&after);
}

/* Against an array of numbers, page by page. */
static void difference_at_random(void)
{
    enum { PAGES = 64 };
    uint64_t absent = STORE_PAGE_ZERO - 1, numbers[2][PAGES];
    srand(1);
    for (int round = 0; round < 2000; round++) {
        struct run_list lists[2] = {{0}, {0}}, result;
        for (int side = 0; side < 2; side++)
            for (uint64_t i = 0; i < PAGES; i++) {
                int dice = rand() % 8;
                numbers[side][i] = dice == 0 ? absent : dice == 1 ? STORE_PAGE_ZERO : dice < 6 ? 1000 + i : (uint64_t)(rand() % 50);
                if (numbers[side][i] != absent)
                    add(&lists[side], i, numbers[side][i], 1);
            }
        CU_ASSERT_TRUE_FATAL(run_list_difference(&lists[0], &lists[1], PAGE, &result));
        uint64_t found[PAGES];
        for (uint64_t i = 0; i < PAGES; i++)
            found[i] = absent;
        for (size_t i = 0; i < result.count; i++)
            for (uint64_t j = 0; j < result.runs[i].count; j++)
                found[result.runs[i].address / PAGE + j] =
                    result.runs[i].page == STORE_PAGE_ZERO ? STORE_PAGE_ZERO : result.runs[i].page + j;
        bool right = true;
        for (uint64_t i = 0; i < PAGES; i++)
            right &= found[i] == (numbers[1][i] != absent && numbers[1][i] != numbers[0][i] ? numbers[1][i] : absent);
        CU_ASSERT_TRUE(right);
        run_list_done(&lists[0]);
        run_list_done(&lists[1]);
        run_list_done(&result);
    }
}

/* Of two parts of one snapshot, page by page. */
static void union_at_random(void)
{
    enum { PAGES = 64 };
    srand(2);
    for (int round = 0; round < 2000; round++) {
        struct run_list lists[2] = {{0}, {0}}, result;
        bool wanted[PAGES] = {false}, right = true;
        uint64_t numbers[PAGES], count = 0, next = 0;
        for (uint64_t i = 0; i < PAGES; i++) {
            numbers[i] = rand() % 4 ? (i && numbers[i - 1] != STORE_PAGE_ZERO ? numbers[i - 1] + 1 : 7 * i) : rand() % 2 ? STORE_PAGE_ZERO : 1000 + 3 * i;
            for (int side = 0; side < 2; side++)
                if (rand() % 3) {
                    add(&lists[side], i, numbers[i], 1);
                    wanted[i] = true;
                }
            count += wanted[i];
        }
        CU_ASSERT_TRUE_FATAL(run_list_union(&lists[0], &lists[1], PAGE, &result));
        for (size_t i = 0; i < result.count; i++)
            for (uint64_t j = 0; j < result.runs[i].count; j++) {
                uint64_t at = result.runs[i].address / PAGE + j;
                right &= at >= next && wanted[at] && numbers[at] == (result.runs[i].page == STORE_PAGE_ZERO ? STORE_PAGE_ZERO : result.runs[i].page + j);
                next = at + 1;
            }
        CU_ASSERT_TRUE(right && run_list_pages(&result) == count);
        run_list_done(&lists[0]);
        run_list_done(&lists[1]);
        run_list_done(&result);
    }
}

static void inside(void)
{
    struct run_list list = {0}, result;
    const struct store_mapping mappings[] = {{.start = 5 * PAGE, .end = 12 * PAGE}, {.start = 14 * PAGE, .end = 15 * PAGE},
                                             {.start = 15 * PAGE, .end = 31 * PAGE}, {.start = 50 * PAGE, .end = 60 * PAGE}};
    add(&list, 1, 3, 2);                        /* outside */
    add(&list, 10, 100, 6);                     /* begins in one, ends in another, a hole between */
    add(&list, 30, STORE_PAGE_ZERO, 4);         /* begins inside */
    add(&list, 40, 7, 2);                       /* outside */
    add(&list, 52, 9, 1);
    CU_ASSERT_TRUE_FATAL(run_list_inside(&list, mappings, 4, PAGE, &result));
    CU_ASSERT_EQUAL_FATAL(result.count, 4);
    run_is(&result.runs[0], 10, 100, 2);
    run_is(&result.runs[1], 14, 104, 2);
    run_is(&result.runs[2], 30, STORE_PAGE_ZERO, 1);
    run_is(&result.runs[3], 52, 9, 1);
    run_list_done(&result);
    CU_ASSERT_TRUE_FATAL(run_list_inside(&list, mappings, 0, PAGE, &result));
    CU_ASSERT_EQUAL(result.count, 0);
    run_list_done(&result);
    run_list_done(&list);
}

static void ranges(void)
{
    struct range_list list = {0};
    range_list_add(&list, 50, 60);
    range_list_add(&list, 10, 20);
    range_list_add(&list, 20, 25);              /* touches */
    range_list_add(&list, 12, 14);              /* inside */
    range_list_add(&list, 58, 70);              /* overlaps */
    range_list_add(&list, 30, 30);              /* empty */
    range_list_add(&list, 41, 40);
    range_list_normalise(&list);
    CU_ASSERT_FALSE(list.failed);
    CU_ASSERT_EQUAL_FATAL(list.count, 2);
    CU_ASSERT_EQUAL(list.ranges[0].address, 10);
    CU_ASSERT_EQUAL(list.ranges[0].bytes, 15);
    CU_ASSERT_EQUAL(list.ranges[1].address, 50);
    CU_ASSERT_EQUAL(list.ranges[1].bytes, 20);
    free(list.ranges);
}

static const struct unit_test tests[] = {
    {"neighbouring runs become one if their page numbers go on", merging},
    {"runs of another list are appended as they are, and the next goes on with the last", appending},
    {"a difference holds what changed and what was absent, and nothing else", difference},
    {"a difference is right page by page on random snapshots", difference_at_random},
    {"a union has the pages of both once, on random parts of a snapshot", union_at_random},
    {"pages outside the mappings are left out", inside},
    {"pages at second addresses are left out", outside},
    {"ranges that overlap or touch become one", ranges},
};

UNIT_MAIN("tracer: runs and ranges", tests)
