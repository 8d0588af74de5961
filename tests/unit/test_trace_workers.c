/* tests/unit/test_trace_workers.c - metrics from the records by one thread and by several: the same to the bit, and those of the model; what only the model knows. */
#include "tests/unit/trace_player.h"
#include "trace/native_metrics.h"
#include "trace/run.h"

enum { TASKS = 6000, CELLS = 40 };

static uint64_t state;

static uint64_t chance(uint64_t most)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % most;
}

static uint32_t sequences[3], block_records = 4000;

static void tell(unsigned thread, uint64_t ticks, uint32_t type, uint32_t flags, uint32_t extra, uint64_t value)
{
    if (players[thread].used == block_records)
        player_put(thread, sequences[thread]++);
    record(thread, ticks, type, flags, extra, value);
}

static void team_tell(unsigned thread, uint64_t ticks)
{
    tell(thread, ticks, TRACE_TEAM, 0, 3, id(0, 1));
    tell(thread, ticks, TRACE_IMPLICIT_BEGIN, 0, thread, id(thread, thread ? 1 : 2));
}

/* Thread 0 makes tasks, each with one or two dependences, `ahead` of the two that execute them, or not. */
static void program_play(uint64_t seed, uint64_t ahead)
{
    static uint64_t ready[CELLS];
    uint64_t made = 1000, ends[3] = {1500, 1500, 1500}, last = 0;
    state = seed;
    memset(ready, 0, sizeof ready);
    memset(sequences, 0, sizeof sequences);
    trace_begin(0);
    tables_put();
    record(0, 100, TRACE_IMPLICIT_BEGIN, 1, 0, id(0, 1));
    record(0, 1000, TRACE_PARALLEL_BEGIN, 0, 1, id(0, 1));
    team_tell(0, 1000);
    for (unsigned thread = 1; thread < 3; thread++) {
        team_tell(thread, 1000 + thread * 100);
        tell(thread, 1000 + thread * 100, TRACE_WAIT_BEGIN, 1, 0, 0);
    }
    for (uint64_t i = 0; i < TASKS; i++) {
        made += 10 + chance(30);
        tell(0, made, TRACE_TASK_CREATE, 0, 3, id(0, 3 + i));
        unsigned thread = 1 + (unsigned)chance(2);
        uint64_t begin = ends[thread] > made + ahead ? ends[thread] : made + ahead;
        for (uint64_t k = 0, count = 1 + chance(2); k < count; k++) {
            uint64_t cell = chance(CELLS), type = 1 + chance(3);
            tell(0, made, TRACE_DEPENDENCE, (uint32_t)type, 0, 0x1000 + 64 * cell);
            begin = begin > ready[cell] ? begin : ready[cell];
            ready[cell] = begin;
        }
        ends[thread] = begin + 1 + chance(60);
        for (uint64_t cell = 0; cell < CELLS; cell++)
            ready[cell] = ready[cell] == begin ? ends[thread] : ready[cell];
        tell(thread, begin, TRACE_TASK_SWITCH, 7, 0, id(0, 3 + i));
        tell(thread, ends[thread], TRACE_TASK_SWITCH, 1, 0, id(thread, 1));
        last = ends[thread] > last ? ends[thread] : last;
    }
    tell(0, made + 5, TRACE_WAIT_BEGIN, 1, 0, 0);
    for (unsigned thread = 0; thread < 3; thread++)
        tell(thread, last + 100, TRACE_WAIT_END, 1, 0, 0);
    tell(0, last + 200, TRACE_IMPLICIT_END, 0, 0, id(0, 2));
    tell(0, last + 200, TRACE_PARALLEL_END, 0, 0, id(0, 1));
    tell(0, last + 300, TRACE_IMPLICIT_END, 1, 0, id(0, 1));
    for (unsigned thread = 0; thread < 3; thread++) {
        if (thread)
            tell(thread, last + 250, TRACE_IMPLICIT_END, 0, 0, id(thread, 1));
        player_put(thread, sequences[thread]);
    }
    played_end = last + 400;
    trace_end(3);
}

