/* tests/unit/test_predictor_classes.c - performance classes of made-up regions whose right answer is known. */
#include "predictor/classes.h"

#include "predictor/amdahl.h"
#include "predictor/random.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct classes_options usual = {.min_share_ratio = CLASSES_MIN_SHARE_DEFAULT, .seed = 1};

/* A normal number with mean 0 and deviation 1, nearly: the sum of twelve uniform ones. */
static double noise(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(random_next(state) >> 11) * 0x1p-53;
    return sum;
}

static uint64_t noisy(uint64_t *state, double time_ns, double deviation_ratio)
{
    return (uint64_t)(time_ns * (1 + deviation_ratio * noise(state)));
}

static struct classes_result find(const struct classes_input *input, const struct classes_options *options)
{
    struct classes_result result = {0};
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(classes_find(input, options, &result, &error), PCERE_OK);
    /* What holds for any result: it is a partition with consistent sums, and representatives are members. */
    uint64_t members = 0, total_ns = 0, input_ns = 0;
    uint64_t *counted = calloc(result.class_count, sizeof *counted), *counted_ns = calloc(result.class_count, sizeof *counted_ns);
    for (size_t i = 0; i < input->count; i++) {
        CU_ASSERT_FATAL(result.class_of[i] < result.class_count);
        counted[result.class_of[i]]++;
        counted_ns[result.class_of[i]] += input->time_ns[i];
        input_ns += input->time_ns[i];
    }
    uint32_t max_classes = options->max_classes ? options->max_classes : CLASSES_MAX_DEFAULT;
    CU_ASSERT(result.class_count >= 1 && result.class_count <= max_classes);
    for (size_t c = 0; c < result.class_count; c++) {
        const struct classes_class *class = &result.classes[c];
        CU_ASSERT_FATAL(class->representative >= 1 && class->representative <= input->count);
        CU_ASSERT_EQUAL(result.class_of[class->representative - 1], c);
        CU_ASSERT_EQUAL(class->representative_ns, input->time_ns[class->representative - 1]);
        CU_ASSERT_EQUAL(class->members, counted[c]);
        CU_ASSERT_EQUAL(class->time_ns, counted_ns[c]);
        CU_ASSERT_EQUAL(class->wanted, class->reason[0] == '\0');
        CU_ASSERT(c == 0 || class->representative > result.classes[c - 1].representative);
        members += class->members;
        total_ns += class->time_ns;
    }
    CU_ASSERT_EQUAL(members, input->count);
    CU_ASSERT_EQUAL(total_ns, input_ns);
    free(counted);
    free(counted_ns);
    return result;
}

static struct classes_result find_times(const uint64_t *times, size_t count)
{
    return find(&(struct classes_input){.count = count, .time_ns = times}, &usual);
}

static size_t count_kind(const struct classes_result *result, enum classes_kind kind)
{
    size_t count = 0;
    for (size_t c = 0; c < result->class_count; c++)
        count += result->classes[c].kind == kind;
    return count;
}

/* ---- few ----------------------------------------------------------------------------------------------------------------- */

static void one_invocation(void)
{
    struct classes_result result = find_times((uint64_t[]){123456}, 1);
    CU_ASSERT_EQUAL(result.class_count, 1);
    CU_ASSERT_EQUAL(result.classes[0].representative, 1);
    CU_ASSERT_EQUAL(result.classes[0].time_ns_median, 123456);
    CU_ASSERT_TRUE(result.classes[0].wanted);
    classes_result_done(&result);
}

static void two_to_ten_different(void)
{
    uint64_t times[10];
    for (size_t i = 0; i < 10; i++)
        times[i] = (uint64_t)(1e6 * pow(1.3, (double)i));
    for (size_t count = 2; count <= 10; count++) {
        struct classes_result result = find_times(times, count);
        CU_ASSERT_EQUAL(result.class_count, count);
        for (size_t c = 0; c < result.class_count; c++)
            CU_ASSERT_EQUAL(result.classes[c].representative, c + 1);
        classes_result_done(&result);
    }
}

/* A multigrid solver's smallest grids take microseconds, its large one milliseconds, and no structure is strong enough for classes: what was captured of the small ones stands for nothing. */
static void mixtures_are_represented_by_what_makes_up_their_time(void)
{
    static const uint64_t us[] = {7011, 2, 3, 10, 22, 161, 774, 8809, 7406, 7485, 5, 2, 5, 28, 170, 144, 774, 2, 1, 2, 4, 18, 96, 774, 1, 1, 5, 25, 15, 97, 802, 1, 1, 2, 4, 123, 155, 763};
    uint64_t times[sizeof us / sizeof *us];
    bool at_hand[sizeof us / sizeof *us] = {[1] = true};
    size_t count = sizeof us / sizeof *us;
    for (size_t i = 0; i < count; i++)
        times[i] = us[i] * 1000;
    struct classes_options few = usual;
    few.max_classes = 2;
    for (size_t captured = 0; captured < 2; captured++) {
        struct classes_result result;
        CU_ASSERT_EQUAL_FATAL(classes_find(&(struct classes_input){.count = count, .time_ns = times, .at_hand = captured ? at_hand : NULL}, &few, &result, NULL), PCERE_OK);
        for (size_t c = 0; c < result.class_count; c++)
            CU_ASSERT(result.classes[c].representative_ns >= result.classes[c].time_ns / result.classes[c].members / 3);
        classes_result_done(&result);
    }
}

