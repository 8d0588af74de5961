/* tests/fuzz/seed_runs.c - see seed_runs.h. Knows the forms that fuzzers of profiles, traces and graphs take. */
#include "tests/fuzz/seed_runs.h"

#include "analysis/profile.h"
#include "core/files.h"
#include "core/text.h"
#include "profiler/protocol.h"
#include "tests/fuzz/trace_parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static void must(enum pcere_status status, const struct pcere_error *error)
{
    if (status == PCERE_OK)
        return;
    fprintf(stderr, "make_corpus: %s\n", error->message);
    exit(1);
}

static void put(const char *folder, const char *kind, const void *data, size_t bytes)
{
    char path[4200];
    struct pcere_error error;
    snprintf(path, sizeof path, "%s/%s", folder, kind);
    must(directory_make(AT_FDCWD, path, &error), &error);
    snprintf(path, sizeof path, "%s/%s/seed", folder, kind);
    must(file_replace(AT_FDCWD, path, data, bytes, false, NULL, &error), &error);
}

/* Everything that a file may have: two runs, an interval, sources, what was dropped, nodes, segments. */
static void profile_put(const char *folder)
{
    struct pcere_error error;
    struct profile *profile = profile_new();
    char program[] = "/bin/x", build[] = "ab", host[] = "here", argument[] = "1", setting[] = "OMP_NUM_THREADS=2", *arguments[] = {argument}, *settings[] = {setting};
    char first[] = "ir-loads", second[] = "page-faults", unit[] = "1", backend[] = "ir";
    if (!profile || !(profile->nodes = calloc(2, sizeof *profile->nodes)) || !(profile->strategy = strdup("lgl")))
        exit(1);
    profile->node_count = 2;
    for (int i = 0; i < 2; i++)
        must(profile_add_run(profile, &(struct profile_run){.program = program, .build_id = build, .host = host, .arguments = arguments, .argument_count = 1, .settings = settings,
                                                            .setting_count = 1, .threads = 2, .wall_ns = 900, .xus = 3}, NULL, &error), &error);
    must(profile_add_event(profile, &(struct profile_event){.name = first, .unit = unit, .backend = backend, .exact = true}, NULL, &error), &error);
    must(profile_add_event(profile, &(struct profile_event){.name = second, .unit = unit, .backend = backend, .run = 1}, NULL, &error), &error);
    must(profile_add_construct(profile, 7, "f@x.c:1", NULL, &error), &error);
    must(profile_add_name(profile, "x.c:1", 7, &error), &error);
    must(profile_add_name(profile, "y.c:2", 0, &error), &error);
    static const char *const labels[] = {"0.1@x.c:1.0", "0.1@x.c:1.8", "0.1@x.c:1.16"};
    for (uint64_t i = 0; i < 3; i++)
        must(profile_add_xu(profile, &(struct profile_xu){.label = labels[i], .kind = PROFILE_DYNAMIC_CHUNK, .thread = (uint32_t)i % 2, .cpu = (uint32_t)i, .start_ns = 10 * i, .active_ns = 9,
                                                          .counts = (uint64_t[]){300 + i, i}}, &error), &error);
    must(profile_add_interval(profile, 1, &error), &error);
    must(profile_add_sources(profile, &error), &error);
    must(profile_add_dropped(profile, &(struct profile_dropped){.run = 1, .kind = PROFILE_TASK, .xus = 5}, &error), &error);
    must(profile_add_segment(profile, &(struct profile_segment){.xu = 2, .thread = 1, .begin_ns = 20, .active_ns = 9, .counts = (uint64_t[]){302, 2}}, &error), &error);
    void *data;
    size_t bytes;
    must(profile_encode(profile, &data, &bytes, &error), &error);
    put(folder, "profile", data, bytes);
    free(data);
    profile_free(profile);
}

static void part_add(struct text *text, uint8_t kind, uint8_t thread, const void *data, size_t bytes)
{
    const struct trace_part part = {.kind = kind, .thread = thread, .bytes = {(uint8_t)bytes, (uint8_t)(bytes >> 8)}};
    text_add_bytes(text, &part, sizeof part);
    text_add_bytes(text, data, bytes);
}

static void entry_add(struct text *text, enum trace_construct_kind kind, uint32_t index, const char *source)
{
    char room[128] = {0};
    struct trace_entry entry = {.kind = TRACE_ENTRY_CONSTRUCT, .construct_kind = (uint8_t)kind, .basis = TRACE_BY_SOURCE, .index = index, .id = index};
    entry.bytes = (uint32_t)((sizeof entry + strlen(source) + 8) / 8 * 8);
    snprintf(room, sizeof room, "%s", source);
    text_add_bytes(text, &entry, sizeof entry);
    text_add_bytes(text, room, entry.bytes - sizeof entry);
}

