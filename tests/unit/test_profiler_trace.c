/* tests/unit/test_profiler_trace.c - trace files that are damaged, cut, torn; clocks that disagree; the kernel's answers about counters. */
#include "core/files.h"
#include "profiler/host/trace_file.h"
#include "profiler/host/units.h"
#include "profiler/answers.h"
#include "tests/unit/trace_player.h"
#include "trace/program.h"
#include "trace/run.h"
#include "trace/schedule.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A region of two threads; thread 0 has the range from 0 and makes a task there, which thread 1 runs while it waits. */
static void example_put(uint64_t worker_delay)
{
    record(0, 100, TRACE_IMPLICIT_BEGIN, 1, 0, id(0, 1));
    record(0, 200, TRACE_PARALLEL_BEGIN, 0, 1, id(0, 1));
    for (unsigned i = 0; i < 2; i++) {
        uint64_t t = i ? worker_delay : 0;
        record(i, t + 300, TRACE_TEAM, 0, 2, id(0, 1));
        record(i, t + 310, TRACE_IMPLICIT_BEGIN, 0, i, id(i, i ? 1 : 2));
        record(i, t + 400, TRACE_LOOP_BEGIN, 0, 2, TRACE_SCHEDULE_STATIC);
        record(i, t + 410, TRACE_RANGE_BEGIN, 0, 4, i ? 4 : 0);
        if (i == 0)
            record(i, t + 450, TRACE_TASK_CREATE, 0, 3, id(0, 3));
        record(i, t + 500, TRACE_LOOP_END, 0, 0, 0);
        record(i, t + 510, TRACE_WAIT_BEGIN, 9, 0, 0);
        if (i == 1) {
            record(i, t + 600, TRACE_TASK_SWITCH, 7, 0, id(0, 3));
            record(i, t + 625, TRACE_TASK_SWITCH, 1, 0, id(1, 1));
        }
        record(i, t + 700, TRACE_WAIT_END, 9, 0, 0);
        record(i, t + 800, TRACE_IMPLICIT_END, 0, 0, id(i, i ? 1 : 2));
    }
    record(0, 900, TRACE_PARALLEL_END, 0, 0, id(0, 1));
    player_put(0, 0);
    player_put(1, 0);
}

static struct trace_file *opened(void)
{
    struct trace_file *file = NULL;
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(trace_file_open(path, &file, &error), PCERE_OK);
    return file;
}

static void units_of(struct trace_file *file, struct units *units)
{
    struct pcere_error error;
    CU_ASSERT_EQUAL_FATAL(units_collect(file, &(struct units_options){.rules = LABEL_RULES_PCERE}, units, &error), PCERE_OK);
}

static bool has_unit(const struct units *units, const char *label, uint64_t active)
{
    for (size_t i = 0; i < units->count; i++) {
        struct text text = {0};
        label_text(&units->labels, units->list[i].node, &text);
        bool same = strcmp(text.data, label) == 0 && units->list[i].active_ticks == active;
        text_done(&text);
        if (same)
            return true;
    }
    return false;
}

static void example_check(uint64_t worker_delay)
{
    struct units units;
    trace_begin(0);
    tables_put();
    example_put(worker_delay);
    trace_end(2);
    struct trace_file *file = opened();
    units_of(file, &units);
    CU_ASSERT_EQUAL(units.count, 3);
    CU_ASSERT_EQUAL(units.mismatches + units.duplicates + units.torn + units.unfinished, 0);
    CU_ASSERT_EQUAL(units.team_most, 2);
    CU_ASSERT_TRUE(has_unit(&units, "0.1@x.c:10.1@x.c:20.0", 90));
    CU_ASSERT_TRUE(has_unit(&units, "0.1@x.c:10.1@x.c:20.4", 90));
    CU_ASSERT_TRUE(has_unit(&units, "0.1@x.c:10.1@x.c:20.0.1@x.c:30", 25));
    CU_ASSERT_EQUAL(units.outside[1].waiting_ticks, 600 - 510 + 700 - 625);
    units_done(&units);
    trace_file_close(file);
}

