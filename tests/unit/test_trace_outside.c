/* tests/unit/test_trace_outside.c - records of devices and of MPI that make no sense, or whose other side never answers: what is whole is used, and what is not is counted. */
#include "tests/unit/trace_player.h"
#include "trace/run.h"

static char second_path[300];

static void program_begin(void)
{
    trace_begin(0);
    tables_put();
    record(0, 1000, TRACE_IMPLICIT_BEGIN, 1, 0, id(0, 1));
}

static void program_end(void)
{
    record(0, 900000, TRACE_IMPLICIT_END, 1, 0, id(0, 1));
    player_put(0, 0);
    trace_end(1);
}

static struct run loaded(const char *files)
{
    struct run run = {0};
    struct pcere_error error;
    CU_ASSERT_EQUAL_FATAL(run_load(files, RUN_STEPS, TIMELINE_PAIRED, &run, &error), PCERE_OK);
    for (size_t i = 0; i < run.timeline.span_count; i++)
        CU_ASSERT_TRUE(run.timeline.spans[i].begin_ns <= run.timeline.spans[i].end_ns);
    return run;
}

static const struct span *span_of(const struct run *run, enum span_kind kind)
{
    for (size_t i = 0; i < run->timeline.span_count; i++)
        if (run->timeline.spans[i].kind == kind)
            return &run->timeline.spans[i];
    return NULL;
}

static size_t spans_of(const struct run *run, enum span_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < run->timeline.span_count; i++)
        count += run->timeline.spans[i].kind == kind;
    return count;
}