static void equally_good_ones_are_near_to_what_is_wanted(void)
{
    uint64_t times[40], begins[40];
    for (size_t i = 0; i < 40; i++) {
        times[i] = i % 2 ? 1000000 + 1000 * (i % 5) : 1300000;      /* two classes, one after the other in time */
        begins[i] = 5000000000u + i * 10000000u;
    }
    struct classes_result result =
        find(&(struct classes_input){.count = 40, .time_ns = times, .begin_ns = begins, .near_ns = begins[20]}, &usual);
    CU_ASSERT_EQUAL_FATAL(result.class_count, 2);
    CU_ASSERT_EQUAL(result.classes[0].representative, 21);
    CU_ASSERT_EQUAL(result.classes[1].representative, 22);          /* as near as 20, and later */
    CU_ASSERT_EQUAL(result.classes[1].members, 20);
    classes_result_done(&result);
    times[21] = 1056000;                                            /* in the class, and no longer as good */
    result = find(&(struct classes_input){.count = 40, .time_ns = times, .begin_ns = begins, .near_ns = begins[20]}, &usual);
    CU_ASSERT_EQUAL_FATAL(result.class_count, 2);
    CU_ASSERT_EQUAL(result.classes[1].representative, 24);
    classes_result_done(&result);
    result = find(&(struct classes_input){.count = 40, .time_ns = times, .begin_ns = begins, .near_ns = begins[39] + 1}, &usual);
    CU_ASSERT_EQUAL(result.classes[1].representative, 40);          /* nothing after it: the last one before */
    classes_result_done(&result);
}

static void few_alike(void)
{
    const uint64_t times[] = {1000000, 1013000, 1020000, 990000, 1040000, 1005000, 1001000};
    struct classes_result result = find_times(times, 7);
    CU_ASSERT_EQUAL(result.class_count, 1);
    CU_ASSERT_EQUAL(result.classes[0].time_ns_median, 1005000);
    CU_ASSERT_EQUAL(result.classes[0].representative, 6);
    CU_ASSERT_EQUAL(result.classes[0].kind, CLASSES_ALIKE);
    classes_result_done(&result);
}

static void few_with_first_touch(void)
{
    const uint64_t times[] = {1600000, 1000000, 1010000, 990000, 1005000, 1002000};
    struct classes_result result = find_times(times, 6);
    CU_ASSERT_EQUAL_FATAL(result.class_count, 2);
    CU_ASSERT_EQUAL(result.classes[0].representative, 1);
    CU_ASSERT_EQUAL(result.classes[0].members, 1);
    CU_ASSERT_EQUAL(result.classes[0].kind, CLASSES_FIRST);
    CU_ASSERT_EQUAL(result.classes[1].members, 5);
    classes_result_done(&result);
}

static void few_are_limited(void)
{
    const uint64_t times[] = {1000, 2000, 2300, 8000, 9000, 64000};
    struct classes_options options = usual;
    options.max_classes = 3;
    struct classes_result result = find(&(struct classes_input){.count = 6, .time_ns = times}, &options);
    CU_ASSERT_EQUAL(result.class_count, 3);
    CU_ASSERT_EQUAL(result.class_of[3], result.class_of[4]);
    CU_ASSERT_NOT_EQUAL(result.class_of[4], result.class_of[5]);
    classes_result_done(&result);
}

/* ---- many ---------------------------------------------------------------------------------------------------------------- */

static void constant_times(void)
{
    uint64_t times[500];
    for (size_t i = 0; i < 500; i++)
        times[i] = 42000;
    struct classes_result result = find_times(times, 500);
    CU_ASSERT_EQUAL(result.class_count, 1);
    CU_ASSERT_EQUAL(result.classes[0].representative, 4);     /* not one of the first three */
    CU_ASSERT_EQUAL(result.classes[0].kind, CLASSES_ALIKE);
    classes_result_done(&result);
}

static void zero_times(void)
{
    uint64_t times[30] = {0};
    struct classes_result result = find_times(times, 30);
    CU_ASSERT_EQUAL(result.class_count, 1);
    CU_ASSERT_EQUAL(result.classes[0].time_ns, 0);
    classes_result_done(&result);
}

static void ordinary_noise(void)
{
    static const double deviations[] = {0.005, 0.02, 0.05, 0.13};
    static const size_t counts[] = {11, 15, 30, 75, 400, 20000};
    size_t right = 0, tried = 0;
    for (size_t d = 0; d < 4; d++)
        for (size_t n = 0; n < 6; n++)
            for (uint64_t seed = 0; seed < 10; seed++) {
                uint64_t *times = malloc(counts[n] * sizeof *times), state = seed + 100 * n + 10000 * d;
                for (size_t i = 0; i < counts[n]; i++)
                    times[i] = noisy(&state, 1e6, deviations[d]);
                struct classes_result result = find_times(times, counts[n]);
                tried++;
                right += result.class_count - count_kind(&result, CLASSES_NOISE) == 1;
                classes_result_done(&result);
                free(times);
            }
    CU_ASSERT(right * 100 >= tried * 95);
    if (right < tried)
        printf("[%zu of %zu are one class] ", right, tried);
}

