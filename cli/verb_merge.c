/* cli/verb_merge.c - pcere merge: traces of several processes as one, their clocks synchronised. */
#include "cli/cli.h"
#include "cli/trace_text.h"
#include "cli/verbs.h"
#include "core/json.h"
#include "core/units.h"
#include "core/text.h"
#include "trace/merge.h"
#include "trace/run.h"
#include "trace/view.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct merge_words { const char *output; bool force, minima; };

static const char *const basis_names[] = {[CLOCK_SAME] = "reference", [CLOCK_MESSAGES] = "messages", [CLOCK_ONE_WAY] = "one-way", [CLOCK_MINIMA] = "minima", [CLOCK_DAY] = "clock of day"};

static enum pcere_status output_check(const struct cli *cli, const struct merge_words *words, struct pcere_error *error)
{
    struct stat output, input;
    if (!words->output)
        return pcere_fail(error, PCERE_USAGE, 0, "-o FILE; -o - is standard output", "where does the merged trace go?");
    if (cli->json && strcmp(words->output, "-") == 0)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "--json needs standard output for its document");
    for (size_t i = 0; i < cli->operand_count && stat(words->output, &output) == 0; i++)
        if (stat(cli->operands[i], &input) == 0 && input.st_dev == output.st_dev && input.st_ino == output.st_ino)
            return pcere_fail(error, PCERE_USAGE, 0, "-o FILE names another", "'%.300s' would be written over while it is read", words->output);
    return PCERE_OK;
}

static void result_print(const struct merge_file *files, size_t count, bool to_stdout)
{
    static const char *const headings[] = {"trace", ">events", ">messages", "clock by", ">offset", ">drift", ">error"};
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    for (size_t i = 0; table && i < count; i++) {
        const struct clock_line *line = &files[i].line;
        char events[24], messages[24], offset[UNITS_TEXT_BYTES + 2], drift[32], error[UNITS_TEXT_BYTES + 8], time[UNITS_TEXT_BYTES];
        snprintf(events, sizeof events, "%llu", (unsigned long long)files[i].events);
        snprintf(messages, sizeof messages, "%llu", (unsigned long long)files[i].messages);
        uint64_t size = line->offset_ns < 0 ? (uint64_t)-line->offset_ns : (uint64_t)line->offset_ns;
        snprintf(offset, sizeof offset, "%s%s", line->offset_ns < 0 ? "-" : "", units_format_ns(size, time));
        snprintf(drift, sizeof drift, "%.3f ppm", line->drift * 1e6);
        if (line->violation_ns)
            snprintf(error, sizeof error, "! %s", units_format_ns(line->violation_ns, time));
        else
            snprintf(error, sizeof error, "%s", line->basis == CLOCK_MESSAGES ? units_format_ns(line->error_ns, time) : files[i].reference ? "" : "?");
        cli_table_row(table, (const char *const[]){files[i].path, events, messages, basis_names[line->basis], offset, drift, error});
    }
    if (table)
        cli_table_print(table, to_stdout ? stderr : stdout);
    cli_table_free(table);
}

static json_t *result_json(const struct merge_file *files, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct clock_line *line = &files[i].line;
        json_t *one = json_object();
        json_object_set_new(one, "trace", json_from_string(files[i].path));
        json_object_set_new(one, "events", json_from_u64(files[i].events));
        json_object_set_new(one, "messages", json_from_u64(files[i].messages));
        json_object_set_new(one, "basis", json_from_string(basis_names[line->basis]));
        json_object_set_new(one, "offset_ns", json_integer(line->offset_ns));
        json_object_set_new(one, "drift_ratio", json_from_double(line->drift));
        json_object_set_new(one, "error_ns", line->basis == CLOCK_MESSAGES && !line->violation_ns ? json_from_u64(line->error_ns) : json_null());
        json_object_set_new(one, "violation_ns", json_from_u64(line->violation_ns));
        json_object_set_new(one, "cut", json_boolean(files[i].cut));
        json_array_append_new(list, one);
    }
    return list;
}

/* ---- traces of ours ----------------------------------------------------------------------------------------------------------- */

static enum pcere_status formats_check(const struct cli *cli, size_t *ret_ours, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < cli->operand_count && status == PCERE_OK; i++) {
        bool native;
        status = run_is_native(cli->operands[i], &native, error);
        *ret_ours += native;
    }
    if (status == PCERE_OK && *ret_ours && *ret_ours < cli->operand_count)
        status = pcere_fail(error, PCERE_USAGE, 0, "'pcere timeline' makes Chrome's format of a trace of 'pcere trace'", "traces of one run have one format");
    return status;
}

/* What was found of the clocks, by file: processes are in the files' order, those of devices behind the one that uses them. */
static void clocks_take(const struct run *run, struct merge_file *files, size_t count)
{
    size_t file = 0;
    for (size_t i = 0; i < run->timeline.process_count && file < count; i++) {
        if (run->timeline.processes[i].home != i)
            continue;
        files[file].line.basis = CLOCK_DAY;
        files[file].reference = file == 0 && !run->ranks.clock_count;
        for (size_t k = 0; k < run->ranks.clock_count; k++)
            if (run->ranks.clocks[k].process == i) {
                files[file].line = run->ranks.clocks[k].line;
                files[file].line.error_ns = run->ranks.clocks[k].error_ns;
                files[file].messages = run->ranks.clocks[k].messages;
                files[file].reference = run->ranks.clocks[k].reference;
            }
        for (size_t k = 0; k < run->timeline.span_count; k++)
            files[file].events += run->timeline.processes[run->timeline.threads[run->timeline.spans[k].thread].process].home == i;
        if (files[file].reference)
            files[file].line.basis = CLOCK_SAME;
        file++;
    }
}

