/* cli/check_profiler.c - whether the OpenMP runtime tells the profiler what it needs: a program with each kind of construct is recorded, and must
 * have just the XUs that it executes.
 *
 * The tool interface alone would miss some of them (static loops in teams of one), tell some twice (a task with if(0) and dependences), and leave out
 * iterations (chunks of static,N after the first), numbers of sections, and the construct of a taskloop's tasks. Dependences that are over when they are declared
 * must be told, too; and with the plugin each construct has its id, whatever became of the code.
 */
#include "cli/check.h"
#include "cli/cli.h"
#include "core/text.h"
#include "profiler/host/recording.h"
#include "profiler/host/units.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char source[] =
    "volatile int s[64];\nint main(void){int d=0;\n#pragma omp parallel num_threads(2)\n{\n"
    "#pragma omp for schedule(static)\nfor(int i=0;i<8;i++)s[i]++;\n"                      /* 2 */
    "#pragma omp for schedule(static,1)\nfor(int i=0;i<8;i++)s[i]++;\n"                    /* 2: 8 iterations together */
    "#pragma omp for schedule(dynamic,2)\nfor(int i=0;i<8;i++)s[i]++;\n"                   /* 4 */
    "#pragma omp sections\n{\n#pragma omp section\ns[8]++;\n#pragma omp section\ns[9]++;\n}\n" /* 2 */
    "#pragma omp single\n{\n#pragma omp task depend(inout:d)\ns[10]++;\n#pragma omp task if(0) depend(inout:d)\ns[11]++;\n" /* 2 */
    "#pragma omp taskloop grainsize(1)\nfor(int i=0;i<4;i++)s[i]++;\n}\n"                   /* 4 */
    "#pragma omp masked\n{\n#pragma omp task untied\n{s[12]++;\n#pragma omp taskyield\ns[12]++;}\n}\n" /* 1 */
    "#pragma omp parallel for if(0) schedule(dynamic,4)\nfor(int i=0;i<8;i++)s[i]++;\n"     /* 2: a team of one gets all at once */
    "#pragma omp task\ns[13]++;\n}\n"                                                       /* 2 */
    "#pragma omp parallel for num_threads(1)\nfor(int i=0;i<8;i++)s[i]++;\n"                 /* 1 */
    "#pragma omp parallel num_threads(1)\n#pragma omp for schedule(guided,4)\nfor(int i=0;i<8;i++)s[i]++;\n" /* 1 */
    "#pragma omp task\n{s[14]++;\n#pragma omp task\ns[15]++;\n#pragma omp taskwait\n}\n"      /* 2 */
    "#pragma omp taskloop num_tasks(3)\nfor(int i=0;i<6;i++)s[i]++;\n"                      /* 3 */
    "return s[12]!=2;}\n";

/* By lines of the source. Outside of parallel regions the runtime does not tell the iterations of taskloops. */
static const struct { uint32_t line, xus, iterations; const char *what; } expected[] = {
    {5, 2, 8, "ranges of a static loop"},
    {7, 2, 8, "chunks of static,1 after a thread's first one"},
    {9, 4, 8, "chunks of a dynamic loop"},
    {11, 2, 2, "which sections are executed"},
    {20, 1, 0, "a task with dependences, born in single"},
    {22, 1, 0, "a task with if(0) and dependences, which is created twice"},
    {24, 4, 4, "a taskloop's tasks, whose code pointer lies in the runtime"},
    {29, 1, 0, "an untied task, in parts"},
    {34, 2, 16, "a dynamic loop in a region that is not forked"},
    {36, 2, 0, "tasks that each thread makes"},
    {39, 1, 8, "a static loop in a team of one"},
    {42, 1, 8, "a guided loop in a team of one"},
    {44, 1, 0, "a task outside of regions"},
    {46, 1, 0, "its child"},
    {50, 3, 0, "a taskloop outside of regions"},
};
enum { EXPECTED_XUS = 28 };

static uint64_t dependences_told(const struct trace_file *file)
{
    uint64_t told = 0;
    for (size_t i = 0; i < file->thread_count; i++) {
        struct trace_cursor cursor;
        struct trace_item item;
        for (trace_cursor_start(&cursor, file, i); trace_cursor_next(&cursor, &item);)
            told += item.type == TRACE_DEPENDENCE;
    }
    return told;
}

static bool all_by_id(const struct units *units)
{
    const struct label_table *labels = &units->labels;
    bool all = true;
    for (size_t i = 0; i < labels->count; i++) {
        uint32_t construct = labels->nodes[i].construct;
        all = all && (!construct || construct >= labels->file->construct_count || labels->file->constructs[construct].basis == TRACE_BY_ID);
    }
    return all;
}