static void two_modes(void)
{
    uint64_t times[300], state = 7;
    for (size_t i = 0; i < 300; i++)
        times[i] = noisy(&state, i % 3 == 0 ? 1.5e6 : 1e6, 0.02);
    struct classes_result result = find_times(times, 300);
    CU_ASSERT_EQUAL_FATAL(result.class_count, 2);
    CU_ASSERT_EQUAL(result.classes[result.class_of[0]].members, 100);
    CU_ASSERT_DOUBLE_EQUAL((double)result.classes[result.class_of[0]].time_ns_median, 1.5e6, 0.02e6);
    CU_ASSERT_DOUBLE_EQUAL((double)result.classes[result.class_of[1]].time_ns_median, 1e6, 0.01e6);
    for (size_t i = 0; i < 300; i++)
        CU_ASSERT_EQUAL(result.class_of[i], result.class_of[i % 3 == 0 ? 0 : 1]);
    classes_result_done(&result);
}

static void near_modes_beside_a_far_one(void)
{
    uint64_t times[600], state = 3;
    for (size_t i = 0; i < 600; i++)
        times[i] = noisy(&state, i % 3 == 0 ? 1e6 : i % 3 == 1 ? 1.1e6 : 300e6, 0.005);
    struct classes_result result = find_times(times, 600);
    CU_ASSERT_EQUAL(result.class_count, 3);
    classes_result_done(&result);
}

/* A clock that ticks every 10 ns: four values, and most invocations of a group have the very same. */
static void ticks_of_the_clock(void)
{
    uint64_t times[2000], state = 5;
    for (size_t i = 0; i < 2000; i++)
        times[i] = 628 + 10 * (random_next(&state) % 4);
    struct classes_result result = find_times(times, 2000);
    CU_ASSERT_EQUAL(result.class_count, 1);
    classes_result_done(&result);
    for (size_t i = 0; i < 2000; i++)
        times[i] = (i % 2 ? 628 : 728) + 10 * (random_next(&state) % 2);
    result = find_times(times, 2000);
    CU_ASSERT_EQUAL(result.class_count, 2);
    classes_result_done(&result);
}

static void within_one_percent(void)
{
    uint64_t times[200], state = 3;
    for (size_t i = 0; i < 200; i++)
        times[i] = noisy(&state, i % 2 == 0 ? 1000e6 : 1006e6, 0.0001);
    struct classes_result result = find_times(times, 200);
    CU_ASSERT_EQUAL(result.class_count, 1);
    for (size_t i = 0; i < 200; i++)
        times[i] = noisy(&state, i % 2 == 0 ? 1000e6 : 1030e6, 0.0001);
    classes_result_done(&result);
    result = find_times(times, 200);
    CU_ASSERT_EQUAL(result.class_count, 2);
    classes_result_done(&result);
}

/* MG's resid: V-cycles over `levels` grids, from 4 us to 46 ms; the first invocation on each grid touches memory. */
static size_t mg_fill(uint64_t *times, uint32_t *level_of, size_t cycles, size_t levels, double noise_ratio, uint64_t seed)
{
    size_t count = 0;
    uint64_t state = seed;
    for (size_t cycle = 0; cycle < cycles; cycle++)
        for (size_t level = levels; level-- > 0;) {
            double time_ns = 4e3 * pow(46e6 / 4e3, (double)level / (double)(levels - 1));
            level_of[count] = (uint32_t)level;
            times[count++] = noisy(&state, time_ns * (cycle == 0 ? 1.5 : 1), noise_ratio);
        }
    return count;
}

static void mg_grid_levels(void)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        uint64_t times[400];
        uint32_t level_of[400];
        size_t count = mg_fill(times, level_of, 20, 8, 0.03, seed);
        struct classes_options options = usual;
        options.wall_ns = 2000000000;
        struct classes_result result = find(&(struct classes_input){.count = count, .time_ns = times}, &options);
        /* All later invocations of a grid level are one class, and no other level is in it; only the two coarsest, which weigh nothing,
         * may share one, since eight levels and three classes of first touch are one more than ten. */
        for (size_t i = 8; i < count; i++)
            for (size_t j = 8; j < i; j++)
                if (level_of[i] > 1 || level_of[j] > 1)
                    CU_ASSERT_EQUAL_FATAL(level_of[i] == level_of[j], result.class_of[i] == result.class_of[j]);
        /* The first touch of the finest level weighs more than 0.5 %: a class of its own that is wanted. */
        const struct classes_class *first = &result.classes[result.class_of[0]];
        CU_ASSERT_EQUAL(first->kind, CLASSES_FIRST);
        CU_ASSERT_EQUAL(first->members, 1);
        CU_ASSERT_TRUE(first->wanted);
        const struct classes_class *finest = &result.classes[result.class_of[8]];
        CU_ASSERT_EQUAL(finest->members, 19);
        CU_ASSERT_TRUE(finest->wanted);
        CU_ASSERT(finest->representative > 8 * 3);
        /* The coarsest grid weighs nothing: its in-vivo time is kept. */
        CU_ASSERT_FALSE(result.classes[result.class_of[15]].wanted);
        classes_result_done(&result);
    }
}

static void mg_like_the_paper(void)
{
    /* 42 invocations in three classes, as in the paper's figure 3: the finest grid, the next, and the small ones. */
    uint64_t times[42], state = 5;
    for (size_t i = 0; i < 42; i++)
        times[i] = noisy(&state, i % 6 == 0 ? 40e6 : i % 6 == 1 ? 5e6 : 0.6e6, 0.02);
    struct classes_result result = find_times(times, 42);
    CU_ASSERT_EQUAL_FATAL(result.class_count, 3);
    CU_ASSERT_EQUAL(result.classes[result.class_of[0]].members, 7);
    CU_ASSERT_EQUAL(result.classes[result.class_of[1]].members, 7);
    CU_ASSERT_EQUAL(result.classes[result.class_of[2]].members, 28);
    classes_result_done(&result);
}

