/* tests/unit/test_analysis_epd.c - the earth mover's distance against brute force, and dissimilarity worked by hand. */
#include "analysis/emd.h"
#include "analysis/epd.h"
#include "predictor/random.h"
#include "tests/unit/profile_sample.h"

#include <math.h>

static const char *const names[] = {"R1", "R2", "R3"};

/* Half of the earth moves by 1, the other by 0. */
static void emd_by_hand(void)
{
    struct pcere_error error = {0};
    struct emd_point a[] = {{0, 0, 1}, {2, 0, 1}}, b[] = {{0, 0, 3}, {2, 1, 3}}, one[] = {{3, 4, 7}}, origin[] = {{0, 0, 2}};
    double distance;
    CU_ASSERT_EQUAL_FATAL(emd_distance(a, 2, b, 2, &distance, &error), PCERE_OK);
    CU_ASSERT_DOUBLE_EQUAL(distance, 0.5, 1e-12);
    CU_ASSERT_EQUAL_FATAL(emd_distance(one, 1, origin, 1, &distance, &error), PCERE_OK);
    CU_ASSERT_DOUBLE_EQUAL(distance, 5, 1e-12);
    CU_ASSERT_EQUAL_FATAL(emd_distance(one, 1, one, 1, &distance, &error), PCERE_OK);
    CU_ASSERT_DOUBLE_EQUAL(distance, 0, 0);
    CU_ASSERT_EQUAL(emd_distance(a, 0, b, 2, &distance, &error), PCERE_USAGE);
    a[0].x = NAN;
    CU_ASSERT_EQUAL(emd_distance(a, 2, b, 2, &distance, &error), PCERE_USAGE);
    a[0] = (struct emd_point){0, 0, 0};
    CU_ASSERT_EQUAL(emd_distance(a, 2, b, 2, &distance, &error), PCERE_USAGE);
}

/* Unit masses: each of a's goes to one of b's, and all orders are tried. */
static double least_work(const struct emd_point *a, const struct emd_point *b, size_t count, size_t at, unsigned used)
{
    double least = at == count ? 0 : INFINITY;
    for (size_t j = 0; j < count && at < count; j++)
        if (!(used >> j & 1)) {
            double work = hypot(a[at].x - b[j].x, a[at].y - b[j].y) + least_work(a, b, count, at + 1, used | 1u << j);
            least = work < least ? work : least;
        }
    return least;
}

static size_t masses_split(const struct emd_point *points, size_t count, struct emd_point *units)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        for (uint64_t k = 0; k < points[i].weight; k++)
            units[used++] = points[i];
    return used;
}

static void emd_equals_brute_force(void)
{
    uint64_t state = 3;
    for (int turn = 0; turn < 200; turn++) {
        struct emd_point a[4], b[4], a_units[6], b_units[6];
        double scale = turn % 3 == 0 ? 1e-6 : turn % 3 == 1 ? 1 : 1e9;
        for (size_t side = 0; side < 2; side++)
            for (size_t i = 0; i < 4; i++)
                (side ? b : a)[i] = (struct emd_point){scale * (double)random_below(&state, 10000), scale * (double)random_below(&state, 10000), 1};
        for (size_t k = 0; k < 2; k++) {
            a[random_below(&state, 4)].weight++;
            b[random_below(&state, 4)].weight++;
        }
        CU_ASSERT_EQUAL_FATAL(masses_split(a, 4, a_units), 6);
        masses_split(b, 4, b_units);
        struct pcere_error error = {0};
        double distance, expected = least_work(a_units, b_units, 6, 0, 0) / 6;
        CU_ASSERT_EQUAL_FATAL(emd_distance(a, 4, b, 4, &distance, &error), PCERE_OK);
        CU_ASSERT_DOUBLE_EQUAL(distance / expected, 1, 1e-9);
    }
}

