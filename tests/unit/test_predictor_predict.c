/* tests/unit/test_predictor_predict.c - predictions from made-up manifests and samples whose sums are known. */
#include "predictor/predict.h"
#include "predictor/replays.h"
#include "predictor/runs.h"
#include "predictor/statistics.h"

#include "predictor/random.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOME "{\"name\": \"home\", \"cores\": 8}"

/* 100 s serial part, as ns below: solve (two classes of 90 and 10, one light class in vivo), tiny (skipped). */
static struct store_class solve_classes[] = {
    {.representative = 7, .members = 90, .time_ns = 90 * 1000000, .time_ns_median = 1000000, .representative_ns = 1000000,
     .captured = true},
    {.representative = 12, .members = 10, .time_ns = 10 * 5000000, .time_ns_median = 5000000, .representative_ns = 5000000,
     .captured = true},
    {.representative = 1, .members = 1, .time_ns = 70000, .time_ns_median = 70000, .representative_ns = 70000},
};
static struct store_class shrink_classes[] = {
    {.representative = 4, .members = 10, .time_ns = 5500000, .time_ns_median = 550000, .representative_ns = 1000000, .captured = true},
};
static struct store_region regions[] = {
    {.name = "solve@x.c:10", .invocations = 101, .time_ns = 140070000, .status = "captured", .classes = solve_classes,
     .class_count = 3},
    {.name = "tiny@x.c:20", .invocations = 5, .time_ns = 30000, .status = "skipped", .reason = "too little"},
    {.name = "shrink@x.c:30", .invocations = 10, .time_ns = 5500000, .status = "captured", .classes = shrink_classes,
     .class_count = 1},
};
static const struct store_manifest manifest = {
    .complete = true, .host = HOME, .threads = 1, .wall_ns = 245600000, .serial_ns = 100000000, .regions = regions, .region_count = 3};

#define REPEAT 9
static uint64_t repetitions[64][REPEAT];

/* A replay sample with times around `time_ns`; its numbers live in repetitions[slot]. */
static struct store_sample replay(size_t slot, const char *host, const char *region, uint64_t representative, uint32_t threads,
                                  uint64_t time_ns, double spread_ratio)
{
    for (size_t i = 0; i < REPEAT; i++)
        repetitions[slot][i] = (uint64_t)((double)time_ns * (1 + spread_ratio * ((double)i - REPEAT / 2) / (REPEAT / 2)));
    return (struct store_sample){.kind = (char *)(uintptr_t) "replay", .host_name = (char *)(uintptr_t)host,
                                 .region = (char *)(uintptr_t)region, .representative = representative, .threads = threads,
                                 .warmup = (char *)(uintptr_t) "auto", .flags = (char *)(uintptr_t) "", .settings = NULL,
                                 .samples_ns = repetitions[slot], .sample_count = REPEAT, .cost_ns = 1000000, .when_s = slot};
}

static struct store_sample run(const char *host, uint32_t threads, uint64_t wall_ns, uint64_t serial_ns)
{
    return (struct store_sample){.kind = (char *)(uintptr_t) "run", .host_name = (char *)(uintptr_t)host, .threads = threads,
                                 .wall_ns = wall_ns, .serial_ns = serial_ns};
}

/* All three codelets at `threads`, at 1 / speedup of their in-vivo time. */
static size_t replay_all(struct store_sample *samples, size_t count, const char *host, uint32_t threads, uint64_t speedup, double spread)
{
    samples[count] = replay(count, host, "solve@x.c:10", 7, threads, 1000000 / speedup, spread);
    count++;
    samples[count] = replay(count, host, "solve@x.c:10", 12, threads, 5000000 / speedup, spread);
    count++;
    samples[count] = replay(count, host, "shrink@x.c:30", 4, threads, 1000000 / speedup, spread);
    return count + 1;
}

static struct predict_request request(const struct store_sample *samples, size_t count, const char *arch, const uint32_t *threads,
                                      size_t thread_count)
{
    return (struct predict_request){.manifest = &manifest, .samples = samples, .sample_count = count, .arch = arch,
                                    .threads = threads, .thread_count = thread_count, .seed = 1};
}

static void the_sum(void)
{
    struct store_sample samples[8];
    size_t count = replay_all(samples, 0, "home", 1, 1, 0);
    count = replay_all(samples, count, "home", 4, 4, 0);
    static const uint32_t threads[] = {1, 4};
    struct predict_request asked = request(samples, count, "home", threads, 2);
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.serial_ns, 100000000);
    CU_ASSERT_EQUAL(result.serial_basis, PREDICT_IN_VIVO);
    CU_ASSERT_FALSE(result.foreign);
    CU_ASSERT_EQUAL_FATAL(result.point_count, 2);
    /* at one thread: exactly the original's time */
    CU_ASSERT_EQUAL(result.points[0].time_ns, manifest.wall_ns);
    /* at four: 100 + (90 + 50 + 0.07 + 0.03 + 5.5) / 4 ms: what was not replayed scales like the rest */
    const struct predict_point *four = &result.points[1];
    CU_ASSERT_EQUAL(four->threads, 4);
    CU_ASSERT_EQUAL(four->time_ns, 100000000 + 35000000 + 17500 + 7500 + 1375000);
    CU_ASSERT_EQUAL(four->regions[0].time_ns, 35017500);
    CU_ASSERT_EQUAL(four->regions[0].basis, PREDICT_REPLAY);
    CU_ASSERT_EQUAL(four->regions[0].in_vivo_ns, 17500);
    CU_ASSERT_STRING_EQUAL(four->regions[0].name, "solve@x.c:10");
    CU_ASSERT_EQUAL(four->regions[0].classes[0].weight, 90);
    CU_ASSERT_EQUAL(four->regions[0].classes[0].vitro_ns, 250000);
    CU_ASSERT_EQUAL(four->regions[0].classes[2].basis, PREDICT_SCALED);
    CU_ASSERT_EQUAL(four->regions[1].time_ns, 7500);
    CU_ASSERT_EQUAL(four->regions[1].basis, PREDICT_SCALED);
    CU_ASSERT(four->regions[1].low_ns > 6500 && four->regions[1].low_ns < 9000);     /* it may scale, or not */
    CU_ASSERT(four->regions[1].high_ns > 26000 && four->regions[1].high_ns < 32000);
    CU_ASSERT_EQUAL(four->regions[2].classes[0].weight, 5.5);
    CU_ASSERT_EQUAL(four->regions[2].time_ns, 1375000);
    CU_ASSERT_EQUAL(four->cost_ns, 3000000);
    CU_ASSERT_FALSE(four->has_real);
    CU_ASSERT_TRUE(four->has_acceleration);
    CU_ASSERT_DOUBLE_EQUAL(four->acceleration, 136400000.0 / 3000000, 1e-9);
    CU_ASSERT(four->low_ns < four->time_ns && four->time_ns < four->high_ns);
    predict_result_done(&result);
    CU_ASSERT_STRING_EQUAL(predict_basis_name(PREDICT_IN_VIVO), "in_vivo");
}

static void real_runs(void)
{
    struct store_sample samples[16];
    size_t count = replay_all(samples, 0, "home", 2, 2, 0);
    samples[count++] = run("home", 2, 170000000, 100000000);
    samples[count++] = run("home", 2, 180000000, 100000000);
    samples[count++] = run("home", 2, 175000000, 100000000);
    samples[count++] = run("home", 4, 1, 1);
    samples[count++] = run("away", 2, 1, 1);
    samples[count] = run("home", 2, 7, 7);
    samples[count++].region = (char *)(uintptr_t) "solve@x.c:10";       /* a region's time is not the program's */
    static const uint32_t threads[] = {2};
    struct predict_request asked = request(samples, count, "home", threads, 1);
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    const struct predict_point *point = &result.points[0];
    CU_ASSERT_EQUAL(point->time_ns, 172800000);
    CU_ASSERT_TRUE(point->has_real);
    CU_ASSERT_EQUAL(point->real_ns, 175000000);
    CU_ASSERT_EQUAL(point->real_count, 3);
    CU_ASSERT_DOUBLE_EQUAL(point->error_ratio, 2.2 / 175, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(point->acceleration, 175.0 / 3, 1e-9);
    CU_ASSERT_EQUAL(result.drift_ns, 0);                /* none with the capture's threads */
    /* three runs with a variation of 5 / 175, beside what is assumed */
    CU_ASSERT_DOUBLE_EQUAL(result.run_ratio, sqrt((3 * 0.02 * 0.02 + 2 * 5.0 / 175 * 5.0 / 175) / 5), 1e-9);
    CU_ASSERT_EQUAL(result.run_count, 3);
    predict_result_done(&result);
}

static void which_samples_count(void)
{
    struct store_sample samples[32];
    size_t count = replay_all(samples, 0, "home", 2, 2, 0);
    size_t other = count;
    for (; count < other + 5; count++)
        samples[count] = replay(count, "home", "shrink@x.c:30", 4, 2, 77, 0);
    samples[other].flags = (char *)(uintptr_t) "-O2";
    samples[other + 1].settings = (char *)(uintptr_t) "schedule=dynamic";
    samples[other + 2].host_name = (char *)(uintptr_t) "away";
    samples[other + 3].threads = 3;
    samples[other + 4].warmup = (char *)(uintptr_t) "none";
    samples[other + 4].when_s = 0;                                      /* an older one with another policy */
    static const uint32_t threads[] = {2};
    struct predict_request asked = request(samples, count, "home", threads, 1);
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].regions[2].classes[0].vitro_ns, 500000);
    CU_ASSERT_EQUAL(result.points[0].regions[2].classes[0].process_count, 1);
    CU_ASSERT_EQUAL(result.points[0].cost_ns, 3000000);
    predict_result_done(&result);

    /* The newest sample's policy is the one that counts. */
    samples[other + 4].when_s = 1000;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].regions[2].classes[0].vitro_ns, 77);
    predict_result_done(&result);
    samples[other + 4].when_s = 0;

    /* All processes with that policy count, and their cost. */
    samples[count] = replay(count, "home", "shrink@x.c:30", 4, 2, 600000, 0);
    count++;
    samples[count] = replay(count, "home", "shrink@x.c:30", 4, 2, 510000, 0);
    count++;
    asked.sample_count = count;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].regions[2].classes[0].vitro_ns, 510000);
    CU_ASSERT_EQUAL(result.points[0].regions[2].classes[0].process_count, 3);
    CU_ASSERT_EQUAL(result.points[0].regions[2].classes[0].repetition_count, 27);
    CU_ASSERT_EQUAL(result.points[0].cost_ns, 5000000);
    CU_ASSERT(result.points[0].regions[2].low_ns <= 2760000 && result.points[0].regions[2].high_ns >= 3200000);
    predict_result_done(&result);
}