static void lu_that_shrinks(void)
{
    for (size_t count = 30; count <= 3000; count *= 10) {
        uint64_t *times = malloc(count * sizeof *times), state = 9;
        for (size_t i = 0; i < count; i++) {
            double left = (double)(count - i) / (double)count;
            times[i] = noisy(&state, 1e3 + 50e6 * left * left, 0.01);
        }
        struct classes_result result = find_times(times, count);
        CU_ASSERT(result.class_count >= 3);
        CU_ASSERT(count_kind(&result, CLASSES_SCALED) >= 1);
        CU_ASSERT_EQUAL(count_kind(&result, CLASSES_NOISE), 0);
        CU_ASSERT_EQUAL(count_kind(&result, CLASSES_FIRST), 0);
        classes_result_done(&result);
        free(times);
    }
}

static void a_steady_change_within_a_factor_of_two(void)
{
    uint64_t times[100];
    for (size_t i = 0; i < 100; i++)
        times[i] = 2000000 - 8000 * i;
    struct classes_result result = find_times(times, 100);
    CU_ASSERT_EQUAL(result.class_count, 1);
    CU_ASSERT(result.classes[0].representative > 3);
    classes_result_done(&result);
}

static void first_touch(void)
{
    static const double factors[] = {1.3, 1.5, 2.0};
    for (size_t f = 0; f < 3; f++)
        for (uint64_t seed = 0; seed < 10; seed++) {
            uint64_t times[75], state = seed;
            for (size_t i = 0; i < 75; i++)
                times[i] = noisy(&state, 10e6 * (i == 0 ? factors[f] : 1), 0.02);
            struct classes_result result = find_times(times, 75);
            CU_ASSERT_EQUAL_FATAL(result.class_count, 2);
            CU_ASSERT_EQUAL(result.classes[0].representative, 1);
            CU_ASSERT_EQUAL(result.classes[0].members, 1);
            CU_ASSERT_EQUAL(result.classes[0].kind, CLASSES_FIRST);
            CU_ASSERT(result.classes[1].representative > 3);
            CU_ASSERT_EQUAL(result.classes[1].members, 74);
            classes_result_done(&result);
        }
}

static void first_touch_told_by_faults(void)
{
    /* Two kinds of work by turns; the first of the second kind faults, in the middle of the program. */
    uint64_t times[60], state = 4;
    uint32_t faults[60] = {0};
    for (size_t i = 0; i < 60; i++)
        times[i] = noisy(&state, i < 10 ? 20e6 : 5e6, 0.01);
    times[10] = 17000000;
    faults[10] = 8000;
    struct classes_result result =
        find(&(struct classes_input){.count = 60, .time_ns = times, .minor_faults = faults}, &usual);
    CU_ASSERT_EQUAL(result.classes[result.class_of[10]].kind, CLASSES_FIRST);
    CU_ASSERT_EQUAL(result.classes[result.class_of[10]].members, 1);
    CU_ASSERT_TRUE(result.classes[result.class_of[10]].wanted);
    classes_result_done(&result);
}

static void representatives_fault_as_usual(void)
{
    uint64_t times[20];
    uint32_t faults[20];
    for (size_t i = 0; i < 20; i++) {
        times[i] = 1000000 + 1000 * (i % 5);
        faults[i] = i % 5 == 2 && i != 17 ? 100 : 3;
    }
    struct classes_result result =
        find(&(struct classes_input){.count = 20, .time_ns = times, .minor_faults = faults}, &usual);
    CU_ASSERT_EQUAL(result.class_count, 1);
    CU_ASSERT_EQUAL(result.classes[0].representative, 18);    /* at the median, and with the usual faults */
    classes_result_done(&result);
}

static void spikes_are_noise(void)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        uint64_t times[400], state = seed, spikes_ns = 0;
        for (size_t i = 0; i < 400; i++)
            times[i] = noisy(&state, 10e6, 0.01);
        static const size_t where[] = {57, 130, 131, 322};
        for (size_t s = 0; s < 4; s++)
            spikes_ns += times[where[s]] += 4000000 * (s * s + 2) + random_below(&state, 3000000);
        struct classes_result result = find_times(times, 400);
        CU_ASSERT_EQUAL_FATAL(result.class_count, 2);
        const struct classes_class *spiky = &result.classes[result.class_of[57]];
        CU_ASSERT_EQUAL(spiky->kind, CLASSES_NOISE);
        CU_ASSERT_EQUAL(spiky->members, 4);
        CU_ASSERT_EQUAL(spiky->time_ns, spikes_ns);
        CU_ASSERT_FALSE(spiky->wanted);
        CU_ASSERT_STRING_NOT_EQUAL(spiky->reason, "");
        CU_ASSERT_EQUAL(result.classes[result.class_of[0]].members, 396);
        classes_result_done(&result);
    }
}

