/* cli/verb_verify.c - pcere verify: whether memory after a replayed region is what the program had, and which variables are not. */
#include "cli/interrupt.h"
#include "cli/replay_options.h"
#include "cli/verbs.h"
#include "cli/verify_in_vivo.h"
#include "core/json.h"
#include "core/region_name.h"
#include "core/text.h"
#include "core/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct verify_words { struct cli_threads threads; struct replay_build_words build; const char *tolerance, *patience; bool in_vivo; };

static const char *verdict_word(const struct verify_result *result)
{
    static const char *const words[] = {
        [VERIFY_IDENTICAL] = "identical", [VERIFY_UNUSED] = "padding", [VERIFY_ROUNDED] = "rounding", [VERIFY_DIFFERENT] = "different",
        [VERIFY_UNSTEADY] = "nondeterministic",
    };
    return words[result->verdict];
}

static json_t *cause_value(const struct verify_cause *cause, bool *failed)
{
    struct verify_result own = {.verdict = cause->verdict};
    json_t *value = json_object();
    json_put(value, "name", json_from_string(cause->name), failed);
    json_put(value, "memory", json_from_string(cause->memory), failed);
    json_put(value, "kind", json_from_string(cause->kind), failed);
    json_put(value, "verdict", json_from_string(verdict_word(&own)), failed);
    json_put(value, "bytes", json_from_u64(cause->bytes), failed);
    json_put(value, "values", json_from_u64(cause->values), failed);
    json_put(value, "values_beyond_bound", json_from_u64(cause->beyond), failed);
    json_put(value, "first", json_from_string(cause->first), failed);
    json_put(value, "expected", json_from_string(cause->expected), failed);
    json_put(value, "found", json_from_string(cause->found), failed);
    bool finite = cause->floating && isfinite(cause->largest_absolute);
    json_put(value, "largest_absolute", finite ? json_real(cause->largest_absolute) : json_null(), failed);
    json_put(value, "largest_relative_ratio", finite ? json_real(cause->largest_relative) : json_null(), failed);
    return value;
}

static json_t *result_value(const struct verify_result *result, bool *failed)
{
    json_t *value = json_object(), *causes = json_array();
    bool compared = result->error.status == PCERE_OK;
    json_put(value, "region", json_from_string(result->target->region->name), failed);
    json_put(value, "representative", json_from_u64(result->target->class->representative), failed);
    json_put(value, "threads", json_from_u64(result->threads), failed);
    json_put(value, "asked_threads", result->asked_threads ? json_from_u64(result->asked_threads) : json_null(), failed);
    json_put(value, "identical", json_boolean(result->identical), failed);
    json_put(value, "verdict", compared ? json_from_string(verdict_word(result)) : json_null(), failed);
    json_put(value, "equal", json_boolean(compared && result->verdict <= VERIFY_ROUNDED), failed);
    json_put(value, "bound_ratio", compared ? json_real(result->bound_ratio) : json_null(), failed);
    json_put(value, "single_bound_ratio", compared ? json_real(result->single_bound_ratio) : json_null(), failed);
    json_put(value, "directed_rounding", json_boolean(result->directed), failed);
    json_put(value, "runs", json_from_u64(result->runs), failed);
    json_put(value, "compared_bytes", json_from_u64(result->compared_bytes), failed);
    json_put(value, "different_bytes", json_from_u64(result->different_bytes), failed);
    json_put(value, "allocated_blocks", json_from_u64(result->allocated_blocks), failed);
    json_put(value, "renamed_pointers", json_from_u64(result->renamed_pointers), failed);
    for (size_t i = 0; i < result->cause_count; i++)
        if (json_array_append_new(causes, cause_value(&result->causes[i], failed)) != 0)
            *failed = true;
    json_put(value, "causes", causes, failed);
    json_t *asks = json_array();
    for (unsigned bit = 0; replay_asked_name(bit); bit++)
        if (result->asked >> bit & 1 && json_array_append_new(asks, json_string(replay_asked_name(bit))) != 0)
            *failed = true;
    json_put(value, "asks", asks, failed);
    json_put(value, "stream_buffers", json_boolean(result->streams), failed);
    json_put(value, "file_missing", *result->file_missing ? json_from_string(result->file_missing) : json_null(), failed);
    json_put(value, "reason", compared ? json_null() : json_from_string(result->error.message), failed);
    return value;
}

