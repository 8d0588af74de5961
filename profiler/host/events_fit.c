/* profiler/host/events_fit.c - which events of the processor its kernel counts at the same time: found out by trying. */
#include "profiler/host/events.h"
#include "profiler/answers.h"

#include <unistd.h>

bool event_hardware_fits(const struct trace_event *events, size_t count)
{
    int descriptors[TRACE_EVENTS_MOST];
    size_t opened = 0;
    if (count > TRACE_EVENTS_MOST)
        return false;
    while (opened < count && (descriptors[opened] = counter_event_open(&events[opened], opened ? descriptors[0] : -1, true)) >= 0)
        opened++;
    uint64_t answer[3 + TRACE_EVENTS_MOST];      /* how many, time enabled, time running, counts */
    bool fits = opened == count && (!count || (counter_answer_judge(answer, read(descriptors[0], answer, sizeof answer), (uint32_t)count) == COUNTER_ANSWER_GOOD && answer[2]));
    for (size_t i = 0; i < opened; i++)
        close(descriptors[i]);
    return fits;
}