static void pairs_of_runs(void)
{
    struct store_sample samples[16];
    size_t count = replay_all(samples, 0, "home", 2, 2, 0);
    static const uint64_t walls_ns[] = {100000000, 300000000, 100000000, 300000000, 300000000};
    static const uint32_t threads[] = {2, 4};
    count = replay_all(samples, count, "home", 4, 4, 0);
    for (size_t i = 0; i < 5; i++)
        samples[count++] = run("home", 2, walls_ns[i], 50000000);
    samples[count++] = run("elsewhere", 2, 900000000, 50000000);
    samples[count++] = run("home", 4, 900000000, 50000000);
    struct predict_request asked = request(samples, count, "home", threads, 2);
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].real_pairs, 4);
    CU_ASSERT_DOUBLE_EQUAL(result.points[0].real_pair_ratio, 1, 1e-12);      /* of 1, 1, 1 and 0 */
    CU_ASSERT_EQUAL(result.points[1].real_pairs, 0);
    CU_ASSERT_EQUAL(result.points[1].real_pair_ratio, 0);
    predict_result_done(&result);
}

/* As `manifest`, of a program in which shrink weighs too much to be spared. */
static struct store_manifest manifest_shorter(void)
{
    struct store_manifest shorter = manifest;
    shorter.wall_ns = 130000000;
    return shorter;
}

static void missing_samples(void)
{
    const struct store_manifest shorter = manifest_shorter();
    struct store_sample samples[16];
    size_t count = replay_all(samples, 0, "home", 1, 1, 0);
    count = replay_all(samples, count, "home", 4, 4, 0) - 1;            /* shrink is missing at 4, everything at 2 and 8 */
    static const uint32_t threads[] = {1, 2, 4, 8};
    struct predict_request asked = request(samples, count, "home", threads, 4);
    asked.store_name = "x.pcere";
    asked.manifest = &shorter;
    struct predict_result result = {.serial_ns = 99};
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL(predict_run(&asked, &result, &error), PCERE_DATA);
    CU_ASSERT_STRING_EQUAL(error.message, "invocation 7 of solve@x.c:10 was not replayed with 2 threads on 'home' (and 6 more)");
    CU_ASSERT_STRING_EQUAL(error.hint, "on home: pcere replay x.pcere --threads 2,4,8");
    asked.thread_count = 1;
    asked.threads = threads + 2;
    asked.store_name = NULL;
    CU_ASSERT_EQUAL(predict_run(&asked, &result, &error), PCERE_DATA);
    CU_ASSERT_STRING_EQUAL(error.message, "invocation 4 of shrink@x.c:30 was not replayed with 4 threads on 'home'");
    CU_ASSERT_STRING_EQUAL(error.hint, "on home: pcere replay --threads 4");
    asked.flags = "-O2";
    CU_ASSERT_EQUAL(predict_run(&asked, &result, &error), PCERE_DATA);
    CU_ASSERT_STRING_EQUAL(error.hint, "on home: pcere replay --flags '-O2' --threads 4");
    CU_ASSERT_EQUAL(result.serial_ns, 99);
}

static void parts_that_are_missing(void)
{
    struct store_sample samples[16];
    size_t count = replay_all(samples, 0, "home", 1, 1, 0);
    count = replay_all(samples, count, "home", 4, 4, 0);
    for (size_t i = 0; i < count; i++)       /* solve #12, 50 ms in vivo, failed at both */
        if (samples[i].representative == 12)
            samples[i--] = samples[--count];
    static const uint32_t threads[] = {1, 4, 8};
    struct predict_request asked = request(samples, count, "home", threads, 2);
    struct predict_result result;
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL(predict_run(&asked, &result, &error), PCERE_DATA);
    asked.partial = true;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    const struct predict_point *one = &result.points[0], *four = &result.points[1];
    CU_ASSERT_EQUAL(one->time_ns, manifest.wall_ns);             /* as in vivo */
    CU_ASSERT_EQUAL(one->missing_count, 1);
    CU_ASSERT_EQUAL(one->missing_ns, 50000000);
    CU_ASSERT_TRUE(one->regions[0].classes[1].missing);
    CU_ASSERT_FALSE(one->regions[0].classes[0].missing);
    CU_ASSERT_FALSE(one->regions[0].classes[2].missing);         /* was never to be replayed */
    CU_ASSERT_EQUAL(one->regions[0].classes[1].basis, PREDICT_IN_VIVO);
    CU_ASSERT_EQUAL(one->regions[0].basis, PREDICT_REPLAY);
    CU_ASSERT_EQUAL(four->regions[0].classes[1].basis, PREDICT_SCALED);
    CU_ASSERT_EQUAL(four->missing_ns, 12500000);                 /* as the rest of its region scales */
    CU_ASSERT_EQUAL(four->parts_ns[PREDICT_REPLAY], 90000000 / 4 + 5500000 / 4);
    CU_ASSERT_EQUAL(four->parts_ns[PREDICT_SCALED], 12500000 + 17500 + 7500);
    CU_ASSERT_EQUAL(four->parts_ns[PREDICT_IN_VIVO], 0);
    uint64_t sum_ns = four->serial_ns + four->start_ns;
    for (size_t b = 0; b < PREDICT_BASES; b++)
        sum_ns += four->parts_ns[b];
    CU_ASSERT_EQUAL(sum_ns, four->time_ns);
    /* from perfect scaling to none */
    CU_ASSERT(four->regions[0].high_ns > four->regions[0].time_ns + 20000000);
    predict_result_done(&result);
    const struct store_manifest shorter = manifest_shorter();
    asked.manifest = &shorter;
    asked.thread_count = 3;                                      /* with eight nothing was replayed: nothing is known */
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, &error), PCERE_OK);
    CU_ASSERT_EQUAL(result.point_count, 2);
    CU_ASSERT_EQUAL_FATAL(result.absent_count, 1);
    CU_ASSERT_EQUAL(result.absent[0].threads, 8);
    CU_ASSERT_STRING_EQUAL(result.absent[0].why.message, "invocation 7 of solve@x.c:10 was not replayed with 8 threads on 'home' (and 4 more)");
    CU_ASSERT_STRING_EQUAL(result.absent[0].why.hint, "on home: pcere replay --threads 1,4,8");
    predict_result_done(&result);
}

static void thread_counts_without_replays(void)
{
    struct store_sample samples[16];
    size_t count = replay_all(samples, 0, "home", 1, 1, 0.1);
    count = replay_all(samples, count, "home", 4, 4, 0.1);
    static const uint32_t known[] = {1, 4}, mixed[] = {16, 1, 8, 4, 2}, unknown[] = {8, 2};
    struct predict_request asked = request(samples, count, "home", known, 2);
    struct predict_result with, without;
    struct pcere_error error = {0};
    asked.partial = true;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &without, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(without.absent_count, 0);
    asked.threads = mixed;
    asked.thread_count = 5;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &with, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(with.point_count, 2);
    CU_ASSERT_EQUAL_FATAL(with.absent_count, 3);
    for (size_t i = 0; i < 2; i++) {                             /* they are what they are without the others, to the last draw */
        CU_ASSERT_EQUAL(with.points[i].threads, known[i]);
        CU_ASSERT_EQUAL(with.points[i].time_ns, without.points[i].time_ns);
        CU_ASSERT_EQUAL(with.points[i].low_ns, without.points[i].low_ns);
        CU_ASSERT_EQUAL(with.points[i].high_ns, without.points[i].high_ns);
    }
    CU_ASSERT_EQUAL(with.absent[0].threads, 16);
    CU_ASSERT_EQUAL(with.absent[2].threads, 2);
    CU_ASSERT_STRING_EQUAL(with.absent[1].why.hint, "on home: pcere replay --threads 16,8,2");
    predict_result_done(&with);
    predict_result_done(&without);
    asked.threads = unknown;
    asked.thread_count = 2;
    CU_ASSERT_EQUAL(predict_run(&asked, &with, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "with 8 threads"));
    asked.threads = mixed;
    asked.thread_count = 5;
    asked.partial = false;                                       /* all or nothing */
    CU_ASSERT_EQUAL(predict_run(&asked, &with, &error), PCERE_DATA);
}

