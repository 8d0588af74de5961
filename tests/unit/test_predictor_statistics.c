/* tests/unit/test_predictor_statistics.c - medians, quantiles, intervals and spread against values worked out by hand or by R. */
#include "predictor/statistics.h"

#include "predictor/random.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void medians_and_quantiles(void)
{
    const double odd[] = {1, 2, 10}, even[] = {1, 2, 4, 10}, one[] = {7}, two[] = {7, 9};
    CU_ASSERT_EQUAL(statistics_median(odd, 3), 2);
    CU_ASSERT_EQUAL(statistics_median(even, 4), 3);
    CU_ASSERT_EQUAL(statistics_median(one, 1), 7);
    CU_ASSERT_EQUAL(statistics_median(two, 2), 8);
    /* R: quantile(c(1, 2, 4, 10), c(.1, .25, .9)) */
    CU_ASSERT_DOUBLE_EQUAL(statistics_quantile(even, 4, 0.1), 1.3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(statistics_quantile(even, 4, 0.25), 1.75, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(statistics_quantile(even, 4, 0.9), 8.2, 1e-12);
    CU_ASSERT_EQUAL(statistics_quantile(even, 4, 0), 1);
    CU_ASSERT_EQUAL(statistics_quantile(even, 4, 1), 10);
    CU_ASSERT_EQUAL(statistics_quantile(one, 1, 0.5), 7);
}

static void selection_equals_sorting(void)
{
    uint64_t state = 5;
    for (size_t count = 1; count < 60; count++)
        for (size_t repeat = 0; repeat < 20; repeat++) {
            double values[60], sorted[60];
            uint64_t whole[60];
            for (size_t i = 0; i < count; i++) {
                whole[i] = random_below(&state, repeat + 1);   /* few different values at first: many equal ones */
                sorted[i] = values[i] = (double)whole[i];
            }
            statistics_sort(sorted, count);
            size_t rank = (size_t)random_below(&state, count);
            CU_ASSERT_EQUAL(statistics_select(values, count, rank), sorted[rank]);
            CU_ASSERT_EQUAL((double)statistics_select_u64(whole, count, rank), sorted[rank]);
            for (size_t i = 0; i < count; i++)
                CU_ASSERT(i < rank ? values[i] <= values[rank] : values[i] >= values[rank]);
        }
}

static void selection_is_linear(void)
{
    size_t count = 2000000;
    uint64_t *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = i;
    CU_ASSERT_EQUAL(statistics_select_u64(values, count, count / 3), count / 3);
    for (size_t i = 0; i < count; i++)
        values[i] = count - i;
    CU_ASSERT_EQUAL(statistics_select_u64(values, count, count / 3), count / 3 + 1);
    for (size_t i = 0; i < count; i++)
        values[i] = i < count / 2 ? i : count - i;             /* up and down again */
    CU_ASSERT_EQUAL(statistics_select_u64(values, count, count - 1), count / 2);
    for (size_t i = 0; i < count; i++)
        values[i] = 3;
    CU_ASSERT_EQUAL(statistics_select_u64(values, count, 17), 3);
    free(values);
}

static void spread(void)
{
    const double values[] = {1, 1, 2, 2, 4, 6, 9}, even[] = {1, 2, 4, 10}, one[] = {5}, two[] = {5, 8}, zeros[] = {0, 0, 0};
    CU_ASSERT_EQUAL(statistics_mad(values, 7), 1);
    CU_ASSERT_EQUAL(statistics_mad(even, 4), 1.5);             /* deviations from 3: 1, 1, 2, 7 */
    CU_ASSERT_EQUAL(statistics_mad(one, 1), 0);
    CU_ASSERT_EQUAL(statistics_mad(two, 2), 1.5);
    CU_ASSERT_EQUAL(statistics_mad(zeros, 3), 0);
    /* against the definition */
    uint64_t state = 9;
    for (size_t count = 1; count < 40; count++) {
        double sorted[40], deviations[40];
        for (size_t i = 0; i < count; i++)
            sorted[i] = (double)random_below(&state, 50);
        statistics_sort(sorted, count);
        double median = statistics_median(sorted, count);
        for (size_t i = 0; i < count; i++)
            deviations[i] = fabs(sorted[i] - median);
        statistics_sort(deviations, count);
        CU_ASSERT_DOUBLE_EQUAL(statistics_mad(sorted, count), statistics_median(deviations, count), 1e-12);
    }
    CU_ASSERT_EQUAL(statistics_mean(even, 4), 4.25);
    CU_ASSERT_DOUBLE_EQUAL(statistics_variation_ratio(two, 2), sqrt(4.5) / 6.5, 1e-15);
    CU_ASSERT_EQUAL(statistics_variation_ratio(one, 1), 0);
    CU_ASSERT_EQUAL(statistics_variation_ratio(zeros, 3), 0);
}

static void intervals_by_order(void)
{
    double values[1000];
    for (size_t i = 0; i < 1000; i++)
        values[i] = (double)(i + 1);
    /* n, the lower rank, coverage: from R's pbinom. For 9 values the classic (2, 8) with 96.09 %. */
    static const struct { size_t count, rank; double confidence; } known[] = {
        {1, 1, 0},           {2, 1, 0.5},        {3, 1, 0.75},         {5, 1, 0.9375},      {6, 1, 0.96875},
        {9, 2, 0.9609375},   {10, 2, 0.978515625}, {20, 6, 0.9586105347}, {30, 10, 0.9572260},
        {100, 40, 0.9647998}, {1000, 469, 0.9537088},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        struct statistics_interval interval = statistics_median_interval(values, known[k].count, 0.95);
        CU_ASSERT_EQUAL(interval.low, (double)known[k].rank);
        CU_ASSERT_EQUAL(interval.high, (double)(known[k].count + 1 - known[k].rank));
        CU_ASSERT_DOUBLE_EQUAL(interval.confidence, known[k].confidence, 1e-6);
    }
}

static void intervals_cover(void)
{
    uint64_t state = 1;
    size_t covered = 0, tried = 4000;
    for (size_t t = 0; t < tried; t++) {
        double values[15];
        for (size_t i = 0; i < 15; i++) {
            double u = (double)(random_next(&state) >> 11) * 0x1p-53;
            values[i] = 100 - log(1 - u);                      /* skewed, as times are; median 100 + ln 2 */
        }
        statistics_sort(values, 15);
        struct statistics_interval interval = statistics_median_interval(values, 15, 0.95);
        covered += interval.low <= 100 + log(2) && 100 + log(2) <= interval.high;
    }
    CU_ASSERT(covered * 1000 >= tried * 950 && covered * 1000 <= tried * 980);   /* really 96.5 % */
}

/* Few repetitions of a process whose offset nobody knows: minimum to maximum would hold the time of all processes in 0, 50 and 75 % of the cases at best. */
static void few_repetitions_are_not_certain(void)
{
    const double one[] = {100};
    struct statistics_interval interval = statistics_repetitions_interval(one, 1, 1, true);
    CU_ASSERT_DOUBLE_EQUAL(interval.high, 100 + 196 * hypot(STATISTICS_SINGLE_RATIO, STATISTICS_PROCESS_RATIO), 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(interval.low, 200 - interval.high, 1e-9);
    uint64_t state = 11;
    for (size_t round = 0; round < 10; round++) {
        static const size_t counts[] = {1, 2, 3, 6, 9};
        size_t covered = 0, tried = 4000, count = counts[round / 2];
        for (size_t t = 0; t < tried; t++) {
            double values[9], offset = 0;
            for (size_t k = 0; k < 12; k++)
                offset += (double)random_below(&state, 1000) / 1000 - 0.4995;     /* standard normal, nearly */
            for (size_t i = 0; i < count; i++) {
                values[i] = 0;
                for (size_t k = 0; k < 12; k++)
                    values[i] += (double)random_below(&state, 1000) / 1000 - 0.4995;
                values[i] = 1000 * (1 + STATISTICS_PROCESS_RATIO * offset + 0.03 * values[i]);
            }
            statistics_sort(values, count);
            interval = statistics_repetitions_interval(values, count, 1, round % 2);
            covered += interval.low <= 1000 && 1000 <= interval.high;
        }
        CU_ASSERT(covered * 1000 >= tried * 940);
    }
    const double many[] = {98, 99, 99, 100, 100, 100, 101, 101, 102};
    struct statistics_interval alone = statistics_repetitions_interval(many, 9, 1, true), several = statistics_repetitions_interval(many, 9, 100, true);
    /* Two that nothing interrupted are not as uncertain as if nothing were known of repetitions: their own spread alone makes that 0 to 200. */
    const double two[] = {94, 106};
    CU_ASSERT(statistics_repetitions_interval(two, 2, 1, true).low > 80 && statistics_repetitions_interval(two, 2, 1, false).low < 30);
    CU_ASSERT(alone.low < several.low && several.low < 99 && several.low > 98.7 && alone.high - 100 < 7);
}

static void bootstrap_sees_groups(void)
{
    /* Three processes with offsets of 3 %, each with many tight repetitions: pooled order statistics would claim certainty. */
    double a[20], b[20], c[20], scratch[60], draws[1000];
    for (size_t i = 0; i < 20; i++) {
        a[i] = 97 + 0.01 * (double)i;
        b[i] = 100 + 0.01 * (double)i;
        c[i] = 103 + 0.01 * (double)i;
    }
    const struct statistics_group groups[] = {{a, 20}, {b, 20}, {c, 20}};
    uint64_t state = 7, again = 7;
    statistics_bootstrap(groups, 3, false, &state, scratch, draws, 1000);
    statistics_sort(draws, 1000);
    CU_ASSERT(statistics_quantile(draws, 1000, 0.025) < 97.5);
    CU_ASSERT(statistics_quantile(draws, 1000, 0.975) > 102.5);
    CU_ASSERT_DOUBLE_EQUAL(statistics_median(draws, 1000), 100, 0.5);
    double repeated[1000];
    statistics_bootstrap(groups, 3, false, &again, scratch, repeated, 1000);
    statistics_sort(repeated, 1000);
    CU_ASSERT_EQUAL(memcmp(draws, repeated, sizeof draws), 0);
    statistics_bootstrap(&groups[1], 1, false, &state, scratch, draws, 1000);
    statistics_sort(draws, 1000);
    CU_ASSERT(draws[0] >= 100 && draws[999] <= 100.2);
    const double lone[] = {5};
    const struct statistics_group single = {lone, 1};
    statistics_bootstrap(&single, 1, false, &state, scratch, draws, 10);
    CU_ASSERT_EQUAL(draws[9], 5);
    const double apart[] = {2, 2, 2, 2, 2, 16};
    const struct statistics_group bimodal = {apart, 6};
    statistics_bootstrap(&bimodal, 1, true, &state, scratch, draws, 1000);
    CU_ASSERT_DOUBLE_EQUAL(statistics_mean(draws, 1000), 26.0 / 6, 0.3);
    statistics_sort(draws, 1000);
    CU_ASSERT(statistics_quantile(draws, 1000, 0.975) > 8);
}

/* Sum of twelve, less six: nearly standard normal. */
static double normal(uint64_t *state)
{
    double sum = 0;
    for (size_t k = 0; k < 12; k++)
        sum += (double)random_below(state, 1000) / 1000 - 0.4995;
    return sum;
}

/* Codelets whose shots scatter by 2, 5 or 10 % around what a process, off by 3.5 %, takes. Two by themselves would say 40 % in the mean, and next to nothing where they happen to agree. */
static void few_shots_borrow_what_others_scatter(void)
{
    static const double scatters[] = {0.02, 0.05, 0.1};
    uint64_t state = 3;
    for (size_t count = 1; count <= 5; count++) {
        size_t covered = 0, tried = 6000;
        double widths = 0, narrowest = INFINITY;
        for (size_t t = 0; t < tried; t++) {
            double values[5], process = 1000 * (1 + STATISTICS_PROCESS_RATIO * normal(&state));
            for (size_t i = 0; i < count; i++)
                values[i] = process * (1 + scatters[t % 3] * normal(&state));
            struct statistics_interval interval = statistics_shots_interval(values, count);
            double half = (interval.high - interval.low) / 2;
            covered += interval.low <= 1000 && 1000 <= interval.high;
            widths += half;
            narrowest = fmin(narrowest, half / (interval.high - half));
        }
        CU_ASSERT(covered * 1000 >= tried * 940);
        CU_ASSERT(narrowest > 1.96 * STATISTICS_PROCESS_RATIO && widths < 230 * (double)tried);
    }
}

static void shots(void)
{
    const double one[] = {1000}, alike[] = {1000, 1000}, five[] = {900, 1000, 1100, 1200, 1300};
    CU_ASSERT_DOUBLE_EQUAL(statistics_shots_half(one, 1), 4.303 * 50, 1e-6);               /* t of 2 degrees of freedom */
    CU_ASSERT_DOUBLE_EQUAL(statistics_shots_half(alike, 2), 3.182 * 50 * sqrt(2.0 / 3) / sqrt(2), 1e-6);
    /* of their own 4 degrees of freedom and 2 more: squares of 2 (0.05 * 1100)^2 + 100000 */
    CU_ASSERT_DOUBLE_EQUAL(statistics_shots_half(five, 5), 2.447 * sqrt((2 * 55.0 * 55 + 100000) / 6) / sqrt(5), 1e-6);
    struct statistics_interval interval = statistics_shots_interval(one, 1);
    CU_ASSERT_DOUBLE_EQUAL(interval.high - 1000, hypot(4.303 * 50, 1.96 * 35), 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(interval.low, 2000 - interval.high, 1e-9);
}

static const struct unit_test tests[] = {
    {"shots have the interval of Student's t, with what shots scatter by as a rule beside their own", shots},
    {"so few of them are neither certain nor worth nothing", few_shots_borrow_what_others_scatter},
    {"medians and quantiles are R's", medians_and_quantiles},
    {"selection finds what sorting finds", selection_equals_sorting},
    {"selection is quick on sorted, reversed, folded and constant values", selection_is_linear},
    {"deviation, mean and variation follow their definitions, also for one and two values", spread},
    {"a median's interval has the ranks and coverage of the binomial", intervals_by_order},
    {"a median's interval covers the median as often as it says", intervals_cover},
    {"few repetitions, of one process, are not certain", few_repetitions_are_not_certain},
    {"the bootstrap sees that repetitions of one process share an offset", bootstrap_sees_groups},
};

UNIT_MAIN("predictor statistics", tests)
