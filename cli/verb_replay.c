/* cli/verb_replay.c - pcere replay: time regions outside their program (in vitro); every sample goes to the store. */
#include "cli/interrupt.h"
#include "cli/own_spread.h"
#include "cli/replay_options.h"
#include "cli/scalings.h"
#include "cli/verbs.h"
#include "core/host.h"
#include "core/json.h"
#include "core/units.h"
#include "predictor/measured.h"
#include "predictor/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct replay_words {
    struct cli_threads threads;
    struct replay_build_words build;
    const char *warmup, *sample, *places, *bind, *precision, *budget, *patience;
    uint64_t repeat;
    bool leave_light, rates;
};

struct summary { uint64_t median_ns, low_ns, high_ns; size_t count, corrected, left_out; };

static bool summary_find(const struct store_sample *sample, struct summary *ret_summary)
{
    double *values = calloc(sample->sample_count + 1, sizeof *values);
    if (!values || !sample->sample_count) {
        free(values);
        return false;
    }
    size_t count = measured_values(sample, values, &ret_summary->corrected, &ret_summary->left_out);
    statistics_sort(values, count);
    struct statistics_interval interval = measured_interval(sample, values, count, sample->process_count);
    ret_summary->count = count;
    ret_summary->median_ns = (uint64_t)(measured_typical_ns(sample, values, count) + 0.5);
    ret_summary->low_ns = (uint64_t)interval.low;
    ret_summary->high_ns = (uint64_t)(interval.high / (1 - measured_held_ratio(sample)) + 0.5);
    free(values);
    return true;
}

/* Warm-ups that were tried and not taken. */
static json_t *trials_value(const struct replay_result *result, bool *failed)
{
    json_t *list = json_array();
    for (size_t i = 0; i < result->trial_count; i++) {
        const struct store_sample *trial = &result->trials[i];
        json_t *value = json_object();
        struct summary summary;
        bool measured = summary_find(trial, &summary);
        json_put(value, "warmup_policy", json_from_string(trial->warmup_policy), failed);
        json_put(value, "threads", json_from_u64(trial->threads), failed);
        json_put(value, "median_ns", measured ? json_from_u64(summary.median_ns) : json_null(), failed);
        json_put(value, "cost_ns", json_from_u64(trial->cost_ns), failed);
        *failed |= json_array_append_new(list, value) != 0;
    }
    return list;
}

static json_t *cost_parts(const struct replay_result *result, bool *failed)
{
    json_t *parts = json_object();
    json_put(parts, "load", json_from_u64(result->load_ns), failed);
    for (unsigned i = 0; replay_phase_name(i); i++)
        json_put(parts, replay_phase_name(i), json_from_u64(result->phases_ns[i]), failed);
    return parts;
}

static json_t *rates_value(const struct replay_rates *rates, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "captured_pages", json_from_u64(rates->captured_pages), failed);
    json_put(value, "touched_pages", json_from_u64(rates->touched_pages), failed);
    json_put(value, "restored_bytes", json_from_u64(rates->restored_bytes), failed);
    json_put(value, "dropped_bytes", json_from_u64(rates->dropped_bytes), failed);
    json_put(value, "restore_ns", json_from_u64(rates->restore_ns), failed);
    json_put(value, "copied_bytes", json_from_u64(rates->copied_bytes), failed);
    json_put(value, "copy_ns", json_from_u64(rates->copy_ns), failed);
    return value;
}

