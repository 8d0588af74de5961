/* tests/unit/test_capture_interruptions.c - what interruptions between invocations tell of those inside them. */
#include "capture-rt/tracer/interruptions.h"

#include "unit.h"

#include <string.h>

#define MANY 4000u

struct fixture {
    struct capture_region region;
    struct capture_invocation list[MANY];
};

/* Invocations of 1 us, 0.2 us apart but for one in `one_in` (0: none), which comes `more_ns` later. */
static void fixture_init(struct fixture *fixture, size_t count, size_t one_in, uint64_t more_ns)
{
    uint64_t clock_ns = 5000;
    memset(fixture, 0, sizeof *fixture);
    fixture->region.list = fixture->list;
    fixture->region.list_count = count;
    for (size_t i = 0; i < count; i++) {
        clock_ns += 200 + (one_in && i % one_in == one_in / 2 ? more_ns : 0);
        fixture->list[i] = (struct capture_invocation){.number = i + 1, .begin_ns = clock_ns, .end_ns = clock_ns + 1000};
        clock_ns += 1000;
        fixture->region.time_ns += 1000;
    }
}

static bool is_about(uint64_t value, double wanted)
{
    return (double)value > 0.9 * wanted && (double)value < 1.1 * wanted;
}

static void machine(void)
{
    struct fixture fixture;
    fixture_init(&fixture, MANY, 400, 40000);               /* ten of 40 us in 0.8 ms */
    CU_ASSERT_TRUE(is_about(interruptions_expected_ns(&fixture.region), 4e6 * 400 / 800));
    for (size_t i = 200; i < MANY; i += 400)                /* beside stops they are the capture's */
        fixture.list[i].stopped = true;
    CU_ASSERT_EQUAL(interruptions_expected_ns(&fixture.region), 0);
}

static void nothing_told(void)
{
    struct fixture fixture;
    fixture_init(&fixture, MANY, 0, 0);
    CU_ASSERT_EQUAL(interruptions_expected_ns(&fixture.region), 0);
    fixture_init(&fixture, MANY, 20, 40000);                /* the program's course */
    CU_ASSERT_EQUAL(interruptions_expected_ns(&fixture.region), 0);
    fixture_init(&fixture, MANY, 2000, 40000);              /* two tell nothing */
    CU_ASSERT_EQUAL(interruptions_expected_ns(&fixture.region), 0);
    fixture_init(&fixture, 900, 150, 40000);                /* too few invocations */
    CU_ASSERT_EQUAL(interruptions_expected_ns(&fixture.region), 0);
    fixture_init(&fixture, MANY, 400, 500000);              /* the program may have done that */
    CU_ASSERT_EQUAL(interruptions_expected_ns(&fixture.region), 0);
    fixture_init(&fixture, 1, 0, 0);
    CU_ASSERT_EQUAL(interruptions_expected_ns(&fixture.region), 0);
    fixture.region.list_count = 0;
    CU_ASSERT_EQUAL(interruptions_expected_ns(&fixture.region), 0);
}

static const struct unit_test tests[] = {
    {"interruptions between invocations tell how many are to be expected inside", machine},
    {"where there are few, or many, or long ones, that tells nothing", nothing_told},
};

UNIT_MAIN("capture_interruptions", tests)
