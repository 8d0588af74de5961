/* profiler/target/counters_kernel.c - counters of the kernel: software events, and those of the processor's performance monitoring unit.
 *
 * All software events of a thread form one group, and those of the processor another: one call reads a group. The processor's group is pinned: it counts
 * all the time or not at all, and when the kernel had to give it up, reading it says so. Where the kernel permits it, the processor's are read without it. Events that are to take turns are each a group
 * that is not pinned: the kernel rotates them, and tells how long each counted.
 */
#include "profiler/answers.h"
#include "profiler/target/counters.h"
#include "profiler/target/pmc_page.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GROUP_SW, GROUP_PMU };

static bool kernel_owns(const struct trace_event *event)
{
    return event->backend == TRACE_BACKEND_SW || event->backend == TRACE_BACKEND_PMU;
}

#if defined __x86_64__
static uint64_t pmc_read(uint32_t counter)
{
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
    return (uint64_t)high << 32 | low;
}

/* The pages of the processor's events; without all of them, and permission to read counters, the kernel is asked each time. */
static void pages_map(struct recorder_counters *counters)
{
    uint32_t permitted = 0;
    for (uint32_t i = 0; i < counters->sizes[GROUP_PMU]; i++) {
        void *page = mmap(NULL, (size_t)getpagesize(), PROT_READ, MAP_SHARED, counters->descriptors[GROUP_PMU][i], 0);
        counters->pages[i] = page == MAP_FAILED ? NULL : page;
        permitted += counters->pages[i] && counters->pages[i]->cap_user_rdpmc;
    }
    counters->direct = permitted && permitted == counters->sizes[GROUP_PMU];
}

/* All of the processor's events, or none. */
static bool pages_read(const struct recorder_counters *counters, uint64_t *values)
{
    uint64_t counts[TRACE_EVENTS_MOST];
    for (uint32_t i = 0; i < counters->sizes[GROUP_PMU]; i++)
        if (!pmc_page_read(counters->pages[i], pmc_read, &counts[i]))
            return false;
    for (uint32_t i = 0; i < counters->sizes[GROUP_PMU]; i++)
        values[counters->places[GROUP_PMU][i]] = counts[i];
    return true;
}
#else
static void pages_map(const struct recorder_counters *counters)
{
    (void)counters;
}

static bool pages_read(const struct recorder_counters *counters, const uint64_t *values)
{
    (void)counters, (void)values;
    return false;
}
#endif

static void group_open(struct recorder_counters *counters, struct trace_header *header, int group, uint32_t backend)
{
    for (uint32_t i = 0; i < header->event_count; i++) {
        struct trace_event *event = &header->events[i];
        if (event->backend != backend || event->source == TRACE_SOURCE_USAGE || event->flags & TRACE_EVENT_TURNS)
            continue;
        /* The kernel's part of a program's work is its own, too, but ordinary users may not count it everywhere. */
        int descriptor = counter_event_open(event, counters->groups[group], backend == TRACE_BACKEND_PMU);
        if (descriptor < 0 && (errno == EACCES || errno == EPERM) && backend == TRACE_BACKEND_SW) {
            event->source = TRACE_SOURCE_USAGE;          /* see counters_usage.c */
            continue;
        }
        if (descriptor < 0) {
            event->failed_errno = (uint32_t)errno;
            continue;
        }
        event->source = TRACE_SOURCE_KERNEL;
        if (counters->groups[group] < 0)
            counters->groups[group] = descriptor;
        counters->descriptors[group][counters->sizes[group]] = descriptor;
        counters->places[group][counters->sizes[group]++] = (uint8_t)i;
    }
}

static void turns_open(struct recorder_counters *counters, struct trace_header *header)
{
    for (uint32_t i = 0; i < header->event_count; i++) {
        struct trace_event *event = &header->events[i];
        if (!kernel_owns(event) || !(event->flags & TRACE_EVENT_TURNS))
            continue;
        int descriptor = counter_event_open(event, -1, true);
        if (descriptor < 0) {
            event->failed_errno = (uint32_t)errno;
            continue;
        }
        event->source = TRACE_SOURCE_KERNEL;
        counters->turn_descriptors[counters->turn_count] = descriptor;
        counters->turn_places[counters->turn_count++] = (uint8_t)i;
    }
}

static void turns_read(struct recorder_counters *counters, uint64_t *values)
{
    struct trace_header *header = recorder_state->header;
    int errnum = errno;
    for (uint32_t i = 0; i < counters->turn_count; i++) {
        uint64_t answer[4];
        struct counter_turn *turn = &counters->turns[i], before = *turn;
        struct trace_turns *sums = &header->turns[counters->turn_places[i]];
        if (counter_turn_take(turn, answer, read(counters->turn_descriptors[i], answer, sizeof answer)) == COUNTER_ANSWER_LOST)
            __atomic_fetch_add(&header->counters_lost, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&sums->enabled_ns, turn->enabled_ns - before.enabled_ns, __ATOMIC_RELAXED);
        __atomic_fetch_add(&sums->running_ns, turn->running_ns - before.running_ns, __ATOMIC_RELAXED);
        values[counters->turn_places[i]] = turn->estimate;
    }
    errno = errnum;
}

static void kernel_open(struct recorder_counters *counters, struct trace_header *header)
{
    group_open(counters, header, GROUP_SW, TRACE_BACKEND_SW);
    group_open(counters, header, GROUP_PMU, TRACE_BACKEND_PMU);
    turns_open(counters, header);
    int errnum = errno;
    pages_map(counters);
    errno = errnum;
}

static void kernel_read(struct recorder_counters *counters, const struct trace_header *header, uint64_t *values)
{
    (void)header;
    for (int group = 0; group < RECORDER_GROUPS; group++) {
        uint64_t answer[3 + TRACE_EVENTS_MOST];          /* how many, time enabled, time running, counts */
        if (counters->groups[group] < 0 || (group == GROUP_PMU && counters->direct && pages_read(counters, values)))
            continue;
        int errnum = errno;
        ssize_t bytes = read(counters->groups[group], answer, sizeof answer);
        enum counter_answer judged = counter_answer_judge(answer, bytes, counters->sizes[group]);
        if (judged != COUNTER_ANSWER_GOOD)
            __atomic_fetch_add(judged == COUNTER_ANSWER_LOST ? &recorder_state->header->counters_lost : &recorder_state->header->counters_shared, 1, __ATOMIC_RELAXED);
        for (uint32_t i = 0; judged != COUNTER_ANSWER_LOST && i < counters->sizes[group]; i++)
            values[counters->places[group][i]] = answer[3 + i];
        errno = errnum;
    }
    turns_read(counters, values);
}

static void kernel_close(struct recorder_counters *counters)
{
    for (uint32_t i = 0; i < counters->sizes[GROUP_PMU]; i++)
        if (counters->pages[i])
            munmap((void *)(uintptr_t)counters->pages[i], (size_t)getpagesize());
    counters->direct = false;
    for (int group = 0; group < RECORDER_GROUPS; group++)
        for (uint32_t i = 0; i < counters->sizes[group]; i++)
            close(counters->descriptors[group][i]);
    for (uint32_t i = 0; i < counters->turn_count; i++)
        close(counters->turn_descriptors[i]);
}

const struct counter_backend counters_kernel = {kernel_owns, kernel_open, kernel_read, kernel_close};
