/* cli/verb_verify.c - pcere verify: whether memory after a replayed region is what the program had. */
#include "cli/replay_options.h"
#include "cli/verbs.h"
#include "core/json.h"
#include "core/text.h"
#include "core/units.h"

#include <stdlib.h>

struct verify_words { struct cli_threads threads; const char *flags, *compiler; };

static json_t *result_value(const struct verify_result *result, bool *failed)
{
    json_t *value = json_object(), *causes = json_array();
    json_put(value, "region", json_from_string(result->target->region->name), failed);
    json_put(value, "representative", json_from_u64(result->target->class->representative), failed);
    json_put(value, "threads", json_from_u64(result->threads), failed);
    json_put(value, "identical", json_boolean(result->identical), failed);
    json_put(value, "compared_bytes", json_from_u64(result->compared_bytes), failed);
    json_put(value, "different_bytes", json_from_u64(result->different_bytes), failed);
    json_put(value, "renamed_pointers", json_from_u64(result->renamed_pointers), failed);
    for (size_t i = 0; i < result->cause_count; i++) {
        json_t *cause = json_object();
        json_put(cause, "name", json_from_string(result->causes[i].name), failed);
        json_put(cause, "bytes", json_from_u64(result->causes[i].bytes), failed);
        if (json_array_append_new(causes, cause) != 0)
            *failed = true;
    }
    json_put(value, "causes", causes, failed);
    json_put(value, "reason", result->error.status == PCERE_OK ? json_null() : json_from_string(result->error.message), failed);
    return value;
}

static void result_row(struct cli_table *table, const struct verify_result *result, bool *marked)
{
    char threads[CLI_TEXT_MOST], compared[UNITS_TEXT_BYTES];
    struct text words = {0};
    if (result->error.status != PCERE_OK)
        text_add(&words, result->error.message);
    else if (!result->identical)
        text_addf(&words, "%llu bytes differ", (unsigned long long)result->different_bytes);
    for (size_t i = 0; i < result->cause_count && i < 4; i++)
        text_addf(&words, "%s%s: %llu", i ? ", " : " in ", result->causes[i].name, (unsigned long long)result->causes[i].bytes);
    if (result->renamed_pointers)
        text_addf(&words, "%s%llu pointer%s to blocks that it allocates, or to libraries", words.length ? "; " : "",
                  (unsigned long long)result->renamed_pointers, result->renamed_pointers == 1 ? "" : "s");
    char *name = replay_target_name(result->target), *reason = text_take(&words);
    const char *cells[] = {name, cli_thread_count_text(threads, result->threads, marked),
                           result->error.status != PCERE_OK ? "not compared" : result->identical ? "identical" : "DIFFERENT",
                           units_format_bytes(result->compared_bytes, compared), reason};
    cli_table_row(table, cells);
    free(name);
    free(reason);
}

static void report_print(const struct verify_report *report)
{
    static const char *const headings[] = {"region", ">threads", "memory after it", ">compared", ""};
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    bool marked = false;
    for (size_t i = 0; table && i < report->result_count; i++)
        result_row(table, &report->results[i], &marked);
    cli_table_print(table, stdout);
    cli_table_free(table);
    cli_thread_mark_print(marked, stdout);
}

/* Damage and a failing system outweigh a difference. */
static enum pcere_status verdict(const struct verify_report *report, struct pcere_error *error)
{
    static const char hint[] = "with one thread and the original's flags memory should be the same; reductions and dynamic schedules may differ "
                               "with more threads";
    size_t different = 0, uncompared = 0;
    const struct pcere_error *worst = NULL;
    for (size_t i = 0; i < report->result_count; i++) {
        const struct pcere_error *own = &report->results[i].error;
        different += own->status == PCERE_OK && !report->results[i].identical;
        uncompared += own->status != PCERE_OK;
        if (own->status > PCERE_NO && (!worst || own->status > worst->status))
            worst = own;
    }
    if (worst)
        return pcere_fail(error, worst->status, 0, worst->hint, "%zu of %zu comparisons could not be made: %.300s", uncompared, report->result_count,
                          worst->message);
    if (!different && !uncompared)
        return PCERE_OK;
    return pcere_fail(error, PCERE_NO, 0, different ? hint : NULL, "of %zu comparisons %zu differ and %zu could not be made", report->result_count,
                      different, uncompared);
}

static enum pcere_status report_show(struct cli *cli, const struct verify_report *report, struct pcere_error *error)
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
    json_put(cli->document, "build_ns", json_from_u64(report->build_ns), &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

static enum pcere_status verify_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct verify_words *words = raw;
    struct replay_setup setup;
    struct verify_report report;
    enum pcere_status status = replay_setup_init(cli, &words->threads, &setup, error);
    if (status == PCERE_OK) {
        setup.options.flags = words->flags;
        setup.options.compiler = words->compiler;
        status = verify_run(cli->store, setup.targets, setup.target_count, &setup.options, &report, error);
        cli_progress(cli, NULL);
    }
    if (status == PCERE_OK) {
        status = report_show(cli, &report, error);
        if (status == PCERE_OK)
            status = verdict(&report, error);
        verify_report_done(&report);
    }
    replay_setup_done(&setup);
    return status;
}

static const struct cli_option options[] = {
    {"threads", 0, CLI_THREADS, offsetof(struct verify_words, threads), "LIST", "Thread counts; the capture's if not given.", 0, 0},
    {"flags", 0, CLI_TEXT, offsetof(struct verify_words, flags), "FLAGS", "Compiler flags in place of the original's optimisation.", 0, 0},
    {"compiler", 0, CLI_TEXT, offsetof(struct verify_words, compiler), "CLANG", "The clang that rebuilds the codelets.", 0, 0},
};

const struct cli_verb cli_verb_verify = {
    .name = "verify",
    .summary = "compare memory after each replayed region with what the program had, bit for bit",
    .synopsis = "[STORE] [REGION...]",
    .description =
        "Runs each codelet once from its captured memory and compares all memory afterwards with the memory that the original had after the same "
        "invocation. Left out is what belongs to the OpenMP runtime, the dead stack below the region's frame, and OpenMP's locks.\n\n"
        "Exit status 1 means that memory differs, or that something could not be compared; the table says where and how much. Bitwise equality "
        "is to be expected at the capture's number of threads: with others, reductions add up in another order.",
    .examples = "pcere verify\npcere verify mg.W.pcere resid --threads 1,2\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct verify_words),
    .operands = CLI_OPERANDS_STORE_REGIONS,
    .needs = CLI_NEEDS_STORE,
    .run = verify_verb,
};
