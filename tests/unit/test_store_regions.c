/* tests/unit/test_store_regions.c - which regions of a store take about as long as looking at them. */
#include "store/store.h"
#include "tests/unit/unit.h"

static bool is_short(struct store_class *classes, size_t count, uint64_t time_ns)
{
    struct store_region region = {.classes = classes, .class_count = count, .time_ns = time_ns, .invocations = 31000};
    return store_region_is_short(&region);
}

/* 20 ms of work in 31000 invocations, and 0.2 s in which the machine stood still: the mean would be 7 us. */
static void a_stall_makes_no_short_region_long(void)
{
    struct store_class classes[] = {{.members = 1, .time_ns_median = 200000000}, {.members = 29999, .time_ns_median = 650}, {.members = 1000, .time_ns_median = 3000}};
    CU_ASSERT_TRUE(is_short(classes, 3, 220000000));
}

static void some_short_invocations_make_no_short_region(void)
{
    struct store_class classes[] = {{.members = 3101, .time_ns_median = 2000}, {.members = 27899, .time_ns_median = 1}};
    CU_ASSERT_FALSE(is_short(classes, 2, 31000));
    classes[0].members--;
    classes[1].members++;
    CU_ASSERT_TRUE(is_short(classes, 2, 31000));
}

static void without_classes_the_mean_tells(void)
{
    struct store_region empty = {0};
    CU_ASSERT_TRUE(is_short(NULL, 0, 31000ull * 1999));
    CU_ASSERT_FALSE(is_short(NULL, 0, 31000ull * 2000));
    CU_ASSERT_FALSE(store_region_is_short(&empty));
}

static const struct unit_test tests[] = {
    {"a stall makes no short region long", a_stall_makes_no_short_region_long},
    {"some short invocations among longer ones make no short region", some_short_invocations_make_no_short_region},
    {"without classes the mean tells", without_classes_the_mean_tells},
};

UNIT_MAIN("store: regions", tests)