/* On a line the distance is the area between the two cumulative distributions. */
static void emd_on_a_line(void)
{
    enum { COUNT = 300 };
    struct emd_point a[COUNT], b[COUNT];
    uint64_t state = 4, a_sum = 0, b_sum = 0;
    for (size_t i = 0; i < COUNT; i++) {
        a[i] = (struct emd_point){(double)i, 0, 1 + random_below(&state, 1000)};
        b[i] = (struct emd_point){(double)i, 0, 1 + random_below(&state, 1000)};
        a_sum += a[i].weight;
        b_sum += b[i].weight;
    }
    double area = 0, a_share = 0, b_share = 0, distance;
    for (size_t i = 0; i + 1 < COUNT; i++) {
        a_share += (double)a[i].weight / (double)a_sum;
        b_share += (double)b[i].weight / (double)b_sum;
        area += fabs(a_share - b_share);
    }
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(emd_distance(a, COUNT, b, COUNT, &distance, &error), PCERE_OK);
    CU_ASSERT_DOUBLE_EQUAL(distance, area, 1e-9);
}

/* Two intervals of 5 each way. R has XUs at (0, 0) and (10, 10): in intervals (0, 0) and (2, 2). */
static const struct sample_xu r1[] = {{"0/1", 0, 1, {0, 0, 7}}, {"0/2", 0, 2, {10, 10, 7}}};
static const struct sample_xu r2[] = {{"0/1", 0, 1, {0, 0, 7}}, {"0/2", 0, 2, {10, 5, 7}}};
static const struct sample_xu p[] = {{"0/1", 0, 1, {0, 0, 7}}, {"0/2", 0, 2, {10, 0, 7}}};

static double distance_of(const struct profile *profile, const struct profile *reference)
{
    struct pcere_error error = {0};
    double distance = NAN;
    CU_ASSERT_EQUAL_FATAL(epd_distance(profile, (uint32_t[]){0, 1}, reference, (uint32_t[]){0, 1}, 2, &distance, &error), PCERE_OK);
    return distance;
}

static void distances_by_hand(void)
{
    struct profile *reference = SAMPLE("x y z", r1), *profile = SAMPLE("x y z", p);
    CU_ASSERT_DOUBLE_EQUAL(distance_of(profile, reference), 1, 1e-12);      /* half of the XUs from (2, 0) to (2, 2) */
    CU_ASSERT_DOUBLE_EQUAL(distance_of(reference, reference), 0, 0);
    const struct sample_xu means[] = {{"0/1", 0, 1, {0, 0}}, {"0/2", 0, 2, {4, 0}}, {"0/3", 0, 3, {10, 10}}, {"0/4", 0, 4, {10, 10}}};
    struct profile *mean = SAMPLE("x y", means);
    CU_ASSERT_DOUBLE_EQUAL(distance_of(mean, reference), 0.2, 1e-12);       /* half of them from the mean (0.4, 0) to (0, 0) */
    const struct sample_xu outside[] = {{"0/1", 0, 1, {0, 0}}, {"0/2", 0, 2, {40, 10}}};
    struct profile *far = SAMPLE("x y", outside);
    CU_ASSERT_DOUBLE_EQUAL(distance_of(far, reference), 3, 1e-12);          /* half of them from (8, 2) to (2, 2) */
    profile_free(reference);
    profile_free(profile);
    profile_free(mean);
    profile_free(far);
}

/* x and y: R2 on R1's grid is 0.5 away, half of the XUs from (2, 1) to (2, 2); R1 on R2's grid, whose intervals of y are 2.5, is 1 away, from (2, 4) to (2, 2).
 * The calibration is 0.75. P is 1 away from R1, and on R2's grid 1, from (2, 0) to (2, 2). So the pair's ratio is 4/3. y and z: the same distances, as z does not
 * differ: 4/3. x and z: neither references nor P differ. */