static void rare_work_is_no_noise(void)
{
    /* Ten of a thousand invocations do five times the work: always the same, so it can be reproduced. */
    uint64_t times[1000], state = 8;
    for (size_t i = 0; i < 1000; i++)
        times[i] = noisy(&state, i % 100 == 50 ? 5e6 : 1e6, 0.01);
    struct classes_result result = find_times(times, 1000);
    CU_ASSERT_EQUAL_FATAL(result.class_count, 2);
    CU_ASSERT_EQUAL(result.classes[result.class_of[50]].members, 10);
    CU_ASSERT_TRUE(result.classes[result.class_of[50]].wanted);
    classes_result_done(&result);

    /* One that takes half of the time is worth a dump, whatever it is. */
    for (size_t i = 0; i < 1000; i++)
        times[i] = noisy(&state, i == 700 ? 1e9 : 1e6, 0.01);
    result = find_times(times, 1000);
    CU_ASSERT_EQUAL_FATAL(result.class_count, 2);
    CU_ASSERT_EQUAL(result.classes[result.class_of[700]].members, 1);
    CU_ASSERT_TRUE(result.classes[result.class_of[700]].wanted);
    classes_result_done(&result);
}

static void arguments_decide(void)
{
    uint64_t times[200], hashes[200], state = 8;
    for (size_t i = 0; i < 200; i++) {
        times[i] = noisy(&state, 1e6, 0.01);
        hashes[i] = 77;
    }
    times[100] = 6000000;                     /* 3 % of the time, arguments of its own: another kind of work */
    hashes[100] = 78;
    struct classes_input input = {.count = 200, .time_ns = times, .arguments_hash = hashes};
    struct classes_result result = find(&input, &usual);
    CU_ASSERT_EQUAL_FATAL(result.class_count, 2);
    CU_ASSERT_TRUE(result.classes[result.class_of[100]].wanted);
    classes_result_done(&result);

    for (size_t i = 0; i < 200; i++)          /* two kinds of work; a long interruption of the first */
        times[i] = noisy(&state, (hashes[i] = 77 + i % 2) == 77 ? 1e6 : 3e6, 0.01);
    times[100] = 80000000;                    /* 16 % of the time */
    result = find(&input, &usual);
    CU_ASSERT_EQUAL(result.classes[result.class_of[100]].kind, CLASSES_NOISE);
    classes_result_done(&result);
    input.arguments_hash = NULL;
    result = find(&input, &usual);
    CU_ASSERT_TRUE(result.classes[result.class_of[100]].wanted);
    classes_result_done(&result);
}

static void preemptions_decide(void)
{
    uint64_t times[200], state = 8;
    uint32_t preemptions[200] = {0};
    for (size_t i = 0; i < 200; i++)
        times[i] = noisy(&state, 1e6, 0.01);
    for (size_t i = 40; i < 160; i += 40) {   /* three of the same length would count as reproducible */
        times[i] = noisy(&state, 5e6, 0.001);
        preemptions[i] = 1;
    }
    struct classes_input input = {.count = 200, .time_ns = times};
    struct classes_result result = find(&input, &usual);
    CU_ASSERT_TRUE(result.classes[result.class_of[40]].wanted);
    classes_result_done(&result);
    input.preemptions = preemptions;
    result = find(&input, &usual);
    CU_ASSERT_EQUAL(result.classes[result.class_of[40]].kind, CLASSES_NOISE);
    CU_ASSERT_EQUAL(result.classes[result.class_of[40]].members, 3);
    classes_result_done(&result);
}

static void light_classes(void)
{
    uint64_t times[100], state = 8;
    for (size_t i = 0; i < 100; i++)
        times[i] = noisy(&state, i % 2 ? 1e6 : 100e6, 0.01);
    struct classes_options options = usual;
    options.wall_ns = 20000000000;            /* the fast half is 0.25 % of it */
    struct classes_input input = {.count = 100, .time_ns = times};
    struct classes_result result = find(&input, &options);
    CU_ASSERT_EQUAL_FATAL(result.class_count, 2);
    CU_ASSERT_TRUE(result.classes[result.class_of[0]].wanted);
    CU_ASSERT_FALSE(result.classes[result.class_of[1]].wanted);
    CU_ASSERT_PTR_NOT_NULL(strstr(result.classes[result.class_of[1]].reason, "0.25 %"));
    classes_result_done(&result);
    options.wall_ns *= 1000;                  /* and now the whole region weighs nothing */
    result = find(&input, &options);
    for (size_t c = 0; c < result.class_count; c++)
        CU_ASSERT_FALSE(result.classes[c].wanted);
    classes_result_done(&result);
}

static void limits_hold(void)
{
    uint64_t times[400];
    uint32_t level_of[400];
    size_t count = mg_fill(times, level_of, 20, 8, 0.03, 1);
    times[77] *= 50;
    for (uint32_t limit = 1; limit <= 12; limit++) {
        struct classes_options options = usual;
        options.max_classes = limit;
        struct classes_result result = find(&(struct classes_input){.count = count, .time_ns = times}, &options);
        CU_ASSERT(result.class_count <= limit);
        classes_result_done(&result);
    }
}

static void seeds_reproduce(void)
{
    uint64_t *times = malloc(50000 * sizeof *times), state = 2;
    for (size_t i = 0; i < 50000; i++)
        times[i] = noisy(&state, pow(3, (double)(i % 7)) * 1e4, 0.1);
    struct classes_result one = find_times(times, 50000), two = find_times(times, 50000);
    CU_ASSERT_EQUAL_FATAL(one.class_count, two.class_count);
    CU_ASSERT_EQUAL(memcmp(one.class_of, two.class_of, 50000 * sizeof *one.class_of), 0);
    for (size_t c = 0; c < one.class_count; c++)
        CU_ASSERT_EQUAL(one.classes[c].representative, two.classes[c].representative);
    CU_ASSERT_EQUAL(one.class_count, 7);
    classes_result_done(&one);
    classes_result_done(&two);
    free(times);
}

