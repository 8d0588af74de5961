/* profiler/target/counters.h - where counts come from: each back end reads the events that are its own, behind one interface.
 */
#ifndef PCERE_PROFILER_TARGET_COUNTERS_H
#define PCERE_PROFILER_TARGET_COUNTERS_H

#include "profiler/target/recorder.h"

struct counter_backend {
    /* Is an event of the header this back end's? */
    bool (*owns)(const struct trace_event *event);
    /* Open its events for the calling thread. What cannot be opened gets its event's failed_errno, and reads as it did last. */
    void (*open)(struct recorder_counters *counters, struct trace_header *header);
    /* Put its events' counts since they were opened, each at its place among all. */
    void (*read)(struct recorder_counters *counters, const struct trace_header *header, uint64_t *values);
    void (*close)(struct recorder_counters *counters);
};

extern const struct counter_backend counters_kernel;       /* perf_event_open: sw and pmu */
extern const struct counter_backend counters_usage;        /* sw, from the thread's resource usage: where perf events are forbidden */
extern const struct counter_backend counters_ir;           /* the program's own counts */
extern const struct counter_backend counters_cache;        /* a model of caches, fed by the program */

#endif
