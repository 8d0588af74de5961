/* tests/unit/test_cli_choose.c - which classes that are too light to matter get a codelet all the same. */
#include "cli/choose.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#define MS 1000000u
#define HEAVY 20u                       /* invocations of 10 ms of the first region, */
#define LIGHT 10u                       /* then regions that are entered once, for 1 ms: 0.33 % of the run, 0.48 % of the regions' time */

struct made {
    struct capture_invocation list[HEAVY + LIGHT];
    struct capture_region regions[1 + LIGHT];
    char names[1 + LIGHT][8];
    struct capture_run run;
};

static void run_make(struct made *made, bool stopped, unsigned captured)
{
    *made = (struct made){.run = {.wall_ns = 300 * MS, .threads = 1, .stopped = stopped, .peak_bytes = 16 << 20, .regions = made->regions, .region_count = 1 + LIGHT}};
    for (unsigned i = 0; i < HEAVY + LIGHT; i++) {
        uint64_t begin_ns = i * 12 * MS, time_ns = i < HEAVY ? 10 * MS : MS;
        made->list[i] = (struct capture_invocation){.begin_ns = begin_ns + 1, .end_ns = begin_ns + 1 + time_ns, .time_ns = time_ns,
                                                    .number = i < HEAVY ? i + 1 : 1, .region = i < HEAVY ? 0 : i - HEAVY + 1, .parent = SIZE_MAX};
        made->list[i].captured = i == 3 || (i >= HEAVY && i < HEAVY + captured);
    }
    for (unsigned i = 0; i <= LIGHT; i++) {
        snprintf(made->names[i], sizeof made->names[i], "r%u", i);
        made->regions[i] = (struct capture_region){.name = made->names[i], .function = made->names[i], .file = made->names[i], .invocations = i ? 1 : HEAVY,
                                                   .time_ns = i ? MS : HEAVY * 10 * MS, .list = made->list + (i ? HEAVY + i - 1 : 0), .list_count = i ? 1 : HEAVY};
    }
}

/* Bit i: the i-th light region is to have a codelet. */
static unsigned wanted(bool stopped, unsigned captured)
{
    struct made *made = malloc(sizeof *made);
    struct choose_context choose = {.min_share_ratio = 0.005};
    struct pcere_error error;
    unsigned bits = 0;
    run_make(made, stopped, captured);
    CU_ASSERT_EQUAL_FATAL(choose_begin(&choose, &made->run, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(choose.found_count, 1 + LIGHT);
    for (unsigned i = 0; i <= LIGHT; i++) {
        struct store_class *classes;
        size_t count;
        CU_ASSERT_EQUAL_FATAL(choose_classes(&choose, &made->run, i, &classes, &count, &error), PCERE_OK);
        CU_ASSERT_EQUAL_FATAL(count, 1);
        if (i == 0)
            CU_ASSERT_TRUE(classes[0].captured);
        bits |= i && classes[0].captured ? 1u << (i - 1) : 0;
        free(classes[0].reason);
        free(classes);
    }
    choose_done(&choose);
    free(made);
    return bits;
}

static unsigned bit_count(unsigned bits)
{
    return bits ? (bits & 1) + bit_count(bits >> 1) : 0;
}

static void before_the_run_that_stops_as_many_as_cost_60_ms(void)
{
    CU_ASSERT_EQUAL(bit_count(wanted(false, 0)), 6);        /* 9.8 ms each */
}

static void what_one_run_has_is_kept(void)
{
    CU_ASSERT_EQUAL(wanted(true, 10), 0x3ff);
}

static void what_it_has_not_is_wanted_from_another(void)
{
    CU_ASSERT_EQUAL(bit_count(wanted(true, 0)), 9);         /* 1 ms of 210 is less than 0.5 % */
    CU_ASSERT_EQUAL(bit_count(wanted(true, 4)), 9);
    CU_ASSERT_EQUAL(wanted(true, 4) & 0xf, 0xf);
}

static const struct unit_test tests[] = {
    {"before the run that stops, light classes are wanted as far as 60 ms reach", before_the_run_that_stops_as_many_as_cost_60_ms},
    {"of one run that had stops all is kept that it has", what_one_run_has_is_kept},
    {"and the rest is wanted from another, until less than 0.5 % is left", what_it_has_not_is_wanted_from_another},
};

UNIT_MAIN("choose", tests)
