/* tests/unit/test_profiler_events.c - names of events become what the kernel wants, for processors that are not here. */
#include "profiler/host/events.h"
#include "include/pcere/counts.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* libpfm4 chooses a processor once in a process: each is asked in one of its own. Event code and umask, or -1. */
static int code_of(const char *processor, const char *name)
{
    int answers[2], code = -1;
    CU_ASSERT_EQUAL_FATAL(pipe(answers), 0);
    pid_t child = fork();
    if (child == 0) {
        struct trace_event event;
        setenv("LIBPFM_FORCE_PMU", processor, 1);
        if (event_find(name, &event, NULL) == PCERE_OK && event.backend == TRACE_BACKEND_PMU && strcmp(event.name, name) == 0)
            code = (int)(event.config & 0xffff);
        _exit(write(answers[1], &code, sizeof code) != (ssize_t)sizeof code);
    }
    close(answers[1]);
    CU_ASSERT_EQUAL(read(answers[0], &code, sizeof code), (ssize_t)sizeof code);
    close(answers[0]);
    waitpid(child, NULL, 0);
    return code;
}

static void processors_that_are_not_here(void)
{
    static const struct { const char *processor, *event; int code; } known[] = {    /* umask and event as the makers' manuals have them */
        {"hsw", "LONGEST_LAT_CACHE:MISS", 0x412e},          {"skl", "MEM_LOAD_RETIRED:L1_HIT", 0x01d1},
        {"icl", "LONGEST_LAT_CACHE:MISS", 0x412e},          {"spr", "MEM_INST_RETIRED:ALL_LOADS", 0x81d0},
        {"nhm", "BR_INST_RETIRED:ALL_BRANCHES", 0x00c4},    {"amd64_fam17h_zen2", "RETIRED_INSTRUCTIONS", 0x00c0},
        {"amd64_fam19h_zen3", "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED", 0x00c3},
        {"skl", "NO_SUCH_EVENT", -1},
    };
    if (code_of("skl", "MEM_LOAD_RETIRED:L1_HIT") < 0 && code_of("hsw", "LONGEST_LAT_CACHE:MISS") < 0) {
        struct trace_event event;
        struct pcere_error error;
        CU_ASSERT_EQUAL(event_find("MEM_LOAD_RETIRED:L1_HIT", &event, &error), PCERE_USAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "without libpfm4"));
        return;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int code = code_of(known[i].processor, known[i].event);
        if (code != known[i].code)
            printf("%s %s: %#x\n", known[i].processor, known[i].event, (unsigned)code);
        CU_ASSERT_EQUAL(code, known[i].code);
    }
}

static void the_kernels_events(void)
{
    struct trace_event events[TRACE_EVENTS_MOST], event;
    struct pcere_error error;
    size_t count = event_group("sw", events, TRACE_EVENTS_MOST);
    CU_ASSERT_EQUAL(count, 6);
    for (size_t i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(event_find(events[i].name, &event, &error), PCERE_OK);
        CU_ASSERT_EQUAL(event.backend, TRACE_BACKEND_SW);
        CU_ASSERT_STRING_EQUAL(event.name, event_names()[i]);
    }
    size_t counted = event_group("ir", &events[count], TRACE_EVENTS_MOST - count);
    CU_ASSERT_EQUAL(counted, PCERE_COUNT_END);
    for (size_t i = count; i < count + counted; i++) {
        CU_ASSERT_EQUAL(events[i].backend, TRACE_BACKEND_IR);
        CU_ASSERT_EQUAL(events[i].config, i - count);
        CU_ASSERT_STRING_EQUAL(events[i].name, event_names()[i]);
    }
    size_t modelled = event_group("cache", &events[count + counted], TRACE_EVENTS_MOST - count - counted);
    CU_ASSERT_EQUAL(modelled, 6);
    for (size_t i = count + counted; i < count + counted + modelled; i++) {
        CU_ASSERT_EQUAL(events[i].backend, TRACE_BACKEND_CACHE);
        CU_ASSERT_EQUAL(events[i].config, i - count - counted);
        CU_ASSERT_STRING_EQUAL(events[i].name, event_names()[i]);
    }
    CU_ASSERT_PTR_NULL(event_names()[count + counted + modelled]);
    CU_ASSERT_EQUAL(event_group("sw", events, 2), 2);
    CU_ASSERT_EQUAL(event_group("other", events, TRACE_EVENTS_MOST), 0);
    CU_ASSERT_EQUAL(event_find("no-such-event", &event, &error), PCERE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no-such-event"));
}

static const struct unit_test tests[] = {
    {"events of seven processors have their makers' codes", processors_that_are_not_here},
    {"the kernel's events have names, and are found by them", the_kernels_events},
};

UNIT_MAIN("profiler events", tests)