/* Takes about a second; what compares each with each would not end. */
static void ten_million(void)
{
    size_t count = 10000000;
    uint64_t *times = malloc(count * sizeof *times), state = 2;
    for (size_t i = 0; i < count; i++)
        times[i] = (i % 8 + 1) * (i % 8 + 1) * 1000 + random_below(&state, 50);
    for (size_t i = 1; i <= 100; i++)         /* one in 100,000 that holds 40 % of the time */
        times[i * 99991] = 1500000000 + i;
    for (size_t i = 1; i <= 50; i++)
        times[i * 150001] += 1000000 + random_below(&state, 20000000);
    struct classes_result result = {0};
    CU_ASSERT_EQUAL_FATAL(
        classes_find(&(struct classes_input){.count = count, .time_ns = times}, &usual, &result, NULL), PCERE_OK);
    const struct classes_class *heavy = &result.classes[result.class_of[99991]];
    CU_ASSERT_EQUAL(heavy->members, 100);
    CU_ASSERT_TRUE(heavy->wanted);
    CU_ASSERT_EQUAL(result.classes[result.class_of[150001]].kind, CLASSES_NOISE);
    CU_ASSERT_EQUAL(result.class_count, 10);
    classes_result_done(&result);
    free(times);
}

/* If every invocation ran twice as fast, classes and weights would have to say half of the region's time. */
static double halved_error(const uint64_t *times, size_t count, uint32_t max_classes)
{
    struct classes_options options = usual;
    options.max_classes = max_classes;
    struct classes_result result = find(&(struct classes_input){.count = count, .time_ns = times}, &options);
    double predicted = 0, truth = 0;
    for (size_t c = 0; c < result.class_count; c++) {
        const struct classes_class *class = &result.classes[c];
        predicted += class->wanted ? (double)class->representative_ns / 2 *
                                         amdahl_class_weight(class->members, class->time_ns, class->representative_ns)
                                   : (double)class->time_ns / 2;
    }
    for (size_t i = 0; i < count; i++)
        truth += (double)times[i] / 2;
    classes_result_done(&result);
    return fabs(predicted / truth - 1);
}

static void weights_add_up(void)
{
    uint64_t times[1000], state = 4;
    uint32_t level_of[1000];
    for (uint32_t limit = 1; limit <= 10; limit++) {
        size_t count = mg_fill(times, level_of, 20, 8, 0.03, limit);
        CU_ASSERT(halved_error(times, count, limit) < 0.02);
        for (size_t i = 0; i < 1000; i++)
            times[i] = noisy(&state, 1e4 + 50.0 * (double)((1000 - i) * (1000 - i)), 0.02);
        CU_ASSERT(halved_error(times, 1000, limit) < 0.02);
        for (size_t i = 0; i < 1000; i++)
            times[i] = noisy(&state, 1e6, 0.1) + (i % 97 == 5 ? random_below(&state, 8000000) : 0);
        CU_ASSERT(halved_error(times, 1000, limit) < 0.03);
        for (size_t i = 0; i < 8; i++)
            times[i] = (uint64_t)(1e6 * pow(2, (double)i));
        CU_ASSERT(halved_error(times, 8, limit) < 0.001);
    }
}

/* ---- refusals ------------------------------------------------------------------------------------------------------------ */

static void kinds_stay_apart(void)
{
    enum { COUNT = 300 };
    uint64_t times[COUNT], state = 5;
    uint32_t kinds[COUNT];
    for (int i = 0; i < COUNT; i++) {
        kinds[i] = 1 + (uint32_t)(i / 5 % 2);
        times[i] = noisy(&state, i ? kinds[i] == 1 && i > 2 ? 60000 : 1700000 : 3000000, 0.02);     /* the first three of one take as long as those of the other */
    }
    struct classes_input input = {.count = COUNT, .time_ns = times, .kinds = kinds};
    struct classes_result result = find(&input, &usual);
    for (int i = 0; i < COUNT; i++)
        CU_ASSERT_EQUAL(kinds[result.classes[result.class_of[i]].representative - 1], kinds[i]);
    CU_ASSERT(result.class_count >= 3);
    classes_result_done(&result);
    const struct classes_options one = {.max_classes = 1, .seed = 1};
    result = find(&input, &one);                                 /* more kinds than classes: no matter */
    CU_ASSERT_EQUAL(result.class_count, 1);
    classes_result_done(&result);
    for (int i = 0; i < COUNT; i++)
        kinds[i] = 4;
    result = find(&input, &usual);                               /* all of one kind are as without kinds */
    input.kinds = NULL;
    struct classes_result without = find(&input, &usual);
    CU_ASSERT_EQUAL(result.class_count, without.class_count);
    CU_ASSERT_EQUAL(memcmp(result.class_of, without.class_of, COUNT * sizeof *result.class_of), 0);
    classes_result_done(&result);
    classes_result_done(&without);
}