static json_t *result_value(const struct replay_result *result, bool *failed)
{
    const struct store_sample *sample = &result->sample;
    json_t *value = json_object(), *samples = json_array(), *cpu = json_array(), *switches = json_array();
    struct summary summary;
    bool measured = summary_find(sample, &summary);
    json_put(value, "region", json_from_string(result->target->region->name), failed);
    json_put(value, "representative", json_from_u64(result->target->class->representative), failed);
    json_put(value, "members", json_from_u64(result->target->class->members), failed);
    json_put(value, "threads", json_from_u64(sample->threads), failed);
    json_put(value, "team", json_from_u64(result->team), failed);
    json_put(value, "asked_threads", result->asked_threads ? json_from_u64(result->asked_threads) : json_null(), failed);
    json_put(value, "file_missing", *result->file_missing ? json_from_string(result->file_missing) : json_null(), failed);
    json_put(value, "processes", json_from_u64(result->processes), failed);
    json_put(value, "precision_ratio", measured && isfinite(result->precision_ratio) ? json_real(result->precision_ratio) : json_null(), failed);
    json_put(value, "warmup", json_from_string(sample->warmup), failed);
    json_put(value, "warmups", json_from_u64(sample->warmups), failed);
    json_put(value, "warmup_policy", json_from_string(sample->warmup_policy), failed);
    json_put(value, "warmup_reason", json_from_string(sample->warmup_reason), failed);
    json_put(value, "residual_ratio", sample->has_residual ? json_real(sample->residual_ratio) : json_null(), failed);
    json_put(value, "reference_ns", result->reference_ns ? json_from_u64(result->reference_ns) : json_null(), failed);
    json_put(value, "trials", trials_value(result, failed), failed);
    json_put(value, "laid_pages", json_from_u64(result->laid_pages), failed);
    json_put(value, "flags", json_from_string(sample->flags ? sample->flags : ""), failed);
    json_put(value, "settings", json_from_string(sample->settings ? sample->settings : ""), failed);
    for (size_t i = 0; i < sample->sample_count; i++) {
        json_array_append_new(samples, json_from_u64(sample->samples_ns[i]));
        json_array_append_new(cpu, json_from_u64(sample->cpu_ns ? sample->cpu_ns[i] : 0));
        json_array_append_new(switches, sample->switches ? json_from_u64(sample->switches[i]) : json_null());
    }
    json_put(value, "samples_ns", samples, failed);
    json_put(value, "cpu_ns", cpu, failed);
    json_put(value, "switches", switches, failed);
    json_put(value, "corrected", measured ? json_from_u64(summary.corrected) : json_null(), failed);
    json_put(value, "left_out", measured ? json_from_u64(summary.left_out) : json_null(), failed);
    json_put(value, "median_ns", measured ? json_from_u64(summary.median_ns) : json_null(), failed);
    json_put(value, "low_ns", measured ? json_from_u64(summary.low_ns) : json_null(), failed);
    json_put(value, "high_ns", measured ? json_from_u64(summary.high_ns) : json_null(), failed);
    json_put(value, "in_vivo_ns", json_from_u64(result->in_vivo_ns), failed);
    json_put(value, "basis", json_string(sample->sampled_ratio > 0 ? "sample" : "replay"), failed);
    json_put(value, "sampled_ratio", sample->sampled_ratio > 0 ? json_real(sample->sampled_ratio) : json_null(), failed);
    json_put(value, "slow_ratio", json_real(sample->slow_ratio), failed);
    json_put(value, "held_ratio", json_real(measured_held_ratio(sample)), failed);
    json_put(value, "loud_ratio", json_real(sample->loud_ratio), failed);
    json_put(value, "line_ns", sample->line_ns ? json_from_u64(sample->line_ns) : json_null(), failed);
    json_put(value, "slow_dropped", json_from_u64(result->slow_dropped), failed);
    json_put(value, "awaited_ns", json_from_u64(result->awaited_ns), failed);
    json_put(value, "sample_refusal", result->refusal ? json_from_string(result->refusal) : json_null(), failed);
    json_put(value, "cost_ns", json_from_u64(sample->cost_ns), failed);
    json_put(value, "cost_parts_ns", cost_parts(result, failed), failed);
    json_put(value, "written_pages", json_from_u64(result->written_pages), failed);
    json_put(value, "dropped_pages", json_from_u64(result->dropped_pages), failed);
    json_put(value, "rates", result->rates.copy_ns ? rates_value(&result->rates, failed) : json_null(), failed);
    json_put(value, "reason", result->error.status == PCERE_OK ? json_null() : json_from_string(result->error.message), failed);
    return value;
}

static enum pcere_status report_add(json_t *document, const struct replay_words *words, const struct replay_report *report, bool foreign,
                                    struct pcere_error *error)
{
    bool failed = false;
    json_t *list = json_array();
    for (size_t i = 0; i < report->result_count; i++)
        if (json_array_append_new(list, result_value(&report->results[i], &failed)) != 0)
            failed = true;
    json_put(document, "replays", list, &failed);
    replay_build_put(document, &words->build, &failed);
    json_put(document, "cost_ns", json_from_u64(report->cost_ns), &failed);
    json_put(document, "build_ns", json_from_u64(report->build_ns), &failed);
    json_put(document, "link_ns", json_from_u64(report->link_ns), &failed);
    json_put(document, "build_cached", json_boolean(report->build_cached), &failed);
    json_put(document, "captured_elsewhere", json_boolean(foreign), &failed);
    return failed ? pcere_fail_memory(error, "the result") : PCERE_OK;
}