static enum pcere_status ours_merge(struct cli *cli, const struct merge_words *words, struct merge_file *files, FILE *file, bool *ret_cut, struct pcere_error *error)
{
    struct text names = {0};
    struct run run = {0};
    struct view_counts counts;
    struct view_options options = {.kind = VIEW_USER, .format = VIEW_CHROME, .to_ns = INT64_MAX};
    for (size_t i = 0; i < cli->operand_count; i++)
        text_addf(&names, "%s%s", i ? "," : "", cli->operands[i]);
    char *list = text_take(&names);
    enum pcere_status status = list ? run_load(list, words->minima ? RUN_MINIMA : 0, TIMELINE_WORKERS_APART, &run, error) : pcere_fail_memory(error, "the traces");
    if (status == PCERE_OK) {
        clocks_take(&run, files, cli->operand_count);
        status = view_write(&run, &options, file, words->output, &counts, error);
    }
    if (status == PCERE_OK && run.remark[0])
        cli_note(cli, "%s", run.remark);
    *ret_cut = run.timeline.cut;
    run_done(&run);
    free(list);
    return status;
}

static enum pcere_status merge_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct merge_words *words = raw;
    if (cli->operand_count < 2)
        return pcere_fail(error, PCERE_USAGE, 0, "pcere merge head.json worker0.json worker1.json -o merged.json", "two traces or more are merged, not %zu", cli->operand_count);
    enum pcere_status status = output_check(cli, words, error);
    struct merge_file *files = calloc(cli->operand_count, sizeof *files);
    FILE *file = NULL;
    bool cut = false, violated = false;
    if (!files && status == PCERE_OK)
        status = pcere_fail_memory(error, "the traces");
    size_t ours = 0;
    for (size_t i = 0; files && i < cli->operand_count; i++)
        files[i].path = cli->operands[i];
    if (status == PCERE_OK)
        status = formats_check(cli, &ours, error);
    if (status == PCERE_OK)
        status = result_open(words->output, words->force, &file, error);
    if (status == PCERE_OK) {
        status = ours ? ours_merge(cli, words, files, file, &cut, error) : merge_write(files, cli->operand_count, words->minima, file, words->output, error);
        status = result_close(words->output, file, status, error);
    }
    if (status == PCERE_OK && cli->json)
        json_object_set_new(cli->document, "files", result_json(files, cli->operand_count));
    else if (status == PCERE_OK)
        result_print(files, cli->operand_count, strcmp(words->output, "-") == 0);
    for (size_t i = 0; files && i < cli->operand_count; i++) {
        cut |= files[i].cut;
        violated |= files[i].line.violation_ns > 0;
    }
    if (status == PCERE_OK && violated)
        cli_note(cli, "no line fits all messages of a trace (marked !): a clock was set while the program ran, or the traces are of different runs");
    if (status == PCERE_OK && cut)
        status = pcere_fail(error, PCERE_DATA, 0, "what is whole was merged", "a trace is cut or damaged");
    free(files);
    return status;
}

static const struct cli_option options_list[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct merge_words, output), "FILE", "Where the merged trace goes, in Chrome's format.", 0, 0},
    {"force", 0, CLI_FLAG, offsetof(struct merge_words, force), NULL, "Replace a file that exists.", 0, 0},
    {"minima", 0, CLI_FLAG, offsetof(struct merge_words, minima), NULL, "Lay the earliest events on each other, as OMPC's own tool does, whatever messages say.", 0, 0},
};

const struct cli_verb cli_verb_merge = {
    .name = "merge",
    .summary = "make one trace of those of several processes, with one clock for all",
    .synopsis = "TRACE...",
    .description = "Reads traces of 'pcere trace' or in Chrome's format, one of each process, and writes one in Chrome's format. Every clock is put on the head's (or the first file's): by the messages between the two, since nothing is received before it was "
                   "sent, with an offset and a drift. The last column says how far it can still be off. Messages are what MPI programs send, operations that both sides know by one mpi_tag, and arrows from one file to another. A trace "
                   "without any has its earliest event laid on the reference's; one of 'pcere trace' keeps the clock of the day.\n\nMemory does not grow with the files but for a table of the reference's messages. A process number that two files use is changed in "
                   "the later one.\n\nChrome's format has no task graph. Of traces of 'pcere trace' the other commands take the files themselves, joined by commas, with one clock for all, dependences and messages.",
    .examples = "pcere merge head.json worker_0.json worker_1.json -o merged.json\npcere timeline merged.json,graph.dot -o user.pftrace\nmpirun -n 2 pcere trace -o rank%r.pct ./solver\npcere merge rank0.pct rank1.pct -o solver.json\npcere timeline rank0.pct,rank1.pct -o solver.pftrace\n",
    .options = options_list, .option_count = sizeof options_list / sizeof *options_list, .options_bytes = sizeof(struct merge_words),
    .operands = CLI_OPERANDS_ANY,
    .run = merge_verb,
};