/* "; the region calls omp_get_wtime, ..", of one kind of functions */
static void asks_add(const struct verify_result *result, enum replay_asked kind, const char *why, struct text *words)
{
    const char *first = words->length ? "; the region calls " : "the region calls ", *before = first;
    for (unsigned bit = 0; replay_asked_name(bit); bit++) {
        if (!(result->asked >> bit & 1) || replay_asked_kind(bit) != kind)
            continue;
        text_addf(words, "%s%s", before, replay_asked_name(bit));
        before = ", ";
    }
    if (before != first)
        text_add(words, why);
}

static bool asks_places(const struct verify_result *result)
{
    for (unsigned bit = 0; replay_asked_name(bit); bit++)
        if (result->asked >> bit & 1 && replay_asked_kind(bit) == REPLAY_ASKED_PLACES)
            return true;
    return false;
}

static void result_row(struct cli_table *table, const struct verify_result *result, bool *marked)
{
    static const char *const words[] = {
        [VERIFY_IDENTICAL] = "identical", [VERIFY_UNUSED] = "identical but for padding", [VERIFY_ROUNDED] = "equal but for rounding",
        [VERIFY_DIFFERENT] = "DIFFERENT", [VERIFY_UNSTEADY] = "NOT DETERMINISTIC",
    };
    char threads[CLI_TEXT_MOST], compared[UNITS_TEXT_BYTES];
    struct text note = {0};
    if (result->error.status != PCERE_OK)
        text_add(&note, result->error.message);
    else if (!result->identical)
        text_addf(&note, "%llu bytes differ", (unsigned long long)result->different_bytes);
    if (result->error.status == PCERE_OK && !result->identical) {
        asks_add(result, REPLAY_ASKED_CHANGING, ", whose answer is never the same again", &note);
        asks_add(result, REPLAY_ASKED_DESCRIPTORS, ": what that tells of descriptors and directories is another in a replay", &note);
        if (result->streams)
            text_add(&note, "; text in buffers of C++'s streams: behind sync_with_stdio(false) a replay has others");
        if (*result->file_missing)
            text_addf(&note, "; it opens '%s', which is not there", result->file_missing);
    }
    if (result->error.status != PCERE_OK || !result->identical)
        asks_add(result, REPLAY_ASKED_PLACES, ": what that saves (registers, addresses in code and on stacks) is another in each process", &note);
    if (result->allocated_blocks)
        text_addf(&note, "%s%llu block%s that it allocates %s compared, too", note.length ? "; " : "", (unsigned long long)result->allocated_blocks,
                  result->allocated_blocks == 1 ? "" : "s", result->allocated_blocks == 1 ? "is" : "are");
    if (result->renamed_pointers)
        text_addf(&note, "%s%llu pointer%s to blocks that it allocates, to libraries, or to equal constants", note.length ? "; " : "",
                  (unsigned long long)result->renamed_pointers, result->renamed_pointers == 1 ? "" : "s");
    char *name = replay_target_name(result->target), *reason = text_take(&note);
    const char *cells[] = {name, cli_thread_count_text(threads, result->threads, cli_processors(), marked),
                           result->error.status != PCERE_OK ? "not compared" : words[result->verdict],
                           units_format_bytes(result->compared_bytes, compared), reason};
    cli_table_row(table, cells);
    free(name);
    free(reason);
}

#define CAUSES_SHOWN 12u

/* "function: variable", where the function's name is no longer than a region's in a table. */
static void variable_add(const char *variable, struct text *out)
{
    char function[4096], name[REGION_NAME_BYTES];
    const char *end = strstr(variable, ": ");
    if (end && (size_t)(end - variable) < sizeof function) {
        snprintf(function, sizeof function, "%.*s", (int)(end - variable), variable);
        text_add(out, region_name_shorten(function, name));
        variable = end;
    }
    text_add(out, variable);
}

static void cause_row(struct cli_table *table, const struct verify_cause *cause)
{
    char values[CLI_TEXT_MOST], absolute[CLI_TEXT_MOST] = "", relative[CLI_TEXT_MOST] = "";
    struct verify_result own = {.verdict = cause->verdict};
    struct text variable = {0}, first = {0};
    variable_add(cause->name, &variable);
    snprintf(values, sizeof values, "%llu", (unsigned long long)cause->values);
    if (cause->floating) {
        snprintf(absolute, sizeof absolute, "%.2g", cause->largest_absolute);
        snprintf(relative, sizeof relative, "%.2g", cause->largest_relative);
    }
    if (*cause->first) {
        variable_add(cause->first, &first);
        text_addf(&first, " was %s, is %s", cause->expected, cause->found);
    }
    char *name = text_take(&variable), *words = text_take(&first);
    const char *cells[] = {name, cause->memory, cause->kind, verdict_word(&own), values, absolute, relative, words};
    cli_table_row(table, cells);
    free(name);
    free(words);
}

