/* cli/verb_profile.c - pcere profile: one run of a program, and the execution units that were seen in it. */
#include "analysis/planner.h"
#include "analysis/profile.h"
#include "cli/cli.h"
#include "cli/profile_runs.h"
#include "cli/verbs.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "core/units.h"
#include "profiler/host/events.h"
#include "profiler/host/recording.h"
#include "profiler/host/unit_profile.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

struct profile_words { const char *combine; uint64_t counters, repeats; bool references; const char *output, *events, *labels, *graph, *trace, *in_vivo, *warmup, *caches, *conflicts; uint64_t threads, graph_most; bool force, slow_clock, iterations, csv; };

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

static size_t names_count(const char *const *names)
{
    size_t count = 0;
    while (names && names[count])
        count++;
    return count;
}

/* The nearest of our names, else of those of this processor's events: among its thousands some word is always near. */
static void event_hint(const char *word, struct pcere_error *error)
{
    char **processor = NULL;
    const char *nearest = cli_nearest(word, event_names(), names_count(event_names()));
    if (!nearest) {
        processor = event_processor_names(strpbrk(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == NULL);
        nearest = cli_nearest(word, (const char *const *)processor, names_count((const char *const *)processor));
    }
    if (nearest)
        snprintf(error->hint, sizeof error->hint, "did you mean %.100s?", nearest);
    else
        snprintf(error->hint, sizeof error->hint, "'pcere profile --help' names those of the kernel; 'sw' is all of them, 'ir' and 'cache' all of programs that count");
    event_processor_names_free(processor);
}

static enum pcere_status event_add(const char *word, struct trace_event *events, size_t *count, struct pcere_error *error)
{
    if (strcmp(word, "time") == 0)
        return PCERE_OK;                         /* always there */
    struct trace_event found[TRACE_EVENTS_MOST];
    size_t many = event_group(word, found, TRACE_EVENTS_MOST);
    if (!many) {
        enum pcere_status status = event_find(word, found, error);
        if (status == PCERE_USAGE)
            event_hint(word, error);
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
        if (*count == PLANNER_EVENTS_MOST)
            return pcere_fail(error, PCERE_USAGE, 0, NULL, "--events: more than %u", PLANNER_EVENTS_MOST);
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

/* ---- the run ----------------------------------------------------------------------------------------------------------------- */

/* What the trace's header says of a run that tells nothing. */
static enum pcere_status emptiness_judge(const struct trace_header *header, const struct units *units, struct pcere_error *error)
{
    enum pcere_status status = recording_judge(header, "profile", error);
    if (status != PCERE_OK)
        return status;
    if (!units->count && header->dropped)
        return pcere_fail(error, PCERE_SYSTEM, (int)header->full_errno, "TMPDIR may name a larger place for the trace; the program must leave its descriptors open",
                          "what the program did found no room");
    if (!units->count)
        return pcere_fail(error, PCERE_NO, 0, "XUs are tasks, sections, and ranges of worksharing loops", "the program executed no XU: its profile is empty");
    return PCERE_OK;
}

static enum pcere_status trace_judge(struct cli *cli, const struct profile_request *request, const struct recording *recording, struct pcere_error *error)
{
    struct trace_file *file = NULL;
    struct units units = {0};
    struct profile *profile = NULL;
    enum pcere_status status = trace_file_open(request->trace, &file, error);
    if (status == PCERE_OK)
        status = units_collect(file, &(struct units_options){.rules = request->rules}, &units, error);
    if (status == PCERE_OK)
        status = emptiness_judge(file->header, &units, error);
    const struct unit_profile_run run = {.program = cli->program_file, .arguments = cli->operands + 1, .environment = environ};
    if (status == PCERE_OK)
        status = profile_make(request, &units, &run, &profile, error);
    bool deliver = false;
    if (status == PCERE_OK)
        status = profile_runs_join(request->runs, &profile, &deliver, error);
    if (status == PCERE_OK && deliver)
        status = profile_deliver(cli, request, &units, profile, error);
    if (status == PCERE_NO)
        cli_program_add(cli, recording->program_status, error);
    if (status == PCERE_OK && (status = cli_program_judge(cli, recording->program_status, error)) == PCERE_NO && deliver)
        snprintf(error->hint, sizeof error->hint, "what was seen until then is in '%.300s'", request->path);
    profile_free(profile);
    units_done(&units);
    trace_file_close(file);
    return status;
}

static enum pcere_status program_profile(struct cli *cli, const struct profile_request *request, struct pcere_error *error)
{
    struct recording recording;
    struct recording_options options = {
        .program = cli->program_file, .arguments = cli->operands + 1, .environment = environ, .library = request->library, .trace = request->trace, .kept = request->kept,
        .threads = request->threads, .clock = request->clock, .stdout_descriptor = STDERR_FILENO, .events = request->events, .event_count = request->event_count,
        .wanted = request->wanted, .caches = {request->caches[0], request->caches[1]},
    };
    enum pcere_status status = recording_make(&options, &recording, error);
    return status == PCERE_OK ? trace_judge(cli, request, &recording, error) : status;
}

static enum pcere_status runs_make(struct cli *cli, struct profile_runs *runs, const char *path, struct profile_request *request, struct pcere_error *error)
{
    const char *graph = request->graph;
    size_t count = profile_runs_count(runs);
    enum pcere_status status = PCERE_OK;
    for (size_t run = 0; status == PCERE_OK && run < count; run++) {
        char progress[64];
        snprintf(progress, sizeof progress, "run %zu of %zu", run + 1, count);
        cli_progress(cli, count > 1 ? progress : NULL);
        unlink(request->trace);
        request->graph = run + 1 == count ? graph : NULL;
        status = profile_runs_begin(runs, run, path, request, error);
        if (status == PCERE_OK && !request->force && access(request->path, F_OK) == 0)
            status = pcere_fail(error, PCERE_USAGE, EEXIST, "--force replaces it, -o FILE names another", "cannot write '%.300s'", request->path);
        if (status == PCERE_OK)
            status = cli->store ? profile_codelet(cli, request, error) : program_profile(cli, request, error);
        cli_progress(cli, NULL);
    }
    return status;
}

static enum pcere_status references_show(struct cli *cli, const struct profile_runs *runs, struct pcere_error *error)
{
    bool failed = false;
    if (!cli->json) {
        profile_runs_print(runs, stdout);
        return PCERE_OK;
    }
    profile_runs_describe(runs, cli->document, &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

static enum pcere_status words_check(const struct cli *cli, const struct profile_words *words, struct profile_request *request, struct pcere_error *error)
{
    if (!cli->store && (words->in_vivo || words->warmup))
        return pcere_fail(error, PCERE_USAGE, 0, "pcere profile STORE REGION", "--%s is for codelets", words->in_vivo ? "in-vivo" : "warmup");
    if (words->trace && (words->combine || words->references))
        return pcere_fail(error, PCERE_USAGE, 0, "profile once for it", "--trace is about one run, --%s about several", words->combine ? "combine" : "references");
    if (words->references && (words->in_vivo || words->graph))
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "--references and --%s exclude each other", words->in_vivo ? "in-vivo" : "graph");
    if (words->csv && (cli->json || words->references))
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "--%s and --csv exclude each other", cli->json ? "json" : "references");
    return rules_parse(words->labels, &request->rules, error);
}

static enum pcere_status profile_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct profile_words *words = raw;
    struct profile_request request = {
        .threads = (uint32_t)words->threads, .clock = words->slow_clock ? TRACE_CLOCK_MONOTONIC : TRACE_CLOCK_NONE, .force = words->force,
        .wanted = words->iterations ? TRACE_WANT_ITERATIONS : 0,
        .graph = words->graph, .graph_most = words->graph_most, .in_vivo = words->in_vivo, .warmup = words->warmup, .csv = words->csv,
    };
    struct profile_runs_options planned = {.combine = words->combine, .references = words->references, .counters = (uint32_t)words->counters, .repeats = (uint32_t)words->repeats,
                                            .conflicts = words->conflicts};
    char *path = NULL, *library = NULL, *directory = NULL, *kept = NULL, *ranked = NULL;
    struct profile_runs *runs = NULL;
    struct text trace = {0};
    struct trace_event *events = calloc(PLANNER_EVENTS_MOST, sizeof *events);
    enum pcere_status status = events ? words_check(cli, words, &request, error) : pcere_fail_memory(error, "the events");
    if (status == PCERE_OK)
        status = events_parse(words->events, events, &planned.event_count, error);
    bool modelled = words->caches;
    for (size_t i = 0; status == PCERE_OK && i < planned.event_count; i++)
        modelled = modelled || events[i].backend == TRACE_BACKEND_CACHE;
    if (status == PCERE_OK && modelled)
        status = profile_caches_choose(words->caches, request.caches, error);
    planned.events = events;
    if (status == PCERE_OK)
        status = profile_runs_plan(&planned, &runs, error);
    if (status == PCERE_OK && !cli->store)
        status = cli_rank_output(words->output, cli->program_file, ".pcx", &ranked, error);
    if (status == PCERE_OK)
        status = cli_output_choose(ranked ? ranked : words->output, cli->store ? store_manifest(cli->store)->program : "", ".codelet.pcx",
                                   words->force || words->references, &path, error);
    if (status == PCERE_OK && words->graph)
        status = cli_output_check(words->graph, words->force, error);
    if (status == PCERE_OK && words->trace)
        status = cli_output_choose(words->trace, "", "", words->force, &kept, error);
    if (status == PCERE_OK)
        status = cli_file_find(TRACE_LIBRARY, &library, error);
    if (status == PCERE_OK && !words->trace)
        status = cli_directory_new(&directory, error);
    if (status == PCERE_OK) {
        text_addf(&trace, "%s%s", words->trace ? words->trace : directory, words->trace ? "" : "/trace");
        request.library = library;
        request.trace = trace.data;
        request.kept = words->trace != NULL;
        status = trace.failed ? pcere_fail_memory(error, "a path") : runs_make(cli, runs, path, &request, error);
    }
    if (status == PCERE_OK && words->references)
        status = references_show(cli, runs, error);
    if (directory)
        cli_directory_remove(directory);
    profile_runs_free(runs);
    text_done(&trace);
    free(events);
    free(kept);
    free(directory);
    free(library);
    free(path);
    free(ranked);
    return status;
}

static const struct cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct profile_words, output), "FILE", "Where the profile goes; PROGRAM.pcx in the current directory if not given, PROGRAM.RANK.pcx under mpirun. %r in it is the rank.", 0, 0},
    {"force", 0, CLI_FLAG, offsetof(struct profile_words, force), NULL, "Replace files that exist.", 0, 0},
    {"threads", 0, CLI_NUMBER, offsetof(struct profile_words, threads), "N", "OMP_NUM_THREADS for the program; as the environment has it if not given.", 1, 65536},
    {"events", 0, CLI_TEXT, offsetof(struct profile_words, events), "LIST",
     "What to count beside times, separated by commas: page-faults, minor-faults, major-faults, context-switches, cpu-migrations, task-clock (all of these: sw), events of the "
     "processor as libpfm4 names them, or, of programs compiled with PCERE_COUNT=ir and of codelets, ir-instructions, ir-loads, ir-flops-double-scalar and their like (all of these: ir). With PCERE_COUNT=cache, and of "
     "codelets, what would miss two levels of caches that each thread has: cache-loads, cache-stores, cache-l1-load-misses, cache-l1-store-misses, cache-l2-load-misses, "
     "cache-l2-store-misses (all of these: cache).", 0, 0},
    {"caches", 0, CLI_TEXT, offsetof(struct profile_words, caches), "L1,L2",
     "The caches of the events of cache, each as BYTES/WAYS or BYTES/WAYS/LINE, such as 32KiB/8,1MiB/16; this machine's if not given.", 0, 0},
    {"iterations", 0, CLI_FLAG, offsetof(struct profile_words, iterations), NULL,
     "An XU for each iteration of worksharing loops, taskloops and distribute, in place of one for each range: labels are then the same for every schedule and number of threads, tasks and teams. Of codelets, and of programs "
     "compiled with PCERE_COUNT=iterations (or ir,iterations).", 0, 0},
    {"combine", 0, CLI_TEXT, offsetof(struct profile_words, combine), "STRATEGY",
     "Count the events in as few runs as needed, and make one profile of them: lgl, ctc, bc, bc-unlabeled or assignment, as 'pcere combine' has them. hem is one run, in which "
     "more of the processor's events than it has counters take turns, as the kernel has it, and are extrapolated; with --counters that is simulated for other events.", 0, 0},
    {"references", 0, CLI_FLAG, offsetof(struct profile_words, references), NULL,
     "Instead, write each run's profile (PROGRAM.1.pcx and so on), such that each pair of events is in one: references for 'pcere compare --epd', which wants --repeat 2 or more.", 0, 0},
    {"counters", 0, CLI_NUMBER, offsetof(struct profile_words, counters), "N",
     "At most N events in a run; without it, as many of the processor's as the kernel grants together, and all others.", 1, PLANNER_COUNTERS_MOST},
    {"conflicts", 0, CLI_TEXT, offsetof(struct profile_words, conflicts), "PAIRS",
     "Pairs of events that one run cannot count, such as ir-loads+ir-stores,ir-loads+page-faults, beside those that the kernel refuses: with --counters a virtual PMU.", 0, 0},
    {"repeat", 0, CLI_NUMBER, offsetof(struct profile_words, repeats), "N", "With --combine and --references: each of these runs N times; combined counts then have intervals.", 1, 1000},
    {"csv", 0, CLI_FLAG, offsetof(struct profile_words, csv), NULL, "Print CSV instead of the table, a line for each XU.", 0, 0},
    {"labels", 0, CLI_TEXT, offsetof(struct profile_words, labels), "RULES",
     "pcere (the default): single, sections and masked are part of labels, which are then the same in each run. paper: they are not, as in the article that labels come from.", 0, 0},
    {"graph", 0, CLI_TEXT, offsetof(struct profile_words, graph), "FILE", "Write the label graph for Graphviz, too.", 0, 0},
    {"graph-nodes", 0, CLI_NUMBER, offsetof(struct profile_words, graph_most), "N", "At most N nodes in it (500).", 1, 10000000},
    {"trace", 0, CLI_TEXT, offsetof(struct profile_words, trace), "FILE", "Keep the trace that the profile was made from.", 0, 0},
    {"in-vivo", 0, CLI_TEXT, offsetof(struct profile_words, in_vivo), "FILES",
     "Of a codelet: how faithful it is to these profiles of the whole program, repeats joined by commas. Labels match, sums are held side by side, and where there are two events and two "
     "repeats, the dissimilarity (EPD) says how far it is from them.", 0, 0},
    {"warmup", 0, CLI_TEXT, offsetof(struct profile_words, warmup), "HOW", "Of a codelet: untimed runs before the one that is profiled, as 'pcere replay' has them.", 0, 0},
    {"slow-clock", 0, CLI_FLAG, offsetof(struct profile_words, slow_clock), NULL,
     "Take times from the kernel's clock even where the processor's counter would do, which costs less.", 0, 0},
};

