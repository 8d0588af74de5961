/* tests/unit/test_trace_clock.c - clocks that are off and drift, put right from messages with known and unknown delays. */
#include "tests/unit/unit.h"
#include "trace/clock.h"

#include <math.h>
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

/* In `within_ns` of the reference's time. */
static void messages_within(int64_t within_ns, int count, int64_t offset_ns, double drift, int64_t delay_ns, int64_t spread_ns)
{
    memset(&bounds, 0, sizeof bounds);
    bounds.last_ns = within_ns + 1000000;
    for (int i = 0; i < count; i++) {
        int64_t sent = chance(within_ns), got = sent + delay_ns + chance(spread_ns), back = got + chance(100000), again = back + delay_ns + chance(spread_ns);
        int64_t begin = other_clock(got, offset_ns, drift), end = other_clock(back, offset_ns, drift);
        clock_at_least(&bounds, begin, sent - begin);
        clock_at_most(&bounds, end, again - end);
    }
}

static void messages_make(int count, int64_t offset_ns, double drift, int64_t delay_ns, int64_t spread_ns)
{
    messages_within(9900000000, count, offset_ns, drift, delay_ns, spread_ns);
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

static void test_short_runs_tell_no_drift(void)
{
    for (int round = 0; round < 300; round++) {
        struct clock_line line;
        struct pcere_error error;
        int64_t within_ns = (int64_t)100000 << chance(17), offset_ns = chance(2000000) - 1000000, first_ns = INT64_MAX, last_ns = INT64_MIN;
        double drift = (double)(chance(200) - 100) * 1e-6;
        messages_within(within_ns, 2 + (int)chance(60), offset_ns, drift, 1000 + chance(5000), 1 + chance(60000));
        CU_ASSERT_EQUAL_FATAL(clock_fit(&bounds, &line, &error), PCERE_OK);
        CU_ASSERT_EQUAL(line.violation_ns, 0);
        CU_ASSERT_TRUE(line.drift >= -200e-6 && line.drift <= 200e-6);
        CU_ASSERT_TRUE(line.drift == 0 || within_ns > 5000000);
        for (size_t i = 0; i < 2 * CLOCK_SLICES; i++) {
            const struct clock_bound *bound = i % 2 ? &bounds.least[i / 2] : &bounds.most[i / 2];
            first_ns = bound->any && bound->at_ns < first_ns ? bound->at_ns : first_ns;
            last_ns = bound->any && bound->at_ns > last_ns ? bound->at_ns : last_ns;
        }
        for (int k = 0; k <= 8; k++) {           /* the true time lies within the bound */
            int64_t at = first_ns + (last_ns - first_ns) / 8 * k;
            double true_ns = (double)(at - offset_ns) / (1 + drift);
            CU_ASSERT_TRUE(fabs((double)clock_apply(&line, at) - true_ns) <= (double)line.error_ns + 2);
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
    {"short runs tell no drift that no clock has, and the error is a bound", test_short_runs_tell_no_drift},
    {"no message is received before it was sent", test_error_is_a_bound},
    {"contradictions and missing directions are said", test_contradictions_are_said},
};
UNIT_MAIN("trace clock", tests)
