/* tests/unit/test_predictor_measured.c - which repetitions count where the kernel interrupted some. */
#include "predictor/measured.h"
#include "tests/unit/unit.h"

#include <math.h>

static struct { size_t count, corrected, left_out; double values[8]; } seen;

static void measure(uint32_t threads, size_t count, const uint64_t *times, const uint64_t *cpu, const uint64_t *switches)
{
    const struct store_sample sample = {.threads = threads, .sample_count = count, .samples_ns = (uint64_t *)(uintptr_t)times,
                                        .cpu_ns = (uint64_t *)(uintptr_t)cpu, .switches = (uint64_t *)(uintptr_t)switches};
    seen.count = measured_values(&sample, seen.values, &seen.corrected, &seen.left_out);
}

static const uint64_t times[] = {100, 900, 101, 110, 102}, cpu[] = {99, 103, 100, 105, 101}, switches[] = {0, 2, 0, 1, 0};

static void test_nothing_is_known(void)
{
    measure(2, 5, times, NULL, NULL);
    CU_ASSERT_EQUAL(seen.count, 5);
    CU_ASSERT_EQUAL(seen.values[1], 900);
    CU_ASSERT_EQUAL(seen.left_out + seen.corrected, 0);
}

static void test_one_thread_is_corrected(void)
{
    measure(1, 5, times, cpu, switches);
    CU_ASSERT_EQUAL(seen.count, 5);
    CU_ASSERT_EQUAL(seen.values[0], 100);
    CU_ASSERT_EQUAL(seen.values[1], 103);
    CU_ASSERT_EQUAL(seen.values[3], 110);       /* interrupted, but for no time that matters */
    CU_ASSERT_EQUAL(seen.corrected, 1);
    CU_ASSERT_EQUAL(seen.left_out, 0);
    measure(1, 5, times, NULL, switches);
    CU_ASSERT_EQUAL(seen.values[1], 900);
    CU_ASSERT_EQUAL(seen.corrected, 0);
    measure(1, 2, times, (const uint64_t[]){99, 0}, switches);
    CU_ASSERT_EQUAL(seen.values[1], 900);
}

static void test_two_threads_are_left_out(void)
{
    measure(2, 5, times, cpu, switches);
    CU_ASSERT_EQUAL(seen.count, 3);
    CU_ASSERT_EQUAL(seen.left_out, 2);
    CU_ASSERT_EQUAL(seen.corrected, 0);
    CU_ASSERT_TRUE(seen.values[0] == 100 && seen.values[1] == 101 && seen.values[2] == 102);
}

static void test_too_few_undisturbed(void)
{
    measure(2, 4, times, cpu, switches);
    CU_ASSERT_EQUAL(seen.count, 4);
    CU_ASSERT_EQUAL(seen.left_out, 0);
    measure(2, 2, times, cpu, switches);
    CU_ASSERT_EQUAL(seen.count, 1);             /* of two, one that was not is better than their mean */
    CU_ASSERT_EQUAL(seen.values[0], 100);
    measure(4, 2, times, cpu, (const uint64_t[]){1, 1});
    CU_ASSERT_EQUAL(seen.count, 2);
    measure(4, 0, times, cpu, switches);
    CU_ASSERT_EQUAL(seen.count, 0);
}

static void test_groups_are_processes(void)
{
    double values[8];
    struct statistics_group groups[4];
    size_t count;
    struct store_sample sample = {.threads = 2, .sample_count = 5, .samples_ns = (uint64_t *)(uintptr_t)times, .switches = (uint64_t *)(uintptr_t)switches};
    CU_ASSERT_EQUAL_FATAL(measured_groups(&sample, values, groups, &count), 1);
    CU_ASSERT_EQUAL(groups[0].count, 3);
    sample.process_counts = (uint64_t[]){1, 1, 3};
    sample.process_count = 3;
    CU_ASSERT_EQUAL_FATAL(measured_groups(&sample, values, groups, &count), 2);      /* nothing of the second counts */
    CU_ASSERT_EQUAL(count, 3);
    CU_ASSERT_TRUE(groups[0].count == 1 && groups[0].values[0] == 100);
    CU_ASSERT_TRUE(groups[1].count == 2 && groups[1].values[0] == 101 && groups[1].values[1] == 102);
}

