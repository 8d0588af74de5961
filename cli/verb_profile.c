/* cli/verb_profile.c - pcere profile: one run of a program, and the execution units that were seen in it. */
#include "analysis/profile.h"
#include "cli/cli.h"
#include "cli/verbs.h"
#include "core/files.h"
#include "core/host.h"
#include "core/json.h"
#include "core/text.h"
#include "core/units.h"
#include "profiler/host/events.h"
#include "profiler/host/recording.h"
#include "profiler/host/unit_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

struct profile_words { const char *output, *events, *labels, *graph, *trace; uint64_t threads, graph_most; bool force, slow_clock; };

/* ---- words ------------------------------------------------------------------------------------------------------------------- */

static enum pcere_status rules_parse(const char *word, enum label_rules *ret_rules, struct pcere_error *error)
{
    if (!word || strcmp(word, "pcere") == 0)
        *ret_rules = LABEL_RULES_PCERE;
    else if (strcmp(word, "paper") == 0)
        *ret_rules = LABEL_RULES_PAPER;
    else
        return pcere_fail(error, PCERE_USAGE, 0, "--labels pcere or --labels paper", "--labels: there are no rules '%.60s'", word);
    return PCERE_OK;
}

static enum pcere_status event_add(const char *word, struct trace_event *events, size_t *count, struct pcere_error *error)
{
    if (strcmp(word, "time") == 0)
        return PCERE_OK;                         /* always there */
    struct trace_event found[TRACE_EVENTS_MOST];
    size_t many = event_group(word, found, TRACE_EVENTS_MOST);
    if (!many) {
        enum pcere_status status = event_find(word, found, error);
        size_t names = 0;
        while (event_names()[names])
            names++;
        const char *nearest = status == PCERE_USAGE ? cli_nearest(word, event_names(), names) : NULL;
        if (nearest)
            snprintf(error->hint, sizeof error->hint, "did you mean %s?", nearest);
        else if (status == PCERE_USAGE)
            snprintf(error->hint, sizeof error->hint, "'pcere profile --help' names those of the kernel; 'sw' is all of them, 'ir' all of programs that count");
        if (status == PCERE_OK && found->backend == TRACE_BACKEND_PMU)
            status = event_hardware_probe(error);
        if (status != PCERE_OK)
            return status;
        many = 1;
    }
    for (size_t i = 0; i < many; i++) {
        for (size_t j = 0; j < *count; j++)
            if (strcmp(events[j].name, found[i].name) == 0)
                return pcere_fail(error, PCERE_USAGE, 0, NULL, "--events: %s is there twice", found[i].name);
        if (*count == TRACE_EVENTS_MOST)
            return pcere_fail(error, PCERE_USAGE, 0, "count them in several runs", "--events: more than %u", TRACE_EVENTS_MOST);
        events[(*count)++] = found[i];
    }
    return PCERE_OK;
}

static enum pcere_status events_parse(const char *list, struct trace_event *events, size_t *ret_count, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    char *copy = list ? strdup(list) : NULL, *rest = copy;
    if (list && !copy)
        return pcere_fail_memory(error, "the events");
    size_t count = 0;
    for (char *word; status == PCERE_OK && (word = strsep(&rest, ","));)
        status = *word ? event_add(word, events, &count, error) : pcere_fail(error, PCERE_USAGE, 0, NULL, "--events: an empty name in '%.100s'", list);
    free(copy);
    if (status == PCERE_OK)
        *ret_count = count;
    return status;
}

static enum pcere_status output_choose(const struct cli *cli, const struct profile_words *words, char **ret_path, struct pcere_error *error)
{
    const char *slash = strrchr(cli->program_file, '/'), *name = slash ? slash + 1 : cli->program_file;
    struct text path = {0};
    if (words->output)
        text_add(&path, words->output);
    else
        text_addf(&path, "%s.pcx", name);
    char *taken = text_take(&path);
    if (!taken)
        return pcere_fail_memory(error, "a path");
    if (!words->force && access(taken, F_OK) == 0) {
        enum pcere_status status = pcere_fail(error, PCERE_USAGE, EEXIST, "--force replaces it, -o FILE names another", "cannot write '%.300s'", taken);
        free(taken);
        return status;
    }
    *ret_path = taken;
    return PCERE_OK;
}

/* ---- table ------------------------------------------------------------------------------------------------------------------- */

struct type_row { uint32_t construct; uint8_t kind; size_t first, count; uint64_t active_ns; };

