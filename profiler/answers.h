/* profiler/answers.h - how a group of the kernel's counters is asked for, and what its answers mean: the same where it is tried and where it counts.
 */
#ifndef PCERE_PROFILER_ANSWERS_H
#define PCERE_PROFILER_ANSWERS_H

#include "profiler/protocol.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum counter_answer {
    COUNTER_ANSWER_GOOD,         /* each counted all the time */
    COUNTER_ANSWER_SHARED,       /* the kernel gave the counters to others in between: counts are too small */
    COUNTER_ANSWER_LOST,         /* a pinned group lost its counters for good (end of file), or the read failed: there are no counts */
};

/* Open an event of the kernel or the processor for the calling thread, behind `leader` or, -1, as one; the processor's leaders are pinned, unless they take turns. Returns the descriptor, or -1 and errno. */
static inline int counter_event_open(const struct trace_event *event, int leader, bool user_only)
{
    struct perf_event_attr attributes = {
        .size = sizeof attributes, .type = event->type, .config = event->config, .config1 = event->config1, .config2 = event->config2,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .exclude_kernel = user_only, .exclude_hv = user_only, .pinned = leader < 0 && event->backend == TRACE_BACKEND_PMU && !(event->flags & TRACE_EVENT_TURNS),
    };
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

/* `answer` as such a leader gives it: how many, two times, counts. `bytes` is what read(2) returned. */
static inline enum counter_answer counter_answer_judge(const uint64_t *answer, ssize_t bytes, uint32_t members)
{
    if (bytes < (ssize_t)((3 + (size_t)members) * sizeof *answer) || answer[0] != members)
        return COUNTER_ANSWER_LOST;
    return answer[2] < answer[1] ? COUNTER_ANSWER_SHARED : COUNTER_ANSWER_GOOD;
}

/* ---- events that take turns on the counters (hardware event multiplexing) ---------------------------------------------------------- */

struct counter_turn { uint64_t enabled_ns, running_ns, estimate; };        /* of one event on one thread, as it was read last; zeroed before */

/* What an event counted, extrapolated to the time that it was to be counted: count * enabled / running, as perf_event_open(2) has it. While it waits for its turn, the
 * estimate goes on in proportion to time; when it counts again, it may fall. 0 as long as it never had a counter. At most 2^63 - 1. */
static inline uint64_t counter_estimate(uint64_t count, uint64_t enabled_ns, uint64_t running_ns)
{
    if (!running_ns)
        return 0;
    __extension__ typedef unsigned __int128 wide;
    wide estimate = (wide)count * enabled_ns / running_ns;
    return estimate > INT64_MAX ? (uint64_t)INT64_MAX : (uint64_t)estimate;
}

/* Read such an event, which is a group alone: `answer` and `bytes` as above. Lost: the turn stays as it is. Else good, or shared: it is an estimate. */
static inline enum counter_answer counter_turn_take(struct counter_turn *turn, const uint64_t *answer, ssize_t bytes)
{
    enum counter_answer judged = counter_answer_judge(answer, bytes, 1);
    if (judged != COUNTER_ANSWER_LOST)
        *turn = (struct counter_turn){.enabled_ns = answer[1], .running_ns = answer[2], .estimate = counter_estimate(answer[3], answer[1], answer[2])};
    return judged;
}

#endif
