/* cli/verb_trace.c - pcere trace: one run of a program, and everything that its OpenMP runtime told, as a file. */
#include "cli/cli.h"
#include "cli/verbs.h"
#include "core/json.h"
#include "core/text.h"
#include "core/units.h"
#include "profiler/host/recording.h"
#include "profiler/host/trace_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

struct trace_words { const char *output; uint64_t threads; bool force, slow_clock, no_locks; };

static enum pcere_status trace_show(struct cli *cli, const char *path, const struct recording *recording, struct pcere_error *error)
{
    struct trace_file *file = NULL;
    enum pcere_status status = trace_file_open(path, &file, error);
    if (status != PCERE_OK)
        return status;
    const struct trace_header *header = file->header;
    status = recording_judge(header, "trace", error);
    if (status == PCERE_NO)
        cli_program_add(cli, recording->program_status, error);
    char wall[UNITS_TEXT_BYTES];
    if (status == PCERE_OK && !cli->json)
        printf("%s: %llu records of %zu thread%s, wall time %s\n", path, (unsigned long long)file->slots, file->thread_count, file->thread_count == 1 ? "" : "s",
               units_format_ns(recording->wall_ns, wall));
    if (status == PCERE_OK && cli->json) {
        json_object_set_new(cli->document, "trace", json_from_string(path));
        json_object_set_new(cli->document, "records", json_from_u64(file->slots));
        json_object_set_new(cli->document, "threads", json_from_u64(file->thread_count));
        json_object_set_new(cli->document, "dropped", json_from_u64(header->dropped));
        json_object_set_new(cli->document, "wall_ns", json_from_u64(recording->wall_ns));
    }
    if (status == PCERE_OK && header->dropped)
        status = pcere_fail(error, PCERE_SYSTEM, (int)header->full_errno, "-o FILE may name a larger place; the program must leave its descriptors open",
                            "%llu records found no room", (unsigned long long)header->dropped);
    trace_file_close(file);
    if (status == PCERE_OK && (status = cli_program_judge(cli, recording->program_status, error)) == PCERE_NO)
        snprintf(error->hint, sizeof error->hint, "what was seen until then is in '%.300s'", path);
    return status;
}

static enum pcere_status output_find(const struct cli *cli, const struct trace_words *words, char **ret_path, struct pcere_error *error)
{
    char *ranked = NULL;
    enum pcere_status status = cli_rank_output(words->output, cli->program_file, ".pct", &ranked, error);
    if (status == PCERE_OK)
        status = cli_output_choose(ranked, "", "", words->force, ret_path, error);
    free(ranked);
    return status;
}

static enum pcere_status trace_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct trace_words *words = raw;
    char *path = NULL, *library = NULL;
    struct recording recording;
    enum pcere_status status = output_find(cli, words, &path, error);
    if (status == PCERE_OK)
        unlink(path);
    if (status == PCERE_OK)
        status = cli_file_find(TRACE_LIBRARY, &library, error);
    if (status == PCERE_OK) {
        struct recording_options options = {
            .program = cli->program_file, .arguments = cli->operands + 1, .environment = environ, .library = library, .trace = path, .kept = true, .threads = (uint32_t)words->threads,
            .clock = words->slow_clock ? TRACE_CLOCK_MONOTONIC : TRACE_CLOCK_NONE, .stdout_descriptor = STDERR_FILENO,
            .wanted = TRACE_WANT_TASK_GRAPH | (words->no_locks ? 0u : TRACE_WANT_LOCKS),
        };
        status = recording_make(&options, &recording, error);
    }
    if (status == PCERE_OK)
        status = trace_show(cli, path, &recording, error);
    free(library);
    free(path);
    return status;
}

static const struct cli_option options_list[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct trace_words, output), "FILE", "Where the trace goes; PROGRAM.pct in the current directory if not given, PROGRAM.RANK.pct under mpirun. %r in it is the rank.", 0, 0},
    {"force", 0, CLI_FLAG, offsetof(struct trace_words, force), NULL, "Replace a file that exists.", 0, 0},
    {"threads", 0, CLI_NUMBER, offsetof(struct trace_words, threads), "N", "OMP_NUM_THREADS for the program; as the environment has it if not given.", 1, 65536},
    {"no-locks", 0, CLI_FLAG, offsetof(struct trace_words, no_locks), NULL, "Leave out waits for locks and critical sections: programs with many of them run faster.", 0, 0},
    {"slow-clock", 0, CLI_FLAG, offsetof(struct trace_words, slow_clock), NULL,
     "Take times from the kernel's clock even where the processor's counter would do, which costs less.", 0, 0},
};

const struct cli_verb cli_verb_trace = {
    .name = "trace",
    .summary = "run a program and record what its OpenMP threads do over time: regions, loops, tasks with dependences, waits, locks",
    .synopsis = "PROGRAM [ARGUMENT...]",
    .description = "Runs a program that is linked with LLVM's OpenMP runtime, recompiled or not, and writes a trace: 16 bytes an event, by the library that 'pcere profile' uses. Of target constructs: what is moved and executed where, with the names of what is mapped (-g). Of MPI: messages, for 'pcere merge'. A program that is killed "
                   "leaves all its records. What the program prints goes to standard error.\n\nThe trace is looked at with 'pcere timeline', 'pcere metrics' and 'pcere graph'. Its format is in "
                   "docs/format/trace.md.",
    .examples = "pcere trace --threads 4 ./cholesky 2000\nmpirun -n 2 pcere trace ./solver\npcere merge solver.0.pct solver.1.pct -o solver.json\npcere metrics omp cholesky.pct\npcere graph cholesky.pct | dot -Tsvg -o cholesky.svg\n",
    .options = options_list, .option_count = sizeof options_list / sizeof *options_list, .options_bytes = sizeof(struct trace_words),
    .operands = CLI_OPERANDS_PROGRAM,
    .needs = CLI_NEEDS_PROGRAM,
    .run = trace_verb,
};
