/* tests/unit/test_profiler_answers.c - what the kernel answers where there is a PMU, as it was written down: this is tried where there is none, too. */
#include "profiler/host/events.h"
#include "profiler/answers.h"
#include "profiler/target/pmc_page.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

static void groups(void)
{
    static const struct { uint64_t words[6]; ssize_t bytes; enum counter_answer meaning; } recorded[] = {
        {{3, 1000, 1000, 7, 8, 9}, 48, COUNTER_ANSWER_GOOD},
        {{3, 0, 0, 0, 0, 0}, 48, COUNTER_ANSWER_GOOD},            /* not yet begun */
        {{3, 1000, 999, 7, 8, 9}, 48, COUNTER_ANSWER_SHARED},     /* multiplexed */
        {{3, 1000, 0, 0, 0, 0}, 48, COUNTER_ANSWER_SHARED},       /* never had a counter */
        {{0}, 0, COUNTER_ANSWER_LOST},                            /* end of file: a pinned group in error state */
        {{0}, -1, COUNTER_ANSWER_LOST},
        {{3, 1000, 1000, 7, 8, 0}, 40, COUNTER_ANSWER_LOST},      /* cut short */
        {{2, 1000, 1000, 7, 8, 0}, 48, COUNTER_ANSWER_LOST},      /* of another group */
    };
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++)
        CU_ASSERT_EQUAL(counter_answer_judge(recorded[i].words, recorded[i].bytes, 3), recorded[i].meaning);
}

static void turns(void)
{
    static const struct { uint64_t words[4]; ssize_t bytes; enum counter_answer meaning; uint64_t estimate; int64_t difference; } recorded[] = {
        {{1, 0, 0, 0}, 32, COUNTER_ANSWER_GOOD, 0, 0},                    /* not yet begun */
        {{1, 1000, 0, 0}, 32, COUNTER_ANSWER_SHARED, 0, 0},               /* it waits for its first turn */
        {{1, 3000, 1000, 70}, 32, COUNTER_ANSWER_SHARED, 210, 210},       /* what came before is extrapolated into it */
        {{1, 6000, 2000, 140}, 32, COUNTER_ANSWER_SHARED, 420, 210},      /* a third of the time */
        {{1, 9000, 2000, 140}, 32, COUNTER_ANSWER_SHARED, 630, 210},      /* running does not advance: it goes on in proportion */
        {{1, 9000, 2000, 140}, 32, COUNTER_ANSWER_SHARED, 630, 0},        /* nor does the time */
        {{0}, 0, COUNTER_ANSWER_LOST, 630, 0},                            /* nothing is told */
        {{1, 12000, 4000, 140}, 32, COUNTER_ANSWER_SHARED, 420, -210},    /* it counted again, and there was nothing: the estimate was too high */
        {{0}, -1, COUNTER_ANSWER_LOST, 420, 0},
        {{2, 13000, 5000, 140}, 32, COUNTER_ANSWER_LOST, 420, 0},         /* of another group */
        {{1, 13000, 13000, 500}, 32, COUNTER_ANSWER_GOOD, 500, 80},
    };
    struct counter_turn turn = {0};
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        uint64_t before = turn.estimate;
        CU_ASSERT_EQUAL(counter_turn_take(&turn, recorded[i].words, recorded[i].bytes), recorded[i].meaning);
        CU_ASSERT_EQUAL(turn.estimate, recorded[i].estimate);
        CU_ASSERT_EQUAL((int64_t)(turn.estimate - before), recorded[i].difference);
    }
    CU_ASSERT_EQUAL(turn.enabled_ns, 13000);
    CU_ASSERT_EQUAL(counter_estimate(UINT64_MAX / 2, 4000000000000, 1), INT64_MAX);           /* no number is too large */
    CU_ASSERT_EQUAL(counter_estimate((uint64_t)1 << 62, 3000000000, 3000000000), (uint64_t)1 << 62);
    CU_ASSERT_EQUAL(counter_estimate(7, 10, 3), 23);
}

/* ---- pages -------------------------------------------------------------------------------------------------------------------------- */

static struct perf_event_mmap_page page;
static uint64_t counter_value;
static uint32_t counter_asked, reads, changes;

static uint64_t counter_read(uint32_t counter)
{
    counter_asked = counter;
    reads++;
    if (changes) {                       /* the kernel moves the event to another counter meanwhile */
        changes--;
        page.lock += 2;
        page.index = 3;
        page.offset = 5000;
        counter_value = 11;
        return 0xdead;
    }
    return counter_value;
}

static void page_lay(uint32_t index, int64_t offset, uint16_t width, uint64_t value)
{
    memset(&page, 0, sizeof page);
    page.cap_user_rdpmc = 1;
    page.index = index;
    page.offset = offset;
    page.pmc_width = width;
    page.time_enabled = page.time_running = 77;
    page.lock = 4;
    counter_value = value;
    reads = changes = 0;
}