/* Its time in vivo stands for a replay with so many threads; NULL: with all. */
static void left_add(json_t *list, const struct replay_target *target, const uint32_t *threads, bool *failed)
{
    json_t *value = json_object();
    json_put(value, "region", json_from_string(target->region->name), failed);
    json_put(value, "representative", json_from_u64(target->class->representative), failed);
    json_put(value, "in_vivo_ns", json_from_u64(target->class->time_ns), failed);
    json_put(value, "threads", threads ? json_from_u64(*threads) : json_null(), failed);
    *failed |= json_array_append_new(list, value) != 0;
}

/* What was not replayed since it weighs too little, or is known. */
static json_t *left_value(const struct replay_target *targets, size_t count, const struct replay_report *report, bool *failed)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        left_add(list, &targets[i], NULL, failed);
    for (size_t i = 0; i < report->left_count; i++)
        left_add(list, report->left[i].target, &report->left[i].threads, failed);
    return list;
}

/* "preceded -2.4 %": the warm-up, and how far the codelet is from the time in vivo under it. */
static void warmup_text(const struct store_sample *sample, char text[static CLI_TEXT_MOST])
{
    int length = snprintf(text, CLI_TEXT_MOST, "%s", sample->warmup_policy ? sample->warmup_policy : sample->warmup);
    if (sample->sampled_ratio > 0)
        snprintf(text, CLI_TEXT_MOST, "-");
    else if (sample->has_residual && length > 0)
        snprintf(text + length, CLI_TEXT_MOST - (size_t)length, " %+.1f %%", 100 * sample->residual_ratio);
}

static void result_row(struct cli_table *table, const struct replay_result *result, double precision_ratio, uint32_t capture_threads, bool *marked)
{
    const struct store_sample *sample = &result->sample;
    char threads[CLI_TEXT_MOST], members[24], interval[CLI_TEXT_MOST] = "-", samples[80] = "", vivo[UNITS_TEXT_BYTES] = "", error[CLI_TEXT_MOST] = "";
    struct summary summary;
    char *name = replay_target_name(result->target);
    cli_thread_count_text(threads, sample->threads, cli_processors(), marked);
    snprintf(members, sizeof members, "%llu", (unsigned long long)result->target->class->members);
    if (result->error.status == PCERE_OK && summary_find(sample, &summary)) {
        cli_interval_text(interval, summary.median_ns, summary.low_ns, summary.high_ns);
        int length = sample->sampled_ratio > 0
                         ? snprintf(samples, sizeof samples, "%zu shots, %.2g %%", summary.count, 100 * sample->sampled_ratio)
                         : snprintf(samples, sizeof samples, "%zu sample%s", summary.count, summary.count == 1 ? "" : "s");
        if (summary.left_out + summary.corrected)
            snprintf(samples + length, sizeof samples - (size_t)length, ", %zu interrupted", summary.left_out + summary.corrected);
        length = (int)strlen(samples);
        if (sample->slow_ratio > 0)
            snprintf(samples + length, sizeof samples - (size_t)length, ", on slow processors");
        /* In vivo was measured with the capture's threads: only the same number can be compared. */
        if (sample->threads == capture_threads && result->in_vivo_ns) {
            units_format_ns(result->in_vivo_ns, vivo);
            snprintf(error, sizeof error, "%+.1f %%", 100 * ((double)summary.median_ns / (double)result->in_vivo_ns - 1));
        }
    }
    char team[2 * CLI_TEXT_MOST] = "", reached[CLI_TEXT_MOST];
    if (result->team && result->team != sample->threads)
        snprintf(team, sizeof team, "its team has %u thread%s", result->team, result->team == 1 ? "" : "s");
    else if (precision_ratio > 0 && result->error.status == PCERE_OK && !(result->precision_ratio <= precision_ratio))
        snprintf(team, sizeof team, isfinite(result->precision_ratio) ? "only precise to %s" : "only one process fitted into the budget%.0s",
                 cli_ratio_text(reached, isfinite(result->precision_ratio) ? result->precision_ratio : 0));
    char warmup[CLI_TEXT_MOST] = "";
    if (result->error.status == PCERE_OK)
        warmup_text(sample, warmup);
    const char *cells[] = {name, members, threads, interval, samples, vivo, error, warmup,
                           result->error.status == PCERE_OK ? team : result->error.message};
    cli_table_row(table, cells);
    free(name);
}