static void an_example(void)
{
    example_check(0);
}

static void clocks_that_disagree(void)
{
    example_check((uint64_t)-250);      /* the worker's clock is behind: it runs the task before it was made */
    example_check(100000);
}

static uint32_t cpu_of(const struct units *units, uint64_t start)
{
    for (size_t i = 0; i < units->count; i++)
        if (units->list[i].start_ticks == start)
            return units->list[i].cpu;
    return 99;
}

static void where_units_ran(void)
{
    struct units units;
    trace_begin(0);
    tables_put();
    record(0, 90, TRACE_CPU, 0, 0, 3);
    record(0, 100, TRACE_IMPLICIT_BEGIN, 1, 0, id(0, 1));
    record(0, 200, TRACE_PARALLEL_BEGIN, 0, 1, id(0, 1));
    record(0, 300, TRACE_TEAM, 0, 2, id(0, 1));
    record(0, 310, TRACE_IMPLICIT_BEGIN, 0, 0, id(0, 2));
    record(0, 400, TRACE_LOOP_BEGIN, 0, 2, TRACE_SCHEDULE_DYNAMIC);
    record(0, 410, TRACE_RANGE_BEGIN, 0, 4, 0);
    record(0, 420, TRACE_CPU, 0, 0, 5);          /* it moved in the first range, as the next record found */
    record(0, 420, TRACE_RANGE_BEGIN, 0, 4, 4);
    record(0, 500, TRACE_LOOP_END, 0, 0, 0);
    record(0, 800, TRACE_IMPLICIT_END, 0, 0, id(0, 2));
    player_put(0, 0);
    record(1, 310, TRACE_TEAM, 0, 2, id(0, 1));
    record(1, 320, TRACE_IMPLICIT_BEGIN, 0, 1, id(1, 1));
    record(1, 405, TRACE_LOOP_BEGIN, 0, 2, TRACE_SCHEDULE_DYNAMIC);
    record(1, 415, TRACE_RANGE_BEGIN, 0, 4, 8);
    record(1, 500, TRACE_LOOP_END, 0, 0, 0);
    record(1, 800, TRACE_IMPLICIT_END, 0, 0, id(1, 1));
    player_put(1, 0);
    trace_end(2);
    struct trace_file *file = opened();
    units_of(file, &units);
    CU_ASSERT_EQUAL(units.count, 3);
    CU_ASSERT_EQUAL(cpu_of(&units, 410), UINT32_MAX);
    CU_ASSERT_EQUAL(cpu_of(&units, 420), 5);
    CU_ASSERT_EQUAL(cpu_of(&units, 415), UINT32_MAX);      /* no record says it */
    units_done(&units);
    trace_file_close(file);
}

static void constructs_without_a_kind(void)
{
    struct pcere_error error = {0};
    struct trace_file *file;
    char data[96] = {0};
    const struct trace_entry entry = {.bytes = 96, .kind = TRACE_ENTRY_CONSTRUCT, .basis = TRACE_BY_SOURCE, .index = 1};
    memcpy(data, &entry, sizeof entry);
    snprintf(data + sizeof entry, 40, ";dir/x.c;f;10;5");
    trace_begin(0);
    struct trace_block block = {.magic = TRACE_BLOCK_MAGIC, .kind = TRACE_BLOCK_TABLE, .used = sizeof data};
    block_put(&block, data, sizeof data);
    trace_end(1);
    CU_ASSERT_EQUAL(trace_file_open(path, &file, &error), PCERE_DATA);
}

/* ---- the sum of the parts ----------------------------------------------------------------------------------------------------- */

