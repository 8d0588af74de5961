/* tests/unit/test_predictor_siblings.c - how a region's classes scale, and what that says of members between two representatives. */
#include "predictor/siblings.h"

#include "unit.h"

#include <math.h>

#define HOME "{\"name\": \"home\", \"cores\": 8}"

static void classes_that_scale_alike_hold(void)
{
    struct siblings_scaling scalings[] = {{4000, 0.52}, {1000, 0.5}, {250, 0.49}};
    struct siblings_scaling own = scalings[1];
    double members_ns[] = {400, 700, 1000, 1500, 2500};
    CU_ASSERT_DOUBLE_EQUAL(siblings_ratio(scalings, 3, &own, members_ns, 5), 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(scalings[0].own_ns, 250, 1e-12);
    struct siblings_scaling near[] = {{4000, 0.61}, {1000, 0.5}};            /* as much as replays of a few repetitions differ */
    double large_ns[] = {1000, 4000, 4000};
    CU_ASSERT_DOUBLE_EQUAL(siblings_ratio(near, 2, &own, large_ns, 3), 1, 1e-12);
}

/* 2000 lies in the middle of 1000 and 4000 by the logarithm, and scales by the square root of 0.5; what lies beyond is as the last one. */
static void members_between_two_that_scale_otherwise(void)
{
    struct siblings_scaling scalings[] = {{4000, 1}, {1000, 0.5}};
    struct siblings_scaling own = {1000, 0.5};
    double members_ns[] = {500, 2000, 8000};
    double expected = (500 + 2000 * sqrt(2) + 8000 * 2) / 10500;
    CU_ASSERT_DOUBLE_EQUAL(siblings_ratio(scalings, 2, &own, members_ns, 3), expected, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(siblings_ratio(scalings, 2, &own, members_ns, 0), 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(siblings_ratio(scalings, 1, &own, members_ns, 3), 1, 1e-12);
}

/* ---- out of samples ------------------------------------------------------------------------------------------------------------- */

static struct store_class classes[] = {
    {.representative = 2, .members = 3, .time_ns = 3500, .time_ns_median = 1000, .representative_ns = 1000, .captured = true},
    {.representative = 4, .members = 1, .time_ns = 4000, .time_ns_median = 4000, .representative_ns = 4000, .captured = true},
    {.representative = 5, .members = 2, .time_ns = 18, .time_ns_median = 9, .representative_ns = 9},
};
static struct store_region region = {.name = (char *)(uintptr_t) "f@x.c:1", .invocations = 6, .time_ns = 7518, .status = (char *)(uintptr_t) "captured", .classes = classes, .class_count = 3};
static const struct store_manifest manifest = {.complete = true, .host = HOME, .threads = 1, .wall_ns = 10000, .regions = &region, .region_count = 1};
static uint64_t numbers[] = {1, 2, 3, 4, 5, 6}, begins_ns[6], times_ns[] = {500, 1000, 2000, 4000, 9, 9}, representatives[] = {2, 2, 2, 4, 5, 5};
static const struct store_series series = {.region = (char *)(uintptr_t) "f@x.c:1", .invocations = 6, .count = 6, .number = numbers, .begin_ns = begins_ns, .time_ns = times_ns,
                                           .representative = representatives};
static uint64_t vitro_ns[] = {1100, 4400, 600, 4200};

static struct store_sample replay(size_t at)
{
    return (struct store_sample){.kind = (char *)(uintptr_t) "replay", .host_name = (char *)(uintptr_t) "home", .region = (char *)(uintptr_t) "f@x.c:1", .representative = at % 2 ? 4 : 2,
                                 .threads = at < 2 ? 1 : 4, .warmup = (char *)(uintptr_t) "auto", .flags = (char *)(uintptr_t) "", .samples_ns = &vitro_ns[at], .sample_count = 1, .when_s = at,
                                 .fork_ns = at < 2 ? 100 : 200};
}

/* Without fork and join 1000 became 400, and 4300 became 4000. */
static void a_region_whose_classes_scale_differently(void)
{
    struct store_sample samples[] = {replay(0), replay(1), replay(2), replay(3)};
    static const uint32_t threads[] = {4};
    struct predict_request request = {.manifest = &manifest, .samples = samples, .sample_count = 4, .arch = "home", .threads = threads, .thread_count = 1, .series = &series, .series_count = 1,
                                      .seed = 1, .partial = true};
    double ratios[3], far = log(4000 / 4300.0 / 0.4);
    struct siblings_span span;
    CU_ASSERT_EQUAL_FATAL(siblings_check(&request, &region, 4, ratios, &span, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(span.classes, 2);
    CU_ASSERT_DOUBLE_EQUAL(span.low_ratio, 600 / 1100.0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(span.high_ratio, 4200 / 4400.0, 1e-12);
    double work[] = {400 / 0.9, 1000, 1900 / 0.9};
    double expected = (work[0] + work[1] + work[2] * exp(far * log(work[2] / 1000) / log(4.3))) / (work[0] + work[1] + work[2]);
    CU_ASSERT_DOUBLE_EQUAL(ratios[0], expected, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ratios[1], 0, 1e-12);                            /* one member */
    CU_ASSERT_DOUBLE_EQUAL(ratios[2], 0, 1e-12);                            /* not replayed */
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&request, &result, NULL), PCERE_OK);
    const struct predict_region *told = &result.points[0].regions[0];
    CU_ASSERT_EQUAL(told->scaling_classes, 2);
    CU_ASSERT_EQUAL(told->classes[0].check, PREDICT_CHECKED_BY_CLASSES);
    CU_ASSERT_DOUBLE_EQUAL(told->classes[0].members_ratio, expected, 1e-9);
    CU_ASSERT_EQUAL(told->classes[1].check, PREDICT_UNCHECKED);
    uint64_t high_ns = told->high_ns, time_ns = told->time_ns;
    predict_result_done(&result);
    request.series_count = 0;                                               /* the store does not say when its members ran */
    CU_ASSERT_EQUAL_FATAL(predict_run(&request, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].regions[0].classes[0].check, PREDICT_UNCHECKED);
    CU_ASSERT_EQUAL(result.points[0].regions[0].time_ns, time_ns);
    CU_ASSERT(result.points[0].regions[0].high_ns < high_ns);
    predict_result_done(&result);
}

static void what_cannot_be_compared_says_nothing(void)
{
    struct store_sample samples[] = {replay(0), replay(2), replay(3)};
    struct predict_request request = {.manifest = &manifest, .samples = samples, .sample_count = 3, .arch = "home", .series = &series, .series_count = 1};
    double ratios[3];
    struct siblings_span span;
    CU_ASSERT_EQUAL_FATAL(siblings_check(&request, &region, 4, ratios, &span, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(span.classes, 1);
    CU_ASSERT_DOUBLE_EQUAL(ratios[0], 0, 1e-12);
    request.sample_count = 0;
    CU_ASSERT_EQUAL_FATAL(siblings_check(&request, &region, 4, ratios, &span, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(span.classes, 0);
    request.sample_count = 3;
    CU_ASSERT_EQUAL_FATAL(siblings_check(&request, &region, 1, ratios, &span, NULL), PCERE_OK);     /* the capture's own */
    CU_ASSERT_EQUAL(span.classes, 0);
    struct store_region small = region;
    small.class_count = 0;
    CU_ASSERT_EQUAL_FATAL(siblings_check(&request, &small, 4, ratios, &span, NULL), PCERE_OK);
}

static const struct unit_test tests[] = {
    {"classes that scale alike hold for all their members", classes_that_scale_alike_hold},
    {"members between two representatives scale as something between them", members_between_two_that_scale_otherwise},
    {"a region whose classes scale differently has a wider interval", a_region_whose_classes_scale_differently},
    {"what was not replayed at both numbers of threads says nothing", what_cannot_be_compared_says_nothing},
};

UNIT_MAIN("predictor: siblings", tests)