static void serial_part_that_changes(void)
{
    struct store_sample samples[16];
    size_t count = replay_all(samples, 0, "home", 1, 1, 0);
    count = replay_all(samples, count, "home", 4, 4, 0);
    static const uint32_t threads[] = {1, 4};
    struct predict_request asked = request(samples, count, "home", threads, 2);
    struct predict_result without, with;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &without, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(without.points[1].real_serial_ns, 0);
    samples[count++] = run("home", 4, 436000000, 400000000);
    asked.sample_count = count;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &with, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(with.points[1].real_serial_ns, 400000000);
    CU_ASSERT_DOUBLE_EQUAL(with.points[1].serial_change_ratio, 3, 1e-9);       /* against the captured run */
    CU_ASSERT_EQUAL(with.points[1].time_ns, without.points[1].time_ns);        /* it is told, not believed */
    CU_ASSERT(with.points[1].high_ns > 400000000 && without.points[1].high_ns < 200000000);
    predict_result_done(&with);
    samples[count++] = run("home", 1, 545600000, 400000000);                   /* the machine is another now, at all thread counts */
    asked.sample_count = count;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &with, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(with.points[1].serial_change_ratio, 0);
    CU_ASSERT(with.points[1].high_ns < 200000000);
    CU_ASSERT_EQUAL(with.points[0].serial_change_ratio, 0);
    predict_result_done(&without);
    predict_result_done(&with);
}

/* With four threads the program enters a region that it leaves out with one. */
static void regions_that_the_capture_lacks(void)
{
    struct store_sample samples[20];
    size_t count = replay_all(samples, 0, "home", 1, 1, 0);
    count = replay_all(samples, count, "home", 4, 4, 0);
    static const uint32_t threads[] = {1, 4};
    struct predict_request asked = request(samples, count, "home", threads, 2);
    struct predict_result without, with;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &without, NULL), PCERE_OK);
    static uint64_t half_ns = 250000000, known_ns = 30000000, short_ns = 1000000;
    for (size_t i = 0; i < 2; i++) {
        samples[count++] = run("home", 4, 636000000, 100000000);
        samples[count] = run("home", 4, 0, 0);
        samples[count].region = (char *)(uintptr_t) "several@b.c:3";
        samples[count].samples_ns = &half_ns;
        samples[count++].sample_count = 1;
    }
    samples[count] = samples[count - 1];
    samples[count].region = (char *)(uintptr_t) "short@b.c:9";
    samples[count++].samples_ns = &short_ns;
    samples[count] = samples[count - 1];
    samples[count].region = (char *)(uintptr_t)asked.manifest->regions[0].name;
    samples[count++].samples_ns = &known_ns;
    asked.sample_count = count;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &with, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(with.points[0].strange_ns, 0);
    CU_ASSERT_PTR_NULL(with.points[0].strange_most);
    CU_ASSERT_EQUAL(with.points[1].strange_ns, 250500000);
    CU_ASSERT_EQUAL(with.points[1].strange_count, 2);
    CU_ASSERT_STRING_EQUAL(with.points[1].strange_most, "several@b.c:3");
    CU_ASSERT_EQUAL(with.points[1].time_ns, without.points[1].time_ns);        /* it is told, not believed */
    CU_ASSERT(with.points[1].high_ns > without.points[1].high_ns + 200000000);
    predict_result_done(&with);
    asked.measured_serial = true;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &with, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(with.points[1].serial_ns, 350500000);
    predict_result_done(&without);
    predict_result_done(&with);
}

static void runs_that_differ_much(void)
{
    struct store_sample samples[16];
    size_t count = replay_all(samples, 0, "home", 1, 1, 0);
    static const uint32_t threads[] = {1};
    for (size_t i = 0; i < 6; i++)
        samples[count++] = run("home", 1, i % 2 ? 100000000 : 1000000000, 50000000);
    struct predict_request asked = request(samples, count, "home", threads, 1);
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT(result.run_ratio > 0.5);
    CU_ASSERT(result.points[0].low_ns > 10000000);
    for (size_t r = 0; r < result.points[0].region_count; r++)
        CU_ASSERT(result.points[0].regions[r].low_ns > 0);
    predict_result_done(&result);
}

static void unknown_host(void)
{
    struct store_sample samples[8];
    size_t count = replay_all(samples, 0, "haswell", 1, 1, 0);
    static const uint32_t threads[] = {1};
    struct predict_request asked = request(samples, count, "sandybridge", threads, 1);
    struct predict_result result;
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL(predict_run(&asked, &result, &error), PCERE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "'sandybridge'"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.hint, "home, haswell;"));
    /* the capturing host is known, but has no replays */
    asked.arch = "home";
    CU_ASSERT_EQUAL(predict_run(&asked, &result, &error), PCERE_DATA);
}

static void another_machine(void)
{
    struct store_sample samples[8];
    size_t count = replay_all(samples, 0, "sandybridge", 2, 4, 0);
    static const uint32_t threads[] = {2};
    struct predict_request asked = request(samples, count, "sandybridge", threads, 1);
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_TRUE(result.foreign);
    CU_ASSERT_EQUAL(result.serial_ns, 100000000);
    CU_ASSERT_EQUAL(result.serial_basis, PREDICT_IN_VIVO);
    predict_result_done(&result);
    samples[count++] = run("sandybridge", 8, 60000000, 45000000);
    samples[count++] = run("sandybridge", 1, 120000000, 40000000);
    asked.sample_count = count;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.serial_ns, 40000000);                         /* of the run with the fewest threads */
    CU_ASSERT_EQUAL(result.serial_basis, PREDICT_RUN);
    CU_ASSERT_EQUAL(result.points[0].time_ns, 40000000 + 35000000 + 17500 + 7500 + 1375000);
    CU_ASSERT_FALSE(result.points[0].has_real);
    predict_result_done(&result);
}

static double width_ms(const struct store_sample *samples, size_t count)
{
    static const uint32_t threads[] = {2};
    struct predict_request asked = request(samples, count, "home", threads, 1);
    struct predict_result result, again;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &again, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].low_ns, again.points[0].low_ns);
    CU_ASSERT_EQUAL(result.points[0].high_ns, again.points[0].high_ns);
    CU_ASSERT_EQUAL(result.points[0].time_ns, 172800000);        /* whatever varies */
    double width = (double)(result.points[0].high_ns - result.points[0].low_ns) / 1e6;
    predict_result_done(&result);
    predict_result_done(&again);
    return width;
}

static double hypotenuse(const double *sides, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += sides[i] * sides[i];
    return sqrt(sum);
}

/* Classes of 45, 25 and 2.75 ms, 100 ms of serial part. */
static void intervals(void)
{
    enum { RUNS = 60 };
    struct store_sample samples[3 + RUNS];
    replay_all(samples, 0, "home", 2, 2, 0.001);
    for (size_t i = 0; i < 3; i++)
        samples[i].has_residual = true;
    /* at another thread count than the capture's a residual of 0 is not believed */
    const double assumed[] = {0.02 * 45, 0.02 * 25, 0.02 * 2.75, 0.05 * 100, sqrt(2) * 0.02 * 172.8, 0.03 * 72.75, 0.03 * 45, 0.03 * 25};
    CU_ASSERT_DOUBLE_EQUAL(width_ms(samples, 3), 2 * 1.96 * hypotenuse(assumed, 8), 2.5);
    /* sixty runs that do not differ outweigh what is assumed */
    for (size_t i = 0; i < RUNS; i++)
        samples[3 + i] = run("home", 4, 90000000, 50000000);
    double quiet = sqrt(3 * 0.02 * 0.02 / (3 + RUNS - 1));
    const double known[] = {0.02 * 45, 0.02 * 25, 0.02 * 2.75, 0.05 * 100, sqrt(2) * quiet * 172.8, 0.03 * 72.75, 0.03 * 45, 0.03 * 25};
    double narrow = width_ms(samples, 3 + RUNS);
    CU_ASSERT_DOUBLE_EQUAL(narrow, 2 * 1.96 * hypotenuse(known, 8), 2);
    /* residuals of two classes in one direction add up */
    samples[0].residual_ratio = -0.3;
    samples[1].residual_ratio = -0.2;
    const double slow = -log1p(-0.3) * 45, slower = -log1p(-0.2) * 25;
    const double off[] = {0.02 * 45, 0.02 * 25, 0.02 * 2.75, 0.05 * 100, sqrt(2) * quiet * 172.85, slow + slower, slow, slower};
    double wide = width_ms(samples, 3 + RUNS);
    CU_ASSERT_DOUBLE_EQUAL(wide, 2 * 1.96 * hypotenuse(off, 8), 20);         /* factors that large are not normal */
    /* of both signs they make up for each other */
    samples[1].residual_ratio = 0.2;
    CU_ASSERT(width_ms(samples, 3 + RUNS) < 0.95 * wide);
    samples[0].residual_ratio = samples[1].residual_ratio = 0;
    replay_all(samples, 0, "home", 2, 2, 0.3);
    CU_ASSERT(width_ms(samples, 3 + RUNS) > 1.1 * narrow);
}

