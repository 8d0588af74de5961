/* cli/verb_export.c - pcere export: a region as a directory that builds and runs without PCERE. */
#include "cli/looking.h"
#include "cli/replay_options.h"
#include "cli/verbs.h"
#include "core/json.h"
#include "core/text.h"
#include "core/units.h"
#include "replay-rt/launcher/export.h"

#include <stdlib.h>
#include <string.h>

struct export_words { const char *output, *compiler; uint64_t invocation; bool force; };

static enum pcere_status fail_several(const struct replay_setup *setup, const char *pattern, struct pcere_error *error)
{
    struct text names = {0};
    for (size_t i = 0; i < setup->target_count; i++)
        if (!i || setup->targets[i].region != setup->targets[i - 1].region)
            text_addf(&names, "%s%s", names.length ? ", " : "", setup->targets[i].region->name);
    pcere_fail(error, PCERE_USAGE, 0, "one region goes into one directory: give more of the name", "'%.80s' names several regions: %.380s", pattern,
               names.data ? names.data : "");
    text_done(&names);
    return PCERE_USAGE;
}

/* The class that takes most time, or the one that --invocation means. */
static enum pcere_status target_choose(const struct replay_setup *setup, const char *pattern, uint64_t invocation,
                                       const struct replay_target **ret_target, struct pcere_error *error)
{
    const struct replay_target *best = NULL;
    struct text captured = {0};
    for (size_t i = 0; i < setup->target_count; i++) {
        const struct replay_target *target = &setup->targets[i];
        if (target->region != setup->targets[0].region) {
            text_done(&captured);
            return fail_several(setup, pattern, error);
        }
        text_addf(&captured, "%s%llu", i ? ", " : "", (unsigned long long)target->class->representative);
        bool better = invocation ? target->class->representative == invocation : !best || target->class->time_ns > best->class->time_ns;
        best = better ? target : best;
    }
    if (!best)
        pcere_fail(error, PCERE_USAGE, 0, "pcere regions lists the classes of invocations", "of region '%.100s' invocation %llu is not captured; these are: %.200s",
                   setup->targets[0].region->name, (unsigned long long)invocation, captured.data ? captured.data : "");
    text_done(&captured);
    if (!best)
        return PCERE_USAGE;
    *ret_target = best;
    return PCERE_OK;
}