static void a_task_that_moves(void)
{
    struct units units;
    trace_begin(1);
    tables_put();
    record_counted(0, 100, TRACE_IMPLICIT_BEGIN, 0, id(0, 1), 5);
    players[0].records[0].word |= 1u << 8;          /* the initial task */
    record_counted(0, 110, TRACE_TASK_CREATE, 3, id(0, 2), 1);
    record_counted(0, 120, TRACE_TASK_SWITCH, 0, id(0, 2), 1);
    record_counted(0, 150, TRACE_TASK_SWITCH, 0, id(0, 1), 30);     /* suspended after 30 ticks and 30 events */
    record_counted(0, 400, TRACE_IMPLICIT_END, 0, id(0, 1), 7);
    record_counted(1, 90, TRACE_IMPLICIT_BEGIN, 0, id(1, 1), 2);
    players[1].records[0].word |= 1u << 8;
    record_counted(1, 200, TRACE_TASK_SWITCH, 0, id(0, 2), 3);
    record_counted(1, 220, TRACE_TASK_SWITCH, 0, id(1, 1), 20);
    player_put(0, 0);
    player_put(1, 0);
    trace_end(2);
    struct trace_file *file = opened();
    units_of(file, &units);
    CU_ASSERT_EQUAL_FATAL(units.count, 1);
    CU_ASSERT_EQUAL(units.list[0].active_ticks, 50);
    CU_ASSERT_EQUAL(units.list[0].start_ticks, 120);
    CU_ASSERT_EQUAL(units.counts[0], 50);
    uint64_t all = 0, outside = 0;
    for (size_t i = 0; i < units.thread_count; i++) {
        all += units.outside[i].total_counts[0];
        outside += units.outside[i].counts[0];
    }
    CU_ASSERT_EQUAL(all, 5 + 1 + 1 + 30 + 7 + 2 + 3 + 20);
    CU_ASSERT_EQUAL(outside + units.counts[0], all);
    units_done(&units);
    trace_file_close(file);
}

/* ---- damage ------------------------------------------------------------------------------------------------------------------- */

static enum pcere_status reading(struct pcere_error *error)
{
    struct trace_file *file;
    struct units units;
    enum pcere_status status = trace_file_open(path, &file, error);
    if (status != PCERE_OK)
        return status;
    status = units_collect(file, &(struct units_options){.rules = LABEL_RULES_PCERE}, &units, error);
    if (status == PCERE_OK)
        units_done(&units);
    trace_file_close(file);
    return status;
}

/* *ret_records: of all threads, if anything is whole. */
static enum pcere_status salvaging(size_t *ret_records, uint64_t *ret_until_ticks)
{
    struct trace_file *file;
    struct pcere_error error;
    enum pcere_status status = trace_file_salvage(path, &file, &error);
    *ret_records = 0;
    if (status != PCERE_OK)
        return status;
    for (size_t i = 0; i < file->thread_count; i++) {
        struct trace_cursor cursor;
        struct trace_item item;
        trace_cursor_start(&cursor, file, i);
        while (trace_cursor_next(&cursor, &item))
            ++*ret_records;
    }
    *ret_until_ticks = file->until_ticks;
    trace_file_close(file);
    return status;
}

static void every_flipped_byte(void)
{
    trace_begin(0);
    tables_put();
    example_put(0);
    trace_end(2);
    void *data;
    size_t bytes, refused = 0, tried = 0, records, most;
    uint64_t until_ticks;
    CU_ASSERT_EQUAL_FATAL(salvaging(&most, &until_ticks), PCERE_OK);
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(file_read(AT_FDCWD, path, 1u << 24, &data, &bytes, &error), PCERE_OK);
    char *original = data;
    int file = open(path, O_RDWR | O_CLOEXEC);
    /* The heads and the used parts of all three blocks, and the index. */
    for (size_t at = TRACE_HEADER_BYTES; at < bytes; at++) {
        size_t within = (at - TRACE_HEADER_BYTES) % TRACE_BLOCK_BYTES;
        if (within >= 64 + 160)
            continue;
        char flipped = (char)(original[at] ^ 0x11);
        CU_ASSERT_EQUAL_FATAL(pwrite(file, &flipped, 1, (off_t)at), 1);
        error.message[0] = '\0';
        enum pcere_status status = reading(&error);
        tried++;
        refused += status == PCERE_DATA && error.message[0];
        CU_ASSERT_EQUAL(salvaging(&records, &until_ticks), PCERE_OK);
        CU_ASSERT(records >= 9 && records <= most);       /* at least the other thread's */
        CU_ASSERT_EQUAL_FATAL(pwrite(file, original + at, 1, (off_t)at), 1);
    }
    CU_ASSERT_EQUAL(refused, tried);
    CU_ASSERT_EQUAL(reading(&error), PCERE_OK);
    for (size_t at = 0; at < TRACE_HEADER_BYTES; at += 251) {
        char flipped = (char)(original[at] ^ 1);
        CU_ASSERT_EQUAL_FATAL(pwrite(file, &flipped, 1, (off_t)at), 1);
        CU_ASSERT_EQUAL(reading(&error), PCERE_DATA);
        CU_ASSERT_EQUAL_FATAL(pwrite(file, original + at, 1, (off_t)at), 1);
    }
    for (size_t length = bytes; length > 0; length = length / 2) {
        CU_ASSERT_EQUAL_FATAL(ftruncate(file, (off_t)length - 1), 0);
        CU_ASSERT_EQUAL(reading(&error), PCERE_DATA);
        enum pcere_status status = salvaging(&records, &until_ticks);
        CU_ASSERT(status == PCERE_DATA || (status == PCERE_OK && records <= most));
    }
    close(file);
    free(data);
}