static void pages_that_count(void)
{
    uint64_t count = 0;
    page_lay(2, 1000, 48, 234);
    CU_ASSERT_TRUE(pmc_page_read(&page, counter_read, &count));
    CU_ASSERT_EQUAL(count, 1234);
    CU_ASSERT_EQUAL(counter_asked, 1);
    /* the kernel starts counters below zero, so that they overflow in time: 2^48 - 100 is -100 */
    page_lay(1, 5100, 48, ((uint64_t)1 << 48) - 100);
    CU_ASSERT_TRUE(pmc_page_read(&page, counter_read, &count));
    CU_ASSERT_EQUAL(count, 5000);
    page_lay(0x40000001, 0, 64, UINT64_MAX);           /* a fixed counter, as wide as can be */
    CU_ASSERT_TRUE(pmc_page_read(&page, counter_read, &count));
    CU_ASSERT_EQUAL(count, UINT64_MAX);
    CU_ASSERT_EQUAL(counter_asked, 0x40000000);
}

static void pages_that_change(void)
{
    uint64_t count = 0;
    page_lay(2, 1000, 48, 234);
    changes = 2;
    CU_ASSERT_TRUE(pmc_page_read(&page, counter_read, &count));
    CU_ASSERT_EQUAL(count, 5011);
    CU_ASSERT_EQUAL(reads, 3);
    CU_ASSERT_EQUAL(counter_asked, 2);
    page_lay(2, 1000, 48, 234);
    changes = 1000000;                                 /* never still: the kernel is asked */
    count = 1;
    CU_ASSERT_FALSE(pmc_page_read(&page, counter_read, &count));
    page_lay(2, 1000, 48, 234);
    page.lock = 5;                                     /* just being written */
    CU_ASSERT_FALSE(pmc_page_read(&page, counter_read, &count));
    CU_ASSERT_EQUAL(count, 1);
}

static void pages_that_tell_nothing(void)
{
    uint64_t count = 1;
    page_lay(2, 1000, 48, 234);
    page.cap_user_rdpmc = 0;
    CU_ASSERT_FALSE(pmc_page_read(&page, counter_read, &count));
    page_lay(0, 1000, 48, 234);                        /* no counter: what a pinned event that was lost has, too */
    CU_ASSERT_FALSE(pmc_page_read(&page, counter_read, &count));
    page_lay(2, 1000, 48, 234);
    page.time_running = 76;
    CU_ASSERT_FALSE(pmc_page_read(&page, counter_read, &count));
    page_lay(2, 1000, 0, 234);
    CU_ASSERT_FALSE(pmc_page_read(&page, counter_read, &count));
    page_lay(2, 1000, 65, 234);
    CU_ASSERT_FALSE(pmc_page_read(&page, counter_read, &count));
    CU_ASSERT_EQUAL(reads, 0);
    CU_ASSERT_EQUAL(count, 1);
}

/* ---- refusals ----------------------------------------------------------------------------------------------------------------------- */

static void refusals(void)
{
    static const int all[] = {E2BIG, EACCES, EBADF, EBUSY, EFAULT, EINTR, EINVAL, EMFILE, ENODEV, ENOENT, ENOSPC, ENOSYS, EOPNOTSUPP, EOVERFLOW, EPERM, ESRCH};
    const char *sentences[sizeof all / sizeof *all];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *hint = NULL;
        sentences[i] = event_refusal(all[i], &hint);
        CU_ASSERT_PTR_NOT_NULL_FATAL(sentences[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(hint);
        CU_ASSERT_TRUE(strlen(sentences[i]) > 10 && strlen(hint) > 10);
        bool own = all[i] != EPERM && all[i] != EOPNOTSUPP && all[i] != ENODEV;      /* that mean the same as one before */
        for (size_t j = 0; own && j < i; j++)
            CU_ASSERT_STRING_NOT_EQUAL(sentences[i], sentences[j]);
    }
    const char *hint = NULL;
    CU_ASSERT_PTR_NOT_NULL(strstr(event_refusal(EACCES, &hint), "not permitted"));
    CU_ASSERT_PTR_NOT_NULL(strstr(hint, "perf_event_paranoid"));
    CU_ASSERT_PTR_NOT_NULL(strstr(event_refusal(ENOENT, &hint), "does not have"));
    CU_ASSERT_PTR_NOT_NULL(strstr(event_refusal(EINVAL, &hint), "together"));
    CU_ASSERT_PTR_NOT_NULL(strstr(event_refusal(EMFILE, &hint), "files"));
    CU_ASSERT_PTR_NOT_NULL(event_refusal(12345, &hint));
}

static const struct unit_test tests[] = {
    {"groups: good, multiplexed, pinned and lost, cut short", groups},
    {"an event that takes turns is extrapolated, also while it waits, and may fall when it counts again", turns},
    {"a page and a counter make a count, of whatever width", pages_that_count},
    {"a page that changes is read again", pages_that_change},
    {"where a page does not count all of the time the kernel is asked", pages_that_tell_nothing},
    {"each refusal of perf_event_open has its sentence and hint", refusals},
};

UNIT_MAIN("profiler answers", tests)