const struct cli_verb cli_verb_profile = {
    .name = "profile",
    .summary = "run a program and measure its execution units: tasks, sections and ranges of loops, each with a label",
    .synopsis = "PROGRAM [ARGUMENT...]  |  STORE REGION",
    .description = "Runs a program that is linked with LLVM's OpenMP runtime, recompiled or not, and writes a profile of its execution units (XUs): each executed task and "
                   "each executed range of iterations, with its construct, its label, and how long it was active. Labels are the same in each run with the same input and "
                   "number of threads, whatever thread an XU ran on. The table shows constructs by the time that their XUs took. What the program prints goes to standard error."
                   "\n\nThe last lines say what this run could not see. Programs that were built with PCERE's plugin have constructs with identities that stay the same over builds.\n\n"
                   "Named a store and a region, the same for one captured invocation of it, replayed alone: a profile for a fraction of the program's time, whose labels are those that these XUs "
                   "have in the whole program.",
    .examples = "pcere profile --threads 2 ./cg.S\npcere profile --events ir,sw --combine lgl --counters 4 ./cg.S\npcere profile --graph labels.dot ./cg.S && dot -Tsvg -o labels.svg labels.dot\n"
                "pcere profile cg.S.pcere conj_grad --events sw --in-vivo cg.S.pcx\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct profile_words),
    .operands = CLI_OPERANDS_PROGRAM,
    .needs = CLI_NEEDS_PROGRAM | CLI_OR_STORE,
    .run = profile_verb,
};
