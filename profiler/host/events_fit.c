/* profiler/host/events_fit.c - which events of the processor its kernel counts at the same time: found out by trying. */
#include "profiler/host/events.h"
#include "profiler/answers.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

static int event_open(const struct trace_event *event, int leader)
{
    struct perf_event_attr attributes = {
        .size = sizeof attributes, .type = event->type, .config = event->config, .config1 = event->config1, .config2 = event->config2,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING, .exclude_kernel = 1, .exclude_hv = 1, .pinned = leader < 0,
    };
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

bool event_hardware_fits(const struct trace_event *events, size_t count)
{
    int descriptors[TRACE_EVENTS_MOST];
    size_t opened = 0;
    if (count > TRACE_EVENTS_MOST)
        return false;
    while (opened < count && (descriptors[opened] = event_open(&events[opened], opened ? descriptors[0] : -1)) >= 0)
        opened++;
    uint64_t answer[3 + TRACE_EVENTS_MOST];      /* how many, time enabled, time running, counts */
    bool fits = opened == count && (!count || (counter_answer_judge(answer, read(descriptors[0], answer, sizeof answer), (uint32_t)count) == COUNTER_ANSWER_GOOD && answer[2]));
    for (size_t i = 0; i < opened; i++)
        close(descriptors[i]);
    return fits;
}