#define WHOLE_WORTH_NS 200000000u          /* what whole replays of a region cost before it is worth a line, ... */
#define WHOLE_WORTH_PARTS 4u               /* ... and what part of the time that its invocations took */

/* Of one region: what its whole replays cost, which were to be sampled, what they stand for, and the first reason. */
static const char *whole_find(const struct replay_report *report, size_t first, uint64_t *ret_cost_ns, uint64_t *ret_class_ns)
{
    const struct store_region *region = report->results[first].target->region;
    const char *reason = NULL;
    *ret_cost_ns = *ret_class_ns = 0;
    for (size_t i = first; i < report->result_count; i++) {
        const struct replay_result *result = &report->results[i];
        if (result->target->region != region || !result->refusal || result->error.status != PCERE_OK)
            continue;
        reason = reason ? reason : result->refusal;
        *ret_cost_ns += result->sample.cost_ns;
        *ret_class_ns += result->target->class->time_ns;
    }
    return reason;
}

/* Regions that are replayed whole though a part of them was asked for, or would have saved much. */
static void whole_print(const struct store_manifest *manifest, const struct replay_report *report, bool asked)
{
    for (size_t i = 0; i < report->result_count; i++) {
        char name[REGION_NAME_BYTES], cost[UNITS_TEXT_BYTES], all[UNITS_TEXT_BYTES];
        uint64_t cost_ns, class_ns;
        bool first = true;
        for (size_t j = 0; j < i && first; j++)
            first = report->results[j].target->region != report->results[i].target->region;
        const char *reason = first ? whole_find(report, i, &cost_ns, &class_ns) : NULL;
        if (reason && (asked || (cost_ns >= WHOLE_WORTH_NS && cost_ns >= class_ns / WHOLE_WORTH_PARTS)))
            printf("%s runs whole, %s of the %s: %s\n", cli_region_name(name, manifest, report->results[i].target->region->name), units_format_ns(cost_ns, cost),
                   units_format_ns(report->cost_ns, all), reason);
    }
}

static void report_print(const struct replay_report *report, double precision_ratio, const struct store_manifest *manifest, bool foreign, bool emulated, bool asked)
{
    static const char *const headings[] = {"~region", ">stands for", ">threads", "in vitro", "", ">in vivo", ">difference", "warm-up", ""};
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    bool marked = false;
    for (size_t i = 0; table && i < report->result_count; i++)
        result_row(table, &report->results[i], precision_ratio, foreign ? 0 : manifest->threads, &marked);
    cli_table_print(table, stdout);
    cli_table_free(table);
    char cost[UNITS_TEXT_BYTES], build[UNITS_TEXT_BYTES];
    printf("\nreplays %s, building %s%s\n", units_format_ns(report->cost_ns, cost), units_format_ns(report->build_ns, build),
           report->build_cached ? " (already built)" : "");
    whole_print(manifest, report, asked);
    if (emulated)
        printf("The codelets were built for another processor: times are its emulator's.\n");
    else if (foreign)
        printf("The program was captured on another machine: its times in vivo are not comparable with these.\n");
    cli_thread_mark_print(marked, stdout);
}

static enum pcere_status samples_append(const struct store *store, const struct replay_report *report, struct pcere_error *error)
{
    for (size_t i = 0; i < report->result_count; i++) {
        if (report->results[i].error.status != PCERE_OK || !report->results[i].sample.sample_count)
            continue;
        enum pcere_status status = PCERE_OK;
        for (size_t j = 0; status == PCERE_OK && j < report->results[i].trial_count; j++)
            status = store_sample_append(store, &report->results[i].trials[j], error);
        if (status == PCERE_OK)
            status = store_sample_append(store, &report->results[i].sample, error);
        if (status != PCERE_OK)
            return status;
    }
    return PCERE_OK;
}

static enum pcere_status captured_elsewhere(const struct store_manifest *manifest, bool *ret_elsewhere, struct pcere_error *error)
{
    char *own;
    enum pcere_status status = host_name(&own, error);
    if (status != PCERE_OK)
        return status;
    char *captured_on = host_described_name(manifest->host);
    *ret_elsewhere = !captured_on || strcmp(captured_on, own) != 0;
    free(captured_on);
    free(own);
    return PCERE_OK;
}