/* Five invocations of 6 us in vivo, not replayed; what was replayed runs four times as fast. A fork takes 0.5 us with one thread, 3 us with four. */
static void fork_and_join(void)
{
    static const uint32_t threads[] = {4};
    struct store_sample samples[6];
    size_t count = replay_all(samples, 0, "home", 1, 1, 0);
    count = replay_all(samples, count, "home", 4, 4, 0);
    for (size_t i = 0; i < count; i++)
        samples[i].fork_ns = samples[i].threads == 1 ? 500 : 3000;
    struct predict_request asked = request(samples, count, "home", threads, 1);
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    const struct predict_region *tiny = &result.points[0].regions[1], *shrink = &result.points[0].regions[2];
    CU_ASSERT_DOUBLE_EQUAL((double)tiny->time_ns, 5 * 3000 + (30000 - 5 * 500) * 0.25, 100);
    /* ten members that take 5.5 times what the first takes, each forked and joined: 1 ms in vivo is 0.25 ms in vitro */
    CU_ASSERT_DOUBLE_EQUAL((double)shrink->time_ns, 10 * 3000 + (5500000 - 10 * 500) * (250000.0 - 3000) / (1000000 - 500), 2);
    predict_result_done(&result);
}

/* A new team's last thread begins 2 ms late: once, at other threads than the capture's, and there if the first region was replayed. */
static void the_team_starts_once(void)
{
    static const uint32_t threads[] = {1, 4};
    struct store_sample samples[6];
    size_t count = replay_all(samples, 0, "home", 1, 1, 0);
    count = replay_all(samples, count, "home", 4, 4, 0);
    struct predict_request asked = request(samples, count, "home", threads, 2);
    struct predict_result without, with;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &without, NULL), PCERE_OK);
    samples[3].start_ns = 1900000;
    samples[4].start_ns = 2000000;
    samples[5].start_ns = 6000000;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &with, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(with.points[0].time_ns, without.points[0].time_ns);
    CU_ASSERT_EQUAL(with.points[1].start_ns, 2000000);
    CU_ASSERT_EQUAL(with.points[1].time_ns, without.points[1].time_ns + 2000000);
    predict_result_done(&without);
    predict_result_done(&with);
}

/* At one thread 100 ms outside regions; real runs have 120 ms with two threads and 140 ms with four. */
static void serial_parts_of_real_runs(void)
{
    static const uint32_t threads[] = {2, 3, 8};
    struct store_sample samples[11];
    size_t count = 0;
    for (size_t t = 0; t < 3; t++)
        count = replay_all(samples, count, "home", threads[t], threads[t], 0);
    samples[count++] = run("home", 2, 200000000, 120000000);
    samples[count++] = run("home", 4, 180000000, 140000000);
    struct predict_request asked = request(samples, count, "home", threads, 3);
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].serial_ns, 100000000);
    CU_ASSERT_EQUAL(result.points[0].serial_basis, PREDICT_IN_VIVO);
    uint64_t before_ns = result.points[1].time_ns;
    predict_result_done(&result);
    asked.measured_serial = true;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].serial_ns, 120000000);
    CU_ASSERT_EQUAL(result.points[1].serial_ns, 130000000);
    CU_ASSERT_EQUAL(result.points[1].time_ns, before_ns + 30000000);
    CU_ASSERT_EQUAL(result.points[2].serial_ns, 140000000);
    CU_ASSERT_EQUAL(result.points[2].serial_basis, PREDICT_RUN);
    predict_result_done(&result);
}

/* In real runs with four threads the ninety take 1.5 times what those do that are like the representative. */
static void classes_that_do_not_hold(void)
{
    static const uint32_t threads[] = {4};
    struct store_sample samples[4];
    size_t count = replay_all(samples, 0, "home", 4, 4, 0);
    struct predict_request asked = request(samples, count, "home", threads, 1);
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    uint64_t time_ns = result.points[0].time_ns, high_ns = result.points[0].regions[0].high_ns;
    CU_ASSERT_DOUBLE_EQUAL(result.points[0].regions[0].classes[0].members_ratio, 1, 1e-12);
    CU_ASSERT(high_ns < 42000000);
    predict_result_done(&result);
    uint64_t pair[] = {375000, 250000};
    samples[count] = samples[0];
    samples[count].kind = (char *)(uintptr_t) "members";
    samples[count].samples_ns = pair;
    samples[count].sample_count = 2;
    asked.sample_count = count + 1;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].time_ns, time_ns);
    CU_ASSERT_DOUBLE_EQUAL(result.points[0].regions[0].classes[0].members_ratio, 1.5, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(result.points[0].regions[0].classes[1].members_ratio, 1, 1e-12);
    CU_ASSERT(result.points[0].regions[0].high_ns > 45000000);       /* 35 ms and half of 22.5 ms */
    predict_result_done(&result);
}

/* softmax of a transformer at two threads: its representative lost its processor in the real run, 7.8 ms for 1.8. So it was told that all others take 0.29 times what it says. */
static void runs_that_waited_do_not_judge_classes(void)
{
    static const uint32_t threads[] = {4};
    struct store_sample samples[8], run;
    size_t count = replay_all(samples, 0, "home", 4, 4, 0);
    uint64_t waited[] = {50000000}, quiet[] = {9000000}, wall[] = {100000000}, false_pair[] = {72500, 250000}, pair[] = {375000, 250000};
    char none[] = "";
    run = (struct store_sample){.kind = "run", .host_name = "home", .threads = 4, .flags = none, .settings = none, .samples_ns = wall, .sample_count = 1, .wall_ns = 100000000, .waits_ns = waited};
    samples[count] = run;
    samples[count + 1] = samples[0];
    samples[count + 1].kind = (char *)(uintptr_t) "members";
    samples[count + 1].samples_ns = false_pair;
    samples[count + 1].sample_count = 2;
    struct predict_request asked = request(samples, count + 2, "home", threads, 1);
    const struct store_class *class = &regions[0].classes[0];
    double values[8];
    CU_ASSERT_EQUAL(replays_members(&asked, samples[0].region, class, 4, values), 0);
    samples[count].threads = 2;                                         /* it says nothing of runs with four */
    CU_ASSERT_DOUBLE_EQUAL(replays_members(&asked, samples[0].region, class, 4, values), 0.29, 1e-9);
    samples[count].threads = 4;
    run.waits_ns = quiet;
    samples[count + 2] = run;                                           /* behind it another one, that tells */
    samples[count + 3] = samples[count + 1];
    samples[count + 3].samples_ns = pair;
    asked.sample_count = count + 4;
    CU_ASSERT_DOUBLE_EQUAL(replays_members(&asked, samples[0].region, class, 4, values), 1.5, 1e-9);
}

/* Under lasting load the clock of four busy cores is a fifth lower than in a replay. */
static void a_clock_that_falls(void)
{
    static const uint32_t threads[] = {1, 4};
    static const double falls[] = {1, 1.25};
    struct store_sample samples[6];
    size_t count = replay_all(samples, 0, "home", 1, 1, 0);
    count = replay_all(samples, count, "home", 4, 1, 0);                     /* no faster with four, so that the program is long enough */
    struct predict_request asked = request(samples, count, "home", threads, 2);
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    uint64_t time_ns = result.points[1].time_ns, one_ns = result.points[0].time_ns, high_ns = result.points[1].high_ns;
    CU_ASSERT_EQUAL(result.points[1].clock_ns, 0);
    CU_ASSERT_DOUBLE_EQUAL(result.points[1].clock_falls, 1, 1e-12);
    predict_result_done(&result);
    asked.clock_falls = falls;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].time_ns, one_ns);
    CU_ASSERT_EQUAL(result.points[0].clock_ns, 0);
    uint64_t replayed_ns = result.points[1].parts_ns[PREDICT_REPLAY];
    CU_ASSERT_EQUAL(replayed_ns, 145500000);
    CU_ASSERT_EQUAL(result.points[1].clock_ns, replayed_ns / 8);             /* half of a quarter */
    CU_ASSERT_EQUAL(result.points[1].time_ns, time_ns + replayed_ns / 8);
    CU_ASSERT_DOUBLE_EQUAL(result.points[1].clock_falls, 1.25, 1e-12);
    CU_ASSERT(result.points[1].high_ns > high_ns + replayed_ns / 8);
    predict_result_done(&result);
    struct store_sample fast[3];
    asked.sample_count = replay_all(fast, 0, "home", 4, 4, 0);               /* 136 ms: over before the clock falls */
    asked.samples = fast;
    asked.threads = &threads[1];
    asked.clock_falls = &falls[1];
    asked.thread_count = 1;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].clock_ns, 0);
    predict_result_done(&result);
}

