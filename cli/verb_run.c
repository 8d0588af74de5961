/* cli/verb_run.c - pcere run: times of the whole program and of its regions in vivo, without capturing anything. */
#include "capture-rt/tracer/capture.h"
#include "cli/capture_table.h"
#include "cli/lines.h"
#include "cli/verbs.h"
#include "core/json.h"
#include "core/units.h"
#include "predictor/statistics.h"

#include <stdlib.h>
#include <unistd.h>

struct run_words { struct cli_threads threads; uint64_t repeat; };

static uint64_t median_of(const struct capture_region *region)
{
    double *times = calloc(region->list_count + 1, sizeof *times);
    size_t count = 0;
    for (size_t i = 0; times && i < region->list_count; i++)
        if (region->list[i].end_ns)
            times[count++] = (double)region->list[i].time_ns;
    uint64_t median = 0;
    if (count) {
        statistics_sort(times, count);
        median = (uint64_t)statistics_median(times, count);
    }
    free(times);
    return median;
}

/* Before and after it; null where that is not known, as of one thread. */
static json_t *lines_value(const uint64_t line_ns[2])
{
    json_t *values = json_array();
    for (size_t i = 0; i < 2; i++)
        json_array_append_new(values, line_ns[i] ? json_from_u64(line_ns[i]) : json_null());
    return values;
}

static json_t *run_value(const struct capture_run *run, const uint64_t line_ns[2], bool *failed)
{
    json_t *value = json_object(), *regions = json_array();
    json_put(value, "threads", json_from_u64(run->threads), failed);
    json_put(value, "wall_ns", json_from_u64(run->wall_ns), failed);
    json_put(value, "serial_ns", json_from_u64(run->serial_ns), failed);
    json_put(value, "line_ns", lines_value(line_ns), failed);
    json_put(value, "program_status", json_integer(run->program_status), failed);
    for (size_t i = 0; i < run->region_count; i++) {
        const struct capture_region *region = &run->regions[i];
        json_t *entry = json_object();
        uint64_t median_ns = median_of(region);
        json_put(entry, "region", json_from_string(region->name), failed);
        json_put(entry, "invocations", json_from_u64(region->invocations), failed);
        json_put(entry, "time_ns", json_from_u64(region->time_ns), failed);
        json_put(entry, "nested", json_from_u64(region->nested), failed);
        json_put(entry, "nested_ns", json_from_u64(region->nested_ns), failed);
        json_put(entry, "probed_ns", json_from_u64(region->probed_ns), failed);
        json_put(entry, "time_ns_median", median_ns ? json_from_u64(median_ns) : json_null(), failed);
        if (json_array_append_new(regions, entry) != 0)
            *failed = true;
    }
    json_put(value, "regions", regions, failed);
    return value;
}

static int by_time(const void *a, const void *b)
{
    const struct capture_region *const *left = a, *const *right = b;
    return (*left)->time_ns < (*right)->time_ns ? 1 : (*left)->time_ns > (*right)->time_ns ? -1 : 0;
}

static void time_row(struct cli_table *table, const char *name, uint64_t invocations, uint64_t median_ns, uint64_t time_ns, uint64_t wall_ns)
{
    char count[24] = "", median[UNITS_TEXT_BYTES] = "", time[UNITS_TEXT_BYTES], share[CLI_TEXT_MOST];
    if (invocations) {
        snprintf(count, sizeof count, "%llu", (unsigned long long)invocations);
        units_format_ns(median_ns, median);
    }
    const char *cells[] = {name, count, median, units_format_ns(time_ns, time),
                           cli_ratio_text(share, wall_ns ? (double)time_ns / (double)wall_ns : 0)};
    cli_table_row(table, cells);
}