/* How far which values may differ. */
static void bound_print(const struct verify_result *result)
{
    bool singles = false;
    for (size_t i = 0; i < result->cause_count; i++)
        singles |= result->causes[i].singles;
    if (!(result->bound_ratio > 0)) {
        printf(", nothing may differ:\n");
        return;
    }
    printf(", doubles within %.2g", result->bound_ratio);
    if (singles)
        printf(", floats within %.2g", result->single_bound_ratio);
    printf("%s:\n", result->directed ? ", or what rounding down and up leaves between them" : "");
}

static void causes_print(const struct verify_result *result)
{
    static const char *const headings[] = {"variable", "memory", "kind", "difference", ">values", ">absolute", ">relative", "the first"};
    if (!result->cause_count)
        return;
    char *name = replay_target_name(result->target);
    printf("\n%s, %u thread%s", name ? name : "", result->threads, result->threads == 1 ? "" : "s");
    free(name);
    bound_print(result);
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    for (size_t i = 0; table && i < result->cause_count && i < CAUSES_SHOWN; i++)
        cause_row(table, &result->causes[i]);
    cli_table_print(table, stdout);
    cli_table_free(table);
    if (result->cause_count > CAUSES_SHOWN)
        printf("and %zu more (--json has all)\n", result->cause_count - CAUSES_SHOWN);
}

static void report_print(const struct verify_report *report)
{
    static const char *const headings[] = {"~region", ">threads", "memory after it", ">compared", ""};
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    bool marked = false;
    for (size_t i = 0; table && i < report->result_count; i++)
        result_row(table, &report->results[i], &marked);
    cli_table_print(table, stdout);
    cli_table_free(table);
    for (size_t i = 0; i < report->result_count; i++)
        causes_print(&report->results[i]);
    cli_thread_mark_print(marked, stdout);
}

/* What differs in all regions is floating point, where a bound holds: a sum that cancels leaves little of what was added, whose rounding stays. How much was added nobody knows but the user, where
 * no run with directed rounding could tell. */
static bool cancels(const struct verify_report *report, bool in_vivo, size_t room, char *ret_hint)
{
    double relative = 0, absolute = 0, terms = 0;
    bool directed = false;
    for (size_t i = 0; i < report->result_count; i++) {
        const struct verify_result *result = &report->results[i];
        if (result->error.status != PCERE_OK)
            return false;
        for (size_t k = 0; k < result->cause_count; k++) {
            const struct verify_cause *cause = &result->causes[k];
            if (cause->verdict < VERIFY_DIFFERENT)
                continue;
            if (!(result->bound_ratio > 0) || strcmp(cause->kind, "floating point") != 0 || !isfinite(cause->largest_relative) || !(cause->largest_absolute > 0))
                return false;
            directed |= result->directed;
            relative = fmax(relative, cause->largest_relative);
            absolute = fmax(absolute, cause->largest_absolute);
            terms = fmax(terms, cause->largest_absolute / result->bound_ratio);
        }
    }
    const char *next = in_vivo ? "" : "; --in-vivo compares with the program itself at as many threads";
    if (directed)
        snprintf(ret_hint, room, "only floating-point values differ (relative %.2g, absolute %.2g), but by more than rounding every result down and up moves them%s", relative, absolute, next);
    else
        snprintf(ret_hint, room, "only floating-point values differ: rounding of a sum that cancels (relative %.2g, absolute %.2g), if the magnitudes of what is added come to %.2g or more; "
                 "then --tolerance %.2g takes it for that%s", relative, absolute, terms, relative * 1.06 /* two digits round down by less */, next);
    return absolute > 0;
}