/* The codelet of the ninety took 400 % more than they did in the program: it is no measure of them. */
static void a_codelet_unlike_its_class(void)
{
    static const uint32_t threads[] = {1, 4};
    struct store_sample samples[6];
    size_t count = replay_all(samples, 0, "home", 1, 1, 0);
    count = replay_all(samples, count, "home", 4, 4, 0);
    for (size_t i = 0; i < count; i += 3) {
        for (size_t j = 0; j < REPEAT; j++)
            samples[i].samples_ns[j] *= 5;
        samples[i].has_residual = true;
        samples[i].residual_ratio = 4;
    }
    struct predict_request asked = request(samples, count, "home", threads, 2);
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].time_ns, manifest.wall_ns);
    CU_ASSERT_EQUAL(result.points[0].regions[0].classes[0].basis, PREDICT_IN_VIVO);
    CU_ASSERT_EQUAL(result.points[0].regions[0].classes[0].alien_ratio, 4);
    CU_ASSERT_EQUAL(result.points[0].regions[0].classes[1].alien_ratio, 0);
    CU_ASSERT_EQUAL(result.points[1].regions[0].classes[0].basis, PREDICT_SCALED);
    CU_ASSERT_EQUAL(result.points[1].regions[0].classes[0].time_ns, 90000000 / 4);
    CU_ASSERT_EQUAL(result.points[1].regions[0].classes[1].basis, PREDICT_REPLAY);
    CU_ASSERT_EQUAL(result.points[1].cost_ns, 3000000);
    predict_result_done(&result);
    samples[3].has_residual = false;        /* nothing in vivo was compared with what four threads took: those of one tell all the same */
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[1].regions[0].classes[0].alien_ratio, 4);
    CU_ASSERT_EQUAL(result.points[1].regions[0].classes[0].time_ns, 90000000 / 4);
    predict_result_done(&result);
}

/* One invocation, of which a stop made 50 ms in vivo where it takes 10: its codelet is that invocation, and nothing makes it faster than it is. But input and
 * output are not the replay's own, others of its class may be slower, and one that is slower in vitro says nothing of a stop. */
static void a_codelet_faster_than_its_one_invocation(void)
{
    static const uint32_t threads[] = {1};
    const struct { uint64_t members; char *io; double residual_ratio; enum predict_basis basis; } cases[] = {
        {1, NULL, -0.8, PREDICT_REPLAY}, {1, (char []){"reads x"}, -0.8, PREDICT_IN_VIVO}, {2, NULL, -0.8, PREDICT_IN_VIVO}, {1, NULL, 2.5, PREDICT_IN_VIVO}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct store_class class = {.representative = 1, .members = cases[i].members, .time_ns = 50000000, .time_ns_median = 50000000 / cases[i].members,
                                    .representative_ns = 50000000 / cases[i].members, .captured = true, .io = cases[i].io};
        struct store_region once = {.name = "once@x.c:1", .invocations = class.members, .time_ns = class.time_ns, .status = "captured", .classes = &class, .class_count = 1};
        struct store_manifest own = {.complete = true, .host = HOME, .threads = 1, .wall_ns = 51000000, .serial_ns = 1000000, .regions = &once, .region_count = 1};
        struct store_sample sample = replay(0, "home", "once@x.c:1", 1, 1, 10000000, 0);
        sample.has_residual = true;
        sample.residual_ratio = cases[i].residual_ratio;
        struct predict_request asked = request(&sample, 1, "home", threads, 1);
        asked.manifest = &own;
        struct predict_result result;
        CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
        CU_ASSERT_EQUAL(result.points[0].regions[0].classes[0].basis, cases[i].basis);
        CU_ASSERT_EQUAL(result.points[0].time_ns, cases[i].basis == PREDICT_REPLAY ? 11000000 : 51000000);
        predict_result_done(&result);
    }
}

/* Eight invocations of 47 ms, of which the captured one took 54 in vivo. Its codelet tells whether that was its work or the machine. */
static void members_count_by_what_the_codelet_takes(void)
{
    static const uint32_t threads[] = {1};
    const struct { bool compared; uint64_t representative_ns, vitro_ns; double members; } cases[] = {
        {true, 54000000, 46000000, 8}, {true, 54000000, 53000000, 8 * 47.0 / 54}, {false, 54000000, 46000000, 8 * 47.0 / 54},
        {true, 60000000, 46000000, 8 * 47.0 / 60}};       /* so far off that it is degree */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t own_ns = cases[i].representative_ns, vitro_ns = cases[i].vitro_ns;
        struct store_class class = {.representative = 8, .members = 8, .time_ns = 8 * 47000000, .time_ns_median = 47000000, .representative_ns = own_ns, .captured = true};
        struct store_region region = {.name = "often@x.c:1", .invocations = 8, .time_ns = class.time_ns, .status = "captured", .classes = &class, .class_count = 1};
        struct store_manifest own = {.complete = true, .host = HOME, .threads = 1, .wall_ns = 377000000, .serial_ns = 1000000, .regions = &region, .region_count = 1};
        struct store_sample sample = replay(0, "home", "often@x.c:1", 8, 1, vitro_ns, 0);
        sample.has_residual = cases[i].compared;
        sample.residual_ratio = (double)vitro_ns / (double)own_ns - 1;
        struct predict_request asked = request(&sample, 1, "home", threads, 1);
        asked.manifest = &own;
        struct predict_result result;
        CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
        CU_ASSERT_DOUBLE_EQUAL(result.points[0].regions[0].classes[0].weight, cases[i].members, 1e-3);
        predict_result_done(&result);
    }
}

static void one_region_is_compared_with_itself(void)
{
    static const uint32_t threads[] = {2};
    struct store_sample samples[3];
    replay_all(samples, 0, "home", 2, 2, 0.001);
    for (size_t i = 0; i < 3; i++) {
        samples[i].has_residual = true;
        samples[i].residual_ratio = -0.4;
    }
    struct predict_request asked = request(samples, 3, "home", threads, 1);
    struct predict_region region;
    uint64_t cost_ns;
    CU_ASSERT_EQUAL_FATAL(predict_one_region(&asked, 2, &region, &cost_ns, NULL), PCERE_OK);
    CU_ASSERT_DOUBLE_EQUAL((double)(region.high_ns - region.low_ns), 2 * 1.96 * STATISTICS_PROCESS_RATIO * 2.75e6, 4e4);
    free(region.classes);
}

/* What the whole program can do without tells nothing of the region itself. */
static void a_light_region_by_itself(void)
{
    static struct store_class classes[] = {{.representative = 2, .members = 5, .time_ns = 50000, .time_ns_median = 10000, .representative_ns = 10000, .captured = true}};
    static const uint32_t threads[] = {2};
    struct store_region with_light[] = {regions[0], regions[1], regions[2],
        {.name = "light@x.c:40", .invocations = 5, .time_ns = 50000, .status = "captured", .classes = classes, .class_count = 1}};
    struct store_manifest own = manifest;
    own.regions = with_light;
    own.region_count = 4;
    struct store_sample samples[4];
    size_t count = replay_all(samples, 0, "home", 2, 2, 0);
    struct predict_request asked = request(samples, count, "home", threads, 1);
    asked.manifest = &own;
    struct predict_result result;
    struct predict_region region;
    uint64_t cost_ns;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].regions[3].basis, PREDICT_SCALED);
    predict_result_done(&result);
    CU_ASSERT_EQUAL(predict_one_region(&asked, 3, &region, &cost_ns, NULL), PCERE_DATA);
    samples[count++] = replay(3, "home", "light@x.c:40", 2, 2, 7000, 0);
    asked.sample_count = count;
    CU_ASSERT_EQUAL_FATAL(predict_one_region(&asked, 3, &region, &cost_ns, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(region.time_ns, 35000);
    free(region.classes);
}

/* It ran once: at the capture's number of threads its time in vivo is the prediction, on that machine and of that code; where it would weigh less than a 32nd even if it did not scale, it
 * scales as the others; elsewhere it has to be replayed. */
static void what_is_known_where_it_was_captured(void)
{
    static struct store_class classes[] = {{.representative = 1, .members = 1, .time_ns = 60000000, .time_ns_median = 60000000, .representative_ns = 60000000, .captured = true}};
    static const uint32_t threads[] = {1, 2, 4};
    struct store_region with_known[] = {regions[0], regions[1], regions[2],
        {.name = "once@x.c:50", .invocations = 1, .time_ns = 60000000, .status = "captured", .classes = classes, .class_count = 1}};
    struct store_manifest own = manifest;
    own.regions = with_known;
    own.region_count = 4;
    own.wall_ns = UINT64_C(5000000000);
    struct store_sample samples[18];
    size_t count = replay_all(samples, 0, "home", 1, 2, 0);
    count = replay_all(samples, count, "home", 2, 2, 0);
    count = replay_all(samples, count, "home", 4, 2, 0);
    struct predict_request asked = request(samples, count, "home", threads, 1);
    asked.manifest = &own;
    struct predict_result result;
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].regions[3].basis, PREDICT_IN_VIVO);
    CU_ASSERT_EQUAL(result.points[0].regions[3].time_ns, 60000000);
    predict_result_done(&result);
    asked.thread_count = 2;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[1].regions[3].basis, PREDICT_SCALED);
    CU_ASSERT_TRUE(result.points[1].regions[3].time_ns > 0 && result.points[1].regions[3].time_ns <= 60000000);
    predict_result_done(&result);
    asked.thread_count = 3;
    CU_ASSERT_EQUAL(predict_run(&asked, &result, &error), PCERE_DATA);
    CU_ASSERT(strstr(error.message, "once@x.c:50") && strstr(error.hint, "--threads 4"));
    asked.thread_count = 1;
    asked.flags = "-O1";
    for (size_t i = 0; i < count; i++)
        samples[i].flags = (char *)(uintptr_t) "-O1";
    CU_ASSERT_EQUAL(predict_run(&asked, &result, &error), PCERE_DATA);
    asked.flags = NULL;
    asked.arch = "away";
    for (size_t i = 0; i < count; i++) {
        samples[i].flags = (char *)(uintptr_t) "";
        samples[i].host_name = (char *)(uintptr_t) "away";
    }
    CU_ASSERT_EQUAL(predict_run(&asked, &result, &error), PCERE_DATA);
}