static void a_device_that_never_answers(void)
{
    program_begin();
    record(0, 2000, TRACE_TARGET_BEGIN, 1, 3, 0);
    record(0, 3000, TRACE_DATA_BEGIN, TRACE_DATA_SUBMIT, 0, 0x1000);
    record(0, 3000, TRACE_DATA_BYTES, 0, 0, 4096);
    record(0, 4000, TRACE_DATA_END, TRACE_DATA_SUBMIT, 0, 0);
    record(0, 5000, TRACE_KERNEL_BEGIN, 0, 0, 0);
    player_put(0, 0);
    trace_end(1);
    struct run run = loaded(path);
    CU_ASSERT_EQUAL(run.timeline.unfinished, 2);         /* the region and what it executes; its task is the region's */
    CU_ASSERT_EQUAL(run.timeline.broken, 0);
    CU_ASSERT_EQUAL(spans_of(&run, SPAN_TARGET), 1);
    CU_ASSERT_EQUAL(spans_of(&run, SPAN_SUBMIT), 2);     /* on the head and on the device */
    CU_ASSERT_EQUAL(spans_of(&run, SPAN_EXECUTE), 1);
    CU_ASSERT_EQUAL(spans_of(&run, SPAN_TASK), 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(span_of(&run, SPAN_TASK));
    CU_ASSERT_EQUAL(span_of(&run, SPAN_TASK)->begin_ns, span_of(&run, SPAN_EXECUTE)->begin_ns);
    CU_ASSERT_EQUAL(run.timeline.task_count, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(run.remark, "2 spans or tasks were never finished"));
    run_done(&run);
}

static void device_records_without_sense(void)
{
    program_begin();
    record(0, 2000, TRACE_TARGET_END, 1, 3, 0);                                  /* nothing began */
    record(0, 2100, TRACE_KERNEL_END, 0, 0, 0);
    record(0, 2200, TRACE_DATA_END, TRACE_DATA_ALLOC, 0, 0x2000);
    record(0, 2300, TRACE_DATA_BEGIN, TRACE_DATA_SUBMIT, 0, 0x1000);             /* ends as another operation */
    record(0, 2300, TRACE_DATA_BYTES, 0, 0xfffff, UINT64_MAX - 7);               /* minus eight bytes, for a device that nobody has */
    record(0, 2400, TRACE_DATA_END, TRACE_DATA_DELETE, 0, 0);
    record(0, 2500, TRACE_DATA_END, TRACE_DATA_SUBMIT, 0, 0);                    /* as it began */
    program_end();
    struct run run = loaded(path);
    CU_ASSERT_EQUAL(run.timeline.broken, 5);
    CU_ASSERT_EQUAL(run.timeline.unfinished, 0);
    CU_ASSERT_EQUAL(spans_of(&run, SPAN_SUBMIT), 2);
    CU_ASSERT_EQUAL(spans_of(&run, SPAN_TARGET) + spans_of(&run, SPAN_EXECUTE) + spans_of(&run, SPAN_ALLOC) + spans_of(&run, SPAN_DELETE), 0);
    for (size_t i = 0; i < run.timeline.step_count; i++)
        CU_ASSERT_TRUE(run.timeline.steps[i].kind != STEP_DATA || run.timeline.steps[i].first == 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(run.remark, "5 events make no sense"));
    run_done(&run);
}

static void a_clock_that_runs_backwards(void)
{
    program_begin();
    record(0, 50000, TRACE_TARGET_BEGIN, 1, 3, 0);
    record(0, 20000, TRACE_KERNEL_BEGIN, 0, 0, 0);
    record(0, 60000, TRACE_KERNEL_END, 0, 0, 0);
    record(0, 55000, TRACE_TARGET_END, 1, 3, 0);
    program_end();
    struct run run = loaded(path);
    CU_ASSERT_EQUAL(run.timeline.broken, 2);
    const struct span *target = span_of(&run, SPAN_TARGET), *execute = span_of(&run, SPAN_EXECUTE);
    CU_ASSERT_TRUE_FATAL(target && execute);
    CU_ASSERT_EQUAL(execute->begin_ns, target->begin_ns);        /* held at the time before */
    CU_ASSERT_EQUAL(execute->end_ns, target->end_ns);
    CU_ASSERT_EQUAL(execute->end_ns - execute->begin_ns, 10000);
    run_done(&run);
}

/* Rank `rank` of `ranks` sends to the other of 0 and 1 `sent` messages and receives `come`. */
static void rank_put(uint64_t rank, uint32_t ranks, unsigned sent, unsigned come)
{
    uint32_t other = rank ? 1 : 2;
    uint64_t ticks = 2000;
    program_begin();
    record(0, ticks, TRACE_RANK, 0, ranks, rank);
    for (unsigned i = 0; i < sent || i < come; i++, ticks += 1000) {
        if (i < sent) {
            record(0, ticks, TRACE_MESSAGE_BEGIN, TRACE_MESSAGE_SEND, 0, 0);
            record(0, ticks + 100, TRACE_MESSAGE_END, TRACE_MESSAGE_SEND, other, 7);
        }
        if (i < come) {
            record(0, ticks + 200, TRACE_MESSAGE_BEGIN, TRACE_MESSAGE_RECEIVE, 0, 0);
            record(0, ticks + 600, TRACE_MESSAGE_END, TRACE_MESSAGE_RECEIVE, other, 7);
        }
    }
    program_end();
}

static void second_keep(void)
{
    snprintf(second_path, sizeof second_path, "%s/second", directory);
    CU_ASSERT_EQUAL_FATAL(rename(path, second_path), 0);
}

static const char *both(void)
{
    static char files[600];
    snprintf(files, sizeof files, "%s,%s", second_path, path);
    return files;
}

static void partners_that_are_missing(void)
{
    rank_put(0, 2, 5, 3);
    second_keep();
    rank_put(1, 2, 3, 4);                                        /* the fifth never came */
    struct run run = loaded(both());
    CU_ASSERT_EQUAL(run.ranks.clock_count, 2);
    CU_ASSERT_EQUAL(run.ranks.pair_count, 7);
    CU_ASSERT_EQUAL(run.ranks.lonely, 1);
    CU_ASSERT_EQUAL(run.ranks.clocks[1].messages, 7);
    CU_ASSERT_PTR_NOT_NULL(strstr(run.remark, "1 MPI messages have no partner"));
    run_done(&run);
    rank_put(1, 2, 3, 5);
    run = loaded(both());
    CU_ASSERT_EQUAL(run.ranks.lonely, 0);
    CU_ASSERT_EQUAL(run.remark[0], '\0');
    run_done(&run);
    unlink(second_path);
}

static void message_records_without_sense(void)
{
    program_begin();
    record(0, 2000, TRACE_RANK, 0, 2, 0);
    record(0, 2100, TRACE_RANK, 0, 2, 1);                                        /* another one now */
    record(0, 2200, TRACE_MESSAGE_END, TRACE_MESSAGE_SEND, 2, 7);                /* nothing began */
    record(0, 2300, TRACE_MESSAGE_BEGIN, TRACE_MESSAGE_SEND, 0, 0);
    record(0, 2400, TRACE_MESSAGE_END, TRACE_MESSAGE_SEND, 9, 7);                /* to rank 8 of 2 */
    record(0, 2500, TRACE_MESSAGE_BEGIN, 15, 0, 0);
    record(0, 2600, TRACE_MESSAGE_END, 15, 1, 7);                                /* no kind of message */
    record(0, 2700, TRACE_MESSAGE_BEGIN, TRACE_MESSAGE_RECEIVE, 0, 0);           /* and one that never comes */
    program_end();
    struct run run = loaded(path);
    CU_ASSERT_EQUAL(run.timeline.broken, 4);
    CU_ASSERT_EQUAL(run.timeline.unfinished, 1);
    CU_ASSERT_EQUAL(spans_of(&run, SPAN_MESSAGE), 1);
    CU_ASSERT_EQUAL(run.timeline.processes[0].rank, 0);
    run_done(&run);
    program_begin();
    record(0, 2000, TRACE_RANK, 0, 4, 4);
    record(0, 2100, TRACE_RANK, 0, 0xfffff, 70000);
    program_end();
    run = loaded(path);
    CU_ASSERT_EQUAL(run.timeline.broken, 2);
    CU_ASSERT_EQUAL(run.timeline.processes[0].ranks, 0);
    run_done(&run);
}

static void ranks_of_different_programs(void)
{
    struct run run = {0};
    struct pcere_error error;
    rank_put(0, 2, 2, 2);
    second_keep();
    rank_put(0, 2, 2, 2);
    CU_ASSERT_EQUAL(run_load(both(), 0, TIMELINE_PAIRED, &run, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "two traces are of rank 0"));
    rank_put(1, 4, 2, 2);
    CU_ASSERT_EQUAL(run_load(both(), 0, TIMELINE_PAIRED, &run, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "rank 0 is of a program of 2 ranks, rank 1 of one of 4"));
    unlink(second_path);
}

static const struct unit_test tests[] = {
    {"what a device never answered ends with its thread, and is counted", a_device_that_never_answers},
    {"device records that make no sense are counted, the others used", device_records_without_sense},
    {"a clock that runs backwards is held", a_clock_that_runs_backwards},
    {"messages whose partners are missing are told", partners_that_are_missing},
    {"MPI records that make no sense are counted, the others used", message_records_without_sense},
    {"traces of different programs are not put together", ranks_of_different_programs},
};

UNIT_MAIN("records of what is outside", tests)
