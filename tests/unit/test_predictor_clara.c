/* tests/unit/test_predictor_clara.c - CLARA and PAM against values computed by R's package cluster (data/clara_oracle.R). */
#include "predictor/clara.h"

#include "predictor/random.h"
#include "unit.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct oracle {
    json_t *root;
    const json_t *cases;
};

static struct oracle oracle_load(void)
{
    json_error_t where;
    struct oracle oracle = {.root = json_load_file(PCERE_TEST_DATA "/clara_oracle.json", 0, &where)};
    CU_ASSERT_PTR_NOT_NULL_FATAL(oracle.root);
    oracle.cases = json_object_get(oracle.root, "cases");
    CU_ASSERT_FATAL(json_array_size(oracle.cases) > 20);
    return oracle;
}

static size_t *indices(const json_t *array)
{
    size_t count = json_array_size(array), *values = malloc((count + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = (size_t)json_integer_value(json_array_get(array, i));
    return values;
}

static double *coordinates(const json_t *array)
{
    size_t count = json_array_size(array);
    double *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = json_number_value(json_array_get(array, i));
    return values;
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* The data, number of clusters and metric of a case; the caller frees the coordinates. */
static struct clara_options case_input(const struct oracle *oracle, const json_t *expected, struct clara_points *ret_points)
{
    const json_t *data = json_object_get(oracle->root, "data");
    const json_t *set = json_object_get(data, json_string_value(json_object_get(expected, "data")));
    const json_t *values = json_object_get(set, "points");
    CU_ASSERT_FATAL(json_array_size(values) > 0);
    size_t dimensions = (size_t)number(set, "dimensions");
    *ret_points = (struct clara_points){
        .coordinates = coordinates(values), .count = json_array_size(values) / dimensions, .dimensions = dimensions};
    bool manhattan = strcmp(json_string_value(json_object_get(expected, "metric")), "manhattan") == 0;
    return (struct clara_options){.clusters = (size_t)number(expected, "k"),
                                  .metric = manhattan ? CLARA_MANHATTAN : CLARA_EUCLIDEAN};
}

static void case_compare(const struct oracle *oracle, const json_t *expected)
{
    const json_t *sample = json_object_get(expected, "sample");
    size_t *given = indices(sample), *medoids = indices(json_object_get(expected, "medoids"));
    size_t *clusters = indices(json_object_get(expected, "clusters"));
    struct clara_points points;
    struct clara_options options = case_input(oracle, expected, &points);
    options.samples = 1;
    options.sample_size = sample ? json_array_size(sample) : points.count;
    options.given = sample ? given : NULL;
    struct clara_result result = {0};
    CU_ASSERT_EQUAL_FATAL(clara_run(&points, &options, &result, NULL), PCERE_OK);
    bool same = result.cluster_count == options.clusters &&
                memcmp(result.medoids, medoids, options.clusters * sizeof *medoids) == 0;
    size_t different = 0;
    for (size_t i = 0; i < points.count; i++)
        different += result.clusters[i] != clusters[i];
    CU_ASSERT_TRUE(same);
    CU_ASSERT_EQUAL(different, 0);
    CU_ASSERT_DOUBLE_EQUAL(result.objective, number(expected, "objective"), 1e-12 * number(expected, "objective"));
    CU_ASSERT_DOUBLE_EQUAL(result.silhouette, number(expected, "silhouette"), 1e-12);
    if (!same || different)
        printf("[%s] ", json_string_value(json_object_get(expected, "name")));
    clara_result_done(&result);
    free((void *)(uintptr_t)points.coordinates);
    free(given);
    free(medoids);
    free(clusters);
}

static void cases_compare(bool sampled)
{
    struct oracle oracle = oracle_load();
    size_t compared = 0;
    for (size_t i = 0; i < json_array_size(oracle.cases); i++) {
        const json_t *expected = json_array_get(oracle.cases, i);
        if ((json_object_get(expected, "sample") != NULL) != sampled)
            continue;
        case_compare(&oracle, expected);
        compared++;
    }
    CU_ASSERT(compared >= 8);
    json_decref(oracle.root);
}

static void pam_equals_r(void)
{
    cases_compare(false);
}

static void clara_equals_r(void)
{
    cases_compare(true);
}

/* A hundred samples must find what R finds with 5 or 20, to 0.1 %; five other samples lie within 10 %. */
static void own_samples_do_as_well(void)
{
    struct oracle oracle = oracle_load();
    for (size_t i = 0; i < json_array_size(oracle.cases); i++) {
        const json_t *expected = json_array_get(oracle.cases, i), *sample = json_object_get(expected, "sample");
        if (!sample)
            continue;
        struct clara_points points;
        struct clara_options options = case_input(&oracle, expected, &points);
        options.samples = 100;
        options.sample_size = json_array_size(sample);
        options.seed = i;
        struct clara_result result = {0};
        CU_ASSERT_EQUAL_FATAL(clara_run(&points, &options, &result, NULL), PCERE_OK);
        CU_ASSERT(result.objective <= number(expected, "objective") * 1.001);
        CU_ASSERT_EQUAL(result.sample_count, options.sample_size);
        clara_result_done(&result);
        options.samples = 0;
        CU_ASSERT_EQUAL_FATAL(clara_run(&points, &options, &result, NULL), PCERE_OK);
        CU_ASSERT(result.objective <= number(expected, "objective") * 1.10);
        clara_result_done(&result);
        free((void *)(uintptr_t)points.coordinates);
    }
    json_decref(oracle.root);
}

static void samples_are_valid(void)
{
    double data[1000];
    uint64_t state = 1;
    for (size_t i = 0; i < 1000; i++)
        data[i] = (double)random_below(&state, 1000);
    struct clara_points points = {.coordinates = data, .count = 500, .dimensions = 2};
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct clara_options options = {.clusters = 4, .samples = 7, .seed = seed};
        struct clara_result result = {0};
        CU_ASSERT_EQUAL_FATAL(clara_run(&points, &options, &result, NULL), PCERE_OK);
        CU_ASSERT_EQUAL_FATAL(result.sample_count, 48);
        size_t medoids_in_sample = 0;
        for (size_t i = 0; i < result.sample_count; i++) {
            CU_ASSERT(result.sample[i] < 500 && (i == 0 || result.sample[i] > result.sample[i - 1]));
            for (size_t c = 0; c < 4; c++)
                medoids_in_sample += result.sample[i] == result.medoids[c];
        }
        CU_ASSERT_EQUAL(medoids_in_sample, 4);
        for (size_t c = 0; c < 4; c++)
            CU_ASSERT_EQUAL(result.clusters[result.medoids[c]], c);
        clara_result_done(&result);
    }
}

static void seeds_reproduce(void)
{
    double data[3000];
    uint64_t state = 1;
    for (size_t i = 0; i < 3000; i++)
        data[i] = (double)random_below(&state, 100000);
    struct clara_points points = {.coordinates = data, .count = 3000, .dimensions = 1};
    struct clara_options options = {.clusters = 6, .seed = 42};
    struct clara_result one = {0}, two = {0}, other = {0};
    CU_ASSERT_EQUAL_FATAL(clara_run(&points, &options, &one, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(clara_run(&points, &options, &two, NULL), PCERE_OK);
    options.seed = 43;
    CU_ASSERT_EQUAL_FATAL(clara_run(&points, &options, &other, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(memcmp(one.medoids, two.medoids, 6 * sizeof *one.medoids), 0);
    CU_ASSERT_EQUAL(memcmp(one.clusters, two.clusters, 3000 * sizeof *one.clusters), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(one.sample, other.sample, one.sample_count * sizeof *one.sample), 0);
    clara_result_done(&one);
    clara_result_done(&two);
    clara_result_done(&other);
}

static void as_many_clusters_as_points(void)
{
    double data[] = {1, 5, 9};
    struct clara_points points = {.coordinates = data, .count = 3, .dimensions = 1};
    struct clara_options options = {.clusters = 3};
    struct clara_result result = {0};
    CU_ASSERT_EQUAL_FATAL(clara_run(&points, &options, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.objective, 0);
    CU_ASSERT_EQUAL(result.silhouette, 0);
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT(result.medoids[i] == i && result.clusters[i] == i && result.sizes[i] == 1);
    clara_result_done(&result);
}

static void equal_points(void)
{
    double data[100] = {0};
    struct clara_points points = {.coordinates = data, .count = 100, .dimensions = 1};
    struct clara_options options = {.clusters = 2};
    struct clara_result result = {0};
    CU_ASSERT_EQUAL_FATAL(clara_run(&points, &options, &result, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(result.objective, 0);
    CU_ASSERT_EQUAL(result.sizes[0], 100);
    CU_ASSERT_EQUAL(result.silhouette, 0);
    clara_result_done(&result);
}

/* Values as times are: many that are equal, few, logarithms, two heaps, a smear. */
static double line_value(int kind, uint64_t *state)
{
    double number = (double)random_below(state, 1000000);
    if (kind == 0)
        return (double)random_below(state, 7);
    if (kind == 1)
        return (double)random_below(state, 50) / 8;
    if (kind == 2)
        return log(1000 + number);
    return kind == 3 ? (double)random_below(state, 2) + number / 1e8 : exp(number / 1e5);
}

static int ascending(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Points on a line are clustered without a table of distances, unless the metric is the other one; distances are the same in both. */
static void a_line_has_the_medoids_of_the_table(void)
{
    double data[300];
    uint64_t state = 5;
    for (int round = 0; round < 500; round++) {
        size_t count = 1 + (size_t)random_below(&state, round % 5 ? 90 : 300);
        for (size_t i = 0; i < count; i++)
            data[i] = line_value(round % 5, &state);
        qsort(data, count, sizeof *data, ascending);
        size_t k = 1 + (size_t)random_below(&state, count < 12 ? count : 12);
        struct clara_points points = {.coordinates = data, .count = count, .dimensions = 1};
        struct clara_options options = {.clusters = k, .sample_size = round % 3 ? 0 : count, .seed = (uint64_t)round, .metric = CLARA_EUCLIDEAN};
        struct clara_result table = {0}, line = {0};
        CU_ASSERT_EQUAL_FATAL(clara_run(&points, &options, &table, NULL), PCERE_OK);
        options.metric = CLARA_MANHATTAN;
        CU_ASSERT_EQUAL_FATAL(clara_run(&points, &options, &line, NULL), PCERE_OK);
        CU_ASSERT_EQUAL(memcmp(table.medoids, line.medoids, k * sizeof *line.medoids), 0);
        CU_ASSERT_EQUAL(memcmp(table.sizes, line.sizes, k * sizeof *line.sizes), 0);
        CU_ASSERT_EQUAL(memcmp(table.clusters, line.clusters, count * sizeof *line.clusters), 0);
        CU_ASSERT_EQUAL(memcmp(table.sample, line.sample, line.sample_count * sizeof *line.sample), 0);
        CU_ASSERT_EQUAL(table.objective, line.objective);
        CU_ASSERT_DOUBLE_EQUAL(table.silhouette, line.silhouette, 1e-9);
        clara_result_done(&table);
        clara_result_done(&line);
    }
}

static void refusals(void)
{
    double data[] = {1, 2, NAN, 4};
    struct clara_points points = {.coordinates = data, .count = 4, .dimensions = 1};
    struct clara_result result = {.cluster_count = 99};
    struct pcere_error error = {0};
    struct clara_options options = {.clusters = 2};
    CU_ASSERT_EQUAL(clara_run(&points, &options, &result, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "point 2"));
    data[2] = 3;
    options.clusters = 0;
    CU_ASSERT_EQUAL(clara_run(&points, &options, &result, &error), PCERE_USAGE);
    options.clusters = 5;
    CU_ASSERT_EQUAL(clara_run(&points, &options, &result, &error), PCERE_USAGE);
    CU_ASSERT_STRING_EQUAL(error.message, "4 points cannot form 5 clusters");
    options = (struct clara_options){.clusters = 3, .sample_size = 2};
    CU_ASSERT_EQUAL(clara_run(&points, &options, &result, &error), PCERE_USAGE);
    size_t backwards[] = {2, 1, 3}, outside[] = {1, 2, 4};
    options = (struct clara_options){.clusters = 2, .samples = 1, .sample_size = 3, .given = backwards};
    CU_ASSERT_EQUAL(clara_run(&points, &options, &result, &error), PCERE_USAGE);
    options.given = outside;
    CU_ASSERT_EQUAL(clara_run(&points, &options, &result, &error), PCERE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "given sample 0"));
    points.count = 0;
    CU_ASSERT_EQUAL(clara_run(&points, &options, &result, &error), PCERE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "nothing to cluster"));
    CU_ASSERT_EQUAL(result.cluster_count, 99);
}

static void random_numbers(void)
{
    /* Vigna's reference values for seed 1234567. */
    uint64_t state = 1234567;
    CU_ASSERT_EQUAL(random_next(&state), 6457827717110365317u);
    CU_ASSERT_EQUAL(random_next(&state), 3203168211198807973u);
    CU_ASSERT_EQUAL(random_next(&state), 9817491932198370423u);
    size_t counts[5] = {0};
    for (size_t i = 0; i < 50000; i++)
        counts[random_below(&state, 5)]++;
    for (size_t i = 0; i < 5; i++)
        CU_ASSERT(counts[i] > 9600 && counts[i] < 10400);
}

static const struct unit_test tests[] = {
    {"PAM's medoids, clusters, objective and silhouette equal R's, ties included", pam_equals_r},
    {"CLARA on R's best sample gives what R's clara gives", clara_equals_r},
    {"CLARA on samples of its own does as well as R's", own_samples_do_as_well},
    {"a sample ascends without doubles and holds the medoids", samples_are_valid},
    {"the same seed gives the same clusters", seeds_reproduce},
    {"as many clusters as points leave nothing over", as_many_clusters_as_points},
    {"points on a line get the medoids that the table of their distances gives", a_line_has_the_medoids_of_the_table},
    {"equal points are one cluster", equal_points},
    {"impossible input is refused", refusals},
    {"random numbers are splitmix64's and evenly spread", random_numbers},
};

UNIT_MAIN("predictor clara", tests)