/* Damage and a failing system outweigh a codelet that cannot run. */
static enum pcere_status failures_count(const struct replay_report *report, struct pcere_error *error)
{
    size_t failed = 0;
    const struct pcere_error *worst = NULL;
    for (size_t i = 0; i < report->result_count; i++) {
        const struct pcere_error *own = &report->results[i].error;
        if (own->status == PCERE_OK)
            continue;
        failed++;
        if (!worst || own->status > worst->status)
            worst = own;
    }
    if (!failed)
        return PCERE_OK;
    return pcere_fail(error, worst->status, 0, worst->hint, "%zu of %zu replays failed: %.300s", failed, report->result_count, worst->message);
}

/* Each codelet is measured once with each number of threads, whatever that takes. */
static void budget_tell(struct cli *cli, const struct replay_report *report, uint64_t budget_ns)
{
    char budget[UNITS_TEXT_BYTES], cost[UNITS_TEXT_BYTES];
    bool failed = false, exceeded = report->cost_ns > budget_ns;
    if (!budget_ns)
        return;
    if (cli->json) {
        json_put(cli->document, "budget_ns", json_from_u64(budget_ns), &failed);
        json_put(cli->document, "budget_exceeded", json_boolean(exceeded), &failed);
    }
    if (exceeded)
        cli_note(cli, "the budget of %s was not enough: replays took %s, since each codelet is measured at least once with each number of threads, and what has begun ends; intervals may be wide", units_format_ns(budget_ns, budget),
                 units_format_ns(report->cost_ns, cost));
}

static void room_note(struct cli *cli, uint64_t bytes)
{
    char text[UNITS_TEXT_BYTES];
    cli_note(cli, "%s of decompressed pages would take more than half of what the store's disk, or this machine's memory, has left: they were not kept, and the next replay "
                  "reads the store anew", units_format_bytes(bytes, text));
}

static void apart_note(struct cli *cli, const struct replay_options *options)
{
    bool passes = options->passes || options->pass_plugin;
    cli_note(cli, "the program was optimised by the linker (-flto), and %s each of its files is compiled by itself: functions of other files are called, not inlined, which can take longer%s",
             passes ? "with passes of your own" : options->count ? "to count" : options->target ? "for another processor" : "since that cannot be repeated here,", passes ? "; compare with '--passes no-op-module'" : "");
}

static enum pcere_status interrupted(struct cli *cli, const struct replay_report *report, size_t wanted, struct pcere_error *error)
{
    size_t measured = 0;
    for (size_t i = 0; i < report->result_count; i++)
        measured += report->results[i].error.status == PCERE_OK;
    return interrupt_fail(cli, measured ? "name the other regions to replay only these, or replay all of them again" : NULL, error,
                          "%zu of %zu replays were made, and are in '%s'", measured, wanted, store_path(cli->store));
}

static void asked_threads_tell(struct cli *cli, const struct replay_report *report)
{
    struct replay_asked_threads asked = {0};
    for (size_t i = 0; i < report->result_count; i++)
        replay_asked_threads_see(&asked, report->results[i].target, report->results[i].asked_threads);
    replay_asked_threads_tell(cli, &asked);
}

/* Each region once. */
static void files_tell(struct cli *cli, const struct replay_report *report)
{
    const struct store_region *told = NULL;
    char name[REGION_NAME_BYTES];
    for (size_t i = 0; i < report->result_count; i++) {
        const struct replay_result *result = &report->results[i];
        if (!*result->file_missing || result->target->region == told)
            continue;
        told = result->target->region;
        cli_note(cli, "%s opens '%s', which is not there: if the program had it, its replays do less than the region did there", cli_region_name(name, store_manifest(cli->store), told->name),
                 result->file_missing);
    }
}

