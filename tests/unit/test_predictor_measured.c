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

/* 40 ms asleep in a run of 52 are the region's own; what it waited for a processor is not. */
static void test_one_thread_sleeps(void)
{
    struct store_sample sample = {.threads = 1, .sample_count = 2, .samples_ns = (uint64_t[]){52000, 56000}, .cpu_ns = (uint64_t[]){12000, 12000},
                                  .switches = (uint64_t[]){9, 9}, .waits_ns = (uint64_t[]){100, 10000}};
    CU_ASSERT_EQUAL(measured_values(&sample, seen.values, &seen.corrected, NULL), 2);
    CU_ASSERT_EQUAL(seen.values[0], 52000);
    CU_ASSERT_EQUAL(seen.values[1], 46000);
    CU_ASSERT_EQUAL(seen.corrected, 1);
    sample.waits_ns = (uint64_t[]){100, 50000};
    measured_values(&sample, seen.values, NULL, NULL);
    CU_ASSERT_EQUAL(seen.values[1], 12000);     /* it ran that long */
}

static void test_two_threads_are_left_out(void)
{
    measure(2, 5, times, cpu, switches);
    CU_ASSERT_EQUAL(seen.count, 3);
    CU_ASSERT_EQUAL(seen.left_out, 2);
    CU_ASSERT_EQUAL(seen.corrected, 0);
    CU_ASSERT_TRUE(seen.values[0] == 100 && seen.values[1] == 101 && seen.values[2] == 102);
}