/* Thread 0 begins first, as of its places; the file is read as its recorder left it. */
static void what_is_whole(void)
{
    size_t records;
    uint64_t until_ticks;
    for (unsigned lost = 0; lost < 4; lost++) {
        trace_begin(0);
        tables_put();
        record(0, 500, TRACE_MUTEX_BEGIN, 1, 0, 1);
        player_put(0, 2);                                   /* its first place has its last block */
        record(1, 50, TRACE_MUTEX_BEGIN, 1, 0, 1);
        record(1, 200, TRACE_MUTEX_END, 1, 0, 1);
        record(1, 600, TRACE_MUTEX_BEGIN, 1, 0, 1);
        player_put(1, 0);
        record(0, 100, TRACE_MUTEX_BEGIN, 1, 0, 1);
        player_put(0, 0);
        record(0, 300, TRACE_MUTEX_BEGIN, 1, 0, 1);
        player_put(0, 1);
        struct trace_header header;
        CU_ASSERT_EQUAL_FATAL(pread(trace, &header, sizeof header, 0), (ssize_t)sizeof header);
        header.tool_started = 1;
        header.thread_count = 2;
        CU_ASSERT_EQUAL_FATAL(pwrite(trace, &header, sizeof header, 0), (ssize_t)sizeof header);
        off_t place = TRACE_HEADER_BYTES + (off_t[]){0, 4, 3, 1}[lost] * TRACE_BLOCK_BYTES;
        if (lost)
            CU_ASSERT_EQUAL_FATAL(pwrite(trace, "", 1, place), 1);
        close(trace);
        CU_ASSERT_EQUAL(salvaging(&records, &until_ticks), PCERE_OK);
        /* whole; without the middle one; without the first one; without the last one */
        CU_ASSERT_EQUAL(records, ((size_t[]){6, 2, 3, 4})[lost]);
        CU_ASSERT_EQUAL(until_ticks, ((uint64_t[]){UINT64_MAX, 100, UINT64_MAX, 300})[lost]);
    }
}