static enum pcere_status replay_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct replay_words *words = raw;
    struct replay_setup setup = {0};
    enum pcere_status status = words->warmup ? replay_check_warmup(words->warmup, error) : PCERE_OK;
    if (status == PCERE_OK)
        status = replay_check_sample(words->sample, error);
    if (status == PCERE_OK)
        status = replay_setup_init(cli, &words->threads, &setup, error);
    bool foreign = false;
    if (status == PCERE_OK)
        status = captured_elsewhere(store_manifest(cli->store), &foreign, error);
    foreign |= words->build.target != NULL;
    struct replay_report report = {0};
    size_t all_count = setup.target_count;
    if (status == PCERE_OK && words->leave_light && !foreign)
        setup.target_count = replay_split_light(cli->store, setup.targets, all_count);
    if (status == PCERE_OK && words->repeat && (words->precision || words->budget))
        status = pcere_fail(error, PCERE_USAGE, 0, "leave --repeat out", "--repeat says how often, so that %s cannot", words->precision ? "--precision" : "--budget");
    if (status == PCERE_OK && words->precision)
        status = units_parse_ratio("--precision", words->precision, &setup.options.precision_ratio, error);
    if (status == PCERE_OK && words->budget)
        status = units_parse_time("--budget", words->budget, &setup.options.budget_ns, error);
    if (status == PCERE_OK && words->patience)
        status = units_parse_time("--patience", words->patience, &setup.options.patience_ns, error);
    if (status == PCERE_OK)
        status = replay_build_set(&words->build, &setup.options, error);
    if (status == PCERE_OK)
        replay_flags_note(cli, words->build.flags);
    if (status == PCERE_OK) {
        setup.options.warmup = words->warmup;
        setup.options.sample = words->sample ? words->sample : words->build.target ? "off" : "auto";
        setup.options.repeat = (uint32_t)words->repeat;
        setup.options.leave_known = words->leave_light && !foreign;
        setup.options.places = words->places;
        setup.options.bind = words->bind;
        setup.options.rates = words->rates;
        setup.options.stop = interrupt_came;
        interrupt_remember("\npcere replay: ends as soon as no compiler works, or at once if asked again\n");
        status = replay_run(cli->store, setup.targets, setup.target_count, &setup.options, &report, error);
        cli_progress(cli, NULL);
        if (status != PCERE_OK && interrupt_came())      /* a compiler was interrupted, too */
            status = interrupted(cli, &report, setup.target_count * setup.options.thread_count, error);
    }
    if (status == PCERE_OK) {
        status = samples_append(cli->store, &report, error);
        struct pcere_error shown;
        const struct replay_target *left = &setup.targets[setup.target_count];
        size_t left_count = all_count - setup.target_count;
        if (cli->json) {
            bool failed = false;
            json_put(cli->document, "left_in_vivo", left_value(left, left_count, &report, &failed), &failed);
            if (failed && status == PCERE_OK)
                status = pcere_fail_memory(error, "the result");
        }
        if (!cli->json)
            report_print(&report, setup.options.precision_ratio, store_manifest(cli->store), foreign, words->build.target, words->sample && strcmp(words->sample, "auto") != 0);
        else if (report_add(cli->document, words, &report, foreign, &shown) != PCERE_OK && status == PCERE_OK) {
            *error = shown;
            status = shown.status;
        }
        if (status == PCERE_OK && !words->build.target)
            status = scalings_tell(cli, &report, error);
        if (status == PCERE_OK && !words->build.target)
            status = own_spread_tell(cli, &report, setup.options.precision_ratio, error);
        budget_tell(cli, &report, setup.options.budget_ns);
        if (status == PCERE_OK)
            status = replay_compilers_show(cli, report.compilers, report.compiler_count, error);
        bool missing = false;
        for (size_t i = 0; i < report.result_count; i++)
            missing |= report.results[i].locale_missing;
        if (missing)
            replay_locale_note(cli);
        asked_threads_tell(cli, &report);
        files_tell(cli, &report);
        if (report.room_lacking_bytes)
            room_note(cli, report.room_lacking_bytes);
        if (report.build_apart)
            apart_note(cli, &setup.options);
        if (status == PCERE_OK)
            status = interrupt_came() ? interrupted(cli, &report, setup.target_count * setup.options.thread_count, error) : failures_count(&report, error);
        if (left_count && !cli->json)
            printf("%zu more class%s of invocations weigh%s too little, and keep%s their times in vivo\n", left_count,
                   left_count == 1 ? "" : "es", left_count == 1 ? "s" : "", left_count == 1 ? "s" : "");
        replay_report_done(&report);
    }
    replay_setup_done(&setup);
    return status;
}

