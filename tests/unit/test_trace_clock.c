/* tests/unit/test_trace_clock.c - clocks that are off and drift, put right from messages with known and unknown delays. */
#include "tests/unit/unit.h"
#include "trace/clock.h"

#include <stdlib.h>
#include <string.h>

static uint64_t state = 99;

static int64_t chance(int64_t most)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)most);
}

static struct clock_bounds bounds;

/* The other clock reads this when the reference reads that. */
static int64_t other_clock(int64_t reference_ns, int64_t offset_ns, double drift)
{
    return reference_ns + offset_ns + (int64_t)(drift * (double)reference_ns);
}

static void messages_make(int count, int64_t offset_ns, double drift, int64_t delay_ns, int64_t spread_ns)
{
    memset(&bounds, 0, sizeof bounds);
    bounds.last_ns = 10000000000;
    for (int i = 0; i < count; i++) {
        int64_t sent = chance(9900000000), got = sent + delay_ns + chance(spread_ns), back = got + chance(100000), again = back + delay_ns + chance(spread_ns);
        int64_t begin = other_clock(got, offset_ns, drift), end = other_clock(back, offset_ns, drift);
        clock_at_least(&bounds, begin, sent - begin);
        clock_at_most(&bounds, end, again - end);
    }
}

static void test_offset_and_drift(void)
{
    static const double drifts[] = {0, 5e-6, -40e-6, 300e-6};
    for (size_t i = 0; i < sizeof drifts / sizeof *drifts; i++) {
        int64_t offset_ns = chance(2000000000000) - 1000000000000;
        struct clock_line line;
        struct pcere_error error;
        messages_make(4000, offset_ns, drifts[i], 3000, 50000);
        CU_ASSERT_EQUAL_FATAL(clock_fit(&bounds, &line, &error), PCERE_OK);
        CU_ASSERT_EQUAL(line.basis, CLOCK_MESSAGES);
        CU_ASSERT_EQUAL(line.violation_ns, 0);
        CU_ASSERT_TRUE(line.error_ns < 8000);
        CU_ASSERT_DOUBLE_EQUAL(line.drift, -drifts[i] / (1 + drifts[i]), 1e-6);
        for (int64_t at = 0; at <= 9900000000; at += 990000000) {
            int64_t off = clock_apply(&line, other_clock(at, offset_ns, drifts[i])) - at;
            CU_ASSERT_TRUE(llabs(off) <= 6000);
        }
    }
}

static void test_error_is_a_bound(void)
{
    for (int round = 0; round < 50; round++) {
        struct clock_line line;
        struct pcere_error error;
        int64_t offset_ns = chance(1000000);
        messages_make(1 + (int)chance(6), offset_ns, 0, chance(5000), 1 + chance(90000));
        CU_ASSERT_EQUAL_FATAL(clock_fit(&bounds, &line, &error), PCERE_OK);
        CU_ASSERT_EQUAL(line.violation_ns, 0);
        for (size_t i = 0; i < CLOCK_SLICES; i++) {
            const struct clock_bound *least = &bounds.least[i], *most = &bounds.most[i];
            CU_ASSERT_TRUE(!least->any || clock_apply(&line, least->at_ns) - least->at_ns >= least->offset_ns - 1);
            CU_ASSERT_TRUE(!most->any || clock_apply(&line, most->at_ns) - most->at_ns <= most->offset_ns + 1);
        }
    }
}

static void test_contradictions_are_said(void)
{
    struct clock_line line;
    struct pcere_error error;
    memset(&bounds, 0, sizeof bounds);
    CU_ASSERT_EQUAL(clock_fit(&bounds, &line, &error), PCERE_NO);
    bounds.last_ns = 1000;
    clock_at_least(&bounds, 500, 100);
    CU_ASSERT_EQUAL(clock_fit(&bounds, &line, &error), PCERE_OK);
    CU_ASSERT_EQUAL(line.basis, CLOCK_ONE_WAY);
    CU_ASSERT_EQUAL(clock_apply(&line, 500), 600);
    clock_at_most(&bounds, 500, 40);
    CU_ASSERT_EQUAL(clock_fit(&bounds, &line, &error), PCERE_OK);
    CU_ASSERT_EQUAL(line.violation_ns, 30);
    CU_ASSERT_EQUAL(clock_apply(&line, 500), 570);
}

static const struct unit_test tests[] = {
    {"offset and drift are found to a few microseconds", test_offset_and_drift},
    {"no message is received before it was sent", test_error_is_a_bound},
    {"contradictions and missing directions are said", test_contradictions_are_said},
};
UNIT_MAIN("trace clock", tests)
