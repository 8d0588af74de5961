/* cli/verb_timeline.c - pcere timeline: a traced run as a file that Chrome's viewer or Perfetto's opens. */
#include "cli/cli.h"
#include "cli/trace_text.h"
#include "cli/verbs.h"
#include "core/json.h"
#include "trace/view.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct timeline_words { const char *output, *view, *format, *from, *to, *least; bool force, no_arrows; };

/* "1.5s", "20ms", "300us", "40ns" */
static enum pcere_status time_parse(const char *option, const char *word, int64_t *time_ns, struct pcere_error *error)
{
    static const struct { const char *unit; double ns; } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end = NULL;
    double number = word ? strtod(word, &end) : 0;
    if (!word)
        return PCERE_OK;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (end > word && strcmp(end, units[i].unit) == 0 && number >= 0 && number * units[i].ns < 4e18) {
            *time_ns = (int64_t)(number * units[i].ns);
            return PCERE_OK;
        }
    return pcere_fail(error, PCERE_USAGE, 0, "a number and its unit: 40ns, 300us, 20ms, 1.5s", "%s: '%.40s' is no time", option, word);
}

static enum pcere_status words_read(const struct timeline_words *words, struct view_options *options, struct pcere_error *error)
{
    int64_t least_ns = 0;
    const char *end = words->output ? strrchr(words->output, '.') : NULL;
    static const struct { const char *word, *end; enum view_format format; } formats[] = {
        {"chrome", ".json", VIEW_CHROME}, {"perfetto", ".pftrace", VIEW_PERFETTO}, {"perfetto", ".perfetto-trace", VIEW_PERFETTO}, {"svg", ".svg", VIEW_SVG}, {"html", ".html", VIEW_HTML},
    };
    enum view_format format = VIEW_CHROME;
    bool known = !words->format;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (words->format ? strcmp(words->format, formats[i].word) == 0 : end && strcmp(end, formats[i].end) == 0) {
            format = formats[i].format;
            known = true;
        }
    if (!known)
        return pcere_fail(error, PCERE_USAGE, 0, "chrome, perfetto, svg or html", "--format: there is no '%.60s'", words->format);
    if (words->view && strcmp(words->view, "user") != 0 && strcmp(words->view, "developer") != 0)
        return pcere_fail(error, PCERE_USAGE, 0, "user or developer", "--view: there is no '%.60s'", words->view);
    *options = (struct view_options){.to_ns = INT64_MAX, .no_arrows = words->no_arrows,
                                     .kind = words->view && strcmp(words->view, "developer") == 0 ? VIEW_DEVELOPER : VIEW_USER,
                                     .format = format};
    enum pcere_status status = time_parse("--from", words->from, &options->from_ns, error);
    if (status == PCERE_OK)
        status = time_parse("--to", words->to, &options->to_ns, error);
    if (status == PCERE_OK)
        status = time_parse("--least", words->least, &least_ns, error);
    options->least_ns = (uint64_t)least_ns;
    if (status == PCERE_OK && options->to_ns < options->from_ns)
        status = pcere_fail(error, PCERE_USAGE, 0, NULL, "--to is before --from");
    return status;
}