static const struct cli_option options[] = {
    {"threads", 0, CLI_THREADS, offsetof(struct replay_words, threads), "LIST", "Thread counts, such as 1,2,4,8; the capture's if not given.", 0, 0},
    {"warmup", 0, CLI_TEXT, offsetof(struct replay_words, warmup), "KIND",
     "What comes before each timed run: auto (the default: chosen for each region by comparing with its time in the program; given by name, at more cost), plain (what it wrote is "
     "restored), displaced (and other data are in the caches that each core has for itself), preceded (the regions that ran before it in the program), faulting (page frames that nobody has just used), history (the paper's rule: its own last "
     "invocations, four at most), none (a fresh process), or a number of untimed runs.", 0, 0},
    {"sample", 0, CLI_TEXT, offsetof(struct replay_words, sample), "HOW",
     "Run only a part of a region's iterations and extrapolate: auto (the default: where that can be, for regions of 2 ms and more that would cost much beside what "
     "their class took in the program), off, or the share of the iterations to run, such as 0.05 or 5%.", 0, 0},
    {"repeat", 0, CLI_NUMBER, offsetof(struct replay_words, repeat), "N", "Timed runs for each codelet and thread count; chosen by their time if not given.", 1, 1024},
    {"precision", 0, CLI_TEXT, offsetof(struct replay_words, precision), "RATIO",
     "More processes until each median's 95 % interval is no wider than this to either side, such as 1%; within --budget, or 20 seconds each.", 0, 0},
    {"budget", 0, CLI_TEXT, offsetof(struct replay_words, budget), "TIME",
     "Wall time for all measurements together, such as 10s, building left out, spent on each region as it weighs in the program: in shots where whole runs do not fit (see --sample). "
     "Each is measured at least once.", 0, 0},
    {"leave-light", 0, CLI_FLAG, offsetof(struct replay_words, leave_light), NULL,
     "Leave out classes that weigh less than 0.4 % of the program's time, 1 % together at most (2 % where the region has a heavier one, 4 % where a process would take longer, 5 % together), and with as many threads as captured classes of one to three invocations below 2 % (5 % together; with others, those that would be below 3 % if they took as long there; up to a seventh, a fifth together, where their region has a heavier class of more invocations, which tells how they scale): predictions take their times in vivo, scaled as the rest.", 0, 0},
    {"rates", 0, CLI_FLAG, offsetof(struct replay_words, rates), NULL,
     "Measure also how fast memory is restored between repetitions, beside what copying memory takes in the same process (--json: rates; scripts/bench-replay makes a table of it).", 0, 0},
    {"places", 0, CLI_TEXT, offsetof(struct replay_words, places), "PLACES", "OMP_PLACES of the codelets.", 0, 0},
    {"bind", 0, CLI_TEXT, offsetof(struct replay_words, bind), "BIND", "OMP_PROC_BIND of the codelets.", 0, 0},
    REPLAY_PATIENCE_OPTION(struct replay_words),
    REPLAY_BUILD_OPTIONS(struct replay_words),
};

const struct cli_verb cli_verb_replay = {
    .name = "replay",
    .summary = "rebuild regions as programs of their own and time them with any number of threads",
    .synopsis = "[STORE] [REGION...]",
    .description =
        "Builds each captured region from the bitcode that its program carries, restores its memory, runs it, and times it, with every "
        "number of threads. Between repetitions only what the region wrote is restored, outside the timed interval.\n\n"
        "REGION is the name of a region, any part of it that no other region has, or a shell pattern; without one, all captured regions are "
        "replayed. Each sample is added to the store together with this machine's name.\n\n"
        "The table shows the median (with more threads than processors the mean) with its 95 % interval, which is wide where there are few repetitions. In vivo is the time of the same invocation inside the program; it is shown where "
        "the number of threads is that of the capture. Warm-up is what came before each timed run, with what is left between the time in vitro and that in "
        "vivo, for all invocations of its class. A codelet that crashes leaves a backtrace and exit status 1, and does not stop the others.\n\n"
        "Interrupted (ctrl-C, SIGTERM), it ends what runs, keeps and shows what was measured before, and ends with exit status 130 (143).",
    .examples = "pcere replay --threads 1,2,4,8\npcere replay resid --threads 2 --repeat 30\npcere replay cg.A.pcere '*conj_grad*' --flags \"-O3 -march=native\"\n"
                "pcere replay resid --flags -O0 --passes 'default<O1>,function(loop-vectorize)'\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct replay_words),
    .operands = CLI_OPERANDS_STORE_REGIONS,
    .needs = CLI_NEEDS_STORE,
    .run = replay_verb,
};