static void dissimilarity_by_hand(void)
{
    struct pcere_error error = {0};
    struct profile *references[] = {SAMPLE("x y z", r1), SAMPLE("x y z", r2)}, *profile = SAMPLE("x y z", p);
    struct epd_calibration calibration;
    struct epd_result result;
    struct epd_options options = {.bins = 2};
    CU_ASSERT_EQUAL_FATAL(epd_calibrate(references, names, 2, &options, &calibration, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(calibration.pair_count, 3);
    CU_ASSERT_DOUBLE_EQUAL(calibration.pairs[0].calibration, 0.75, 1e-12);
    CU_ASSERT_EQUAL(calibration.zero, 1);
    CU_ASSERT_EQUAL_FATAL(epd_evaluate(profile, "P", references, names, 2, &calibration, &result, &error), PCERE_OK);
    CU_ASSERT_DOUBLE_EQUAL(result.distances[0], 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(result.epd, 4.0 / 3, 1e-12);
    CU_ASSERT_EQUAL(result.pairs, 2);
    CU_ASSERT_EQUAL(result.zero_same, 1);
    CU_ASSERT_EQUAL(result.zero_other, 0);
    CU_ASSERT_DOUBLE_EQUAL(result.floored, cbrt(16.0 / 9), 1e-12);
    epd_result_done(&result);
    /* where only P differs in x, the pair of x and z cannot be a ratio: it is counted */
    profile->counts[0][1] = 5;
    CU_ASSERT_EQUAL_FATAL(epd_evaluate(profile, "P", references, names, 2, &calibration, &result, &error), PCERE_OK);
    CU_ASSERT_EQUAL(result.zero_same, 0);
    CU_ASSERT_EQUAL(result.zero_other, 1);
    CU_ASSERT_DOUBLE_EQUAL(result.distances[1], 0.5, 1e-12);
    epd_result_done(&result);
    epd_calibration_done(&calibration);
    profile_free(profile);
    profile_free(references[0]);
    profile_free(references[1]);
}

static void a_reference_is_as_far_as_references_are(void)
{
    struct pcere_error error = {0};
    struct profile *references[3];
    struct sample_xu xus[200];
    char labels[200][8];
    uint64_t state = 8;
    for (size_t r = 0; r < 3; r++) {
        for (size_t i = 0; i < 200; i++) {
            snprintf(labels[i], sizeof labels[i], "0/%zu", i);
            xus[i] = (struct sample_xu){labels[i], 0, i, {1000 + random_below(&state, 1000), random_below(&state, 50)}};
        }
        references[r] = SAMPLE("x y", xus);
    }
    struct epd_calibration calibration;
    struct epd_result result;
    CU_ASSERT_EQUAL_FATAL(epd_calibrate(references, names, 3, &(struct epd_options){0}, &calibration, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(epd_evaluate(references[1], "P", references, names, 3, &calibration, &result, &error), PCERE_OK);
    CU_ASSERT(result.epd > 0.4 && result.epd < 1);      /* one of three distances is to itself */
    epd_result_done(&result);
    epd_calibration_done(&calibration);
    for (size_t r = 0; r < 3; r++)
        profile_free(references[r]);
}

static void what_cannot_be_judged_is_refused(void)
{
    struct pcere_error error = {0};
    struct profile *references[] = {SAMPLE("x y z", r1), SAMPLE("x y z", r2)}, *profile = SAMPLE("u v", p), *empty = sample_profile("x y", NULL, 0);
    struct epd_calibration calibration;
    struct epd_result result;
    struct epd_options options = {0};
    CU_ASSERT_EQUAL(epd_calibrate(references, names, 0, &options, &calibration, &error), PCERE_USAGE);
    struct profile *single = SAMPLE("x", r1);
    CU_ASSERT_EQUAL(epd_calibrate(&single, names, 1, &options, &calibration, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "two events"));
    CU_ASSERT_EQUAL_FATAL(epd_calibrate(references, names, 1, &options, &calibration, &error), PCERE_OK);
    CU_ASSERT_EQUAL(calibration.alone, 3);
    CU_ASSERT_EQUAL(epd_evaluate(profile, "P", references, names, 1, &calibration, &result, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "P has no pair"));
    CU_ASSERT_EQUAL(epd_evaluate(empty, "E", references, names, 1, &calibration, &result, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "E has no XUs"));
    epd_calibration_done(&calibration);
    profile_free(profile);
    profile_free(empty);
    profile_free(single);
    profile_free(references[0]);
    profile_free(references[1]);
}

static const struct unit_test tests[] = {
    {"small distances are right, and odd points are refused", emd_by_hand},
    {"distances equal brute force to 1e-9 at every scale", emd_equals_brute_force},
    {"on a line the distance is the area between cumulative distributions", emd_on_a_line},
    {"histograms lie where their XUs do", distances_by_hand},
    {"dissimilarity worked by hand, and pairs without calibration are counted", dissimilarity_by_hand},
    {"a run among references is about as far as they are from each other", a_reference_is_as_far_as_references_are},
    {"what cannot be judged is refused", what_cannot_be_judged_is_refused},
};

UNIT_MAIN("dissimilarity of profiles", tests)