static int by_type(const void *a, const void *b, void *context)
{
    const struct profile *profile = context;
    size_t left = *(const size_t *)a, right = *(const size_t *)b;
    if (profile->construct[left] != profile->construct[right])
        return profile->construct[left] < profile->construct[right] ? -1 : 1;
    if (profile->kinds[left] != profile->kinds[right])
        return profile->kinds[left] < profile->kinds[right] ? -1 : 1;
    uint64_t a_ns = profile->active_ns[left], b_ns = profile->active_ns[right];
    return a_ns < b_ns ? -1 : a_ns > b_ns;
}

static int by_time(const void *a, const void *b)
{
    const struct type_row *left = a, *right = b;
    return left->active_ns < right->active_ns ? 1 : left->active_ns > right->active_ns ? -1 : 0;
}

static void type_print(struct cli_table *table, const struct profile *profile, const size_t *rows, const struct type_row *type, uint64_t all_ns)
{
    enum { FIXED = 7 };
    char count[32], total[UNITS_TEXT_BYTES], least[UNITS_TEXT_BYTES], middle[UNITS_TEXT_BYTES], most[UNITS_TEXT_BYTES], share[CLI_TEXT_MOST];
    snprintf(count, sizeof count, "%zu", type->count);
    const uint64_t *active_ns = profile->active_ns;
    const char **cells = calloc(FIXED + 1 + profile->event_count, sizeof *cells);
    char (*sums)[32] = calloc(profile->event_count + 1, sizeof *sums);
    if (cells && sums) {
        cells[0] = profile->constructs[type->construct].name;
        cells[1] = profile_kind_name(type->kind);
        cells[2] = count;
        cells[3] = units_format_ns(type->active_ns, total);
        cells[4] = cli_ratio_text(share, all_ns ? (double)type->active_ns / (double)all_ns : 0);
        cells[5] = units_format_ns(active_ns[rows[type->first + type->count / 2]], middle);
        cells[6] = units_format_ns(active_ns[rows[type->first]], least);
        cells[7] = units_format_ns(active_ns[rows[type->first + type->count - 1]], most);
        for (size_t i = 0; i < profile->event_count; i++) {
            uint64_t sum = 0;
            for (size_t j = 0; j < type->count; j++)
                sum += profile->counts[i][rows[type->first + j]];
            snprintf(sums[i], sizeof sums[i], "%llu", (unsigned long long)sum);
            cells[8 + i] = sums[i];
        }
        cli_table_row(table, cells);
    }
    free(cells);
    free(sums);
}

static struct cli_table *types_table(const struct profile *profile)
{
    static const char *const fixed[] = {"construct", "type", ">XUs", ">active", ">share", ">median", ">shortest", ">longest"};
    size_t columns = sizeof fixed / sizeof *fixed + profile->event_count;
    const char **headings = calloc(columns, sizeof *headings);
    char **names = calloc(profile->event_count + 1, sizeof *names);
    struct cli_table *table = NULL;
    bool failed = !headings || !names;
    for (size_t i = 0; !failed && i < columns; i++) {
        size_t event = i - sizeof fixed / sizeof *fixed;
        if (i < sizeof fixed / sizeof *fixed) {
            headings[i] = fixed[i];
            continue;
        }
        failed = asprintf(&names[event], ">%s", profile->events[event].name) < 0;
        headings[i] = failed ? NULL : names[event];
    }
    if (!failed)
        table = cli_table_new(columns, headings);
    for (size_t i = 0; names && i < profile->event_count; i++)
        free(names[i]);
    free(names);
    free(headings);
    return table;
}

static enum pcere_status profile_print(struct profile *profile, struct pcere_error *error)
{
    size_t *rows = calloc(profile->count + 1, sizeof *rows);
    struct type_row *types = calloc(profile->count + 1, sizeof *types);
    struct cli_table *table = types_table(profile);
    if (!rows || !types || !table) {
        free(rows);
        free(types);
        cli_table_free(table);
        return pcere_fail_memory(error, "the table");
    }
    for (size_t i = 0; i < profile->count; i++)
        rows[i] = i;
    qsort_r(rows, profile->count, sizeof *rows, by_type, profile);
    size_t count = 0;
    uint64_t all_ns = 0;
    for (size_t i = 0; i < profile->count; i++) {
        size_t row = rows[i];
        if (!count || types[count - 1].construct != profile->construct[row] || types[count - 1].kind != profile->kinds[row])
            types[count++] = (struct type_row){profile->construct[row], profile->kinds[row], i, 0, 0};
        types[count - 1].count++;
        types[count - 1].active_ns += profile->active_ns[row];
        all_ns += profile->active_ns[row];
    }
    qsort(types, count, sizeof *types, by_time);
    char wall[UNITS_TEXT_BYTES], active[UNITS_TEXT_BYTES];
    const struct profile_run *run = &profile->runs[0];
    printf("%zu XUs, active %s; wall time %s, %u threads, level %u\n\n", profile->count, units_format_ns(all_ns, active), units_format_ns(run->wall_ns, wall),
           run->threads, run->level);
    for (size_t i = 0; i < count; i++)
        type_print(table, profile, rows, &types[i], all_ns);
    cli_table_print(table, stdout);
    if (run->blind_count)
        puts("\nNot seen:");
    for (size_t i = 0; i < run->blind_count; i++)
        printf("- %s\n", run->blind[i]);
    cli_table_free(table);
    free(rows);
    free(types);
    return PCERE_OK;
}

