/* profiler/target/counters_usage.c - software events where perf events are forbidden: what the kernel tells every thread of itself. */
#include "profiler/target/counters.h"

#include <linux/perf_event.h>
#include <sys/resource.h>
#include <time.h>

static bool usage_owns(const struct trace_event *event)
{
    return event->backend == TRACE_BACKEND_SW;
}

static void usage_open(struct recorder_counters *counters, struct trace_header *header)
{
    (void)counters;
    for (uint32_t i = 0; i < header->event_count; i++) {
        struct trace_event *event = &header->events[i];
        if (event->source != TRACE_SOURCE_USAGE)
            continue;
        bool told = event->config == PERF_COUNT_SW_PAGE_FAULTS || event->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
                    event->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ || event->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
                    event->config == PERF_COUNT_SW_TASK_CLOCK;
        if (!told)
            event->failed_errno = 13;                    /* EACCES, as the kernel said */
    }
}

static uint64_t usage_of(const struct rusage *usage, uint64_t config)
{
    switch (config) {
    case PERF_COUNT_SW_PAGE_FAULTS: return (uint64_t)usage->ru_minflt + (uint64_t)usage->ru_majflt;
    case PERF_COUNT_SW_PAGE_FAULTS_MIN: return (uint64_t)usage->ru_minflt;
    case PERF_COUNT_SW_PAGE_FAULTS_MAJ: return (uint64_t)usage->ru_majflt;
    case PERF_COUNT_SW_CONTEXT_SWITCHES: return (uint64_t)usage->ru_nvcsw + (uint64_t)usage->ru_nivcsw;
    default: return 0;
    }
}

static void usage_read(struct recorder_counters *counters, const struct trace_header *header, uint64_t *values)
{
    (void)counters;
    struct rusage usage;
    bool asked = false;
    for (uint32_t i = 0; i < header->event_count; i++) {
        const struct trace_event *event = &header->events[i];
        if (event->source != TRACE_SOURCE_USAGE || event->failed_errno)
            continue;
        if (event->config == PERF_COUNT_SW_TASK_CLOCK) {
            struct timespec now;
            if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0)
                values[i] = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
            continue;
        }
        asked = asked || getrusage(RUSAGE_THREAD, &usage) == 0;
        if (asked)
            values[i] = usage_of(&usage, event->config);
    }
}

static void usage_close(struct recorder_counters *counters)
{
    (void)counters;
}

const struct counter_backend counters_usage = {usage_owns, usage_open, usage_read, usage_close};
