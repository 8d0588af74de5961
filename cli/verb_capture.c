/* cli/verb_capture.c - pcere capture: run a program, and keep the memory of its parallel regions. */
#include "capture-rt/tracer/capture.h"
#include "cli/capture_table.h"
#include "cli/choose.h"
#include "cli/looking.h"
#include "cli/measure_store.h"
#include "cli/replay_options.h"
#include "cli/spread.h"
#include "cli/verbs.h"
#include "core/elf_file.h"
#include "core/json.h"
#include "core/text.h"
#include "core/units.h"
#include "predictor/classes.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

struct capture_words {
    const char *output, *regions, *libraries;
    uint64_t threads, max_classes, runs;
    bool force, all_classes, no_after, one_run, two_runs;
};

/* For tests: what the machine is to refuse, by name. */
static enum pcere_status refusals_parse(unsigned *ret_faults, struct pcere_error *error)
{
    static const struct { const char *name; unsigned fault; } names[] = {
        {"ptrace", CAPTURE_FAULT_PTRACE}, {"tracking", CAPTURE_FAULT_TRACKING},
        {"pagemap-scan", CAPTURE_FAULT_PAGEMAP_SCAN}, {"personality", CAPTURE_FAULT_PERSONALITY},
        {"calm", CAPTURE_FAULT_CALM}, {"first-calm", CAPTURE_FAULT_FIRST_CALM},
        {"copying", CAPTURE_FAULT_COPYING},
    };
    const char *words = getenv("PCERE_REFUSE");
    unsigned faults = 0;
    for (const char *at = names_first(words); at; at = names_next(at)) {
        size_t length = names_length(at), i = 0;
        while (i < sizeof names / sizeof *names && !(strlen(names[i].name) == length && strncmp(names[i].name, at, length) == 0))
            i++;
        if (i == sizeof names / sizeof *names)
            return pcere_fail(error, PCERE_USAGE, 0, "use ptrace, tracking, pagemap-scan, personality, calm, first-calm or copying", "PCERE_REFUSE: '%.60s' is not known", at);
        faults |= names[i].fault;
    }
    *ret_faults = faults;
    return PCERE_OK;
}

#define THREADS_MOST 65536
#define BUSY_RATIO 0.1                   /* of the run, stops left out */

/* How long the program waited for a processor that other work had; 0 where its own threads may have had it. */
static uint64_t busy_ns(const struct capture_result *result)
{
    return measure_processors_suffice(&result->timing) ? result->timing.waited_ns : 0;
}

/* Its threads stay on the first processors by our doing, and there are others. */
static bool is_bound_by_us(const struct capture_run *run)
{
    bool bound = false;
    for (char **variable = run->environment; variable && *variable; variable++)
        bound |= strcmp(*variable, STORE_OWN_PLACES) == 0;
    return bound && run->threads < cli_processors();
}

static void busy_note(struct cli *cli, const struct capture_result *result)
{
    uint64_t waited_ns = busy_ns(result), wall_ns = result->timing.as_run_ns;
    char waited[UNITS_TEXT_BYTES], wall[UNITS_TEXT_BYTES];
    if (waited_ns && (double)waited_ns >= BUSY_RATIO * (double)wall_ns)
        cli_note(cli, "the program waited %s for a processor that other work had, in a run of %s: times in vivo may be longer than without that work, and some classes of invocations its doing; capture again with nothing else running%s",
                 units_format_ns(waited_ns, waited), units_format_ns(wall_ns, wall),
                 is_bound_by_us(&result->timing) ? ", or with OMP_PROC_BIND=false, which lets its threads go where a processor is free" : "");
}