static void refusals(void)
{
    struct classes_result result = {.class_count = 99};
    struct pcere_error error = {0};
    uint64_t times[3] = {1, 2, 3};
    struct classes_input input = {.count = 0, .time_ns = times};
    CU_ASSERT_EQUAL(classes_find(&input, &usual, &result, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "without invocations"));
    input.count = 3;
    times[1] = UINT64_MAX - 1;
    CU_ASSERT_EQUAL(classes_find(&input, &usual, &result, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "invocation 2"));
    times[1] = 2;
    struct classes_options options = {.max_classes = CLASSES_LIMIT + 1};
    CU_ASSERT_EQUAL(classes_find(&input, &options, &result, &error), PCERE_USAGE);
    options = (struct classes_options){.min_share_ratio = NAN};
    CU_ASSERT_EQUAL(classes_find(&input, &options, &result, &error), PCERE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "share"));
    CU_ASSERT_EQUAL(result.class_count, 99);
    CU_ASSERT_STRING_EQUAL(classes_kind_name(CLASSES_SCALED), "scaled");
}

#define KIND 12u                        /* invocations of each length */

/* Three lengths, of which `captured` (a bit each) have a captured invocation; the middle one has arguments and faults of its own, or not. */
static struct classes_result three_lengths(unsigned captured, double middle_ms, bool own_arguments, uint32_t own_faults)
{
    uint64_t times[3 * KIND], arguments[3 * KIND];
    uint32_t faults[3 * KIND];
    bool at_hand[3 * KIND] = {false};
    const double lengths_ms[3] = {10, middle_ms, 26};
    for (size_t i = 0; i < 3 * KIND; i++) {
        size_t length = i % 3;
        times[i] = (uint64_t)(lengths_ms[length] * 1e6) + 1000 * (i % 7);
        arguments[i] = own_arguments && length == 1 ? 5 : 4;
        faults[i] = length == 1 ? own_faults : 3;
        at_hand[i] = i / 3 == 5 && captured >> length & 1;
    }
    return find(&(struct classes_input){.count = 3 * KIND, .time_ns = times, .arguments_hash = arguments, .minor_faults = faults, .at_hand = at_hand}, &usual);
}

static void between_captured_ones(void)
{
    struct classes_result result = three_lengths(5, 17, false, 3);
    CU_ASSERT_EQUAL_FATAL(result.class_count, 2);
    uint64_t members = 0, between_ns = 0;
    for (size_t c = 0; c < 2; c++) {
        const struct classes_class *class = &result.classes[c];
        CU_ASSERT_TRUE(class->wanted);
        CU_ASSERT_EQUAL((class->representative - 1) / 3, 5);            /* a captured one */
        members += class->between_members;
        between_ns += class->between_ns;
        if (class->between_members) {           /* by the nearer, and scaled: the class weighs what its members took */
            CU_ASSERT_EQUAL(class->representative_ns / 1000000, 26);
            CU_ASSERT_EQUAL(class->kind, CLASSES_SCALED);
            CU_ASSERT_DOUBLE_EQUAL(amdahl_class_weight(class->members, class->time_ns, class->representative_ns) * (double)class->representative_ns, (double)class->time_ns, 1);
        }
    }
    CU_ASSERT_EQUAL(members, KIND);
    CU_ASSERT_EQUAL(between_ns / 1000000, 17 * KIND);
    classes_result_done(&result);
}

static void not_represented(struct classes_result result)
{
    CU_ASSERT_EQUAL_FATAL(result.class_count, 3);
    for (size_t c = 0; c < 3; c++)
        CU_ASSERT_EQUAL(result.classes[c].between_members, 0);
    classes_result_done(&result);
}

static void not_between_captured_ones(void)
{
    not_represented(three_lengths(3, 17, false, 3));            /* nothing longer than the longest */
    not_represented(three_lengths(6, 17, false, 3));            /* nor shorter than the shortest */
    not_represented(three_lengths(5, 17, true, 3));             /* other work, and nothing says that it changes steadily */
    not_represented(three_lengths(5, 17, false, 6000));         /* 9 ms of faults */
}

static void between_without_gaps(void)
{
    enum { COUNT = 60 };
    uint64_t times[COUNT], arguments[COUNT];
    bool at_hand[COUNT] = {false};
    for (size_t i = 0; i < COUNT; i++) {
        times[i] = (uint64_t)(30e6 * pow(6, -(double)i / (COUNT - 1)));
        arguments[i] = i;               /* how much work there is */
    }
    at_hand[8] = at_hand[50] = true;
    struct classes_result result = find(&(struct classes_input){.count = COUNT, .time_ns = times, .arguments_hash = arguments, .at_hand = at_hand}, &usual);
    uint64_t between = 0;
    for (size_t c = 0; c < result.class_count; c++) {
        between += result.classes[c].between_members;
        CU_ASSERT_TRUE(at_hand[result.classes[c].representative - 1]);
    }
    CU_ASSERT_TRUE(between >= COUNT / 4);
    classes_result_done(&result);
}