static enum pcere_status document_add(json_t *document, const struct replay_target *target, const char *directory, const struct export_report *report,
                                      struct pcere_error *error)
{
    bool failed = false;
    char base[24];
    json_t *units = json_array(), *limits = json_array();
    for (size_t i = 0; i < report->unit_count; i++) {
        json_t *unit = json_object();
        json_put(unit, "file", json_from_string(report->units[i].file), &failed);
        json_put(unit, "source", json_from_string(report->units[i].source), &failed);
        json_put(unit, "flags", json_from_string(report->units[i].flags), &failed);
        failed |= json_array_append_new(units, unit) != 0;
    }
    for (size_t i = 0; i < report->limit_count; i++)
        failed |= json_array_append_new(limits, json_from_string(report->limits[i])) != 0;
    snprintf(base, sizeof base, "0x%llx", (unsigned long long)report->base);
    json_put(document, "region", json_from_string(target->region->name), &failed);
    json_put(document, "representative", json_from_u64(target->class->representative), &failed);
    json_put(document, "directory", json_from_string(directory), &failed);
    json_put(document, "base", json_from_string(base), &failed);
    json_put(document, "memory_bytes", json_from_u64(report->memory_bytes), &failed);
    json_put(document, "stored_bytes", json_from_u64(report->stored_bytes), &failed);
    json_put(document, "units", units, &failed);
    json_put(document, "limits", limits, &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

static void report_print(struct cli *cli, const struct replay_target *target, const char *directory, const struct export_report *report)
{
    char memory[UNITS_TEXT_BYTES], stored[UNITS_TEXT_BYTES], *name = replay_target_name(target);
    printf("%s: %s, %zu unit%s, %s of memory (%s stored)\n", directory, name ? name : target->region->name, report->unit_count,
           report->unit_count == 1 ? "" : "s", units_format_bytes(report->memory_bytes, memory), units_format_bytes(report->stored_bytes, stored));
    struct text next = {0};
    text_add(&next, "make -C ");
    text_add_word(&next, directory);
    printf("next: %s run check\n", next.failed ? "make" : next.data);
    text_done(&next);
    if (target->region->class_count > 1)
        cli_note(cli, "the region has %zu classes of invocations: --invocation chooses another (pcere regions)", target->region->class_count);
    free(name);
}

static enum pcere_status export_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    static const struct cli_threads one_count;
    const struct export_words *words = raw;
    if (!cli->operand_count)
        return pcere_fail(error, PCERE_USAGE, 0, "pcere regions lists them", "no region is named");
    if (cli->operand_count > 1)
        return pcere_fail(error, PCERE_USAGE, 0, "one region goes into one directory", "unexpected word '%.100s'", cli->operands[1]);
    if (!words->output)
        return pcere_fail(error, PCERE_USAGE, 0, "-o DIR", "no directory is named");
    struct replay_setup setup = {0};
    struct export_report report = {0};
    const struct replay_target *target = NULL;
    const uint32_t any_count = UINT32_MAX;     /* who has it may run it with as many as they like */
    enum pcere_status status = replay_setup_init(cli, &one_count, &setup, error);
    if (status == PCERE_OK)
        status = looking_before(cli, cli->store, &any_count, 1, error);
    if (status == PCERE_OK)
        status = target_choose(&setup, cli->operands[0], words->invocation, &target, error);
    if (status == PCERE_OK) {
        setup.options.compiler = words->compiler;
        cli_progress(cli, "building the codelets, and writing the directory");
        status = export_run(cli->store, target, &setup.options, words->output, words->force, &report, error);
        cli_progress(cli, NULL);
    }
    if (status == PCERE_OK) {
        for (size_t i = 0; i < report.limit_count; i++)
            cli_note(cli, "%s", report.limits[i]);
        if (cli->json)
            status = document_add(cli->document, target, words->output, &report, error);
        else
            report_print(cli, target, words->output, &report);
        export_report_done(&report);
    }
    replay_setup_done(&setup);
    return status;
}

static const struct cli_option options[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct export_words, output), "DIR", "The directory to write.", 0, 0},
    {"invocation", 0, CLI_NUMBER, offsetof(struct export_words, invocation), "N",
     "The captured invocation, where a region has several; the one whose class takes most time if not given.", 1, UINT64_MAX},
    {"compiler", 0, CLI_TEXT, offsetof(struct export_words, compiler), "CLANG", "The clang that the Makefile names.", 0, 0},
    {"force", 0, CLI_FLAG, offsetof(struct export_words, force), NULL, "Replace an earlier export; nothing else is ever replaced.", 0, 0},
};

const struct cli_verb cli_verb_export = {
    .name = "export",
    .summary = "write a region as a directory that builds and runs with make and clang alone",
    .synopsis = "[STORE] REGION -o DIR",
    .description =
        "Writes a directory with everything that one captured region needs: its translation unit as LLVM text before optimisation, the memory that it "
        "had, a short driver in C, a Makefile and a README. It builds without PCERE and its plugin, runs with any number of threads, prints "
        "minimum and median time, and compares the memory behind the region with the program's: something to attach to a bug report, or to take "
        "to another compiler.\n\n"
        "With the program's flags the machine code of the region is that of the replayed codelet, and so of the program.\n\n"
        "REGION is the name of a region or any part of it that no other region has. What the exported driver cannot do as the program did is said on "
        "standard error, in the README, and as \"limits\" with --json.\n\n"
        "The directory holds a copy of the program's memory: its files are readable by their owner only.",
    .examples = "pcere export conj_grad@cg.c:69 -o conj_grad\npcere export mg.W.pcere resid --invocation 12 -o resid-12\nmake -C conj_grad run check THREADS=2\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct export_words),
    .operands = CLI_OPERANDS_STORE_REGIONS,
    .needs = CLI_NEEDS_STORE,
    .run = export_verb,
};