/* Damage and a failing system outweigh a difference. */
static enum pcere_status verdict(const struct verify_report *report, bool in_vivo, struct pcere_error *error)
{
    static const char hint[] = "with as many threads as the capture had, if that was one, and the original's flags memory should be the same; with more, or others, what depends on "
                               "their number differs: --in-vivo compares with the program itself at as many";
    static const char unsteady_hint[] = "what differs from one replay to the next depends on which thread comes first (a race), on the time, or on the process";
    static const char places_hint[] = "what setjmp and swapcontext save, and what lies on the stacks of fibers, is another in each process: look whether anything else differs (all causes: --json)";
    static const char streams_hint[] = "what C++'s streams have in buffers of their own lies elsewhere in a replay: look whether anything else differs; without sync_with_stdio(false) it is compared";
    static const char files_hint[] = "a replay opens files by the names that the region gives, and one is not there: have the program keep what it removes";
    size_t different = 0, unsteady = 0, uncompared = 0, places = 0, streams = 0, files = 0;
    const struct pcere_error *worst = NULL, *first = NULL;
    for (size_t i = 0; i < report->result_count; i++) {
        const struct pcere_error *own = &report->results[i].error;
        bool differs = own->status == PCERE_OK && report->results[i].verdict >= VERIFY_DIFFERENT;
        different += differs;
        places += differs && asks_places(&report->results[i]);
        streams += differs && report->results[i].streams;
        files += differs && *report->results[i].file_missing;
        unsteady += own->status == PCERE_OK && report->results[i].verdict == VERIFY_UNSTEADY;
        uncompared += own->status != PCERE_OK;
        first = first || own->status == PCERE_OK ? first : own;
        if (own->status > PCERE_NO && (!worst || own->status > worst->status))
            worst = own;
    }
    if (worst)
        return pcere_fail(error, worst->status, 0, worst->hint, "%zu of %zu comparisons could not be made: %.300s", uncompared, report->result_count,
                          worst->message);
    if (!different && !uncompared)
        return PCERE_OK;
    char cancelling[sizeof error->hint];
    const char *next = cancels(report, in_vivo, sizeof cancelling, cancelling) ? cancelling
                       : places && places == different                         ? places_hint
                       : streams && streams == different                       ? streams_hint
                       : files && files == different                           ? files_hint
                       : unsteady                                              ? unsteady_hint
                       : different && !in_vivo                                 ? hint
                       : first                                                 ? first->hint
                                                                               : NULL;
    return pcere_fail(error, PCERE_NO, 0, next, "of %zu comparisons %zu differ and %zu could not be made", report->result_count,
                      different, uncompared);
}

