/* tests/unit/test_analysis_part.c - instances of a construct among labels, and the part of a profile under one of them. */
#include "analysis/profile_part.h"
#include "tests/unit/profile_sample.h"

static const struct sample_xu xus[] = {
    {"0.2@x.c:1.0", 0, 10, {1}},          {"0.2@x.c:1.1@x.c:2.3", 1, 20, {2}}, {"0.10@x.c:1.0", 0, 50, {4}},
    {"0.10@x.c:1.3@x.c:1.5", 0, 60, {8}}, {"0.1@x.c:11.0", 1, 5, {16}},        {"0.20@x.c:1", 0, 90, {32}},
};

static void instances_are_found(void)
{
    struct pcere_error error = {0};
    struct profile *profile = SAMPLE("n", xus);
    struct profile_instances instances;
    CU_ASSERT_EQUAL_FATAL(profile_instances_find(profile, "x.c:1", &instances, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(instances.count, 3);
    CU_ASSERT_STRING_EQUAL(instances.labels[0], "0.2@x.c:1");
    CU_ASSERT_STRING_EQUAL(instances.labels[1], "0.10@x.c:1");
    CU_ASSERT_STRING_EQUAL(instances.labels[2], "0.20@x.c:1");
    profile_instances_done(&instances);
    CU_ASSERT_EQUAL_FATAL(profile_instances_find(profile, "x.c:7", &instances, &error), PCERE_OK);
    CU_ASSERT_EQUAL(instances.count, 0);
    profile_instances_done(&instances);
    profile_free(profile);
}

static uint64_t sum_of(const struct profile *profile, size_t event)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < profile->count; i++)
        sum += profile->counts[event][i];
    return sum;
}

static void parts_hold_what_lies_under(void)
{
    struct pcere_error error = {0};
    static const struct { const char *label; size_t count; uint64_t sum; } cases[] = {
        {"0.2@x.c:1", 2, 3}, {"0.10@x.c:1", 2, 12}, {"0.20@x.c:1", 1, 32}, {"0.1@x.c:11", 1, 16}, {"0.1@x.c:1", 0, 0}, {"0", 6, 63},
    };
    struct profile *profile = SAMPLE("n", xus);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile *part;
        CU_ASSERT_EQUAL_FATAL(profile_part(profile, cases[i].label, NULL, &part, &error), PCERE_OK);
        CU_ASSERT_EQUAL(part->count, cases[i].count);
        CU_ASSERT_EQUAL(sum_of(part, 0), cases[i].sum);
        size_t time = profile_event_find(part, PROFILE_ACTIVE_TIME);
        CU_ASSERT_EQUAL_FATAL(time, 1);
        CU_ASSERT_EQUAL(sum_of(part, time), 10 * cases[i].count);
        CU_ASSERT_EQUAL(part->runs[0].xus, cases[i].count);
        CU_ASSERT_EQUAL(profile_check(part, "part", &error), PCERE_OK);
        profile_free(part);
    }
    profile_free(profile);
}

static void a_part_may_claim_another_run(void)
{
    struct pcere_error error = {0};
    struct profile *profile = SAMPLE("n", xus), *part;
    struct profile_run as = profile->runs[0];
    as.region = (char[]){"r@x.c:1"};
    CU_ASSERT_EQUAL_FATAL(profile_part(profile, "0.2@x.c:1", &as, &part, &error), PCERE_OK);
    CU_ASSERT_STRING_EQUAL(part->runs[0].region, "r@x.c:1");
    CU_ASSERT_EQUAL(profile_same_run(profile->runs, "whole", part->runs, "part", &error), PCERE_DATA);
    profile_free(part);
    profile_free(profile);
}

static void hashes_have_no_parts(void)
{
    struct pcere_error error = {0};
    struct profile *profile = SAMPLE("n", xus), *part = NULL;
    struct profile_instances instances;
    free(profile->text_at);
    profile->text_at = NULL;
    CU_ASSERT_EQUAL(profile_part(profile, "0.2@x.c:1", NULL, &part, &error), PCERE_DATA);
    CU_ASSERT_EQUAL(profile_instances_find(profile, "x.c:1", &instances, &error), PCERE_DATA);
    profile_free(profile);
}

static const struct unit_test tests[] = {
    {"instances of a construct are found, in the order of labels and each once", instances_are_found},
    {"a part holds what lies under its label, with the active time as an event", parts_hold_what_lies_under},
    {"a part may claim another run", a_part_may_claim_another_run},
    {"hashes have no parts", hashes_have_no_parts},
};

UNIT_MAIN("parts of profiles", tests)
