/* tests/unit/profile_sample.h - small profiles for tests, a line an XU. */
#ifndef PCERE_TESTS_PROFILE_SAMPLE_H
#define PCERE_TESTS_PROFILE_SAMPLE_H

#include "analysis/profile.h"
#include "tests/unit/unit.h"

#include <string.h>

struct sample_xu {
    const char *label;
    uint32_t construct;
    uint64_t start_ns;
    uint64_t counts[4];
};

/* Events are given by their names, separated by blanks; two constructs, "a@x.c:1" and "b@x.c:2"; XUs are tasks of 10 ns on thread 0. */
static inline struct profile *sample_profile(const char *events, const struct sample_xu *xus, size_t count)
{
    struct pcere_error error = {0};
    struct profile *profile = profile_new();
    char *arguments[] = {"10"}, *settings[] = {"OMP_NUM_THREADS=2"}, *blind[] = {"tasks that are never run"};
    struct profile_run run = {
        .program = "/bin/x", .build_id = "abcd", .arguments = arguments, .argument_count = 1, .settings = settings, .setting_count = 1, .host = "here",
        .threads = 2, .level = 2, .blind = blind, .blind_count = 1, .wall_ns = 1000, .xus = count,
    };
    CU_ASSERT_EQUAL_FATAL(profile_add_run(profile, &run, NULL, &error), PCERE_OK);
    char names[200];
    snprintf(names, sizeof names, "%s", events);
    for (char *rest = names, *name; (name = strtok_r(rest, " ", &rest));) {
        struct profile_event event = {.name = name, .unit = "1", .backend = "ir", .exact = true};
        CU_ASSERT_EQUAL_FATAL(profile_add_event(profile, &event, NULL, &error), PCERE_OK);
    }
    CU_ASSERT_EQUAL_FATAL(profile_add_construct(profile, 1, "a@x.c:1", NULL, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(profile_add_construct(profile, 2, "b@x.c:2", NULL, &error), PCERE_OK);
    for (size_t i = 0; i < count; i++) {
        struct profile_xu xu = {
            .label = xus[i].label, .kind = PROFILE_TASK, .construct = xus[i].construct, .cpu = PROFILE_NO_CPU, .start_ns = xus[i].start_ns, .active_ns = 10,
            .counts = xus[i].counts,
        };
        CU_ASSERT_EQUAL_FATAL(profile_add_xu(profile, &xu, &error), PCERE_OK);
    }
    return profile;
}

#define SAMPLE(events, xus) sample_profile(events, xus, sizeof(xus) / sizeof *(xus))

#endif
