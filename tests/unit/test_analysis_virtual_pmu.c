/* tests/unit/test_analysis_virtual_pmu.c - events that are hidden, noise, and multiplexing worked by hand. */
#include "analysis/virtual_pmu.h"
#include "tests/unit/profile_sample.h"

#include <math.h>

static struct profile *timed(const char *events, const uint64_t rows[][4], size_t count)
{
    struct pcere_error error = {0};
    struct profile *profile = sample_profile(events, NULL, 0);
    for (size_t i = 0; i < count; i++) {
        char label[16];
        snprintf(label, sizeof label, "0/%zu", i);
        struct profile_xu xu = {.label = label, .kind = PROFILE_TASK, .cpu = PROFILE_NO_CPU, .start_ns = rows[i][0], .active_ns = rows[i][1], .counts = rows[i] + 2};
        CU_ASSERT_EQUAL_FATAL(profile_add_xu(profile, &xu, &error), PCERE_OK);
    }
    return profile;
}

static struct profile *rotated(const struct profile *truth, size_t groups, uint64_t period_ns)
{
    struct pcere_error error = {0};
    const uint32_t i[] = {0}, l[] = {1}, both[] = {0, 1};
    const uint32_t *const lists[] = {groups == 1 ? both : i, l};
    const size_t counts[] = {groups == 1 ? 2 : 1, 1};
    struct profile *profile = NULL;
    CU_ASSERT_EQUAL_FATAL(virtual_pmu_rotate(truth, &(struct virtual_pmu_groups){lists, counts, groups}, period_ns, &profile, &error), PCERE_OK);
    CU_ASSERT_EQUAL(profile_check(profile, "it", &error), PCERE_OK);
    return profile;
}

/* Three XUs, one in each period of 4. i is visible in the first and the third, l in the second.
 *   i: after 4 it reads 8 * 4/4 = 8, after 8 it reads 8 * 8/4 = 16, after 12 it reads 12 * 12/8 = 18: 8, 8, 2.
 *   l: after 4 nothing, after 8 it reads 60 * 8/4 = 120, after 12 it reads 60 * 12/4 = 180: 0, 120, 60. */
static void rotation_by_hand(void)
{
    const uint64_t rows[][4] = {{100, 4, 8, 80}, {104, 4, 6, 60}, {108, 4, 4, 40}};
    struct profile *truth = timed("i l", rows, 3), *profile = rotated(truth, 2, 4);
    const uint64_t i[] = {8, 8, 2}, l[] = {0, 120, 60};
    for (size_t row = 0; row < 3; row++) {
        CU_ASSERT_EQUAL(profile->counts[0][row], i[row]);
        CU_ASSERT_EQUAL(profile->counts[1][row], l[row]);
    }
    CU_ASSERT_STRING_EQUAL(profile->strategy, "hem");
    profile_free(profile);
    profile_free(truth);
}

/* Half of the XU lies in i's period, which sees half of its counts and doubles it. */
static void a_steady_xu_is_estimated_well(void)
{
    const uint64_t rows[][4] = {{0, 8, 100, 1000}};
    struct profile *truth = timed("i l", rows, 1), *profile = rotated(truth, 2, 4);
    CU_ASSERT_EQUAL(profile->counts[0][0], 100);
    CU_ASSERT_EQUAL(profile->counts[1][0], 1000);
    profile_free(profile);
    profile_free(truth);
}

static void one_group_is_the_truth(void)
{
    const uint64_t rows[][4] = {{5, 7, 11, 13}, {12, 100, 17, 19}};
    struct profile *truth = timed("i l", rows, 2), *profile = rotated(truth, 1, 4);
    for (size_t row = 0; row < 2; row++) {
        CU_ASSERT_EQUAL(profile->counts[0][row], rows[row][2]);
        CU_ASSERT_EQUAL(profile->counts[1][row], rows[row][3]);
    }
    profile_free(profile);
    profile_free(truth);
}