static enum pcere_status report_show(struct cli *cli, const struct verify_words *words, const struct verify_report *report, struct pcere_error *error)
{
    if (!cli->json) {
        report_print(report);
        return PCERE_OK;
    }
    bool failed = false;
    json_t *list = json_array();
    for (size_t i = 0; i < report->result_count; i++)
        if (json_array_append_new(list, result_value(&report->results[i], &failed)) != 0)
            failed = true;
    json_put(cli->document, "codelets", list, &failed);
    replay_build_put(cli->document, &words->build, &failed);
    json_put(cli->document, "build_ns", json_from_u64(report->build_ns), &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

static enum pcere_status tolerance_parse(const char *words, double *ret_ratio, struct pcere_error *error)
{
    char *end = NULL;
    double ratio = words ? strtod(words, &end) : -1;
    if (words && (end == words || *end || !(ratio >= 0) || ratio > 1))
        return pcere_fail(error, PCERE_USAGE, 0, "a number from 0 to 1, such as 1e-12", "--tolerance: '%.60s' is no ratio", words);
    *ret_ratio = ratio;
    return PCERE_OK;
}

static enum pcere_status interrupted(struct cli *cli, const struct verify_report *report, size_t wanted, struct pcere_error *error)
{
    return interrupt_fail(cli, NULL, error, "%zu of %zu comparisons were made; the store is as it was", report->result_count, wanted);
}

static void asked_threads_tell(struct cli *cli, const struct verify_report *report)
{
    struct replay_asked_threads asked = {0};
    for (size_t i = 0; i < report->result_count; i++)
        replay_asked_threads_see(&asked, report->results[i].target, report->results[i].asked_threads);
    replay_asked_threads_tell(cli, &asked);
}

static enum pcere_status verify_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct verify_words *words = raw;
    struct replay_setup setup;
    struct verify_in_vivo runs = {0};
    double tolerance_ratio = -1;
    enum pcere_status status = tolerance_parse(words->tolerance, &tolerance_ratio, error);
    if (status != PCERE_OK)
        return status;
    status = replay_setup_init(cli, &words->threads, &setup, error);
    if (status == PCERE_OK && words->patience)
        status = units_parse_time("--patience", words->patience, &setup.options.patience_ns, error);
    if (status == PCERE_OK)
        status = replay_build_set(&words->build, &setup.options, error);
    if (status == PCERE_OK)
        replay_flags_note(cli, words->build.flags);
    if (status == PCERE_OK) {
        setup.options.tolerance_ratio = tolerance_ratio;
        setup.options.stop = interrupt_came;
        interrupt_remember("\npcere verify: ends as soon as no compiler works, or at once if asked again\n");
        status = words->in_vivo ? verify_in_vivo_run(cli, &setup, &runs, error)
                                : verify_run(cli->store, setup.targets, setup.target_count, &setup.options, &runs.report, error);
        cli_progress(cli, NULL);
        if (status != PCERE_OK && (interrupt_came() || cli->signal))      /* a compiler was interrupted, too, or the program was */
            status = interrupted(cli, &runs.report, setup.target_count * setup.options.thread_count, error);
    }
    if (status == PCERE_OK) {
        bool failed = false;
        if (cli->json)
            json_put(cli->document, "truth", json_string(words->in_vivo ? "in vivo" : "capture"), &failed);
        status = failed ? pcere_fail_memory(error, "the result") : report_show(cli, words, &runs.report, error);
        if (status == PCERE_OK)
            status = replay_compilers_show(cli, runs.report.compilers, runs.report.compiler_count, error);
        bool missing = false;
        for (size_t i = 0; i < runs.report.result_count; i++)
            missing |= runs.report.results[i].locale_missing;
        if (missing)
            replay_locale_note(cli);
        asked_threads_tell(cli, &runs.report);
        if (status == PCERE_OK && interrupt_came())
            status = interrupted(cli, &runs.report, setup.target_count * setup.options.thread_count, error);
        if (status == PCERE_OK)
            status = verdict(&runs.report, words->in_vivo, error);
    }
    verify_in_vivo_done(&runs);
    replay_setup_done(&setup);
    return status;
}

static const struct cli_option options[] = {
    {"threads", 0, CLI_THREADS, offsetof(struct verify_words, threads), "LIST", "Thread counts; the capture's if not given.", 0, 0},
    {"in-vivo", 0, CLI_FLAG, offsetof(struct verify_words, in_vivo), NULL,
     "Run the program again with each number of threads, and compare with what it has there.", 0, 0},
    {"tolerance", 0, CLI_TEXT, offsetof(struct verify_words, tolerance), "RATIO",
     "How far floating-point values may differ; chosen by the region's time if not given, and 0 for one thread.", 0, 0},
    REPLAY_PATIENCE_OPTION(struct verify_words),
    REPLAY_BUILD_OPTIONS(struct verify_words),
};

const struct cli_verb cli_verb_verify = {
    .name = "verify",
    .summary = "compare memory after each replayed region with what the program had",
    .synopsis = "[STORE] [REGION...]",
    .description =
        "Runs each codelet from its captured memory and compares all memory afterwards with the memory that the original had after the same "
        "invocation. Left out is what belongs to the OpenMP runtime, the dead stack below the region's frame, and the words of OpenMP's "
        "locks; how often they are held is compared.\n\n"
        "With one thread and the original's flags, memory must be the same bit for bit. With more, sums are added in another order: floating-point "
        "values may differ by a bound that the table shows, and beyond it, as sums do that cancel, as far as they move when every result is rounded down and up instead; whole numbers and pointers may "
        "not. Where there are several threads each codelet runs "
        "twice, and up to three times more if it then seems wrong: what differs from one run to the next is told apart from what is wrong.\n\n"
        "What a program computes may depend on the number of threads. With --in-vivo the program itself runs again with each number of threads, in the "
        "directory and OpenMP environment of its capture (other variables and standard input are this shell's), twice and without output, the same invocations are captured there, and the codelets are held against these, from the memory "
        "before to the memory after. So is a store that was captured with --threads N, at N threads, without that.\n\n"
        "Differences are listed by variable where the program has debug information (-g), otherwise by symbol or kind of memory.\n\n"
        "Exit status 1 means that memory differs by more than the bound, or that something could not be compared. Interrupted (ctrl-C, SIGTERM), it ends what runs, shows what was compared "
        "before, and ends with exit status 130 (143).",
    .examples = "pcere verify\npcere verify mg.W.pcere resid --threads 1,2,4\npcere verify --threads 4 --in-vivo\npcere verify --threads 4 --tolerance 1e-9\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct verify_words),
    .operands = CLI_OPERANDS_STORE_REGIONS,
    .needs = CLI_NEEDS_STORE,
    .run = verify_verb,
};