/* The first kind of construct that was not seen as it is; NULL: none. */
static const char *expectation_missed(const struct units *units, bool plugin)
{
    enum { DEPENDENCES = 2 };                    /* a task's and its predecessor's, which has ended when the task is made */
    if (dependences_told(units->labels.file) < DEPENDENCES)
        return "dependences on tasks that have ended";
    if (plugin && !all_by_id(units))
        return "the plugin's ids of constructs";
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        uint64_t xus = 0, iterations = 0;
        for (size_t j = 0; j < units->count; j++) {
            const struct label_node *node = &units->labels.nodes[units->list[j].node];
            bool here = node->construct < units->labels.file->construct_count && units->labels.file->constructs[node->construct].line == expected[i].line;
            xus += here;
            iterations += here ? units->list[j].iterations : 0;
        }
        if (xus != expected[i].xus || iterations != expected[i].iterations)
            return expected[i].what;
    }
    return NULL;
}

static void trace_judge(const char *path, bool plugin, struct check_result *result)
{
    struct trace_file *file;
    struct units units;
    struct pcere_error error;
    if (trace_file_open(path, &file, &error) != PCERE_OK) {
        check_bad(result, 0, error.hint, "%s", error.message);
        return;
    }
    if (!file->header->tool_started) {
        check_bad(result, 0, "another OpenMP tool may be linked into the runtime; profiles need LLVM's runtime with its tool interface",
                  "the OpenMP runtime started no tool");
    } else if (units_collect(file, &(struct units_options){.rules = LABEL_RULES_PCERE}, &units, &error) != PCERE_OK) {
        check_bad(result, 0, error.hint, "%s", error.message);
    } else {
        const char *missed = expectation_missed(&units, plugin);
        if (units.count == EXPECTED_XUS && !missed && !units.duplicates && !units.mismatches && !file->header->unmatched)
            check_good(result, "%s: each of %d XUs of each kind of construct is seen once%s", file->header->runtime, EXPECTED_XUS, plugin ? ", and known by the plugin's ids" : "");
        else
            check_bad(result, 0, "profiles of programs on this runtime are not whole; LLVM 19's is what PCERE is tried with",
                      "%s: %zu of %d XUs, %llu labels twice, %llu records that do not fit; not seen: %s", file->header->runtime, units.count,
                      EXPECTED_XUS, (unsigned long long)units.duplicates, (unsigned long long)(units.mismatches + file->header->unmatched), missed ? missed : "nothing");
        units_done(&units);
    }
    trace_file_close(file);
}

static void program_record(const char *directory, const char *program, const char *library, bool plugin, struct check_result *result)
{
    struct text trace = {0};
    text_addf(&trace, "%s/trace", directory);
    struct recording_options options = {.program = program, .environment = environ, .library = library, .trace = trace.data,
                                        .stdout_descriptor = STDERR_FILENO, .wanted = TRACE_WANT_TASK_GRAPH};
    struct recording recording;
    struct pcere_error error;
    if (trace.failed || recording_make(&options, &recording, &error) != PCERE_OK)
        check_bad(result, 0, trace.failed ? "" : error.hint, "%s", trace.failed ? "no memory" : error.message);
    else if (recording.program_status != 0)
        check_bad(result, 0, "a small OpenMP program must run with the profiler's library", "the test program %s %d",
                  WIFSIGNALED(recording.program_status) ? "was ended by signal" : "failed with status",
                  WIFSIGNALED(recording.program_status) ? WTERMSIG(recording.program_status) : WEXITSTATUS(recording.program_status));
    else
        trace_judge(trace.data, plugin, result);
    if (!trace.failed)
        unlink(trace.data);
    text_done(&trace);
}

void check_probe_profiler(struct check_result *result)
{
    struct pcere_error error;
    char *library = NULL, *plugin = NULL, *directory = NULL, program[4096];
    enum pcere_status status = cli_file_find(TRACE_LIBRARY, &library, &error);
    if (status == PCERE_OK)
        status = cli_file_find("PCEREPass.so", &plugin, &error);
    if (status == PCERE_OK)
        status = cli_directory_new(&directory, &error);
    if (status != PCERE_OK)
        check_bad(result, 0, error.hint, "%s", error.message);
    else if (check_program_compile(directory, source, NULL, program, sizeof program, result))
        program_record(directory, program, library, false, result);
    if (status == PCERE_OK && result->ok && check_program_compile(directory, source, plugin, program, sizeof program, result))
        program_record(directory, program, library, true, result);
    cli_directory_remove(directory);
    free(directory);
    free(plugin);
    free(library);
}
