/* profiler/target/counters.c - a thread's counters from all back ends, as differences between one record and the next. */
#include "profiler/target/counters.h"

#include <string.h>

static const struct counter_backend *const backends[] = {&counters_kernel, &counters_usage, &counters_ir, &counters_cache};
enum { BACKENDS = sizeof backends / sizeof *backends };

static bool wanted(const struct counter_backend *backend, const struct trace_header *header)
{
    for (uint32_t i = 0; i < header->event_count; i++)
        if (backend->owns(&header->events[i]))
            return true;
    return false;
}

void counters_open(struct recorder_counters *counters)
{
    struct trace_header *header = recorder_state->header;
    for (int i = 0; i < RECORDER_GROUPS; i++)
        counters->groups[i] = -1;
    for (uint32_t i = 0; i < BACKENDS; i++)
        if (wanted(backends[i], header)) {
            backends[i]->open(counters, header);
            counters->backends |= 1u << i;
        }
    uint64_t unused[TRACE_EVENTS_MOST];
    counters_read(counters, unused);             /* what counts from now on */
}

void counters_close(struct recorder_counters *counters)
{
    for (uint32_t i = 0; i < BACKENDS; i++)
        if (counters->backends & 1u << i)
            backends[i]->close(counters);
    counters->backends = 0;
}

void counters_read(struct recorder_counters *counters, uint64_t *differences)
{
    const struct trace_header *header = recorder_state->header;
    uint64_t values[TRACE_EVENTS_MOST];
    memcpy(values, counters->last, header->event_count * sizeof *values);
    for (uint32_t i = 0; i < BACKENDS; i++)
        if (counters->backends & 1u << i)
            backends[i]->read(counters, header, values);
    for (uint32_t i = 0; i < header->event_count; i++)
        differences[i] = values[i] > counters->last[i] || header->events[i].flags & TRACE_EVENT_TURNS ? values[i] - counters->last[i] : 0;
    memcpy(counters->last, values, header->event_count * sizeof *values);
}
