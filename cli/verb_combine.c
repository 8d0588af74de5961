/* cli/verb_combine.c - pcere combine: one complete profile of several runs that each saw a part of the events. */
#include "analysis/combine.h"
#include "analysis/virtual_pmu.h"
#include "analysis/virtual_runs.h"
#include "cli/profile_files.h"
#include "cli/profile_run.h"
#include "cli/verbs.h"
#include "core/json.h"
#include "core/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct combine_words {
    const char *strategy, *output, *noise, *period;
    uint64_t divisions, seed, counters;
    bool csv, force;
};

static bool is_hem(const struct combine_words *words)
{
    return strcmp(words->strategy, "hem") == 0;
}

static enum pcere_status words_check(const struct cli *cli, struct combine_words *words, struct combine_options *options, double *ret_noise,
                                     uint64_t *ret_period_ns, struct pcere_error *error)
{
    words->strategy = words->strategy ? words->strategy : "lgl";
    options->strategy = combine_strategy_find(words->strategy);
    options->divisions = (uint32_t)words->divisions;
    options->seed = words->seed;
    if (options->strategy == COMBINE_STRATEGY_COUNT && !is_hem(words))
        return pcere_fail(error, PCERE_USAGE, 0, "ctc, lgl, bc, bc-unlabeled, assignment or hem", "--strategy: there is none called '%.60s'", words->strategy);
    if (!words->counters && (is_hem(words) || words->noise || words->period))
        return pcere_fail(error, PCERE_USAGE, 0, "--counters 4 --strategy hem", "%s is about a virtual PMU, which needs --counters",
                          is_hem(words) ? "--strategy hem" : words->noise ? "--noise" : "--period");
    if (!cli->operand_count)
        return pcere_fail(error, PCERE_USAGE, 0, "name the files that 'pcere profile' wrote", "no profile is named");
    if (!words->output && !cli->json && !words->csv)
        return pcere_fail(error, PCERE_USAGE, 0, "-o FILE writes a profile, --json and --csv print it", "it is not said where the result goes");
    if (words->csv && cli->json)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "--json and --csv exclude each other");
    if (words->output && !words->force && access(words->output, F_OK) == 0)
        return pcere_fail(error, PCERE_USAGE, EEXIST, "--force replaces it, -o FILE names another", "cannot write '%.300s'", words->output);
    *ret_period_ns = VIRTUAL_PMU_PERIOD_NS;
    enum pcere_status status = words->noise ? units_parse_ratio("--noise", words->noise, ret_noise, error) : PCERE_OK;
    if (status == PCERE_OK && words->period)
        status = units_parse_time("--period", words->period, ret_period_ns, error);
    return status;
}

/* One run is not two: its counts would seem to be confirmed. */
static enum pcere_status files_differ(char *const *names, size_t count, struct pcere_error *error)
{
    struct stat *seen = calloc(count + 1, sizeof *seen);
    if (!seen)
        return pcere_fail_memory(error, "the names of profiles");
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < count && status == PCERE_OK; i++) {
        if (stat(names[i], &seen[i]) != 0)
            continue;                                /* reading it says so */
        for (size_t k = 0; k < i && status == PCERE_OK; k++)
            if (seen[k].st_ino && seen[k].st_ino == seen[i].st_ino && seen[k].st_dev == seen[i].st_dev)
                status = pcere_fail(error, PCERE_USAGE, 0, "name the profile of each run once", "'%.100s' and '%.100s' are one file", names[k], names[i]);
    }
    free(seen);
    return status;
}

static enum pcere_status combined_make(const struct combine_words *words, const struct combine_options *options, double noise, uint64_t period_ns,
                                       struct profile_files *files, struct profile **ret_combined, struct pcere_error *error)
{
    struct virtual_runs_options virtual = {
        .counters = (uint32_t)words->counters, .overlap = options->strategy >= COMBINE_BC, .noise_ratio = noise, .seed = words->seed,
    };
    const char *const *names = (const char *const *)files->names;
    if (is_hem(words))
        return virtual_runs_rotate(files->profiles[0], &virtual, period_ns, ret_combined, error);
    if (!words->counters)
        return combine_profiles(files->profiles, names, files->count, options, ret_combined, error);
    struct virtual_runs runs;
    enum pcere_status status = virtual_runs_make(files->profiles, names, files->count, &virtual, &runs, error);
    if (status != PCERE_OK)
        return status;
    if (runs.count == 1)
        status = pcere_fail(error, PCERE_USAGE, 0, "fewer counters; --strategy hem is about one run", "one run of %u counters has all events: there is nothing to combine", virtual.counters);
    else
        status = combine_profiles(runs.profiles, (const char *const *)runs.names, runs.count, options, ret_combined, error);
    virtual_runs_done(&runs);
    return status;
}

static void summary_print(const struct profile *combined, const char *output)
{
    static const char *const headings[] = {"event", "unit", ">run", ">sum", ">interval"};
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    for (size_t event = 0; table && event < combined->event_count; event++) {
        uint64_t sum = 0, width = 0;
        char run[24], total[24], interval[CLI_TEXT_MOST] = "";
        for (size_t i = 0; i < combined->count; i++) {
            sum += combined->counts[event][i];
            width += combined->low[event] ? combined->high[event][i] - combined->low[event][i] : 0;
        }
        snprintf(run, sizeof run, "%u", combined->events[event].run + 1);
        snprintf(total, sizeof total, "%llu", (unsigned long long)sum);
        if (combined->low[event])
            cli_ratio_text(interval, sum ? (double)width / (double)sum : 0);
        cli_table_row(table, (const char *const[]){combined->events[event].name, combined->events[event].unit, run, total, interval});
    }
    printf("%s: %zu XU%s of %zu run%s by %s\n\n", output, combined->count, combined->count == 1 ? "" : "s", combined->run_count, combined->run_count == 1 ? "" : "s", combined->strategy);
    if (table)
        cli_table_print(table, stdout);
    cli_table_free(table);
    profile_dropped_print(combined, stdout);
}