/* Two callers, whose products take 14 and 36 us always; with cold caches one of the short ones takes 36 as well. */
static void what_is_in_a_class_by_chance(void)
{
    enum { COUNT = 400, COLD = 21, LATER = 201 };
    uint64_t times[COUNT], calls[COUNT];
    bool at_hand[COUNT] = {false};
    for (size_t i = 0; i < COUNT; i++) {
        calls[i] = i % 2 ? 7 : 8;
        times[i] = (calls[i] == 7 ? 14000 : 36000) + 10 * (i % 5);
    }
    times[COLD] = 36000;
    at_hand[COLD] = at_hand[LATER] = true;
    const struct classes_input input = {.count = COUNT, .time_ns = times, .calls_hash = calls, .at_hand = at_hand};
    struct classes_result result = find(&input, &usual);
    CU_ASSERT_EQUAL_FATAL(result.class_count, 2);
    uint32_t longer = result.class_of[0], shorter = result.class_of[LATER];
    CU_ASSERT_NOT_EQUAL(longer, shorter);
    CU_ASSERT_EQUAL(result.classes[shorter].representative, LATER + 1);
    CU_ASSERT_EQUAL(calls[result.classes[longer].representative - 1], 8);       /* it has to be captured */
    CU_ASSERT_TRUE(result.classes[longer].wanted);
    classes_result_done(&result);

    struct classes_input all = input;       /* nor where any may be captured: the cold one begins where it is wanted */
    uint64_t begin[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        begin[i] = 100000 * i;
    all.at_hand = NULL, all.begin_ns = begin, all.near_ns = begin[COLD];
    result = find(&all, &usual);
    CU_ASSERT_EQUAL(result.classes[result.class_of[0]].representative, COLD + 4);    /* the next long one that came behind a short one */
    classes_result_done(&result);

    for (size_t i = 0; i < COUNT; i++)      /* what all begin with tells nothing, nor what each begins with alone */
        calls[i] = 7;
    result = find(&input, &usual);
    CU_ASSERT_EQUAL(result.classes[result.class_of[0]].representative, COLD + 1);
    classes_result_done(&result);
    for (size_t i = 0; i < COUNT; i++)
        calls[i] = i;
    result = find(&input, &usual);
    CU_ASSERT_EQUAL(result.classes[result.class_of[0]].representative, COLD + 1);
    classes_result_done(&result);
}

/* A layer's products: four short ones and three long ones, again and again. */
static void behind_another_class(void)
{
    enum { COUNT = 700, NEAR = 352 };
    uint64_t times[COUNT], begin[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        times[i] = (i % 7 < 4 ? 14000 : 36000) + 10 * (i % 5);
        begin[i] = 100000 * i;
    }
    struct classes_result result = find(&(struct classes_input){.count = COUNT, .time_ns = times, .begin_ns = begin, .near_ns = begin[NEAR]}, &usual);
    CU_ASSERT_EQUAL_FATAL(result.class_count, 2);
    for (size_t c = 0; c < 2; c++) {
        uint64_t at = result.classes[c].representative - 1;
        CU_ASSERT_TRUE(at % 7 == 0 || at % 7 == 4);     /* the first of each kind */
        CU_ASSERT_TRUE(at >= NEAR && at < NEAR + 7);
    }
    classes_result_done(&result);
}

static const struct unit_test tests[] = {
    {"of equally good ones such as came behind another class represent", behind_another_class},
    {"what takes as long as a class by chance, as its beginning tells, does not represent it", what_is_in_a_class_by_chance},
    {"what lies between captured ones is represented by the nearer, scaled", between_captured_ones},
    {"what lies beyond them, or does other work, or touches memory first, is not", not_between_captured_ones},
    {"nor need arguments be the same where times change without a gap", between_without_gaps},
    {"one invocation is its own class", one_invocation},
    {"a class of all kinds of times is represented by what makes up its time", mixtures_are_represented_by_what_makes_up_their_time},
    {"among equally good members the one nearest to what is wanted represents", equally_good_ones_are_near_to_what_is_wanted},
    {"two to ten invocations that differ are their own classes", two_to_ten_different},
    {"few invocations that perform alike are one class", few_alike},
    {"a first touch among few invocations is its own class", few_with_first_touch},
    {"the nearest of few invocations join where the limit demands it", few_are_limited},
    {"constant times are one class, not represented by the first three", constant_times},
    {"times of zero are one class", zero_times},
    {"ordinary noise is one class", ordinary_noise},
    {"two modes are two classes", two_modes},
    {"near modes are told apart beside a far one", near_modes_beside_a_far_one},
    {"classes within one per cent are one", within_one_percent},
    {"so are those within a few ticks of the clock", ticks_of_the_clock},
    {"each grid level of a multigrid is a class, its first touch another", mg_grid_levels},
    {"the paper's multigrid example has three classes", mg_like_the_paper},
    {"a factorisation that shrinks has scaled classes", lu_that_shrinks},
    {"a steady change within a factor of two is one class", a_steady_change_within_a_factor_of_two},
    {"a first touch never represents the others", first_touch},
    {"page faults tell a first touch in the middle of a program", first_touch_told_by_faults},
    {"a representative has the usual number of faults", representatives_fault_as_usual},
    {"rare spikes are noise that keeps its weight and is not captured", spikes_are_noise},
    {"rare work that is reproducible or heavy is no noise", rare_work_is_no_noise},
    {"arguments decide what a rare invocation is", arguments_decide},
    {"preemptions decide what a rare invocation is", preemptions_decide},
    {"a class that weighs little is not wanted", light_classes},
    {"there are never more classes than allowed", limits_hold},
    {"classes and weights add up to the region's time, however many classes there may be", weights_add_up},
    {"the same seed gives the same classes", seeds_reproduce},
    {"ten million invocations have classes, and few heavy ones are seen among them", ten_million},
    {"invocations of several kinds share no class, however alike they are", kinds_stay_apart},
    {"empty and impossible input is refused", refusals},
};

UNIT_MAIN("predictor classes", tests)