/* ---- the run ----------------------------------------------------------------------------------------------------------------- */

/* What the trace's header says of a run that tells nothing. */
static enum pcere_status emptiness_judge(const struct trace_header *header, const struct units *units, struct pcere_error *error)
{
    if (header->attached != TRACE_VERSION)
        return pcere_fail(error, PCERE_REFUSED, 0, "LD_PRELOAD must be honoured: no setuid program, no script", "the profiler's library did not come into the program");
    if (!header->tool_started && header->foreign_runtime)
        return pcere_fail(error, PCERE_DATA, 0, "build it with clang -fopenmp, or link it with -lomp in place of -lgomp",
                          "the program uses gcc's OpenMP runtime (libgomp), which has no tool interface");
    if (!header->tool_started)
        return pcere_fail(error, PCERE_NO, 0, "an OpenMP program links with libomp (clang -fopenmp)", "the program started no OpenMP runtime: there is nothing to profile");
    if (!units->count && header->dropped)
        return pcere_fail(error, PCERE_SYSTEM, (int)header->full_errno, "TMPDIR may name a larger place for the trace; the program must leave its descriptors open",
                          "what the program did found no room");
    if (!units->count)
        return pcere_fail(error, PCERE_NO, 0, "XUs are tasks, sections, and ranges of worksharing loops", "the program executed no XU: its profile is empty");
    return PCERE_OK;
}

static enum pcere_status graph_write(const struct units *units, const struct profile_words *words, struct pcere_error *error)
{
    if (!words->force && access(words->graph, F_OK) == 0)
        return pcere_fail(error, PCERE_USAGE, EEXIST, "--force replaces it", "cannot write '%.300s'", words->graph);
    FILE *file = fopen(words->graph, "we");
    if (!file)
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot write '%.300s'", words->graph);
    enum pcere_status status = label_graph_write(units, words->graph_most ? words->graph_most : 500, file, words->graph, error);
    if (fclose(file) != 0 && status == PCERE_OK)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot write '%.300s'", words->graph);
    return status;
}

static enum pcere_status result_show(struct cli *cli, struct profile *profile, struct pcere_error *error)
{
    if (!cli->json)
        return profile_print(profile, error);
    json_object_set_new(cli->document, "program", json_from_string(cli->program_file));
    enum pcere_status status = profile_json_write(profile, cli->document, stdout, "standard output", error);
    json_decref(cli->document);
    cli->document = NULL;                        /* it is written */
    return status;
}

static enum pcere_status trace_judge(struct cli *cli, const struct profile_words *words, const char *trace, const char *path, enum label_rules rules,
                                     const struct recording *recording, struct pcere_error *error)
{
    struct trace_file *file = NULL;
    struct units units = {0};
    struct profile *profile = NULL;
    char *host = NULL;
    enum pcere_status status = trace_file_open(trace, &file, error);
    if (status == PCERE_OK)
        status = units_collect(file, rules, &units, error);
    if (status == PCERE_OK)
        status = emptiness_judge(file->header, &units, error);
    if (status == PCERE_OK)
        status = host_name(&host, error);
    if (status == PCERE_OK) {
        struct unit_profile_run run = {.program = cli->program_file, .arguments = cli->operands + 1, .environment = environ, .host = host};
        status = unit_profile_make(&units, rules, &run, &profile, error);
    }
    if (status == PCERE_OK && words->graph)
        status = graph_write(&units, words, error);
    if (status == PCERE_OK)
        status = profile_write(profile, path, words->force, error);
    if (status == PCERE_OK)
        status = result_show(cli, profile, error);
    if (status == PCERE_OK || status == PCERE_NO) {
        bool whole = status == PCERE_OK;
        if (cli_program_judge(cli, recording->program_status, whole ? error : NULL) == PCERE_NO && whole) {
            snprintf(error->hint, sizeof error->hint, "what was seen until then is in '%.300s'", path);
            status = PCERE_NO;
        }
    }
    profile_free(profile);
    units_done(&units);
    trace_file_close(file);
    free(host);
    return status;
}

