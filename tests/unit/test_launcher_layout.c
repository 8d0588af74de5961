/* tests/unit/test_launcher_layout.c - where rebuilt executables are placed. */
#include "replay-rt/launcher/layout.h"

#include "tests/unit/unit.h"

#include <string.h>

#define PIE_LOW 0x555555554000u
#define REACH (1ull << 31)

static int overlaps(uint64_t base, const struct store_range *range)
{
    uint64_t low = base - LAYOUT_MISSING_BYTES, high = base + LAYOUT_IMAGE_BYTES;
    return range->address < high && range->address + range->bytes > low;
}

static void below_a_pie(void)
{
    const struct store_range taken[] = {{0x7ffffffde000, 0x21000}, {PIE_LOW, 0x900000}, {PIE_LOW + 0x900000, 0x21000}};
    uint64_t base = 0;
    CU_ASSERT_EQUAL(layout_choose(taken, 3, PIE_LOW, PIE_LOW + 0x900000, false, &base, NULL), PCERE_OK);
    CU_ASSERT(base < PIE_LOW && base + LAYOUT_IMAGE_BYTES <= PIE_LOW);
    CU_ASSERT(PIE_LOW + 0x900000 - base < REACH);
    CU_ASSERT(PIE_LOW - base >= 128u << 20);
}

static void low_for_absolute_addresses(void)
{
    const struct store_range taken[] = {{0x400000, 0x10000}, {0x410000, 0x30000000}};
    uint64_t base = 0;
    CU_ASSERT_EQUAL(layout_choose(taken, 2, 0x400000, 0x410000, true, &base, NULL), PCERE_OK);
    CU_ASSERT(base + LAYOUT_IMAGE_BYTES < REACH);
    CU_ASSERT_FALSE(overlaps(base, &taken[0]) || overlaps(base, &taken[1]));
}

static void around_what_is_taken(void)
{
    struct store_range taken[64];
    for (size_t i = 0; i < 64; i++)
        taken[i] = (struct store_range){PIE_LOW - (i + 1) * (100ull << 20), 1u << 20};
    taken[63] = (struct store_range){PIE_LOW, 1u << 20};
    uint64_t base = 0;
    enum pcere_status status = layout_choose(taken, 64, PIE_LOW, PIE_LOW + (1u << 20), false, &base, NULL);
    CU_ASSERT_EQUAL(status, PCERE_OK);
    for (size_t i = 0; i < 64; i++)
        CU_ASSERT_FALSE(overlaps(base, &taken[i]));
}

static void large_images_stay_in_reach(void)
{
    const uint64_t high = PIE_LOW + 1800ull * (1u << 20);
    const struct store_range taken[] = {{PIE_LOW, high - PIE_LOW}};
    uint64_t base = 0;
    CU_ASSERT_EQUAL(layout_choose(taken, 1, PIE_LOW, high, false, &base, NULL), PCERE_OK);
    CU_ASSERT(high - base < REACH);
    CU_ASSERT_FALSE(overlaps(base, &taken[0]));
}

static void no_room_is_refused(void)
{
    const struct store_range taken[] = {{0x10000, 0x7fff0000}};
    struct pcere_error error = {0};
    uint64_t base = 42;
    CU_ASSERT_EQUAL(layout_choose(taken, 1, 0x400000, 0x500000, true, &base, &error), PCERE_REFUSED);
    CU_ASSERT_EQUAL(base, 42);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no addresses are free"));
    CU_ASSERT(error.hint[0] != '\0');
}

static const struct unit_test tests[] = {
    {"a codelet of a PIE lies below it, near enough for 32-bit distances, with room for its heap", below_a_pie},
    {"a codelet of a program with absolute addresses lies below 2 GiB, beyond the captured heap", low_for_absolute_addresses},
    {"captured ranges below the image are avoided", around_what_is_taken},
    {"an image of 1.8 GiB is still in reach", large_images_stay_in_reach},
    {"where nothing is free, a sentence and a hint", no_room_is_refused},
};

UNIT_MAIN("launcher: layout", tests)
