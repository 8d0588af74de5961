/* profiler/answers.h - what the kernel's answer to reading a group of counters means.
 */
#ifndef PCERE_PROFILER_TARGET_ANSWERS_H
#define PCERE_PROFILER_TARGET_ANSWERS_H

#include <stdint.h>
#include <sys/types.h>

enum counter_answer {
    COUNTER_ANSWER_GOOD,         /* each counted all the time */
    COUNTER_ANSWER_SHARED,       /* the kernel gave the counters to others in between: counts are too small */
    COUNTER_ANSWER_LOST,         /* a pinned group lost its counters for good (end of file), or the read failed: there are no counts */
};

/* `answer` as read with PERF_FORMAT_GROUP, TOTAL_TIME_ENABLED and TOTAL_TIME_RUNNING: how many, two times, counts. `bytes` is what read(2) returned. */
static inline enum counter_answer counter_answer_judge(const uint64_t *answer, ssize_t bytes, uint32_t members)
{
    if (bytes < (ssize_t)((3 + (size_t)members) * sizeof *answer) || answer[0] != members)
        return COUNTER_ANSWER_LOST;
    return answer[2] < answer[1] ? COUNTER_ANSWER_SHARED : COUNTER_ANSWER_GOOD;
}

#endif
