/* tests/unit/test_predictor_processes.c - how far processes of one codelet lie apart. */
#include "predictor/processes.h"
#include "tests/unit/unit.h"

#include <math.h>

static struct store_class heavy[] = {{.representative = 1, .members = 10, .time_ns = 3000, .captured = true}, {.representative = 2, .members = 1, .time_ns = 500, .captured = true}};
static struct store_class light[] = {{.representative = 4, .members = 10, .time_ns = 1000, .captured = true}};
static struct store_region regions[] = {{.name = "heavy@x.c:1", .status = "captured", .classes = heavy, .class_count = 2},
                                        {.name = "light@x.c:9", .status = "captured", .classes = light, .class_count = 1}};
static struct store_manifest manifest = {.regions = regions, .region_count = 2, .threads = 1};

static struct store_sample sample(const char *region, uint64_t representative, uint64_t *times_ns, size_t count, uint64_t *processes, size_t process_count)
{
    return (struct store_sample){.kind = "replay", .host_name = "home", .region = (char *)(uintptr_t)region, .representative = representative, .threads = 2, .warmup = "auto",
                                 .samples_ns = times_ns, .sample_count = count, .process_counts = processes, .process_count = process_count, .when_s = 1};
}

static double spread_of(struct store_sample *samples, size_t count, uint32_t threads, size_t *ret_count)
{
    const struct predict_request request = {.manifest = &manifest, .samples = samples, .sample_count = count, .arch = "home"};
    double ratio = -1;
    CU_ASSERT_EQUAL_FATAL(processes_spread(&request, threads, &ratio, ret_count, NULL), PCERE_OK);
    return ratio;
}

/* Medians 100 and 110, in two commands; 50, 50 and 50; and one alone. */
static void processes_are_pooled_by_weight(void)
{
    uint64_t one[] = {90, 100, 140}, other[] = {110}, alike[] = {50, 50, 50, 50, 40, 60}, alone[] = {7, 9}, counts[] = {3, 1, 2};
    struct store_sample samples[] = {sample("heavy@x.c:1", 1, one, 3, NULL, 0), sample("heavy@x.c:1", 1, other, 1, NULL, 0), sample("light@x.c:9", 4, alike, 6, counts, 3),
                                     sample("heavy@x.c:1", 2, alone, 2, NULL, 0)};
    size_t count;
    double variation = sqrt(50) / 105, expected = sqrt(3000 * variation * variation / (3000 + 2 * 1000));
    CU_ASSERT_DOUBLE_EQUAL(spread_of(samples, 4, 2, &count), expected, 1e-9);
    CU_ASSERT_EQUAL(count, 5);
}

static void one_process_says_nothing(void)
{
    uint64_t times[] = {90, 100, 140};
    struct store_sample samples[] = {sample("heavy@x.c:1", 1, times, 3, NULL, 0)};
    size_t count = 9;
    CU_ASSERT_EQUAL(spread_of(samples, 1, 2, &count), 0);
    CU_ASSERT_EQUAL(count, 0);
    CU_ASSERT_EQUAL(spread_of(samples, 1, 4, &count), 0);
    CU_ASSERT_EQUAL(spread_of(samples, 0, 2, &count), 0);
}

static const struct unit_test tests[] = {
    {"processes of all classes are pooled, by what these weigh", processes_are_pooled_by_weight},
    {"one process says nothing", one_process_says_nothing},
};

UNIT_MAIN("predictor: processes", tests)