static void run_print(const struct capture_run *run, bool *marked)
{
    char threads[CLI_TEXT_MOST];
    static const char *const headings[] = {"~region", ">invocations", ">median", ">together", ">share"};
    struct cli_table *table = cli_table_new(sizeof headings / sizeof *headings, headings);
    const struct capture_region **order = calloc(run->region_count + 1, sizeof(const struct capture_region *));
    printf("threads %s\n", cli_thread_count_text(threads, run->threads, cli_processors(), marked));
    if (table && order) {
        for (size_t i = 0; i < run->region_count; i++)
            order[i] = &run->regions[i];
        qsort(order, run->region_count, sizeof *order, by_time);
        for (size_t i = 0; i < run->region_count; i++)
            time_row(table, order[i]->name, order[i]->invocations, median_of(order[i]), order[i]->time_ns, run->wall_ns);
        time_row(table, "outside regions", 0, 0, run->serial_ns, run->wall_ns);
        time_row(table, "whole run", 0, 0, run->wall_ns, run->wall_ns);
        cli_table_print(table, stdout);
        for (size_t i = 0; i < run->region_count; i++) {
            char stretched[CAPTURE_STRETCHED_BYTES];
            if (capture_stretched_text(stretched, order[i]->probed_ns, order[i]->time_ns + order[i]->nested_ns))
                printf("%s: %s\n", order[i]->name, stretched);
        }
    }
    putchar('\n');
    free(order);
    cli_table_free(table);
}

static enum pcere_status run_once(struct cli *cli, const struct capture_options *options, json_t *list, bool *marked, struct pcere_error *error)
{
    struct capture_run run;
    uint64_t line_ns[2] = {list ? cli_line_ns(options->threads) : 0};
    enum pcere_status status = capture_measure(options, &run, error);
    line_ns[1] = list ? cli_line_ns(options->threads) : 0;
    cli_progress(cli, NULL);
    if (status != PCERE_OK)
        return status;
    bool failed = false;
    if (list && json_array_append_new(list, run_value(&run, line_ns, &failed)) != 0)
        failed = true;
    if (!list)
        run_print(&run, marked);
    if (failed)
        status = pcere_fail_memory(error, "the result");
    else
        status = cli_program_judge(cli, run.program_status, error);
    capture_run_done(&run);
    return status;
}

static enum pcere_status run_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct run_words *words = raw;
    static unsigned one = 1;
    struct cli_threads threads = words->threads.count ? words->threads : (struct cli_threads){&one, 1};
    struct capture_options options;
    char *library;
    enum pcere_status status = cli_measure_options(cli, &options, &library, error);
    if (status != PCERE_OK)
        return status;
    options.stdout_descriptor = STDERR_FILENO;
    if (threads.count > 1 || words->repeat > 1)
        status = capture_input_keep(error);
    bool marked = false;
    json_t *list = cli->json ? json_array() : NULL;
    for (size_t i = 0; status == PCERE_OK && i < threads.count; i++) {
        options.threads = threads.counts[i];
        for (uint64_t j = 0; status == PCERE_OK && j < (words->repeat ? words->repeat : 1); j++)
            status = run_once(cli, &options, list, &marked, error);
    }
    if (list) {
        json_object_set_new(cli->document, "program", json_from_string(cli->program_file));
        json_object_set_new(cli->document, "runs", list);
    } else {
        cli_thread_mark_print(marked, stdout);
    }
    free(library);
    return status;
}

static const struct cli_option options[] = {
    {"threads", 0, CLI_THREADS, offsetof(struct run_words, threads), "LIST", "Thread counts, such as 1,2,4,8 (1): one run for each.", 0, 0},
    {"repeat", 0, CLI_NUMBER, offsetof(struct run_words, repeat), "N", "Runs for each thread count (1).", 1, 10000},
};

const struct cli_verb cli_verb_run = {
    .name = "run",
    .summary = "time a program and its regions as they are (in vivo), without capturing",
    .synopsis = "PROGRAM [ARGUMENT...]",
    .description = "Runs the program at plain speed with each number of threads and prints, region by region, how often it ran and how long it took. "
                   "Nothing is stored. What the program prints goes to standard error.\n\nMore threads than the machine has processors are "
                   "allowed and marked.",
    .examples = "pcere run --threads 1,2,4 ./cg.A\n",
    .options = options, .option_count = sizeof options / sizeof *options, .options_bytes = sizeof(struct run_words),
    .operands = CLI_OPERANDS_PROGRAM,
    .needs = CLI_NEEDS_PROGRAM,
    .run = run_verb,
};
