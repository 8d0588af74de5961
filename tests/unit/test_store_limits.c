/* test_store_limits.c - the numbers of threads that regions hold for. */
#include "store/store.h"
#include "tests/unit/unit.h"

#include <string.h>

static struct store_region sized(const char *reason)
{
    return (struct store_region){.thread_sized = (char *)(uintptr_t)reason};
}

static bool holds_says(const char *reason, uint32_t captured, const char *wanted)
{
    char text[STORE_HOLDS_BYTES];
    struct store_region region = sized(reason);
    return strcmp(store_region_holds(text, &region, captured), wanted) == 0;
}

/* By threads, '1': takes as many; from one on. */
static bool takes_are(const char *reason, uint32_t captured, const char *wanted)
{
    struct store_region region = sized(reason);
    bool right = true;
    for (uint32_t threads = 1; threads <= strlen(wanted); threads++)
        right &= store_region_takes(&region, captured, threads) == (wanted[threads - 1] == '1');
    return right;
}

static void what_takes_how_many(void)
{
    CU_ASSERT_TRUE(takes_are(NULL, 2, "11111"));
    CU_ASSERT_TRUE(takes_are("memory with one part per thread", 3, "11100"));
    CU_ASSERT_TRUE(takes_are(PCERE_THREADS_EXACT "three", 3, "00100"));
    CU_ASSERT_TRUE(takes_are(PCERE_THREADS_ROOM_FOR "4 processors", 2, "11110"));
    CU_ASSERT_TRUE(takes_are(PCERE_THREADS_WAY "3 threads on", 2, "11000"));
    CU_ASSERT_TRUE(takes_are(PCERE_THREADS_WAY "3 threads on", 4, "00111"));
}

static void pieces_are_shared_evenly(void)
{
    CU_ASSERT_TRUE(takes_are(PCERE_THREADS_PIECES "1 for each", 4, "110100000"));
    CU_ASSERT_TRUE(takes_are(PCERE_THREADS_PIECES "3 for each", 1, "101000000"));
    CU_ASSERT_TRUE(takes_are(PCERE_THREADS_PIECES "3 for each", 2, "111001000"));
    CU_ASSERT_TRUE(takes_are(PCERE_THREADS_PIECES "8 for each", 3, "111101010001"));
    CU_ASSERT_TRUE(takes_are(PCERE_THREADS_PIECES "5 for each", 7, "111110100"));       /* 35: eight for each of four */
    CU_ASSERT_TRUE(takes_are(PCERE_THREADS_PIECES "1 for each", 7, "100000100"));
}

static void what_is_said(void)
{
    CU_ASSERT_TRUE(holds_says("memory with one part per thread", 1, "at most 1 thread"));
    CU_ASSERT_TRUE(holds_says(PCERE_THREADS_EXACT "two", 2, "exactly 2 threads"));
    CU_ASSERT_TRUE(holds_says(PCERE_THREADS_WAY "2 threads on", 1, "at most 1 thread"));
    CU_ASSERT_TRUE(holds_says(PCERE_THREADS_WAY "2 threads on", 4, "at least 2 threads"));
    CU_ASSERT_TRUE(holds_says(PCERE_THREADS_PIECES "1 for each", 1, "1 thread"));
    CU_ASSERT_TRUE(holds_says(PCERE_THREADS_PIECES "3 for each", 1, "1 or 3 threads"));
    CU_ASSERT_TRUE(holds_says(PCERE_THREADS_PIECES "3 for each", 4, "1, 2, 3, 4, 6 or 12 threads"));
    CU_ASSERT_TRUE(holds_says(PCERE_THREADS_PIECES "8 for each", 60, "threads that share 480 pieces evenly"));
}

static const struct unit_test tests[] = {
    {"what takes how many threads", what_takes_how_many},
    {"pieces are shared evenly", pieces_are_shared_evenly},
    {"what is said", what_is_said},
};

UNIT_MAIN("store: limits", tests)