static enum pcere_status summary_document(struct cli *cli, const struct profile *combined, const char *output, struct pcere_error *error)
{
    json_t *description;
    bool failed = false;
    enum pcere_status status = profile_describe(combined, &description, error);
    if (status != PCERE_OK)
        return status;
    json_put(cli->document, "file", json_from_string(output), &failed);
    json_put(cli->document, "count", json_from_u64(combined->count), &failed);
    failed = failed || json_object_update_missing(cli->document, description) != 0;
    json_decref(description);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

static enum pcere_status result_give(struct cli *cli, const struct combine_words *words, const struct profile *combined, struct pcere_error *error)
{
    enum pcere_status status = words->output ? profile_write(combined, words->output, words->force, error) : PCERE_OK;
    if (status != PCERE_OK)
        return status;
    if (words->csv)
        return profile_csv_write(combined, stdout, "standard output", error);
    if (cli->json && words->output)
        return summary_document(cli, combined, words->output, error);
    if (cli->json) {
        status = profile_json_write(combined, cli->document, stdout, "standard output", error);
        json_decref(cli->document);
        cli->document = NULL;                        /* it is written */
        return status;
    }
    summary_print(combined, words->output);
    return PCERE_OK;
}

static enum pcere_status combine_run(struct cli *cli, void *raw, struct pcere_error *error)
{
    struct combine_words *words = raw;
    struct combine_options options = {0};
    struct profile_files files = {0};
    struct profile *combined = NULL;
    double noise = 0;
    uint64_t period_ns = 0;
    enum pcere_status status = words_check(cli, words, &options, &noise, &period_ns, error);
    if (status == PCERE_OK)
        status = files_differ(cli->operands, cli->operand_count, error);
    if (status == PCERE_OK)
        status = profile_files_read(cli->operands, cli->operand_count, &files, error);
    cli_progress(cli, "combining");
    if (status == PCERE_OK)
        status = combined_make(words, &options, noise, period_ns, &files, &combined, error);
    cli_progress(cli, NULL);
    if (status == PCERE_OK)
        status = result_give(cli, words, combined, error);
    profile_free(combined);
    profile_files_done(&files);
    return status;
}

static const struct cli_option options_list[] = {
    {"strategy", 0, CLI_TEXT, offsetof(struct combine_words, strategy), "NAME",
     "How XUs of different runs are put together: lgl (the default: equal labels), ctc (per construct, in order of start), bc (in cells of events that runs have in common, in order of "
     "labels), bc-unlabeled (at random within a cell), assignment (least sum of distances), hem (with --counters: what multiplexing one run gives).", 0, 0},
    {"output", 'o', CLI_TEXT, offsetof(struct combine_words, output), "FILE", "The profile to write. Without it, --json or --csv print the result.", 0, 0},
    {"csv", 0, CLI_FLAG, offsetof(struct combine_words, csv), NULL, "Print the result as CSV, a line for each XU.", 0, 0},
    {"divisions", 0, CLI_NUMBER, offsetof(struct combine_words, divisions), "N", "bc: divisions of the grid in each event to begin with (64); they go down to 1.", 1, 65536},
    {"seed", 0, CLI_NUMBER, offsetof(struct combine_words, seed), "N", "What chance begins with (0): of bc-unlabeled and of --noise.", 0, UINT32_MAX},
    {"counters", 0, CLI_NUMBER, offsetof(struct combine_words, counters), "N",
     "A virtual PMU of N counters: the files are runs with all events, and of each only what a plan for N counters would have measured is used; files are used again if the plan has more runs.",
     1, 64},
    {"noise", 0, CLI_TEXT, offsetof(struct combine_words, noise), "RATIO", "With --counters: multiply each count by a normal value around 1 with this deviation, such as 2%.", 0, 0},
    {"period", 0, CLI_TEXT, offsetof(struct combine_words, period), "TIME", "With --strategy hem: how long a group of events is visible (4ms).", 0, 0},
    {"force", 0, CLI_FLAG, offsetof(struct combine_words, force), NULL, "Replace FILE if it exists.", 0, 0},
};

const struct cli_verb cli_verb_combine = {
    .name = "combine",
    .summary = "make one complete profile of several runs that each counted other events",
    .synopsis = "FILE...",
    .description =
        "Each file is the profile of one run of the same program with the same input and settings, with a part of the events. The result has all events for each execution unit (XU): each "
        "event's counts from the first run that has it, with the least and largest count where several have it.\n\nXUs that have no partner in each run are left out, and counted by "
        "construct. bc, bc-unlabeled and assignment recognise XUs by their counts: each file must share an event with those before it.\n\nWith --counters strategies are tried where the truth "
        "is known: 'pcere compare --epd' then says how far the result is from it.",
    .examples = "pcere combine -o all.pcx 1.pcx 2.pcx 3.pcx\npcere combine --strategy bc --json 1.pcx 2.pcx\n# what four counters would have given, of runs that have all events\n"
                "pcere combine --strategy bc --counters 4 -o bc.pcx full1.pcx full2.pcx full3.pcx\n",
    .options = options_list, .option_count = sizeof options_list / sizeof *options_list, .options_bytes = sizeof(struct combine_words),
    .operands = CLI_OPERANDS_ANY,
    .run = combine_run,
};