static enum pcere_status cost_add(json_t *document, const char *path, const struct capture_result *result, struct pcere_error *error)
{
    bool failed = false;
    json_put(document, "store", json_from_string(path), &failed);
    json_put(document, "program_status", json_integer(result->program_status), &failed);
    json_put(document, "captured", json_from_u64(result->captured), &failed);
    json_put(document, "wanted", json_from_u64(result->wanted), &failed);
    json_put(document, "stall_ns", json_from_u64(result->stall_ns), &failed);
    json_put(document, "probing_ns", json_from_u64(result->timing.probing_ns), &failed);
    json_put(document, "writing_ns", json_from_u64(result->writing_ns), &failed);
    json_put(document, "tracking", json_boolean(result->tracking), &failed);
    json_put(document, "tracking_fault_ns", result->fault_ns ? json_integer((json_int_t)result->fault_ns) : json_null(), &failed);
    json_put(document, "waited_ns", json_from_u64(busy_ns(result)), &failed);
    json_put(document, "runs", json_from_u64(result->runs), &failed);
    json_put(document, "runs_wall_ns", json_from_u64(result->runs_wall_ns), &failed);
    json_put(document, "second_run_reason", result->second_reason ? json_from_string(result->second_reason) : json_null(), &failed);
    json_put(document, "probe_ns", json_from_u64(result->timing.probe_ns), &failed);
    json_t *stops = json_array(), *notes = json_array();
    for (size_t i = 0; i < result->stop_count; i++) {
        const struct capture_stop_cost *stop = &result->stops[i];
        json_t *value = json_object();
        bool known = stop->region < result->timing.region_count;
        json_put(value, "region", known ? json_from_string(result->timing.regions[stop->region].name) : json_null(), &failed);
        json_put(value, "invocation", json_from_u64(stop->invocation), &failed);
        json_put(value, "at_end", json_boolean(stop->at_end), &failed);
        json_put(value, "stall_ns", json_from_u64(stop->stall_ns), &failed);
        json_put(value, "present_bytes", json_from_u64(stop->present_bytes), &failed);
        json_put(value, "read_bytes", json_from_u64(stop->read_bytes), &failed);
        json_put(value, "copied_bytes", json_from_u64(stop->copied_bytes), &failed);
        json_array_append_new(stops, value);
    }
    json_put(document, "stops", stops, &failed);
    for (size_t i = 0; result->notes && result->notes[i]; i++)
        json_array_append_new(notes, json_from_string(result->notes[i]));
    json_put(document, "notes", notes, &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

static void cost_print(const char *path, const struct capture_result *result, FILE *out)
{
    char plain[UNITS_TEXT_BYTES], capturing[UNITS_TEXT_BYTES], stall[UNITS_TEXT_BYTES], writing[UNITS_TEXT_BYTES];
    fprintf(out, "\n%s: %zu of %zu codelets\n", path, result->captured, result->wanted);
    char many[UNITS_TEXT_BYTES];
    snprintf(many, sizeof many, "%u", result->runs);
    fprintf(out, "%s run%s: %s unstopped, %s captured (stopped %s in %zu stops), writing %s\n",
            result->runs == 1 ? "one" : result->runs == 2 ? "two" : many, result->runs == 1 ? "" : "s", units_format_ns(result->timing.wall_ns, plain), units_format_ns(result->capture_wall_ns, capturing),
            units_format_ns(result->stall_ns, stall), result->stop_count, units_format_ns(result->writing_ns, writing));
}

/* What the run and the program's file tell about why none of its regions was seen; "" if nothing. */
static const char *emptiness_reason(const char *program, bool forked, uint32_t threads)
{
    struct elf_file *file;
    const struct elf_unit *units;
    if (elf_file_open(program, &file, NULL) != PCERE_OK)
        return "";
    const char *const *needed;
    size_t count = elf_file_needed(file, &needed);
    bool carries = elf_file_units(file, &units) > 0, forks = elf_file_imports(file, "__kmpc_fork_"), gnu = false;
    for (size_t i = 0; i < count; i++)
        gnu |= strncmp(needed[i], "libgomp.so", 10) == 0;
    elf_file_close(file);
    return gnu        ? ": it uses gcc's OpenMP runtime, whose regions are not seen; clang -fopenmp=libomp makes others"
           : !carries ? ": neither it nor a library that it loaded showed one; compile what has regions with: clang -O3 -g -fopenmp -fpass-plugin=PCEREPass.so"
           : forked
               ? ": it forked off processes, which are not looked at; daemons and servers mostly have an option to stay in the foreground, so that the process that is started does the work"
           : threads == 1 && forks
               ? ": it has some; where it leaves them out because it has one thread, pcere capture --threads 2"
               : "";
}

static bool has_probes(const struct capture_result *result)
{
    for (size_t i = 0; i < result->timing.region_count; i++)
        if (!result->timing.regions[i].plain)
            return true;
    return false;
}

/* Why there is nothing to replay, if so; regions without probes have a remark of their own. */
static void emptiness_note(struct cli *cli, const struct store_manifest *manifest, const struct capture_result *result)
{
    const char *started = manifest->region_count ? NULL : capture_started_program(cli->operands + 1);
    if (started)
        cli_note(cli, "the program entered no parallel region, so there is nothing to capture: what it starts is not looked at; put the command between the two: ... pcere capture %s ...", started);
    else if (!manifest->region_count)
        cli_note(cli, "the program entered no parallel region, so there is nothing to capture%s", emptiness_reason(cli->program_file, result->timing.forked, manifest->threads));
    else if (!result->wanted && has_probes(result))
        cli_note(cli, "no region weighs enough to be captured; --all-classes captures the lightest, too");
}

/* The store as it is on disk now: what is shown is what a replay will find. */
static enum pcere_status result_show(struct cli *cli, const char *path, const struct capture_result *result, const struct choose_context *choose,
                                     struct pcere_error *error)
{
    struct store *store;
    enum pcere_status status = store_open(path, &store, error);
    if (status != PCERE_OK)
        return status;
    status = store_invocations_write(store, choose->series, choose->series_count, error);
    if (status == PCERE_OK)
        status = looking_behind(cli, store, error);
    if (status != PCERE_OK) {
        store_close(store);
        return status;
    }
    const struct store_manifest *manifest = store_manifest(store);
    struct spread spread = {0};
    status = spread_append(store, result, error);
    if (status == PCERE_OK)
        status = spread_load(store, &spread, error);
    if (status == PCERE_OK && cli->json) {
        status = capture_document_add(cli->document, manifest, error);
        if (status == PCERE_OK)
            status = cost_add(cli->document, path, result, error);
        if (status == PCERE_OK)
            status = spread_document_add(cli->document, &spread, error);
    } else if (status == PCERE_OK && !cli->quiet) {
        fputc('\n', stderr);
        capture_table_print(manifest, stderr);
        cost_print(path, result, stderr);
        spread_print(&spread, stderr);
    }
    if (status == PCERE_OK)
        emptiness_note(cli, manifest, result);
    if (status == PCERE_OK)
        busy_note(cli, result);
    spread_done(&spread);
    store_close(store);
    return status;
}

/* Whoever has set OMP_NUM_THREADS may take the capture for one with as many. */
static void threads_note(struct cli *cli)
{
    const char *variable = getenv("OMP_NUM_THREADS");
    unsigned long threads = variable ? strtoul(variable, NULL, 10) : 0;
    if (threads > 1 && threads <= THREADS_MOST)
        cli_note(cli, "captured with 1 thread, though OMP_NUM_THREADS asks for %lu: a capture with as many is had with --threads %lu (replays may have any number)", threads, threads);
}

static enum pcere_status capture_do(struct cli *cli, const struct capture_options *options, struct pcere_error *error)
{
    struct capture_result result = {0};
    int saved = cli->json ? cli_stdout_divert() : -1;
    enum pcere_status status = capture_program(options, &result, error);
    cli_stdout_return(saved);
    cli_progress(cli, NULL);
    for (size_t i = 0; result.notes && result.notes[i] && !cli->json; i++)
        cli_note(cli, "%s", result.notes[i]);
    if (status == PCERE_OK) {
        status = result_show(cli, options->store, &result, options->choose_context, error);
        if (status == PCERE_OK)
            status = cli_program_judge(cli, result.program_status ? result.program_status : result.more_status, error);
        if (status == PCERE_NO && result.program_status == 0)
            snprintf(error->hint, sizeof error->hint, "that was run %zu of those after the capture, without output and perhaps among files of the first; '%.200s' is whole",
                     result.more_count + 1, options->store);
        else if (status == PCERE_NO)
            snprintf(error->hint, sizeof error->hint, "what was captured until then is in '%.300s' and can be replayed", options->store);
    }
    if (status == PCERE_NO)
        cli_program_judge(cli, result.program_status ? result.program_status : result.more_status, NULL);
    capture_result_done(&result);
    return status;
}

static enum pcere_status capture_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct capture_words *words = raw;
    struct choose_context choose = {
        .max_classes = (uint32_t)words->max_classes,
        .min_share_ratio = words->all_classes || words->regions ? 0 : CLASSES_MIN_SHARE_DEFAULT,
    };
    struct capture_options options;
    char *library = NULL, *path = NULL;
    unsigned faults = 0;
    enum pcere_status status = refusals_parse(&faults, error);
    if (status == PCERE_OK && words->one_run && words->two_runs)
        status = pcere_fail(error, PCERE_USAGE, 0, "leave one of them out", "--one-run and --two-runs exclude each other");
    if (status == PCERE_OK && cli_has_siblings() && (words->two_runs || words->runs))
        status = pcere_fail(error, PCERE_USAGE, 0, "leave --two-runs and --runs out", "of the processes that mpirun starts together one cannot be run again by itself");
    if (status == PCERE_OK)
        status = cli_measure_options(cli, &options, &library, error);
    if (status == PCERE_OK)
        status = cli_rank_output(words->output, cli->program_file, ".pcere", &path, error);
    if (status == PCERE_OK) {
        options.threads = words->threads ? (uint32_t)words->threads : 1;
        options.store = path;
        options.force = words->force;
        options.pattern = words->regions;
        options.no_after = words->no_after;
        options.libraries = words->libraries;
        options.one_run = words->one_run || cli_has_siblings();
        options.among_ranks = cli_has_siblings();
        options.two_runs = words->two_runs;
        options.more_runs = (unsigned)words->runs;
        options.every_class = choose.min_share_ratio == 0;
        options.light_ratio = choose.min_share_ratio;
        options.choose_begin = choose_begin;
        options.choose = choose_classes;
        options.choose_context = &choose;
        options.faults = faults;
        if (!words->threads)
            threads_note(cli);
        status = capture_do(cli, &options, error);
    }
    choose_done(&choose);
    free(path);
    free(library);
    return status;
}

static const struct cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct capture_words, output), "DIR",
     "Where the store goes; PROGRAM.pcere in the current directory if not given, PROGRAM.RANK.pcere under mpirun. %r in it is the rank.", 0, 0},
    {"regions", 0, CLI_TEXT, offsetof(struct capture_words, regions), "PATTERN",
     "Capture only regions whose name contains PATTERN, or matches it as a shell pattern; all are timed.", 0, 0},
    {"threads", 0, CLI_NUMBER, offsetof(struct capture_words, threads), "N",
     "Threads of the program while it is captured (1, whatever OMP_NUM_THREADS says). Replays may use any other number.", 1, THREADS_MOST},
    {"max-classes", 0, CLI_NUMBER, offsetof(struct capture_words, max_classes), "N",
     "At most N classes of invocations a region (10).", 1, CLASSES_LIMIT},
    {"all-classes", 0, CLI_FLAG, offsetof(struct capture_words, all_classes), NULL,
     "Capture classes that weigh less than 0.5 % of the run, too; --regions does so for the regions that it names.", 0, 0},
    {"capture-library", 0, CLI_TEXT, offsetof(struct capture_words, libraries), "NAME[,NAME]",
     "Capture these libraries of the system like the program, code and data: all whose files' names begin so (libopenblas). Those that captured memory leads into, or that "
     "keep something between calls, are captured anyway, unless they run threads of their own.", 0, 0},
    {"no-after", 0, CLI_FLAG, offsetof(struct capture_words, no_after), NULL,
     "Do not record the memory after each region: half the stops, but nothing can be verified.", 0, 0},
    {"one-run", 0, CLI_FLAG, offsetof(struct capture_words, one_run), NULL,
     "Never run the program a second time, whatever one run leaves open.", 0, 0},
    {"two-runs", 0, CLI_FLAG, offsetof(struct capture_words, two_runs), NULL,
     "Run it twice in any case: once to time it, without stops, and once to capture it.", 0, 0},
    {"runs", 0, CLI_NUMBER, offsetof(struct capture_words, runs), "N",
     "Then run it N times more, unstopped and without output: how far runs lie apart is shown, and the intervals of predictions go by it.", 1, 1000},
    {"force", 0, CLI_FLAG, offsetof(struct capture_words, force), NULL, "Replace an existing store.", 0, 0},
};