static double normal_about(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(random_next(state) >> 11) * 0x1p-53;
    return sum;
}

/* Many made-up machines whose processes, sessions and runs differ by 2 %: the interval must hold a real run nearly as often as it says. */
static void intervals_cover(void)
{
    static const uint32_t threads[] = {2};
    uint64_t state = 3;
    for (size_t processes = 1; processes <= 6; processes++) {
        size_t covered = 0, tried = 150;
        for (size_t t = 0; t < tried; t++) {
            struct store_sample samples[18];
            double session = 1 + 0.02 * normal_about(&state), real_ns = 172800000 * (1 + 0.02 * normal_about(&state));
            for (size_t s = 0; s < 3 * processes; s += 3) {
                replay_all(samples, s, "home", 2, 2, 0.01);
                for (size_t c = s; c < s + 3; c++) {
                    double offset = normal_about(&state);
                    samples[c].has_residual = true;
                    for (size_t i = 0; i < REPEAT; i++)
                        repetitions[c][i] = (uint64_t)((double)repetitions[c][i] * (1 + 0.02 * offset) * session);
                }
            }
            struct predict_request asked = request(samples, 3 * processes, "home", threads, 1);
            struct predict_result result;
            CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
            covered += (double)result.points[0].low_ns <= real_ns && real_ns <= (double)result.points[0].high_ns;
            predict_result_done(&result);
        }
        printf("[%zu: %zu %%] ", processes, 100 * covered / tried);
        CU_ASSERT(100 * covered >= 90 * tried);
    }
}

static void nothing_captured(void)
{
    static const uint32_t threads[] = {1, 16};
    struct store_region kept[] = {{.name = "a@x.c:1", .time_ns = 5000, .status = "invalid", .reason = "it forks"},
                                  {.name = "b@x.c:2", .time_ns = 0, .status = NULL}};
    struct store_manifest other = {.host = HOME, .serial_ns = 1000, .regions = kept, .region_count = 2};
    struct predict_request asked = {.manifest = &other, .arch = "home", .threads = threads, .thread_count = 2};
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    for (size_t p = 0; p < 2; p++) {
        CU_ASSERT_EQUAL(result.points[p].time_ns, 6000);
        CU_ASSERT(result.points[p].low_ns < 6000 && result.points[p].low_ns > 900);
        CU_ASSERT_EQUAL(result.points[p].regions[0].basis, PREDICT_IN_VIVO);
        CU_ASSERT_FALSE(result.points[p].has_acceleration);
    }
    predict_result_done(&result);
    other.region_count = 0;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[1].time_ns, 1000);
    predict_result_done(&result);
}

static void nested_regions(void)
{
    static const uint32_t threads[] = {2};
    struct store_class mixed[] = {
        {.representative = 1, .members = 2, .time_ns = 8000, .time_ns_median = 4000, .representative_ns = 4000, .captured = true},
        {.representative = 3, .members = 9, .time_ns = 5000, .time_ns_median = 500, .representative_ns = 500, .captured = true, .nested = true},
    };
    struct store_class inner[] = {
        {.representative = 5, .members = 7, .time_ns = 700, .time_ns_median = 100, .representative_ns = 100, .captured = true, .nested = true},
    };
    struct store_region nesting[] = {
        {.name = "solve@x.c:10", .invocations = 11, .time_ns = 8000, .nested = 9, .nested_ns = 5000, .parent = "solve@x.c:10",
         .status = "captured", .classes = mixed, .class_count = 2},
        {.name = "inner@x.c:50", .invocations = 7, .nested = 7, .nested_ns = 700, .parent = "solve@x.c:10", .status = "captured",
         .classes = inner, .class_count = 1},
    };
    struct store_manifest other = {.complete = true, .host = HOME, .threads = 1, .wall_ns = 9000, .serial_ns = 1000, .regions = nesting,
                                   .region_count = 2};
    struct store_sample sample = replay(0, "home", "solve@x.c:10", 1, 2, 3000, 0);
    struct predict_request asked = {.manifest = &other, .samples = &sample, .sample_count = 1, .arch = "home", .threads = threads,
                                    .thread_count = 1};
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    const struct predict_point *two = &result.points[0];
    CU_ASSERT_EQUAL(two->time_ns, 1000 + 2 * 3000);
    CU_ASSERT_EQUAL(two->regions[0].basis, PREDICT_REPLAY);
    CU_ASSERT_EQUAL(two->regions[0].in_vivo_ns, 0);
    CU_ASSERT_EQUAL(two->regions[0].classes[1].basis, PREDICT_NESTED);
    CU_ASSERT_EQUAL(two->regions[0].classes[1].weight, 0);
    CU_ASSERT_EQUAL(two->regions[1].basis, PREDICT_NESTED);
    CU_ASSERT_EQUAL(two->regions[1].time_ns, 0);
    CU_ASSERT_EQUAL(two->cost_ns, 1000000);
    CU_ASSERT_STRING_EQUAL(predict_basis_name(PREDICT_NESTED), "nested");
    predict_result_done(&result);
}

static void sampled_regions(void)
{
    static const uint32_t threads[] = {1};
    struct store_sample samples[8];
    size_t count = replay_all(samples, 0, "home", 1, 1, 0);
    samples[count] = replay(count, "home", "solve@x.c:10", 7, 1, 1100000, 0.05);
    samples[count].samples_ns[REPEAT - 1] += 90000;       /* the mean moves, the median would not */
    samples[count].has_residual = true;
    samples[count].residual_ratio = 0.03;
    samples[count++].sampled_ratio = 0.02;
    samples[0].warmup = (char *)(uintptr_t) "none";       /* the whole one was asked for otherwise */
    struct predict_request asked = request(samples, count, "home", threads, 1);
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    const struct predict_region *region = &result.points[0].regions[0];
    CU_ASSERT_EQUAL(region->basis, PREDICT_SAMPLE);
    CU_ASSERT_EQUAL(region->classes[0].basis, PREDICT_SAMPLE);
    CU_ASSERT_EQUAL(region->classes[0].vitro_ns, 1110000);
    CU_ASSERT_EQUAL(region->classes[0].process_count, 1);         /* the whole replay is not mixed with it */
    CU_ASSERT_EQUAL(region->classes[1].basis, PREDICT_REPLAY);
    CU_ASSERT_EQUAL(region->in_vivo_ns, 70000);
    double half = (double)(region->high_ns - region->low_ns) / 2;
    CU_ASSERT(half > 0.07 * 99900000 && half < 0.17 * 99900000);
    CU_ASSERT_STRING_EQUAL(predict_basis_name(PREDICT_SAMPLE), "sample");
    predict_result_done(&result);
    samples[0].when_s = 100;           /* now the whole one is newer */
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].regions[0].basis, PREDICT_REPLAY);
    CU_ASSERT_EQUAL(result.points[0].regions[0].classes[0].vitro_ns, 1000000);
    predict_result_done(&result);
}