/* Of 9 ms with an interruption and 22 ms without one the second was disturbed as well: by what the machine's host does, say. */
static void test_shorter_than_undisturbed(void)
{
    measure(2, 2, (const uint64_t[]){9010, 22161}, NULL, (const uint64_t[]){2, 0});
    CU_ASSERT_EQUAL(seen.count, 2);
    CU_ASSERT_EQUAL(seen.values[0], 9010);
    CU_ASSERT_EQUAL(seen.left_out, 0);
    measure(2, 2, (const uint64_t[]){95, 100}, NULL, (const uint64_t[]){2, 0});
    CU_ASSERT_EQUAL(seen.count, 1);             /* no more than repetitions differ by */
    CU_ASSERT_EQUAL(seen.values[0], 100);
    struct store_sample crowded = {.threads = 4, .processors = 2, .sample_count = 2, .samples_ns = (uint64_t[]){9010, 22161}, .switches = (uint64_t[]){2, 0}};
    CU_ASSERT_EQUAL(measured_values(&crowded, seen.values, NULL, NULL), 1);
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

/* Each its region's only one, of a program that takes long. The lightest of them add up to a hundredth of its time; what is as light as one of these counts among them. */
static void test_light_classes(void)
{
    enum { MS = 1000000 };
    struct store_class classes[] = {
        {.captured = true, .time_ns = 36 * MS}, {.captured = true, .time_ns = 30 * MS}, {.captured = true, .time_ns = 30 * MS}, {.captured = true, .time_ns = 40 * MS},
        {.captured = true, .time_ns = MS, .nested = true}, {.time_ns = MS}, {.captured = true, .time_ns = 60 * MS},
    };
    enum { COUNT = sizeof classes / sizeof *classes };
    struct store_region regions[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        regions[i] = (struct store_region){.classes = &classes[i], .class_count = 1};
    const struct store_manifest manifest = {.wall_ns = UINT64_C(10000) * MS, .regions = regions, .region_count = COUNT};
    static const bool light[COUNT] = {true, true, true, false, false, false, false};
    for (size_t i = 0; i < COUNT; i++)
        CU_ASSERT_EQUAL(measured_is_light(&manifest, &classes[i]), light[i]);
    classes[1].time_ns = classes[2].time_ns = 35900000;
    for (size_t i = 3; i < COUNT; i++)
        classes[i].time_ns = 35950000;
    CU_ASSERT_FALSE(measured_is_light(&manifest, &classes[0]));
    CU_ASSERT_TRUE(measured_is_light(&manifest, &classes[1]));
}

/* A region's heaviest class tells how the others scale: they may weigh a fiftieth each, and a 20th together with what is cheap. */
static void test_light_beside_the_heaviest(void)
{
    enum { MS = 1000000 };
    struct store_class first[] = {
        {.captured = true, .time_ns = 190 * MS}, {.captured = true, .time_ns = UINT64_C(3000) * MS}, {.captured = true, .time_ns = 150 * MS}, {.captured = true, .time_ns = 200 * MS},
    };
    struct store_class second[] = {{.captured = true, .time_ns = 180 * MS}, {.captured = true, .time_ns = 160 * MS}, {.captured = true, .time_ns = 180 * MS, .nested = true}};
    struct store_class alone = {.captured = true, .time_ns = 140 * MS}, whole[] = {{.time_ns = 400 * MS}, {.captured = true, .time_ns = 90 * MS}};
    struct store_region regions[] = {{.classes = first, .class_count = 4}, {.classes = second, .class_count = 3}, {.classes = &alone, .class_count = 1},
                                     {.classes = whole, .class_count = 2}};
    const struct store_manifest manifest = {.wall_ns = UINT64_C(10000) * MS, .regions = regions, .region_count = 4};
    CU_ASSERT_TRUE(measured_is_light(&manifest, &first[0]));      /* 190 + 150 + 160 */
    CU_ASSERT_TRUE(measured_is_light(&manifest, &first[2]));
    CU_ASSERT_TRUE(measured_is_light(&manifest, &second[1]));
    CU_ASSERT_FALSE(measured_is_light(&manifest, &first[1]));
    CU_ASSERT_FALSE(measured_is_light(&manifest, &first[3]));     /* a fiftieth */
    CU_ASSERT_FALSE(measured_is_light(&manifest, &second[0]));
    CU_ASSERT_FALSE(measured_is_light(&manifest, &second[2]));
    CU_ASSERT_FALSE(measured_is_light(&manifest, &alone));
    CU_ASSERT_FALSE(measured_is_light(&manifest, &whole[1]));     /* what was not captured tells nothing */
    second[1].time_ns++;
    CU_ASSERT_FALSE(measured_is_light(&manifest, &first[0]));
    CU_ASSERT_TRUE(measured_is_light(&manifest, &first[2]));
}

/* What took less in the program than a process of its own would need not be replayed: a 25th each. */
static void test_light_where_a_process_costs_more(void)
{
    enum { MS = 1000000 };
    struct store_class classes[] = {{.captured = true, .time_ns = 19 * MS}, {.captured = true, .time_ns = 11 * MS}, {.captured = true, .time_ns = 24 * MS},
                                    {.captured = true, .time_ns = 24 * MS}};
    struct store_region regions[4];
    for (size_t i = 0; i < 4; i++)
        regions[i] = (struct store_region){.classes = &classes[i], .class_count = 1};
    struct store_manifest manifest = {.wall_ns = UINT64_C(600) * MS, .regions = regions, .region_count = 4};
    CU_ASSERT_TRUE(measured_is_light(&manifest, &classes[0]));    /* 19 + 11 are a 20th */
    CU_ASSERT_TRUE(measured_is_light(&manifest, &classes[1]));
    CU_ASSERT_FALSE(measured_is_light(&manifest, &classes[2]));   /* not below a 25th */
    classes[1].time_ns++;
    CU_ASSERT_FALSE(measured_is_light(&manifest, &classes[0]));
    manifest.wall_ns = UINT64_C(6000) * MS;
    classes[2].time_ns = MEASURED_CHEAP_NS;
    CU_ASSERT_TRUE(measured_is_light(&manifest, &classes[3]));
    CU_ASSERT_FALSE(measured_is_light(&manifest, &classes[2]));   /* as long as a process, and more than a 250th */
}

/* What ran once or a few times is known at the capture's number of threads: a fiftieth each, a 20th together. */
static void test_known_where_it_was_captured(void)
{
    enum { MS = 1000000 };
    struct store_class classes[] = {
        {.captured = true, .members = 1, .time_ns = 190 * MS}, {.captured = true, .members = 3, .time_ns = 160 * MS}, {.captured = true, .members = 1, .time_ns = 150 * MS},
        {.captured = true, .members = 4, .time_ns = 10 * MS}, {.captured = true, .members = 1, .time_ns = 200 * MS}, {.members = 1, .time_ns = MS},
        {.captured = true, .nested = true, .members = 1, .time_ns = MS},
    };
    enum { COUNT = sizeof classes / sizeof *classes };
    struct store_region regions[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        regions[i] = (struct store_region){.classes = &classes[i], .class_count = 1};
    const struct store_manifest manifest = {.threads = 2, .wall_ns = UINT64_C(10000) * MS, .regions = regions, .region_count = COUNT};
    for (size_t i = 0; i < COUNT; i++) {
        CU_ASSERT_EQUAL(measured_is_known(&manifest, &classes[i], 2), i < 3);
        CU_ASSERT_EQUAL(measured_is_known(&manifest, &classes[i], 1), i == 2);
        CU_ASSERT_EQUAL(measured_is_known(&manifest, &classes[i], 4), i == 2);
        CU_ASSERT_FALSE(measured_is_known(&manifest, &classes[i], 8));
    }
    classes[0].time_ns = 50 * MS;     /* with three of these and 150, a 16th of half the program at four threads and at one */
    classes[1].time_ns = 112 * MS;
    CU_ASSERT_TRUE(measured_is_known(&manifest, &classes[2], 4));
    classes[1].time_ns += MS;
    CU_ASSERT_FALSE(measured_is_known(&manifest, &classes[2], 4));
    CU_ASSERT_TRUE(measured_is_known(&manifest, &classes[1], 4));
    CU_ASSERT_TRUE(measured_is_known(&manifest, &classes[2], 2));
    regions[1].thread_sized = (char *)(uintptr_t) "an array of threads";
    CU_ASSERT_FALSE(measured_is_known(&manifest, &classes[1], 4));        /* it cannot run so, which is to be told */
    CU_ASSERT_TRUE(measured_is_known(&manifest, &classes[1], 1));
    CU_ASSERT_TRUE(measured_is_known(&manifest, &classes[1], 2));
    regions[1].thread_sized = (char *)(uintptr_t) PCERE_THREADS_DIVISION "two threads";
    CU_ASSERT_FALSE(measured_is_known(&manifest, &classes[1], 1));
    CU_ASSERT_TRUE(measured_is_known(&manifest, &classes[1], 2));
    regions[1].thread_sized = (char *)(uintptr_t) PCERE_THREADS_EXACT "two threads";
    CU_ASSERT_FALSE(measured_is_known(&manifest, &classes[1], 1));
    CU_ASSERT_TRUE(measured_is_known(&manifest, &classes[1], 2));
    CU_ASSERT_FALSE(measured_is_known(&manifest, &classes[1], 4));
    regions[1].thread_sized = (char *)(uintptr_t) PCERE_THREADS_WAY "2 threads on";
    CU_ASSERT_FALSE(measured_is_known(&manifest, &classes[1], 1));
    CU_ASSERT_TRUE(measured_is_known(&manifest, &classes[1], 4));
    regions[1].thread_sized = (char *)(uintptr_t) PCERE_THREADS_WAY "3 threads on";
    CU_ASSERT_TRUE(measured_is_known(&manifest, &classes[1], 1));
    CU_ASSERT_FALSE(measured_is_known(&manifest, &classes[1], 4));
    regions[1].thread_sized = NULL;
    classes[0].time_ns = 190 * MS;
    classes[1].time_ns = 161 * MS;    /* 190 + 161 + 150 */
    CU_ASSERT_FALSE(measured_is_known(&manifest, &classes[0], 2));
    CU_ASSERT_TRUE(measured_is_known(&manifest, &classes[1], 2));
}

/* A region's first invocations count with its heaviest class, of more invocations: a seventh each, a fifth together. */
static void test_known_by_their_region(void)
{
    enum { MS = 1000000 };
    struct store_class first[] = {{.captured = true, .members = 1, .time_ns = 1300 * MS, .made_pages = 250000}, {.captured = true, .members = 4, .time_ns = 1400 * MS}};
    struct store_class second[] = {{.captured = true, .members = 9, .time_ns = 2000 * MS}, {.captured = true, .members = 3, .time_ns = 700 * MS}};
    struct store_class few[] = {{.captured = true, .members = 3, .time_ns = 900 * MS}, {.captured = true, .members = 1, .time_ns = 800 * MS}};
    struct store_class heaviest[] = {{.captured = true, .members = 2, .time_ns = 900 * MS}, {.captured = true, .members = 50, .time_ns = 800 * MS}};
    struct store_region regions[] = {{.classes = first, .class_count = 2}, {.classes = second, .class_count = 2}, {.classes = few, .class_count = 2},
                                     {.classes = heaviest, .class_count = 2}};
    const struct store_manifest manifest = {.threads = 1, .wall_ns = UINT64_C(10000) * MS, .regions = regions, .region_count = 4};
    for (uint32_t threads = 1; threads <= 8; threads *= 2) {
        CU_ASSERT_TRUE(measured_is_known(&manifest, &first[0], threads));
        CU_ASSERT_TRUE(measured_is_known(&manifest, &second[1], threads));
        CU_ASSERT_FALSE(measured_is_known(&manifest, &first[1], threads));
        CU_ASSERT_FALSE(measured_is_known(&manifest, &few[1], threads));          /* the heavier one has as few */
        CU_ASSERT_FALSE(measured_is_known(&manifest, &heaviest[0], threads));
    }
    first[0].made_pages = 200000;     /* 4 us each: 1.35 times 350 ms and 800 are less than 1300 */
    CU_ASSERT_FALSE(measured_is_known(&manifest, &first[0], 2));
    first[0].made_pages = 250000;
    second[1].time_ns += MS;          /* together more than a fifth */
    CU_ASSERT_FALSE(measured_is_known(&manifest, &first[0], 2));
    CU_ASSERT_TRUE(measured_is_known(&manifest, &second[1], 2));
    second[1].time_ns = 10 * MS;
    first[0].time_ns = first[1].time_ns = 1429 * MS;          /* a seventh */
    CU_ASSERT_FALSE(measured_is_known(&manifest, &first[0], 2));
    first[0].time_ns = 1300 * MS;
    regions[0].thread_sized = (char *)(uintptr_t) "an array of threads";
    CU_ASSERT_FALSE(measured_is_known(&manifest, &first[0], 2));
    CU_ASSERT_TRUE(measured_is_known(&manifest, &first[0], 1));
}

/* Repetitions of 1000 and 2000. */
static double held(uint32_t threads, size_t count, const uint64_t *interrupted, const uint64_t *waits)
{
    static const uint64_t runs[] = {1000, 2000};
    const struct store_sample sample = {.threads = threads, .sample_count = count, .samples_ns = (uint64_t *)(uintptr_t)runs,
                                        .switches = (uint64_t *)(uintptr_t)interrupted, .waits_ns = (uint64_t *)(uintptr_t)waits};
    seen.count = measured_values(&sample, seen.values, &seen.corrected, &seen.left_out);
    return measured_held_ratio(&sample);
}

static void test_interrupted_threads_count_without_waiting(void)
{
    static const uint64_t both[] = {1, 3}, one[] = {0, 3}, waits[] = {50, 1000}, many[] = {5000, 9000};
    CU_ASSERT_DOUBLE_EQUAL(held(2, 2, both, waits), 0.25, 1e-9);     /* the first one lost too little */
    CU_ASSERT(fabs(seen.values[0] - 1000) < 1e-9 && fabs(seen.values[1] - 1000) < 1e-9 && seen.count == 2 && seen.corrected == 1);
    CU_ASSERT_DOUBLE_EQUAL(held(4, 2, both, many), MEASURED_HELD_MOST, 1e-9);
    CU_ASSERT(fabs(seen.values[0] - 200) < 1e-9 && fabs(seen.values[1] - 400) < 1e-9 && seen.corrected == 2);
    CU_ASSERT_EQUAL(held(2, 2, one, waits), 0);                      /* the other one counts alone */
    CU_ASSERT(seen.count == 1 && seen.left_out == 1 && seen.corrected == 0);
    CU_ASSERT_EQUAL(held(1, 2, both, waits), 0);
    CU_ASSERT_EQUAL(held(2, 2, both, NULL), 0);
    CU_ASSERT_EQUAL(held(2, 2, NULL, NULL), 0);
    CU_ASSERT_EQUAL(seen.corrected, 0);
}

/* One run each, of four threads. */
static double crowded_value(uint32_t processors, uint64_t wall_ns, uint64_t lacked_ns)
{
    struct store_sample sample = {.threads = 4, .processors = processors, .sample_count = 1, .samples_ns = &wall_ns, .switches = (uint64_t[]){1}, .waits_ns = &lacked_ns};
    measured_values(&sample, seen.values, NULL, NULL);
    CU_ASSERT_DOUBLE_EQUAL(measured_held_ratio(&sample), 1 - seen.values[0] / (double)wall_ns, 1e-9);
    return seen.values[0];
}

/* 250 ms of work in equal pieces, beside programs that use both processors: 409 and 514 ms, of which the team's two processors lacked 283 and 386 each. Counted as lost one after the other, 82 and 103. */
static void test_a_crowd_lacks_processors_at_the_same_time(void)
{
    CU_ASSERT_DOUBLE_EQUAL(crowded_value(2, 409440000, 566310000), 126285000, 1);
    CU_ASSERT_DOUBLE_EQUAL(crowded_value(2, 513660000, 772360000), 127480000, 1);
    CU_ASSERT_DOUBLE_EQUAL(crowded_value(2, 20370000, 13470000), 6900000, 1);      /* one of them, for which the others wait: 6.45 undisturbed */
    CU_ASSERT_DOUBLE_EQUAL(crowded_value(2, 16000000, 14000000), 5500000, 1);      /* in between */
    CU_ASSERT_DOUBLE_EQUAL(crowded_value(4, 409440000, 566310000), (1 - MEASURED_HELD_MOST) * 409440000, 1);      /* as many processors as threads */
}

/* A task search whose threads wait for each other's processors. */
static void test_crowded_samples_have_a_mean(void)
{
    static const double apart[] = {2, 2, 2, 4, 16, 16};
    struct store_sample sample = {.threads = 4, .processors = 4};
    CU_ASSERT_FALSE(measured_is_crowded(&sample));
    CU_ASSERT_DOUBLE_EQUAL(measured_typical_ns(&sample, apart, 6), 3, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(measured_interval(&sample, apart, 6, 1).high, statistics_repetitions_interval(apart, 6, 1, true).high, 1e-9);
    sample.processors = 2;
    CU_ASSERT_TRUE(measured_is_crowded(&sample));
    CU_ASSERT_DOUBLE_EQUAL(measured_typical_ns(&sample, apart, 6), 7, 1e-9);
    struct statistics_interval interval = measured_interval(&sample, apart, 6, 1);
    double half = hypot(2.571 * sqrt(246.0 / 5 / 6), 1.96 * STATISTICS_PROCESS_RATIO * 7);
    CU_ASSERT_DOUBLE_EQUAL(interval.high, 7 + half, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(interval.low, fmax(7 - half, 0), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(measured_interval(&sample, apart, 1, 1).high, 2 + 1.96 * hypot(STATISTICS_SINGLE_RATIO, STATISTICS_PROCESS_RATIO) * 2, 1e-9);
    sample.processors = 0;
    CU_ASSERT_FALSE(measured_is_crowded(&sample));
}

static const struct unit_test tests[] = {
    {"more threads than processors: the mean counts, with its own interval", test_crowded_samples_have_a_mean},
    {"more threads than processors: what several of these lacked at the same time is lost once", test_a_crowd_lacks_processors_at_the_same_time},
    {"several threads, all interrupted: repetitions count without what the threads waited", test_interrupted_threads_count_without_waiting},
    {"what weighs less than a 250th, and with what is lighter a hundredth, is light", test_light_classes},
    {"beside its region's heaviest class, what weighs less than a fiftieth, and with others like it a twentieth, is light", test_light_beside_the_heaviest},
    {"what took no longer than a process would, and less than a 25th, is light", test_light_where_a_process_costs_more},
    {"at the capture's number of threads, what ran up to three times is known", test_known_where_it_was_captured},
    {"a region's first invocations count with its others", test_known_by_their_region},
    {"repetitions are grouped by process", test_groups_are_processes},
    {"the precision is Student's over the medians of processes", test_precision_by_hand},
    {"where nothing is known of interruptions, all count", test_nothing_is_known},
    {"with one thread, an interrupted repetition counts by its CPU time", test_one_thread_is_corrected},
    {"but what it slept is its own", test_one_thread_sleeps},
    {"with more, it does not count", test_two_threads_are_left_out},
    {"unless too few would be left", test_too_few_undisturbed},
    {"or it took clearly less than those that were not", test_shorter_than_undisturbed},
};

UNIT_MAIN("predictor: measured", tests)