/* The XU's counts lie in its second part: i, visible in the first, sees none of them, l sees all and doubles it. */
static void segments_say_when(void)
{
    struct pcere_error error = {0};
    const uint64_t rows[][4] = {{0, 8, 100, 1000}};
    struct profile *truth = timed("i l", rows, 1);
    struct profile_segment parts[] = {{0, 0, 0, 4, (uint64_t[]){0, 0}}, {0, 0, 4, 4, (uint64_t[]){100, 1000}}};
    CU_ASSERT_EQUAL(profile_add_segment(truth, &parts[0], &error), PCERE_OK);
    CU_ASSERT_EQUAL(profile_add_segment(truth, &parts[1], &error), PCERE_OK);
    struct profile *profile = rotated(truth, 2, 4);
    CU_ASSERT_EQUAL(profile->counts[0][0], 0);
    CU_ASSERT_EQUAL(profile->counts[1][0], 2000);
    profile_free(profile);
    profile_free(truth);
}

static void events_are_hidden(void)
{
    struct pcere_error error = {0};
    const struct sample_xu xus[] = {{"0/2", 1, 1, {1, 2, 3}}, {"0/1", 0, 2, {4, 5, 6}}};
    struct profile *truth = SAMPLE("i l s", xus), *profile;
    CU_ASSERT_EQUAL_FATAL(virtual_pmu_show(truth, (uint32_t[]){2, 0}, 2, 0, 0, &profile, &error), PCERE_OK);
    CU_ASSERT_EQUAL(profile->event_count, 2);
    CU_ASSERT_STRING_EQUAL(profile->events[0].name, "s");
    CU_ASSERT(profile->counts[0][0] == 3 && profile->counts[1][1] == 4 && profile->construct[0] == 1);
    CU_ASSERT_TRUE(profile->events[0].exact);
    profile_free(profile);
    profile_free(truth);
}

static void noise_has_its_size(void)
{
    enum { COUNT = 2000 };
    struct pcere_error error = {0};
    struct profile *truth = sample_profile("i", NULL, 0), *profile, *again;
    for (size_t i = 0; i < COUNT; i++) {
        struct profile_xu xu = {.hash = {.low = i}, .kind = PROFILE_TASK, .counts = (uint64_t[]){1000000}};
        CU_ASSERT_EQUAL_FATAL(profile_add_xu(truth, &xu, &error), PCERE_OK);
    }
    CU_ASSERT_EQUAL_FATAL(virtual_pmu_show(truth, (uint32_t[]){0}, 1, 0.05, 7, &profile, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(virtual_pmu_show(truth, (uint32_t[]){0}, 1, 0.05, 7, &again, &error), PCERE_OK);
    double mean = 0, square = 0;
    for (size_t i = 0; i < COUNT; i++) {
        double part = (double)profile->counts[0][i] / 1e6 - 1;
        mean += part / (double)COUNT;
        square += part * part / (double)COUNT;
    }
    CU_ASSERT(fabs(mean) < 0.005);
    CU_ASSERT_DOUBLE_EQUAL(sqrt(square), 0.05, 0.005);
    CU_ASSERT_EQUAL(memcmp(profile->counts[0], again->counts[0], COUNT * sizeof(uint64_t)), 0);
    CU_ASSERT_FALSE(profile->events[0].exact);
    profile_free(truth);
    profile_free(profile);
    profile_free(again);
}

static const struct unit_test tests[] = {
    {"multiplexed counts are scaled as the kernel's times say", rotation_by_hand},
    {"an XU that goes on steadily is estimated well", a_steady_xu_is_estimated_well},
    {"one group that is always visible gives the truth", one_group_is_the_truth},
    {"segments say when the counts came", segments_say_when},
    {"a virtual PMU shows the chosen events", events_are_hidden},
    {"noise has its size, and is the same for the same seed", noise_has_its_size},
};

UNIT_MAIN("the virtual PMU", tests)