static void model_compare(const struct run_metrics *metrics, const struct pop *pop)
{
    struct run run = {0};
    struct run_metrics of_model;
    struct pop pop_of_model;
    struct pcere_error error;
    CU_ASSERT_EQUAL_FATAL(run_load(path, METRICS_SPANS | POP_SPANS, TIMELINE_PAIRED, &run, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(metrics_run(&run.timeline, &of_model, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(pop_make(&run.timeline, &run.graph, &pop_of_model, &error), PCERE_OK);
    CU_ASSERT_EQUAL(of_model.values[METRIC_TASKS], metrics->values[METRIC_TASKS]);
    CU_ASSERT_EQUAL(of_model.values[METRIC_COMPUTATION_TIME], metrics->values[METRIC_COMPUTATION_TIME]);
    CU_ASSERT_EQUAL(memcmp(&pop_of_model, pop, sizeof *pop), 0);
    run_done(&run);
}

static void several_threads_find_what_one_finds(void)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct run_metrics one, several;
        struct pop pop_one, pop_several;
        struct pcere_error error;
        bool done = false;
        program_play(seed, seed % 2 ? 0 : 40000);
        CU_ASSERT_EQUAL_FATAL(native_metrics(path, 1, &one, &pop_one, &done, &error), PCERE_OK);
        CU_ASSERT_TRUE_FATAL(done);
        CU_ASSERT_EQUAL(one.values[METRIC_TASKS], (double)TASKS);
        CU_ASSERT_TRUE(pop_one.parts_ns[POP_SCHEDULING] > 0);
        for (size_t workers = 2; workers <= 4; workers++) {
            CU_ASSERT_EQUAL_FATAL(native_metrics(path, workers, &several, &pop_several, &done, &error), PCERE_OK);
            CU_ASSERT_TRUE(done);
            CU_ASSERT_EQUAL(memcmp(&one, &several, sizeof one), 0);
            CU_ASSERT_EQUAL(memcmp(&pop_one, &pop_several, sizeof pop_one), 0);
        }
        model_compare(&one, &pop_one);
    }
}

/* Of a region of two threads with `play` in it: what thread 0 does from 2000 on is told by it, thread 1 waits for tasks. */
static void region_play(void (*play)(void))
{
    memset(sequences, 0, sizeof sequences);
    trace_begin(0);
    tables_put();
    tell(0, 100, TRACE_IMPLICIT_BEGIN, 1, 0, id(0, 1));
    tell(0, 1000, TRACE_PARALLEL_BEGIN, 0, 1, id(0, 1));
    team_tell(0, 1000);
    team_tell(1, 1000);
    tell(1, 1100, TRACE_WAIT_BEGIN, 1, 0, 0);
    play();
    tell(0, 8000, TRACE_WAIT_BEGIN, 1, 0, 0);
    for (unsigned thread = 0; thread < 2; thread++) {
        tell(thread, 9000, TRACE_WAIT_END, 1, 0, 0);
        tell(thread, 9100, TRACE_IMPLICIT_END, 0, 0, id(thread, thread ? 1 : 2));
    }
    tell(0, 9200, TRACE_PARALLEL_END, 0, 0, id(0, 1));
    tell(0, 9300, TRACE_IMPLICIT_END, 1, 0, id(0, 1));
    for (unsigned thread = 0; thread < 2; thread++)
        player_put(thread, sequences[thread]);
    played_end = 9400;
    trace_end(2);
}

/* Reads the region's trace, and its tasks as rows: one place. */
static void rows_find(struct run *run, struct task_metrics *ret_row)
{
    struct task_metrics *rows;
    size_t count;
    uint64_t all_ns;
    struct pcere_error error;
    *run = (struct run){0};
    CU_ASSERT_EQUAL_FATAL(run_load(path, METRICS_SPANS | POP_SPANS, TIMELINE_PAIRED, run, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(metrics_tasks(&run->timeline, &rows, &count, &all_ns, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(count, 1);
    *ret_row = rows[0];
    free(rows);
}

static void execute(unsigned thread, uint64_t begin, uint64_t end, uint32_t status, uint64_t task)
{
    tell(thread, begin, TRACE_TASK_SWITCH, 7, 0, task);
    tell(thread, end, TRACE_TASK_SWITCH, status, 0, id(thread, thread ? 1 : 2));
}

/* Thread 1 executes the first task, which makes two more. */
static void taskloop_play(void)
{
    tell(0, 2000, TRACE_TASKLOOP_BEGIN, 0, 2, 0);
    for (uint64_t i = 0; i < 3; i++)
        tell(0, 2100 + i, TRACE_TASK_CREATE, 0, 0, id(0, 3 + i));
    tell(0, 2200, TRACE_TASKLOOP_END, 0, 0, 0);
    execute(0, 2300, 2400, 1, id(0, 4));
    execute(0, 2500, 2600, 1, id(0, 5));
    tell(1, 2300, TRACE_TASK_SWITCH, 7, 0, id(0, 3));
    tell(1, 2350, TRACE_CPU, 0, 0, 1);
    tell(1, 2350, TRACE_TASK_CREATE, 0, 0, id(1, 2));
    tell(1, 2400, TRACE_TASK_CREATE, 0, 0, id(1, 3));
    tell(1, 2450, TRACE_TASK_SWITCH, 1, 0, id(1, 1));
    execute(1, 2500, 2600, 1, id(1, 2));
    execute(1, 2700, 2800, 1, id(1, 3));
}

static void who_divides_a_taskloop_is_no_task(uint32_t records)
{
    struct run run;
    struct task_metrics row;
    struct run_metrics metrics;
    struct pop pop;
    struct pcere_error error;
    bool done = false;
    block_records = records;
    region_play(taskloop_play);
    block_records = 4000;
    CU_ASSERT_EQUAL_FATAL(native_metrics(path, 1, &metrics, &pop, &done, &error), PCERE_OK);
    CU_ASSERT_TRUE(done);
    CU_ASSERT_EQUAL(metrics.values[METRIC_TASKS], 4);
    CU_ASSERT_EQUAL(pop.parts_ns[POP_USEFUL], 400);
    model_compare(&metrics, &pop);
    rows_find(&run, &row);
    CU_ASSERT_EQUAL(row.count, 4);
    CU_ASSERT_EQUAL(row.sum_ns, 400);
    CU_ASSERT_EQUAL(run.graph.count, 4);
    CU_ASSERT_EQUAL_FATAL(metrics_run(&run.timeline, &metrics, &error), PCERE_OK);
    CU_ASSERT_EQUAL(metrics.values[METRIC_TASKS], 4);
    CU_ASSERT_EQUAL_FATAL(pop_make(&run.timeline, &run.graph, &pop, &error), PCERE_OK);
    CU_ASSERT_EQUAL(pop.parts_ns[POP_USEFUL], 400);
    run_done(&run);
}

static void what_divides_a_taskloop_is_no_task(void)
{
    who_divides_a_taskloop_is_no_task(4000);
    for (uint32_t records = 1; records < 9; records++)
        who_divides_a_taskloop_is_no_task(records);
}

/* One that works before it makes tasks of no construct: nobody can tell, before, what it is. */
static void late_play(void)
{
    tell(0, 2000, TRACE_TASKLOOP_BEGIN, 0, 2, 0);
    tell(0, 2000, TRACE_TASK_CREATE, 0, 0, id(0, 3));
    tell(0, 2200, TRACE_TASKLOOP_END, 0, 0, 0);
    tell(1, 2300, TRACE_TASK_SWITCH, 7, 0, id(0, 3));
    tell(1, 2310, TRACE_TASKLOOP_RANGE, 0, 10, 0);
    tell(1, 2350, TRACE_TASK_CREATE, 0, 0, id(1, 2));
    tell(1, 2450, TRACE_TASK_SWITCH, 1, 0, id(1, 1));
    execute(1, 2500, 2600, 1, id(1, 2));
}

static void a_task_of_a_taskloop_with_iterations_divides_nothing(void)
{
    struct run run;
    struct task_metrics row;
    struct run_metrics metrics;
    struct pop pop;
    struct pcere_error error;
    bool done = true;
    region_play(late_play);
    CU_ASSERT_EQUAL_FATAL(native_metrics(path, 1, &metrics, &pop, &done, &error), PCERE_OK);
    CU_ASSERT_FALSE(done);                       /* the model knows */
    rows_find(&run, &row);
    CU_ASSERT_EQUAL(row.count, 2);
    CU_ASSERT_EQUAL(row.sum_ns, 250);
    run_done(&run);
}

/* Thread 0 fulfils the event of the task that thread 1 executed, in a task that goes on. */
static void detached_play(void)
{
    tell(0, 2000, TRACE_TASK_CREATE, 0, 3, id(0, 3));
    tell(0, 2000, TRACE_TASK_CREATE, 0, 3, id(0, 4));
    tell(0, 2300, TRACE_TASK_SWITCH, 7, 0, id(0, 4));
    tell(0, 2500, TRACE_TASK_SWITCH, 6, 0, 0);
    tell(0, 2900, TRACE_TASK_SWITCH, 1, 0, id(0, 2));
    execute(1, 2300, 2400, 4, id(0, 3));
}

static void a_detached_task_ends_with_its_body(void)
{
    struct run run;
    struct task_metrics row;
    region_play(detached_play);
    rows_find(&run, &row);
    CU_ASSERT_EQUAL(row.count, 2);
    CU_ASSERT_EQUAL(row.sum_ns, 700);
    CU_ASSERT_EQUAL(run.timeline.unfinished, 0);
    CU_ASSERT_EQUAL_FATAL(run.timeline.task_count, 2);
    CU_ASSERT_EQUAL(run.timeline.tasks[0].end_ns - run.timeline.tasks[0].begin_ns, 100);
    CU_ASSERT_EQUAL(run.timeline.tasks[1].end_ns - run.timeline.tasks[1].begin_ns, 600);
    run_done(&run);
}

static const struct unit_test tests[] = {
    {"several threads find what one finds, and what the model finds", several_threads_find_what_one_finds},
    {"what divides a taskloop for the runtime is no task", what_divides_a_taskloop_is_no_task},
    {"a taskloop's task that has iterations divides nothing, whatever it makes", a_task_of_a_taskloop_with_iterations_divides_nothing},
    {"a detached task ends with its body, and who fulfils its event goes on", a_detached_task_ends_with_its_body},
};

UNIT_MAIN("metrics by several threads", tests)