/* A region of two threads with a loop, a single with two tasks that depend on each other, and a barrier. */
static void trace_put(const char *folder)
{
    enum { PARALLEL = 1, LOOP, SINGLE, TASK };
    const uint64_t team = 1, first = 1, own = 2, other = (uint64_t)1 << TRACE_ID_THREAD_SHIFT | 1, tasks[2] = {3, 4};
#define RECORD(type, flags, extra, what) {.word = TRACE_WORD(type, flags, extra), .value = what}
    struct trace_record one[] = {
        RECORD(TRACE_IMPLICIT_BEGIN, 1, 0, first), RECORD(TRACE_PARALLEL_BEGIN, 0, PARALLEL, team), RECORD(TRACE_TEAM, 0, 2, team), RECORD(TRACE_IMPLICIT_BEGIN, 0, 0, own),
        RECORD(TRACE_LOOP_BEGIN, 0, LOOP, TRACE_SCHEDULE_DYNAMIC | 4 << 8), RECORD(TRACE_RANGE_BEGIN, 0, 4, 0), RECORD(TRACE_RANGE_BEGIN, 0, 4, 4), RECORD(TRACE_LOOP_END, 0, 0, 0),
        RECORD(TRACE_SINGLE_BEGIN, 0, SINGLE, 1), RECORD(TRACE_TASK_CREATE, 0, TASK, tasks[0]), RECORD(TRACE_DEPENDENCE, 3, 0, 0x1000), RECORD(TRACE_TASK_CREATE, 0, TASK, tasks[1]),
        RECORD(TRACE_DEPENDENCE, 1, 0, 0x1000), RECORD(TRACE_SINGLE_END, 0, 0, 0), RECORD(TRACE_WAIT_BEGIN, 2, 0, 0), RECORD(TRACE_TASK_SWITCH, 7, 0, tasks[0]),
        RECORD(TRACE_TASK_SWITCH, 1, 0, own), RECORD(TRACE_WAIT_END, 2, 0, 0), RECORD(TRACE_IMPLICIT_END, 0, 0, own), RECORD(TRACE_PARALLEL_END, 0, 0, team),
    };
    struct trace_record two[] = {
        RECORD(TRACE_TEAM, 0, 2, team), RECORD(TRACE_IMPLICIT_BEGIN, 0, 1, other), RECORD(TRACE_LOOP_BEGIN, 0, LOOP, TRACE_SCHEDULE_DYNAMIC | 4 << 8), RECORD(TRACE_RANGE_BEGIN, 0, 4, 8),
        RECORD(TRACE_LOOP_END, 0, 0, 0), RECORD(TRACE_SINGLE_BEGIN, 0, SINGLE, 0), RECORD(TRACE_WAIT_BEGIN, 2, 0, 0), RECORD(TRACE_MUTEX_BEGIN, 1, 0, 5), RECORD(TRACE_MUTEX_END, 1, 0, 5),
        RECORD(TRACE_TASK_SWITCH, 7, 0, tasks[1]), RECORD(TRACE_TASK_SWITCH, 1, 0, other), RECORD(TRACE_WAIT_END, 2, 0, 0), RECORD(TRACE_IMPLICIT_END, 0, 0, other),
        RECORD(TRACE_THREAD_END, 0, 0, 0),
    };
    for (uint32_t i = 0; i < sizeof one / sizeof *one; i++)
        one[i].time = 10 + 10 * i;
    for (uint32_t i = 0; i < sizeof two / sizeof *two; i++)
        two[i].time = 35 + 10 * i;
    struct text text = {0}, table = {0};
    const struct trace_parts parts = {.threads = 2, .constructs = 4, .clock = TRACE_CLOCK_TSC, .flags = TRACE_PARTS_ENDED};
    entry_add(&table, TRACE_PARALLEL, PARALLEL, ";x.c;main;1;2;;");
    entry_add(&table, TRACE_LOOP, LOOP, ";x.c;main;3;4;;");
    entry_add(&table, TRACE_SINGLE, SINGLE, ";x.c;main;5;6;;");
    entry_add(&table, TRACE_TASK, TASK, ";x.c;main;7;8;;");
    text_add_bytes(&text, &parts, sizeof parts);
    part_add(&text, 1, 0, table.data, table.length);
    part_add(&text, 0, 0, one, sizeof one);
    part_add(&text, 0, 1, two, sizeof two);
    put(folder, "trace", text.data, text.length);
    text_done(&table);
    text_done(&text);
}

void seed_runs_make(const char *folder)
{
    static const char chrome[] =
        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":3,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"Head Process\"}},\n"
        "{\"pid\":9,\"tid\":7,\"ph\":\"X\",\"ts\":1.5,\"dur\":2.0004,\"name\":\"Task 12\",\"args\":{\"task_id\":\"12\",\"source_location\":\"a\\\"b.c:1:2\",\"deep\":[[{}]]}},\n"
        "{\"args\":{\"mpi_tag\":5,\"origin\":0,\"destination\":2},\"name\":\"Submit / Begin\",\"dur\":1e3,\"ts\":-2,\"ph\":\"X\",\"tid\":7,\"pid\":9},\n"
        "{\"pid\":3,\"tid\":1,\"ph\":\"B\",\"ts\":10,\"name\":\"Target Enter (Nowait)\"},{\"pid\":3,\"tid\":1,\"ph\":\"E\",\"ts\":12.25},{\"pid\":3,\"tid\":1,\"ph\":\"s\",\"ts\":1,\"id\":4}\n]}\n";
    static const char dot[] = "strict digraph \"g\" { /* x */ node [shape=oval];\n  T1 [label=\"T1\\n5 us\", work_ns=5000, place=\"a.c:1:2\", kind=task, shape=octagon];\n"
                              "  T2 [label=\"T2\"]; # y\n  subgraph c { T1 -> T2 -> \"T3\" [label=\"8 B\", bytes=8]; }\n  T1 -> T3 // z\n}\n";
    profile_put(folder);
    trace_put(folder);
    put(folder, "chrome", chrome, strlen(chrome));
    put(folder, "dot", dot, strlen(dot));
}