/* Medians 100, 104, 102: mean 102, standard deviation 2, t(0.975, 2) = 4.303. */
static void test_precision_by_hand(void)
{
    double values[8], medians[4];
    struct statistics_group groups[4];
    struct store_sample sample = {.threads = 2, .sample_count = 5, .samples_ns = (uint64_t[]){100, 104, 100, 102, 105},
                                  .process_counts = (uint64_t[]){1, 1, 3}, .process_count = 3};
    CU_ASSERT_DOUBLE_EQUAL(measured_precision_ratio(&sample, values, groups, medians), 4.303 * (2.0 / 102) / sqrt(3), 1e-12);
    sample.process_counts = NULL;
    sample.process_count = 0;
    CU_ASSERT_TRUE(isinf(measured_precision_ratio(&sample, values, groups, medians)));
}

/* Each its region's only one. The lightest of them add up to a hundredth of the program's time; what is as light as one of these counts among them. */
static void test_light_classes(void)
{
    struct store_class classes[] = {
        {.captured = true, .time_ns = 3600}, {.captured = true, .time_ns = 3000}, {.captured = true, .time_ns = 3000}, {.captured = true, .time_ns = 4000},
        {.captured = true, .time_ns = 10, .nested = true}, {.time_ns = 10}, {.captured = true, .time_ns = 6000},
    };
    enum { COUNT = sizeof classes / sizeof *classes };
    struct store_region regions[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        regions[i] = (struct store_region){.classes = &classes[i], .class_count = 1};
    const struct store_manifest manifest = {.wall_ns = 1000000, .regions = regions, .region_count = COUNT};
    static const bool light[COUNT] = {true, true, true, false, false, false, false};
    for (size_t i = 0; i < COUNT; i++)
        CU_ASSERT_EQUAL(measured_is_light(&manifest, &classes[i]), light[i]);
    classes[1].time_ns = classes[2].time_ns = 3590;
    for (size_t i = 3; i < COUNT; i++)
        classes[i].time_ns = 3595;
    CU_ASSERT_FALSE(measured_is_light(&manifest, &classes[0]));
    CU_ASSERT_TRUE(measured_is_light(&manifest, &classes[1]));
}

/* A region's heaviest class tells how the others scale: they may weigh a fiftieth each and a 25th together. */
static void test_light_beside_the_heaviest(void)
{
    struct store_class first[] = {
        {.captured = true, .time_ns = 19000}, {.captured = true, .time_ns = 300000}, {.captured = true, .time_ns = 15000}, {.captured = true, .time_ns = 20000},
    };
    struct store_class second[] = {{.captured = true, .time_ns = 18000}, {.captured = true, .time_ns = 6000}, {.captured = true, .time_ns = 18000, .nested = true}};
    struct store_class alone = {.captured = true, .time_ns = 16000}, whole[] = {{.time_ns = 40000}, {.captured = true, .time_ns = 5000}};
    struct store_region regions[] = {{.classes = first, .class_count = 4}, {.classes = second, .class_count = 3}, {.classes = &alone, .class_count = 1},
                                     {.classes = whole, .class_count = 2}};
    const struct store_manifest manifest = {.wall_ns = 1000000, .regions = regions, .region_count = 4};
    CU_ASSERT_TRUE(measured_is_light(&manifest, &first[0]));      /* 19000 + 15000 + 6000 */
    CU_ASSERT_TRUE(measured_is_light(&manifest, &first[2]));
    CU_ASSERT_TRUE(measured_is_light(&manifest, &second[1]));
    CU_ASSERT_FALSE(measured_is_light(&manifest, &first[1]));
    CU_ASSERT_FALSE(measured_is_light(&manifest, &first[3]));     /* a fiftieth */
    CU_ASSERT_FALSE(measured_is_light(&manifest, &second[0]));
    CU_ASSERT_FALSE(measured_is_light(&manifest, &second[2]));
    CU_ASSERT_FALSE(measured_is_light(&manifest, &alone));
    CU_ASSERT_FALSE(measured_is_light(&manifest, &whole[1]));     /* what was not captured tells nothing */
    second[1].time_ns = 6001;
    CU_ASSERT_FALSE(measured_is_light(&manifest, &first[0]));
    CU_ASSERT_TRUE(measured_is_light(&manifest, &first[2]));
}

static const struct unit_test tests[] = {
    {"what weighs less than a 250th, and with what is lighter a hundredth, is light", test_light_classes},
    {"beside its region's heaviest class, what weighs less than a fiftieth, and with others like it a 25th, is light", test_light_beside_the_heaviest},
    {"repetitions are grouped by process", test_groups_are_processes},
    {"the precision is Student's over the medians of processes", test_precision_by_hand},
    {"where nothing is known of interruptions, all count", test_nothing_is_known},
    {"with one thread, an interrupted repetition counts by its CPU time", test_one_thread_is_corrected},
    {"with more, it does not count", test_two_threads_are_left_out},
    {"unless too few would be left", test_too_few_undisturbed},
};

UNIT_MAIN("predictor: measured", tests)