static enum pcere_status profile_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct profile_words *words = raw;
    enum label_rules rules = LABEL_RULES_PCERE;
    char *path = NULL, *library = NULL, *directory = NULL;
    struct text trace = {0};
    struct recording recording;
    struct trace_event events[TRACE_EVENTS_MOST];
    size_t event_count = 0;
    enum pcere_status status = rules_parse(words->labels, &rules, error);
    if (status == PCERE_OK)
        status = events_parse(words->events, events, &event_count, error);
    if (status == PCERE_OK)
        status = output_choose(cli, words, &path, error);
    if (status == PCERE_OK)
        status = cli_file_find(TRACE_LIBRARY, &library, error);
    if (status == PCERE_OK && !words->trace)
        status = cli_directory_new(&directory, error);
    if (status == PCERE_OK) {
        text_addf(&trace, "%s%s", words->trace ? words->trace : directory, words->trace ? "" : "/trace");
        if (words->trace && words->force)
            unlink(words->trace);
        struct recording_options options = {
            .program = cli->program_file, .arguments = cli->operands + 1, .environment = environ, .library = library, .trace = trace.data,
            .threads = (uint32_t)words->threads, .clock = words->slow_clock ? TRACE_CLOCK_MONOTONIC : TRACE_CLOCK_NONE, .stdout_descriptor = STDERR_FILENO,
            .events = events, .event_count = event_count,
        };
        status = trace.failed ? pcere_fail_memory(error, "a path") : recording_make(&options, &recording, error);
    }
    if (status == PCERE_OK)
        status = trace_judge(cli, words, trace.data, path, rules, &recording, error);
    if (directory)
        cli_directory_remove(directory);
    text_done(&trace);
    free(directory);
    free(library);
    free(path);
    return status;
}

static const struct cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct profile_words, output), "FILE", "Where the profile goes; PROGRAM.pcx in the current directory if not given.", 0, 0},
    {"force", 0, CLI_FLAG, offsetof(struct profile_words, force), NULL, "Replace files that exist.", 0, 0},
    {"threads", 0, CLI_NUMBER, offsetof(struct profile_words, threads), "N", "OMP_NUM_THREADS for the program; as the environment has it if not given.", 1, 65536},
    {"events", 0, CLI_TEXT, offsetof(struct profile_words, events), "LIST",
     "What to count beside times, separated by commas: page-faults, minor-faults, major-faults, context-switches, cpu-migrations, task-clock (all of these: sw), events of the "
     "processor as libpfm4 names them, or, of programs compiled with PCERE_COUNT=ir, ir-instructions, ir-loads, ir-flops-double-scalar and their like (all of these: ir).", 0, 0},
    {"labels", 0, CLI_TEXT, offsetof(struct profile_words, labels), "RULES",
     "pcere (the default): single, sections and masked are part of labels, which are then the same in each run. paper: they are not, as in the article that labels come from.", 0, 0},
    {"graph", 0, CLI_TEXT, offsetof(struct profile_words, graph), "FILE", "Write the label graph for Graphviz, too.", 0, 0},
    {"graph-nodes", 0, CLI_NUMBER, offsetof(struct profile_words, graph_most), "N", "At most N nodes in it (500).", 1, 10000000},
    {"trace", 0, CLI_TEXT, offsetof(struct profile_words, trace), "FILE", "Keep the trace that the profile was made from.", 0, 0},
    {"slow-clock", 0, CLI_FLAG, offsetof(struct profile_words, slow_clock), NULL,
     "Take times from the kernel's clock even where the processor's counter would do, which costs less.", 0, 0},
};

const struct cli_verb cli_verb_profile = {
    .name = "profile",
    .summary = "run a program and measure its execution units: tasks, sections and ranges of loops, each with a label",
    .synopsis = "PROGRAM [ARGUMENT...]",
    .description = "Runs a program that is linked with LLVM's OpenMP runtime, recompiled or not, and writes a profile of its execution units (XUs): each executed task and "
                   "each executed range of iterations, with its construct, its label, and how long it was active. Labels are the same in each run with the same input and "
                   "number of threads, whatever thread an XU ran on. The table shows constructs by the time that their XUs took. What the program prints goes to standard error."
                   "\n\nThe last lines say what this run could not see. Programs that were built with PCERE's plugin have constructs with identities that stay the same over builds.",
    .examples = "pcere profile --threads 2 ./cg.S\npcere profile --graph labels.dot ./cg.S && dot -Tsvg -o labels.svg labels.dot\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct profile_words),
    .operands = CLI_OPERANDS_PROGRAM,
    .needs = CLI_NEEDS_PROGRAM,
    .run = profile_verb,
};