static enum pcere_status timeline_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct timeline_words *words = raw;
    struct view_options options;
    struct run run = {0};
    struct view_counts counts = {0};
    if (cli->operand_count != 1)
        return pcere_fail(error, PCERE_USAGE, 0, "pcere timeline TRACE -o FILE", "one run is shown, not %zu", cli->operand_count);
    if (!words->output)
        return pcere_fail(error, PCERE_USAGE, 0, "-o FILE.json for Chrome's viewer, -o FILE.pftrace for Perfetto's, -o FILE.svg for a picture; -o - for standard output", "where does the timeline go?");
    if (cli->json && strcmp(words->output, "-") == 0)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "--json needs standard output for its document");
    enum pcere_status status = words_read(words, &options, error);
    uint64_t begin_ns = clock_ns(), loaded_ns = begin_ns, written_ns = begin_ns;
    bool picture = options.format == VIEW_SVG || options.format == VIEW_HTML;
    struct run_sparing sparing = {.least_ns = options.no_arrows ? options.least_ns : 0, .from_ns = options.from_ns, .to_ns = options.to_ns};
    if (status == PCERE_OK)
        status = run_load_sparing(cli->operands[0], picture ? 0 : view_kinds(options.kind), options.kind == VIEW_USER ? TIMELINE_WORKERS_APART : TIMELINE_ALL_APART, &sparing, &run, error);
    if (status == PCERE_OK && !run.has_trace)
        status = pcere_fail(error, PCERE_USAGE, 0, "'pcere graph' is for task graphs", "'%.300s' has no trace", cli->operands[0]);
    FILE *file = NULL;
    loaded_ns = clock_ns();
    if (status == PCERE_OK)
        status = result_open(words->output, words->force, &file, error);
    if (status == PCERE_OK) {
        status = view_write(&run, &options, file, words->output, &counts, error);
        status = result_close(words->output, file, status, error);
        written_ns = clock_ns();
    }
    if (status == PCERE_OK && run.remark[0])
        cli_note(cli, "%s", run.remark);
    if (status == PCERE_OK && cli->json) {
        json_object_set_new(cli->document, "file", json_from_string(words->output));
        json_object_set_new(cli->document, "slices", json_from_u64(counts.slices));
        json_object_set_new(cli->document, "arrows", json_from_u64(counts.arrows));
        json_object_set_new(cli->document, "joined", json_from_u64(counts.joined));
        json_object_set_new(cli->document, "load_ns", json_from_u64(loaded_ns - begin_ns));
        json_object_set_new(cli->document, "write_ns", json_from_u64(written_ns - loaded_ns));
    } else if (status == PCERE_OK) {
        cli_note(cli, "%s: %llu slices, %llu arrows", words->output, (unsigned long long)counts.slices, (unsigned long long)counts.arrows);
    }
    if (status == PCERE_OK && run.timeline.cut)
        status = pcere_fail(error, PCERE_DATA, 0, "the timeline is of what is whole", "the trace is cut or damaged");
    run_done(&run);
    return status;
}

static const struct cli_option options_list[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct timeline_words, output), "FILE", "Where the timeline goes.", 0, 0},
    {"force", 0, CLI_FLAG, offsetof(struct timeline_words, force), NULL, "Replace a file that exists.", 0, 0},
    {"view", 0, CLI_TEXT, offsetof(struct timeline_words, view), "VIEW",
     "user (the default): renamed, with variables, colours by source location, and arrows. developer: every event under its own name.", 0, 0},
    {"format", 0, CLI_TEXT, offsetof(struct timeline_words, format), "FORMAT", "chrome (JSON), perfetto (binary), svg (a picture) or html (a page with one); by the file's name if not given: *.pftrace is Perfetto's.", 0, 0},
    {"from", 0, CLI_TEXT, offsetof(struct timeline_words, from), "TIME", "Only what touches the time from here, since the run's begin: 1.5s, 20ms.", 0, 0},
    {"to", 0, CLI_TEXT, offsetof(struct timeline_words, to), "TIME", "Only what touches the time until here.", 0, 0},
    {"least", 0, CLI_TEXT, offsetof(struct timeline_words, least), "TIME", "Show neighbours on a thread that are shorter than this as one, with their number.", 0, 0},
    {"no-arrows", 0, CLI_FLAG, offsetof(struct timeline_words, no_arrows), NULL, "Leave the arrows out.", 0, 0},
};

const struct cli_verb cli_verb_timeline = {
    .name = "timeline",
    .summary = "write a traced run as a timeline for Chrome's viewer (chrome://tracing) or Perfetto's (ui.perfetto.dev)",
    .synopsis = "TRACE",
    .description = "TRACE is a run as for 'pcere metrics'. The user's view shows tasks by number and colour of their source location, waits, data events inside the variable that they move, "
                   "and arrows: Communication (from the begin of a worker's data event to its end), Tasks (dependences), Worker Process k (from the head's Execute to the task on the worker). The "
                   "developer's view shows every event.\n\nA long run is cut with --from and --to, and made coarser with --least. A picture joins what is shorter than half a pixel by itself. "
                   "Of tens of gigabytes --least with --no-arrows makes an overview in as much memory as the overview needs, and --from and --to show more of what it shows: of a trace of 'pcere trace' without reading the rest of it.",
    .examples = "pcere timeline cholesky.pct -o cholesky.pftrace\npcere timeline huge.json --least 10ms --no-arrows -o overview.pftrace\npcere timeline ompc-run/ --view developer -o all.json\npcere timeline big.json --from 10s --to 11s -o second.pftrace\npcere timeline cholesky.pct --from 10ms --to 20ms -o figure.svg\n",
    .options = options_list, .option_count = sizeof options_list / sizeof *options_list, .options_bytes = sizeof(struct timeline_words),
    .operands = CLI_OPERANDS_ANY,
    .run = timeline_verb,
};
