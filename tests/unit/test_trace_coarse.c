/* tests/unit/test_trace_coarse.c - runs too long to be kept: what is joined while they are read, and what of them a window leaves. */
#include "core/files.h"
#include "tests/unit/unit.h"
#include "trace/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, EVENTS = 900000, SHORT_NS = 10, LONG_NS = 1000, LEAST_NS = 100, PERIOD = 1000 };

static uint32_t processes_make(struct timeline *timeline, uint32_t threads[THREADS])
{
    uint32_t process, thread;
    CU_ASSERT_TRUE_FATAL(timeline_process(timeline, 0, &process));
    CU_ASSERT_TRUE_FATAL(timeline_string(timeline, "Head Process", 12, &timeline->processes[process].name));
    for (uint32_t i = 0; i < THREADS; i++) {
        CU_ASSERT_TRUE_FATAL(timeline_thread(timeline, process, i, &thread));
        threads[i] = thread;
    }
    return process;
}

/* Each thread's time is full of short events; every PERIOD-th is long. */
static void events_are_joined_as_they_come(void)
{
    struct timeline timeline = {.least_ns = LEAST_NS, .apart = TIMELINE_WORKERS_APART};
    struct pcere_error error;
    uint32_t threads[THREADS];
    int64_t now_ns[THREADS] = {0};
    size_t most = 0;
    bool memory = true;
    processes_make(&timeline, threads);
    for (uint32_t i = 0; i < EVENTS && memory; i++) {
        uint32_t k = i * 7 % THREADS, length = i / THREADS % PERIOD == 0 ? LONG_NS : SHORT_NS + i % 3;
        struct span span = {.begin_ns = now_ns[k], .end_ns = now_ns[k] + length, .thread = threads[k], .kind = SPAN_CHUNK, .task = TIMELINE_NONE, .tag = TIMELINE_NONE};
        now_ns[k] += length;
        memory = timeline_span(&timeline, &span);
        most = timeline.span_capacity > most ? timeline.span_capacity : most;
    }
    CU_ASSERT_TRUE_FATAL(memory && timeline_coarsen(&timeline));
    CU_ASSERT_EQUAL(timeline_pair(&timeline, &error), PCERE_OK);
    CU_ASSERT_TRUE(most < EVENTS);
    CU_ASSERT_TRUE(timeline.span_count < EVENTS / 10);
    uint64_t events = 0, long_ones = 0, wrong = 0;
    for (size_t i = 0; i < timeline.span_count; i++) {
        const struct span *span = &timeline.spans[i];
        bool joined = span->part == SPAN_JOINED;
        events += joined ? span->tag : 1;
        long_ones += span->end_ns - span->begin_ns == LONG_NS;
        wrong += joined && (span->end_ns - span->begin_ns > 2 * LEAST_NS || span_longest_ns(span) < SHORT_NS || span_longest_ns(span) > SHORT_NS + 2);
        wrong += i && span[-1].thread == span->thread && span[-1].end_ns > span->begin_ns;
    }
    CU_ASSERT_EQUAL(events, EVENTS);
    CU_ASSERT_EQUAL(long_ones, EVENTS / PERIOD);
    CU_ASSERT_EQUAL(wrong, 0);
    timeline_done(&timeline);
}

/* The two halves of what the head does are short, what they stand for is not; its end comes long after its begin. */
static void halves_are_no_short_events(void)
{
    enum { PAIRS = 200000, APART = 1000 };
    struct timeline timeline = {.least_ns = LEAST_NS, .apart = TIMELINE_WORKERS_APART};
    struct pcere_error error;
    uint32_t threads[THREADS];
    bool memory = true;
    processes_make(&timeline, threads);
    for (uint32_t i = 0; i < PAIRS + APART && memory; i++) {
        struct span span = {.begin_ns = i * 10, .end_ns = i * 10 + 1, .thread = threads[0], .kind = SPAN_SUBMIT, .part = SPAN_BEGIN, .task = TIMELINE_NONE, .tag = i};
        memory = i >= PAIRS || timeline_span(&timeline, &span);
        if (i < APART)
            continue;
        span.part = SPAN_END;
        span.tag -= APART;
        memory = memory && timeline_span(&timeline, &span);
    }
    CU_ASSERT_TRUE_FATAL(memory && timeline_coarsen(&timeline));
    timeline_roles_find(&timeline);
    CU_ASSERT_EQUAL(timeline_pair(&timeline, &error), PCERE_OK);
    CU_ASSERT_EQUAL(timeline.span_count, PAIRS);
    CU_ASSERT_EQUAL(timeline.unfinished, 0);
    uint64_t wrong = 0;
    for (size_t i = 0; i < timeline.span_count; i++)
        wrong += timeline.spans[i].part != SPAN_WHOLE || timeline.spans[i].end_ns - timeline.spans[i].begin_ns != APART * 10 + 1;
    CU_ASSERT_EQUAL(wrong, 0);
    timeline_done(&timeline);
}

static void a_window_leaves_the_rest(void)
{
    char path[] = "/tmp/pcere-coarse-XXXXXX";
    int file = mkstemp(path);
    FILE *stream = file >= 0 ? fdopen(file, "w") : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    fputs("[{\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":500,\"dur\":1,\"name\":\"Chunk\"}", stream);
    for (int i = 0; i < 100; i++)                /* the first to begin comes last */
        fprintf(stream, ",\n{\"ph\":\"X\",\"pid\":0,\"tid\":0,\"ts\":%d,\"dur\":5,\"name\":\"Chunk\"}", 1000 - 10 * i);
    fputs("]", stream);
    fclose(stream);
    struct run all, some;
    struct pcere_error error;
    struct run_sparing sparing = {.from_ns = 100000, .to_ns = 202000, .large_bytes = 1};
    CU_ASSERT_EQUAL_FATAL(run_load(path, 0, TIMELINE_PAIRED, &all, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(run_load_sparing(path, 0, TIMELINE_PAIRED, &sparing, &some, &error), PCERE_OK);
    CU_ASSERT_EQUAL(all.timeline.span_count, 101);
    CU_ASSERT_EQUAL(some.timeline.span_count, 11);       /* from 110 us on to 210 us: what begins at 110, ..., 210 */
    CU_ASSERT_EQUAL(some.timeline.begin_ns, all.timeline.begin_ns);
    CU_ASSERT_EQUAL(some.timeline.end_ns, all.timeline.end_ns);
    CU_ASSERT_EQUAL(some.timeline.unwanted, 90);
    run_done(&all);
    run_done(&some);
    unlink(path);
}

static const struct unit_test tests[] = {
    {"short neighbours are joined while they come, and each event is in one", events_are_joined_as_they_come},
    {"begin and end of what is long are not joined with others", halves_are_no_short_events},
    {"a window leaves out what does not touch it, and the run's bounds stay", a_window_leaves_the_rest},
};

UNIT_MAIN("coarse timelines", tests)