static void a_file_that_was_never_sealed(void)
{
    struct pcere_error error;
    trace_begin(0);
    tables_put();
    close(trace);
    CU_ASSERT_EQUAL(reading(&error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "never finished"));
    unlink(path);
    CU_ASSERT_EQUAL(reading(&error), PCERE_USAGE);
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* The same records as a timeline, as graphs, and executed in thought: a cycle may be found, and nothing else may go wrong. */
static void timeline_of_nonsense(void)
{
    struct pcere_error error;
    struct run run = {0};
    struct graph graph = {0};
    struct graph_paths paths = {0};
    struct schedule schedule;
    enum pcere_status status = run_load(path, RUN_STEPS | 1u << SPAN_TASK, TIMELINE_PAIRED, &run, &error);
    CU_ASSERT_TRUE(status == PCERE_OK || status == PCERE_NO);
    struct program_options options = {.threads = 3, .task_ns = 5};
    if (status == PCERE_OK) {
        CU_ASSERT_EQUAL(program_graph(&run.timeline, &options, &graph, &error), PCERE_OK);
        status = graph_paths_find(&graph, &paths, &error);
        CU_ASSERT_TRUE(status == PCERE_OK || status == PCERE_DATA);
        for (enum schedule_kind kind = 0; status == PCERE_OK && kind < SCHEDULE_KINDS; kind++) {
            CU_ASSERT_EQUAL(schedule_make(&graph, &paths, kind, 2, &schedule, NULL, &error), PCERE_OK);
            CU_ASSERT_TRUE(schedule.makespan_ns >= schedule_bound_ns(&graph, &paths, 2));
        }
        graph_paths_done(&paths);
        graph_done(&graph);
        run_done(&run);
    }
}

/* Whatever a program writes there, reading it ends, and the time of each thread is somewhere. */
static void records_that_make_no_sense(void)
{
    uint64_t state = 88172645463325252u;
    for (int round = 0; round < 60; round++) {
        trace_begin(0);
        tables_put();
        for (unsigned thread = 0; thread < 3; thread++) {
            for (int i = 0; i < 400; i++) {
                uint64_t r = random_next(&state);
                uint32_t type = round % 3 ? 1 + (uint32_t)(r % (TRACE_TYPES - 1)) : (uint32_t)(r % 128);
                uint64_t value = r >> 60 ? id((unsigned)(r >> 20 & 3), 1 + (r >> 24 & 31)) : r;
                if (type == TRACE_TIME)
                    value = 0;
                record(thread, (uint64_t)i * 10, type, (uint32_t)(r >> 8 & 15), (uint32_t)(r >> 40 & 7), value);
            }
            player_put(thread, 0);
        }
        trace_end(3);
        struct pcere_error error;
        struct trace_file *file = opened();
        struct units units;
        CU_ASSERT_EQUAL_FATAL(units_collect(file, &(struct units_options){.rules = LABEL_RULES_PAPER}, &units, &error), PCERE_OK);
        uint64_t active = 0, all = 0, outside = 0;
        for (size_t i = 0; i < units.count; i++)
            active += units.list[i].active_ticks;
        for (size_t i = 0; i < units.thread_count; i++) {
            all += units.outside[i].total_ticks;
            outside += units.outside[i].ticks + units.outside[i].waiting_ticks;
        }
        CU_ASSERT_EQUAL(active + outside, all);
        units_done(&units);
        trace_file_close(file);
        timeline_of_nonsense();
    }
}

/* Thread 1 makes a task, thread 0, whose records come first in the file, executes it. */
static void a_task_of_a_later_thread(void)
{
    trace_begin(0);
    tables_put();
    record(0, 100, TRACE_IMPLICIT_BEGIN, 1, 0, id(0, 1));
    record(0, 200, TRACE_PARALLEL_BEGIN, 0, 1, id(0, 1));
    record(0, 210, TRACE_TEAM, 0, 2, id(0, 1));
    record(0, 211, TRACE_IMPLICIT_BEGIN, 0, 0, id(0, 2));
    record(0, 300, TRACE_WAIT_BEGIN, 8, 0, 0);
    record(0, 500, TRACE_TASK_SWITCH, 7, 0, id(1, 2));
    record(0, 640, TRACE_TASK_SWITCH, 1, 0, id(0, 2));
    record(0, 700, TRACE_WAIT_END, 8, 0, 0);
    record(0, 710, TRACE_IMPLICIT_END, 0, 0, id(0, 2));
    record(0, 720, TRACE_PARALLEL_END, 0, 0, id(0, 1));
    record(0, 800, TRACE_IMPLICIT_END, 1, 0, id(0, 1));
    record(1, 220, TRACE_TEAM, 0, 2, id(0, 1));
    record(1, 221, TRACE_IMPLICIT_BEGIN, 0, 1, id(1, 1));
    record(1, 400, TRACE_TASK_CREATE, 0, 2, id(1, 2));
    record(1, 450, TRACE_WAIT_BEGIN, 8, 0, 0);
    record(1, 705, TRACE_WAIT_END, 8, 0, 0);
    record(1, 706, TRACE_IMPLICIT_END, 0, 0, id(1, 1));
    player_put(0, 0);
    player_put(1, 0);
    trace_end(2);
    struct pcere_error error;
    struct run run = {0};
    CU_ASSERT_EQUAL_FATAL(run_load(path, 0, TIMELINE_PAIRED, &run, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(run.timeline.task_count, 1);
    CU_ASSERT_EQUAL(run.timeline.tasks[0].run_ns, 140);
    CU_ASSERT_TRUE(run.timeline.tasks[0].flags & TASK_ENDED);
    CU_ASSERT_EQUAL(run.timeline.unfinished, 0);
    run_done(&run);
}

static void a_block_that_is_there_twice(void)
{
    trace_begin(0);
    tables_put();
    record(0, 100, TRACE_IMPLICIT_BEGIN, 1, 0, id(0, 1));
    struct player saved = players[0];
    player_put(0, 0);
    players[0] = saved;
    player_put(0, 0);
    record(0, 200, TRACE_IMPLICIT_END, 1, 0, id(0, 1));
    player_put(0, 1);
    trace_end(1);
    struct trace_file *file = opened();
    CU_ASSERT_EQUAL(file->threads[0].block_count, 2);
    CU_ASSERT_EQUAL(file->slots, 2);
    trace_file_close(file);
}

/* ---- counters ----------------------------------------------------------------------------------------------------------------- */

static void answers_of_the_kernel(void)
{
    /* As read(2) gave them: how many, time enabled, time running, counts. */
    static const uint64_t good[] = {3, 1204317, 1204317, 88123, 9921, 40}, shared[] = {3, 1204317, 602158, 44001, 4960, 20}, never[] = {3, 90211, 0, 0, 0, 0};
    CU_ASSERT_EQUAL(counter_answer_judge(good, sizeof good, 3), COUNTER_ANSWER_GOOD);
    CU_ASSERT_EQUAL(counter_answer_judge(shared, sizeof shared, 3), COUNTER_ANSWER_SHARED);
    CU_ASSERT_EQUAL(counter_answer_judge(never, sizeof never, 3), COUNTER_ANSWER_SHARED);
    CU_ASSERT_EQUAL(counter_answer_judge(good, 0, 3), COUNTER_ANSWER_LOST);      /* a pinned group in its error state: end of file */
    CU_ASSERT_EQUAL(counter_answer_judge(good, -1, 3), COUNTER_ANSWER_LOST);
    CU_ASSERT_EQUAL(counter_answer_judge(good, sizeof good, 4), COUNTER_ANSWER_LOST);
    CU_ASSERT_EQUAL(counter_answer_judge(good, sizeof good - 8, 3), COUNTER_ANSWER_LOST);
}

static const struct unit_test tests[] = {
    {"a region of two threads has its labels, and times go to what is on top", an_example},
    {"clocks of threads that disagree do no harm", clocks_that_disagree},
    {"an XU ran on the processor of its thread, or on several", where_units_ran},
    {"a construct of no kind is refused", constructs_without_a_kind},
    {"a task that moves is the sum of its parts, and no count is lost", a_task_that_moves},
    {"no flipped byte and no cut does more than give PCERE_DATA", every_flipped_byte},
    {"a file that was never sealed is refused", a_file_that_was_never_sealed},
    {"of a file that is not whole, what is whole is read", what_is_whole},
    {"records that make no sense are read to their end, and all time is accounted for", records_that_make_no_sense},
    {"a task is known to a thread whose records come before those of its maker", a_task_of_a_later_thread},
    {"a block that is there twice counts once", a_block_that_is_there_twice},
    {"the kernel's answers about counters are told apart", answers_of_the_kernel},
};

UNIT_MAIN("profiler trace", tests)