/* Iterations that no shot met may be unlike the others: the time in vivo tells, on whatever machine it was compared. */
static void shots_that_were_not_compared(void)
{
    static const uint32_t threads[] = {1};
    struct store_sample samples[9];
    size_t count = replay_all(samples, 0, "home", 1, 1, 0);
    samples[0].flags = (char *)(uintptr_t) "-O1";
    samples[count] = replay(count, "home", "solve@x.c:10", 7, 1, 1100000, 0.05);
    samples[count++].sampled_ratio = 0.02;
    samples[count] = replay(count, "elsewhere", "solve@x.c:10", 7, 2, 900000, 0.05);
    samples[count].sampled_ratio = 0.02;
    samples[count].residual_ratio = 0.03;
    uint64_t widths_ns[2];
    for (unsigned compared = 0; compared < 2; compared++) {
        struct predict_request asked = request(samples, count + compared, "home", threads, 1);
        struct predict_result result;
        samples[count].has_residual = compared;
        CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
        const struct predict_region *region = &result.points[0].regions[0];
        CU_ASSERT_EQUAL(region->classes[0].basis, PREDICT_SAMPLE);
        CU_ASSERT_EQUAL(region->classes[0].unseen, !compared);
        CU_ASSERT_FALSE(region->classes[1].unseen);         /* replayed whole */
        widths_ns[compared] = region->high_ns - region->low_ns;
        predict_result_done(&result);
    }
    CU_ASSERT((double)widths_ns[0] > 1.5 * (double)widths_ns[1]);
}

/* However new they are, and though they would say that the codelet is not what its class was. */
static void samples_beside_whole_replays(void)
{
    static const uint32_t threads[] = {1};
    struct store_sample samples[8];
    size_t count = replay_all(samples, 0, "home", 1, 1, 0);
    samples[0].has_residual = true;
    samples[0].residual_ratio = 0.01;
    samples[count] = replay(count, "home", "solve@x.c:10", 7, 1, 40000, 0);
    samples[count].has_residual = true;
    samples[count].residual_ratio = -0.96;
    samples[count++].sampled_ratio = 0.05;
    struct predict_request asked = request(samples, count, "home", threads, 1);
    struct predict_result result;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    const struct predict_class *class = &result.points[0].regions[0].classes[0];
    CU_ASSERT_EQUAL(class->basis, PREDICT_REPLAY);
    CU_ASSERT_EQUAL(class->vitro_ns, 1000000);
    CU_ASSERT_EQUAL(class->process_count, 1);
    CU_ASSERT_EQUAL(replays_alien_ratio(&asked, "solve@x.c:10", &solve_classes[0], true), 0);
    predict_result_done(&result);
    samples[0].flags = (char *)(uintptr_t) "-O1";          /* of other code: no whole one is there */
    samples[0].has_residual = samples[count - 1].has_residual = false;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.points[0].regions[0].classes[0].basis, PREDICT_SAMPLE);
    CU_ASSERT_EQUAL(result.points[0].regions[0].classes[0].vitro_ns, 40000);
    predict_result_done(&result);
}

static void more_threads_than_processors(void)
{
    static const uint32_t threads[] = {4};
    struct store_sample samples[8];
    struct predict_result median, mean;
    size_t count = replay_all(samples, 0, "home", 4, 1, 0);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < REPEAT; j++)
            samples[i].samples_ns[j] = j % 3 ? 1000000 : 7000000;
    struct predict_request asked = request(samples, count, "home", threads, 1);
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &median, NULL), PCERE_OK);
    for (size_t i = 0; i < count; i++)
        samples[i].processors = 2;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &mean, NULL), PCERE_OK);
    const struct predict_class *class = &mean.points[0].regions[0].classes[0];
    double seven = (REPEAT + 2) / 3, expected = (7e6 * seven + 1e6 * (REPEAT - seven)) / REPEAT;
    CU_ASSERT_EQUAL(median.points[0].regions[0].classes[0].vitro_ns, 1000000);
    CU_ASSERT_DOUBLE_EQUAL((double)class->vitro_ns, expected, 1);
    CU_ASSERT(mean.points[0].low_ns < mean.points[0].time_ns && mean.points[0].high_ns > mean.points[0].time_ns);
    predict_result_done(&median);
    predict_result_done(&mean);
}

static void interrupted_repetitions(void)
{
    static const uint32_t threads[] = {2};
    enum { ROOM = 64 };
    uint64_t switches[ROOM], waits[ROOM];
    struct store_sample samples[8];
    struct predict_result before, held;
    size_t count = replay_all(samples, 0, "home", 2, 1, 0);
    struct predict_request asked = request(samples, count, "home", threads, 1);
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &before, NULL), PCERE_OK);
    CU_ASSERT_FATAL(samples[0].sample_count <= ROOM);
    for (size_t i = 0; i < samples[0].sample_count; i++) {
        waits[i] = samples[0].samples_ns[i] / 2;          /* half of it, up to all */
        switches[i] = 1;
    }
    samples[0].switches = switches;
    samples[0].waits_ns = waits;
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &held, NULL), PCERE_OK);
    const struct predict_region *region = &held.points[0].regions[0], *usual = &before.points[0].regions[0];
    CU_ASSERT(region->time_ns < usual->time_ns - usual->time_ns / 10);
    CU_ASSERT(region->low_ns < usual->low_ns - usual->low_ns / 10);
    CU_ASSERT(region->high_ns <= usual->high_ns + usual->high_ns / 100 && region->high_ns >= usual->time_ns - usual->time_ns / 10);
    predict_result_done(&held);
    switches[0] = switches[1] = switches[2] = 0;          /* enough others tell */
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &held, NULL), PCERE_OK);
    CU_ASSERT(held.points[0].regions[0].low_ns > usual->low_ns - usual->low_ns / 10);
    predict_result_done(&held);
    predict_result_done(&before);
}