const struct cli_verb cli_verb_capture = {
    .name = "capture",
    .summary = "run a program and keep the memory of its parallel regions: PROGRAM.pcere",
    .synopsis = "PROGRAM [ARGUMENT...]",
    .description =
        "Runs the program, times every invocation of every region, and stops it at a few of them to read its memory from outside. Which ones "
        "are worth a stop is decided before they begin, by arguments, call path and what came before. When the program has ended, invocations that perform "
        "alike become classes, each represented by one that was captured. What stops disturb is taken out of the times.\n\n"
        "Where one run leaves too much open, the program runs a second time, without output, and a note says why: a class that weighs has no captured "
        "member, stops may have changed times by more than a percent of the run, what a captured invocation takes is not to be told from others like it, or codelets after the first one turned out to need a library of the system, with which it begins anew. What it reads from a pipe is kept for that. A program of "
        "less than a second runs again until 99 % of its regions' time has a codelet, up to six times, as long as that brings something; a longer one at most three times. --one-run forbids it, "
        "--two-runs demands it, and times the first of the two without stops.\n\n"
        "The program, or libraries that it loads (an interpreter's modules, too), must have been compiled with the plugin, and it must be linked dynamically. What follows its path is its own, options "
        "included.\n\n"
        "The table of regions goes to standard error, since standard output is the program's. With --json the document goes to "
        "standard output, and what the program prints there goes to standard error.\n\n"
        "The exit status is 1 if the program fails; codelets that were captured before stay valid. SIGTERM and SIGHUP are handed on to the program, and end with exit status 143 and 129. A store that exists is not touched "
        "without --force.",
    .examples = "pcere capture ./cg.A\npcere capture -o /scratch/mg.pcere --regions resid ./mg.B\npcere capture ./solver --tolerance 1e-6 input.dat\npcere capture -o waves.pcere python3 simulate.py\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct capture_words),
    .operands = CLI_OPERANDS_PROGRAM,
    .needs = CLI_NEEDS_PROGRAM,
    .run = capture_verb,
};