static void slow_processors(void)
{
    static const uint32_t threads[] = {1};
    struct store_sample samples[8];
    struct predict_result fast, slow;
    size_t count = replay_all(samples, 0, "home", 1, 1, 0);
    struct predict_request asked = request(samples, count, "home", threads, 1);
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &fast, NULL), PCERE_OK);
    samples[0].slow_ratio = 0.8;        /* 90 ms of it: anything from 50 to 90 */
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &slow, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(slow.points[0].time_ns, fast.points[0].time_ns);
    const struct predict_region *region = &slow.points[0].regions[0], *before = &fast.points[0].regions[0];
    CU_ASSERT(region->low_ns > 95000000 && region->low_ns < 105000000);
    CU_ASSERT(before->low_ns > 125000000);
    CU_ASSERT(region->high_ns <= before->high_ns + before->high_ns / 100);
    predict_result_done(&slow);
    samples[0].slow_ratio = 0;
    for (size_t i = 0; i < count; i++)
        samples[i].loud_ratio = 0.5;        /* the program meets such processors, too */
    CU_ASSERT_EQUAL_FATAL(predict_run(&asked, &slow, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(slow.points[0].time_ns, fast.points[0].time_ns);
    CU_ASSERT((double)slow.points[0].high_ns > 1.4 * (double)fast.points[0].time_ns && (double)slow.points[0].high_ns < 1.5 * (double)fast.points[0].high_ns);
    CU_ASSERT(slow.points[0].low_ns >= fast.points[0].low_ns);
    predict_result_done(&fast);
    predict_result_done(&slow);
}

static void other_work_is_told(void)
{
    static const uint32_t threads[] = {2, 1};
    uint64_t wall_ns[] = {4000000, 1000000, 1000000}, cpu_ns[] = {1500000, 900000, 1000000}, own_ns[] = {7000000};
    uint64_t switches[] = {3, 0, 1}, none[] = {0};
    struct store_sample samples[] = {
        {.kind = "replay", .host_name = "home", .threads = 2, .samples_ns = wall_ns, .cpu_ns = cpu_ns, .switches = switches, .sample_count = 3},
        {.kind = "replay", .host_name = "home", .threads = 1, .samples_ns = wall_ns, .cpu_ns = cpu_ns, .switches = none, .sample_count = 1},
        {.kind = "replay", .host_name = "home", .threads = 1, .samples_ns = own_ns, .cpu_ns = cpu_ns, .sample_count = 1},      /* nobody counted */
        {.kind = "replay", .host_name = "away", .threads = 1, .samples_ns = wall_ns, .cpu_ns = cpu_ns, .switches = switches, .sample_count = 3}};
    struct predict_request asked = request(samples, sizeof samples / sizeof *samples, "home", threads, 1);
    CU_ASSERT_DOUBLE_EQUAL(replays_preempted_ratio(&asked, 2), 2.5 / 6, 1e-9);
    CU_ASSERT_EQUAL(replays_preempted_ratio(&asked, 1), 0);
    CU_ASSERT_EQUAL(replays_preempted_ratio(&asked, 4), 0);
}

/* The thread that enters has half a processor, since another of its team has the other half. */
static void a_team_that_shares_processors_is_no_other_work(void)
{
    static const uint32_t threads[] = {4};
    uint64_t wall_ns[] = {4000000, 4000000}, cpu_ns[] = {1500000, 1500000}, switches[] = {1, 0}, lacked_ns[] = {1000000, 0};
    struct store_sample sample = {.kind = "replay", .host_name = "home", .threads = 4, .processors = 2, .samples_ns = wall_ns, .cpu_ns = cpu_ns, .switches = switches,
                                  .waits_ns = lacked_ns, .sample_count = 1};
    struct predict_request asked = request(&sample, 1, "home", threads, 1);
    CU_ASSERT_DOUBLE_EQUAL(replays_preempted_ratio(&asked, 4), 0.25, 1e-9);
    sample.sample_count = 2;
    CU_ASSERT_DOUBLE_EQUAL(replays_preempted_ratio(&asked, 4), 0.125, 1e-9);
    sample.waits_ns = NULL;
    CU_ASSERT_EQUAL(replays_preempted_ratio(&asked, 4), 0);
}

static void waiting_runs_are_told(void)
{
    static const uint32_t threads[] = {2};
    uint64_t wall_ns[] = {4000000}, waits_ns[] = {1000000}, more_ns[] = {9000000};
    char none[] = "";
    struct store_sample samples[] = {
        {.kind = "run", .host_name = "home", .threads = 2, .flags = none, .settings = none, .samples_ns = wall_ns, .sample_count = 1, .wall_ns = 4000000, .waits_ns = waits_ns},
        {.kind = "run", .host_name = "home", .threads = 2, .flags = none, .settings = none, .samples_ns = wall_ns, .sample_count = 1, .wall_ns = 4000000, .waits_ns = more_ns},
        {.kind = "run", .host_name = "home", .threads = 2, .flags = none, .settings = none, .samples_ns = wall_ns, .sample_count = 1, .wall_ns = 9000000},     /* who knows */
        {.kind = "run", .host_name = "home", .threads = 1, .flags = none, .settings = none, .samples_ns = wall_ns, .sample_count = 1, .wall_ns = 4000000},
        {.kind = "run", .host_name = "away", .threads = 1, .flags = none, .settings = none, .samples_ns = wall_ns, .sample_count = 1, .wall_ns = 4000000, .waits_ns = waits_ns}};
    struct predict_request asked = request(samples, sizeof samples / sizeof *samples, "home", threads, 1);
    CU_ASSERT_DOUBLE_EQUAL(runs_waited_ratio(&asked, 2), 5.0 / 8, 1e-9);       /* no longer than it ran */
    CU_ASSERT_EQUAL(runs_waited_ratio(&asked, 1), 0);
}

static void teams_that_stay_are_told(void)
{
    static const uint32_t threads[] = {2};
    uint64_t wall_ns[] = {4000000};
    char none[] = "";
    struct store_sample samples[] = {
        {.kind = "run", .host_name = "home", .region = regions[0].name, .threads = 2, .team = 1, .flags = none, .settings = none, .samples_ns = wall_ns, .sample_count = 1},
        {.kind = "run", .host_name = "home", .region = regions[1].name, .threads = 2, .team = 2, .flags = none, .settings = none, .samples_ns = wall_ns, .sample_count = 1},
        {.kind = "run", .host_name = "home", .region = regions[2].name, .threads = 2, .team = 1, .flags = none, .settings = none, .samples_ns = wall_ns, .sample_count = 1},
        {.kind = "run", .host_name = "home", .region = regions[2].name, .threads = 2, .team = 0, .flags = none, .settings = none, .samples_ns = wall_ns, .sample_count = 1}};
    struct predict_request asked = request(samples, sizeof samples / sizeof *samples, "home", threads, 1);
    const char *most;
    CU_ASSERT_EQUAL(runs_fixed(&asked, 2, &most), 1);
    CU_ASSERT_PTR_EQUAL(most, regions[0].name);
    CU_ASSERT_EQUAL(runs_fixed(&asked, 1, &most), 0);       /* the capture's number */
    CU_ASSERT_PTR_NULL(most);
}

static void processors_apart_are_told(void)
{
    static const uint32_t threads[] = {2};
    struct store_sample samples[] = {
        {.kind = "replay", .host_name = "home", .threads = 2, .line_ns = 30}, {.kind = "run", .host_name = "home", .threads = 2, .line_ns = 160},
        {.kind = "replay", .host_name = "home", .threads = 2}, {.kind = "replay", .host_name = "home", .threads = 4, .line_ns = 20},
        {.kind = "replay", .host_name = "away", .threads = 2, .line_ns = 10}, {.kind = "calibration", .host_name = "home", .threads = 2, .line_ns = 500}};
    struct predict_request asked = request(samples, sizeof samples / sizeof *samples, "home", threads, 1);
    uint64_t low_ns, high_ns;
    replays_lines(&asked, 2, &low_ns, &high_ns);
    CU_ASSERT_EQUAL(low_ns, 30);
    CU_ASSERT_EQUAL(high_ns, 160);
    replays_lines(&asked, 1, &low_ns, &high_ns);
    CU_ASSERT_EQUAL(low_ns, 0);
    CU_ASSERT_EQUAL(high_ns, 0);
}

static void refusals(void)
{
    static const uint32_t threads[] = {1, 0};
    struct store_sample samples[8];
    size_t count = replay_all(samples, 0, "home", 1, 1, 0);
    struct predict_request asked = request(samples, count, "home", threads, 2);
    struct predict_result result = {.serial_ns = 99};
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL(predict_run(&asked, &result, &error), PCERE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "0 threads"));
    asked.thread_count = 0;
    CU_ASSERT_EQUAL(predict_run(&asked, &result, &error), PCERE_USAGE);
    asked.thread_count = 1;
    samples[1].sample_count = 0;
    CU_ASSERT_EQUAL(predict_run(&asked, &result, &error), PCERE_DATA);
    CU_ASSERT_STRING_EQUAL(error.message, "sample 2 has no repetitions");
    CU_ASSERT_EQUAL(result.serial_ns, 99);
}

static const struct unit_test tests[] = {
    {"a prediction is the serial part and each class's replay times its weight", the_sum},
    {"real runs give the error and the acceleration", real_runs},
    {"two real runs in a row tell what the machine does to one", pairs_of_runs},
    {"only samples of that host, region, threads, flags and settings count, with the newest warm-up", which_samples_count},
    {"what was not replayed is named with the command that measures it", missing_samples},
    {"a codelet that has no replay is kept as it was, counted, and widens the interval", parts_that_are_missing},
    {"a thread count at which nothing was replayed is told, and takes none of the others away", thread_counts_without_replays},
    {"a serial part that real runs found to be another widens the interval, and moves nothing", serial_part_that_changes},
    {"so do regions that real runs enter and the capture did not, which are told", regions_that_the_capture_lacks},
    {"however much runs differ, no interval begins at nothing", runs_that_differ_much},
    {"an unknown host is refused with those that are known", unknown_host},
    {"a store from another machine takes its serial part from runs here", another_machine},
    {"the interval has the spread of samples, runs and the serial part, and what warm-ups left, reproducibly", intervals},
    {"what was not replayed, and members that count by their own times, are forked and joined at each invocation", fork_and_join},
    {"a team's late threads count once, where the program makes it and a codelet had it", the_team_starts_once},
    {"the part outside regions is the capture's, or that of real runs at those threads", serial_parts_of_real_runs},
    {"classes that real runs tell apart at other threads widen the interval", classes_that_do_not_hold},
    {"real runs that waited for processors do not tell whether classes hold", runs_that_waited_do_not_judge_classes},
    {"a clock that falls under lasting load makes long programs slower", a_clock_that_falls},
    {"a codelet that takes a multiple of what its class did is no measure of it", a_codelet_unlike_its_class},
    {"a codelet that is faster than the one invocation that it is counts", a_codelet_faster_than_its_one_invocation},
    {"members count as the codelet takes, where its representative's time in vivo was off", members_count_by_what_the_codelet_takes},
    {"settings of one region are compared without what is common to them", one_region_is_compared_with_itself},
    {"a region that weighs nothing must be replayed to be compared", a_light_region_by_itself},
    {"a region that ran once is known at the capture's number of threads, and at others where it would weigh little unscaled", what_is_known_where_it_was_captured},
    {"the interval holds a real run though processes, sessions and runs differ", intervals_cover},
    {"what was not captured keeps its in-vivo time", nothing_captured},
    {"what runs inside other regions counts there only, and needs no replay", nested_regions},
    {"of sampled regions the mean of the shots counts, with their spread, and is not mixed with whole replays", sampled_regions},
    {"shots that were compared on no machine are told, and have wider intervals", shots_that_were_not_compared},
    {"samples of a part of the iterations count where no whole replay is there", samples_beside_whole_replays},
    {"what other work took from replays is told", other_work_is_told},
    {"with more threads than processors those of the team are no other work", a_team_that_shares_processors_is_no_other_work},
    {"what other work took from real runs is told", waiting_runs_are_told},
    {"regions that have the capture's threads in real runs with others are told", teams_that_stay_are_told},
    {"processors that lie differently far apart are told", processors_apart_are_told},
    {"with more threads than processors the mean of repetitions counts", more_threads_than_processors},
    {"interrupted repetitions alone count without what their threads waited, up to what they took", interrupted_repetitions},
    {"samples of slow processors reach down to what full speed may be", slow_processors},
    {"impossible requests are refused", refusals},
};

UNIT_MAIN("predictor predict", tests)
