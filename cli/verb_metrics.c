/* cli/verb_metrics.c - pcere metrics: the numbers of a run's trace and task graph, several runs side by side. */
#include "cli/cli.h"
#include "cli/metrics_what_if.h"
#include "cli/trace_text.h"
#include "cli/verbs.h"
#include "core/json.h"
#include "core/text.h"
#include "core/units.h"
#include "trace/metrics.h"
#include "trace/native_metrics.h"
#include "trace/pop.h"
#include "trace/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct metrics_words { struct what_if_words what_if; };

struct measured { struct run run; struct run_metrics metrics; struct pop pop; struct graph_metrics graph; bool has_pop; };

/* A number as a person reads it: the paper's forms. */
static char *value_text(char text[CLI_TEXT_MOST], const char *unit, double value)
{
    char time[METRICS_TIME_BYTES];
    if (!isfinite(value))
        snprintf(text, CLI_TEXT_MOST, "-");
    else if (strcmp(unit, "ns") == 0)
        snprintf(text, CLI_TEXT_MOST, "%s", metrics_time_text(time, (uint64_t)value));
    else if (strcmp(unit, "%") == 0)
        snprintf(text, CLI_TEXT_MOST, "%.1f", value);
    else if (strcmp(unit, "ratio") == 0)
        snprintf(text, CLI_TEXT_MOST, "%.4f", value);
    else
        snprintf(text, CLI_TEXT_MOST, "%.0f", value);
    return text;
}

static char *heading_text(char text[CLI_TEXT_MOST], const char *name, const char *unit)
{
    const char *form = strcmp(unit, "ns") == 0 ? " [h:min:sec:ms]" : strcmp(unit, "%") == 0 ? " [%]" : "";
    snprintf(text, CLI_TEXT_MOST, "%s%s", name, form);
    return text;
}

/* The table, or the runs in the document; both are given up. */
static void table_deliver(struct cli *cli, struct cli_table *table, json_t *runs)
{
    if (table)
        cli_table_print(table, stdout);
    cli_table_free(table);
    if (cli->json)
        json_object_set_new(cli->document, "runs", runs);
    else
        json_decref(runs);
}

/* ---- rows: a name, a unit, a number for each run ------------------------------------------------------------------------------ */

struct row { const char *name, *unit, *note; double *values; };

static void rows_print(struct cli *cli, const struct row *rows, size_t count, const char *note_heading, bool csv)
{
    size_t runs = cli->operand_count - 1;
    const char **cells = calloc(runs + 2, sizeof *cells);
    char (*texts)[CLI_TEXT_MOST] = calloc(runs + 1, sizeof *texts);
    char (*headings)[CLI_TEXT_MOST] = calloc(runs + 1, sizeof *headings);
    if (!cells || !texts || !headings)
        goto done;
    cells[0] = "METRIC";
    for (size_t i = 0; i < runs; i++) {
        snprintf(headings[i], sizeof headings[i], ">%.60s", cli->operands[i + 1]);
        cells[i + 1] = csv ? headings[i] + 1 : headings[i];
    }
    cells[runs + 1] = note_heading;
    struct cli_table *table = csv ? NULL : cli_table_new(runs + 2, cells);
    if (csv)
        csv_print(cells, runs + 1, stdout);
    for (size_t i = 0; i < count; i++) {
        char heading[CLI_TEXT_MOST];
        cells[0] = heading_text(heading, rows[i].name, rows[i].unit);
        for (size_t k = 0; k < runs; k++)
            cells[k + 1] = value_text(texts[k], rows[i].unit, rows[i].values[k]);
        cells[runs + 1] = rows[i].note;
        if (csv)
            csv_print(cells, runs + 1, stdout);
        else if (table)
            cli_table_row(table, cells);
    }
    if (table)
        cli_table_print(table, stdout);
    cli_table_free(table);
done:
    free(cells);
    free(texts);
    free(headings);
}

static json_t *rows_json(const struct row *rows, size_t count, size_t run)
{
    json_t *values = json_object();
    for (size_t i = 0; i < count; i++) {
        char key[CLI_TEXT_MOST];
        const char *unit = rows[i].unit;
        snprintf(key, sizeof key, "%s%s", rows[i].name, strcmp(unit, "ns") == 0 ? " [ns]" : strcmp(unit, "%") == 0 ? " [%]" : "");
        json_object_set_new(values, key, *unit ? json_from_double(rows[i].values[run]) : isfinite(rows[i].values[run]) ? json_integer((json_int_t)rows[i].values[run]) : json_null());
    }
    return values;
}

static void runs_show(struct cli *cli, struct row *rows, size_t count, const char *note_heading, bool csv)
{
    if (!cli->json) {
        rows_print(cli, rows, count, note_heading, csv);
        return;
    }
    json_t *runs = json_array();
    for (size_t i = 0; i + 1 < cli->operand_count; i++) {
        json_t *run = json_object();
        json_object_set_new(run, "trace", json_from_string(cli->operands[i + 1]));
        json_object_set_new(run, "metrics", rows_json(rows, count, i));
        json_array_append_new(runs, run);
    }
    json_object_set_new(cli->document, "runs", runs);
}

/* ---- omp ---------------------------------------------------------------------------------------------------------------------- */

static enum pcere_status omp_show(struct cli *cli, const struct measured *list, bool csv, struct pcere_error *error)
{
    size_t runs = cli->operand_count - 1, count = METRICS;
    bool pop = false;
    enum { ROWS = (int)METRICS + (int)POP_PARTS + 2 };
    struct row rows[ROWS];
    double *values = calloc(runs * ROWS, sizeof *values);
    if (!values)
        return pcere_fail_memory(error, "the metrics");
    for (size_t i = 0; i < METRICS; i++) {
        rows[i] = (struct row){metric_descriptions[i].name, metric_descriptions[i].unit, metric_descriptions[i].equation, &values[i * runs]};
        for (size_t k = 0; k < runs; k++)
            rows[i].values[k] = list[k].metrics.values[i];
    }
    for (size_t k = 0; k < runs; k++)
        pop |= list[k].has_pop;
    for (size_t i = 0; i < POP_PARTS && pop; i++, count++) {
        rows[count] = (struct row){pop_part_name((enum pop_part)i), "ns", "part of wall time x threads", &values[count * runs]};
        for (size_t k = 0; k < runs; k++)
            rows[count].values[k] = list[k].has_pop ? (double)list[k].pop.parts_ns[i] : NAN;
    }
    if (pop) {                   /* "Threads" counts those of devices and of the runtime, too */
        rows[count] = (struct row){"Program threads", "", "", &values[count * runs]};
        rows[count + 1] = (struct row){"Wall time x threads", "ns", "sum of the parts", &values[(count + 1) * runs]};
        for (size_t k = 0; k < runs; k++) {
            rows[count].values[k] = list[k].has_pop ? (double)list[k].pop.threads : NAN;
            rows[count + 1].values[k] = list[k].has_pop ? (double)(list[k].pop.wall_ns * list[k].pop.threads) : NAN;
        }
        count += 2;
    }
    runs_show(cli, rows, count, "equation", csv);
    free(values);
    return PCERE_OK;
}

/* ---- graph -------------------------------------------------------------------------------------------------------------------- */

static char *times_text(char text[CLI_TEXT_MOST], uint64_t count, double share)
{
    if (isfinite(share))
        snprintf(text, CLI_TEXT_MOST, "%llu x %.2f", (unsigned long long)count, share);
    else
        snprintf(text, CLI_TEXT_MOST, "-");
    return text;
}

static void graph_row(struct cli_table *table, const char *name, const struct graph_metrics *metrics)
{
    char tasks[24], edges[24], roots[24], path[CLI_TEXT_MOST], most[CLI_TEXT_MOST], least[CLI_TEXT_MOST], average[24], median[24];
    snprintf(tasks, sizeof tasks, "%llu", (unsigned long long)metrics->nodes);
    snprintf(edges, sizeof edges, "%llu", (unsigned long long)metrics->dependences);
    snprintf(roots, sizeof roots, "%llu", (unsigned long long)metrics->roots);
    snprintf(path, sizeof path, "%llu x %.2f", (unsigned long long)metrics->critical_count, (double)metrics->critical_ns / 1e6);
    snprintf(average, sizeof average, isfinite(metrics->average) ? "%.2f" : "-", metrics->average);
    snprintf(median, sizeof median, isfinite(metrics->median) ? "%.2f" : "-", metrics->median);
    const char *const cells[] = {name, tasks, edges, roots, path, times_text(most, metrics->most_count, metrics->most), times_text(least, metrics->least_count, metrics->least),
                                 average, median};
    if (table)
        cli_table_row(table, cells);
    else
        csv_print(cells, sizeof cells / sizeof *cells, stdout);
}

static void graph_show(struct cli *cli, const struct measured *list, bool csv)
{
    static const char *const headings[] = {"EXP", ">tasks", ">dependencies", ">roots", ">critical path time [ms]", ">max critical path metric", ">min critical path metric",
                                           ">average", ">median"};
    static const char *const plain[] = {"EXP", "tasks", "dependencies", "roots", "critical path time [ms]", "max critical path metric", "min critical path metric", "average",
                                        "median"};
    size_t columns = sizeof headings / sizeof *headings;
    struct cli_table *table = csv || cli->json ? NULL : cli_table_new(columns, headings);
    if (csv)
        csv_print(plain, columns, stdout);
    json_t *runs = json_array();
    for (size_t i = 0; i + 1 < cli->operand_count; i++) {
        const struct graph_metrics *metrics = &list[i].graph;
        if (!cli->json) {
            graph_row(table, cli->operands[i + 1], metrics);
            continue;
        }
        json_t *values = json_object(), *run = json_object();
        json_object_set_new(values, "tasks", json_from_u64(metrics->nodes));
        json_object_set_new(values, "dependencies", json_from_u64(metrics->dependences));
        json_object_set_new(values, "roots", json_from_u64(metrics->roots));
        json_object_set_new(values, "critical path time [ns]", json_from_u64(metrics->critical_ns));
        json_object_set_new(values, "critical paths", json_from_u64(metrics->critical_count));
        json_object_set_new(values, "max critical path metric", json_from_double(metrics->most));
        json_object_set_new(values, "max critical path metric count", json_from_u64(metrics->most_count));
        json_object_set_new(values, "min critical path metric", json_from_double(metrics->least));
        json_object_set_new(values, "min critical path metric count", json_from_u64(metrics->least_count));
        json_object_set_new(values, "average", json_from_double(metrics->average));
        json_object_set_new(values, "median", json_from_double(metrics->median));
        json_object_set_new(run, "trace", json_from_string(cli->operands[i + 1]));
        json_object_set_new(run, "metrics", values);
        json_array_append_new(runs, run);
    }
    table_deliver(cli, table, runs);
}

/* ---- task --------------------------------------------------------------------------------------------------------------------- */

static const char *type_name(enum span_kind kind)
{
    return kind == SPAN_TASK ? "Execute" : span_kind_name(kind);
}

static void task_row(struct cli_table *table, const char *name, const struct timeline *timeline, const struct task_metrics *row, uint64_t all_ns)
{
    uint64_t times[4] = {row->count ? row->sum_ns / row->count : 0, row->most_ns, row->least_ns, row->sum_ns};
    char texts[4][CLI_TEXT_MOST], shares[4][32], count[24];
    for (int i = 0; i < 4; i++) {
        if (!table)
            snprintf(texts[i], sizeof texts[i], "%llu", (unsigned long long)times[i]);
        else if (i == 3)
            value_text(texts[i], "ns", (double)times[i]);
        else
            units_format_ns(times[i], texts[i]);
        snprintf(shares[i], sizeof shares[i], "%.4g", all_ns ? 100 * (double)times[i] / (double)all_ns : 0);
    }
    snprintf(count, sizeof count, "%llu", (unsigned long long)row->count);
    const char *place = row->place ? timeline->strings[row->place] : "?";
    const char *const cells[] = {name, place, texts[0], shares[0], texts[1], shares[1], texts[2], shares[2], texts[3], shares[3], count, type_name(row->kind)};
    if (table)
        cli_table_row(table, cells);
    else
        csv_print(cells, sizeof cells / sizeof *cells, stdout);
}

static json_t *task_json(const struct timeline *timeline, const struct task_metrics *row, uint64_t all_ns)
{
    json_t *one = json_object();
    json_object_set_new(one, "location", row->place ? json_from_string(timeline->strings[row->place]) : json_null());
    json_object_set_new(one, "type", json_from_string(type_name(row->kind)));
    json_object_set_new(one, "count", json_from_u64(row->count));
    json_object_set_new(one, "sum_ns", json_from_u64(row->sum_ns));
    json_object_set_new(one, "average_ns", json_from_double(row->count ? (double)row->sum_ns / (double)row->count : NAN));
    json_object_set_new(one, "max_ns", json_from_u64(row->most_ns));
    json_object_set_new(one, "min_ns", json_from_u64(row->least_ns));
    json_object_set_new(one, "sum_ratio", json_from_double(all_ns ? (double)row->sum_ns / (double)all_ns : NAN));
    return one;
}

static enum pcere_status tasks_show(struct cli *cli, const struct measured *list, bool csv, struct pcere_error *error)
{
    static const char *const headings[] = {"run", "Task location", ">AVG", ">AVG %", ">MAX", ">MAX %", ">MIN", ">MIN %", ">SUM [h:min:sec:ms]", ">SUM %", ">COUNT", "TYPE"};
    static const char *const plain[] = {"run", "Task location", "AVG [ns]", "AVG %", "MAX [ns]", "MAX %", "MIN [ns]", "MIN %", "SUM [ns]", "SUM %", "COUNT", "TYPE"};
    struct cli_table *table = csv || cli->json ? NULL : cli_table_new(sizeof headings / sizeof *headings, headings);
    json_t *runs = json_array();
    enum pcere_status status = PCERE_OK;
    if (csv)
        csv_print(plain, sizeof plain / sizeof *plain, stdout);
    for (size_t i = 0; i + 1 < cli->operand_count && status == PCERE_OK; i++) {
        struct task_metrics *rows;
        size_t count;
        uint64_t all_ns;
        const struct timeline *timeline = &list[i].run.timeline;
        status = metrics_tasks(timeline, &rows, &count, &all_ns, error);
        if (status != PCERE_OK)
            break;
        json_t *rows_of = json_array();
        for (size_t k = 0; k < count; k++) {
            if (cli->json)
                json_array_append_new(rows_of, task_json(timeline, &rows[k], all_ns));
            else
                task_row(table, cli->operands[i + 1], timeline, &rows[k], all_ns);
        }
        json_t *run = json_object();
        json_object_set_new(run, "trace", json_from_string(cli->operands[i + 1]));
        json_object_set_new(run, "rows", rows_of);
        json_array_append_new(runs, run);
        free(rows);
    }
    table_deliver(cli, table, runs);
    return status;
}

/* ---- the verb ----------------------------------------------------------------------------------------------------------------- */

enum what { WHAT_OMP, WHAT_TASK, WHAT_GRAPH, WHAT_IF, WHATS };

static enum pcere_status one_measure(struct measured *measured, const char *files, enum what what, struct pcere_error *error)
{
    static const uint32_t wanted[] = {METRICS_SPANS | POP_SPANS, TASK_METRICS_SPANS, 1u << SPAN_TASK};
    enum pcere_status status = what == WHAT_OMP ? native_metrics(files, 0, &measured->metrics, &measured->pop, &measured->has_pop, error) : PCERE_OK;
    if (status != PCERE_OK || measured->has_pop)
        return status;
    status = run_load(files, wanted[what], TIMELINE_PAIRED, &measured->run, error);
    if (status != PCERE_OK)
        return status;
    if (what != WHAT_GRAPH && !measured->run.has_trace)
        return pcere_fail(error, PCERE_USAGE, 0, "'pcere metrics graph' is for task graphs", "'%.300s' has no trace", files);
    if (what == WHAT_GRAPH && !measured->run.has_graph)
        return pcere_fail(error, PCERE_USAGE, 0, "a program without tasks has none, and 'pcere metrics omp' tells of it; of traces of OMPC name the *.dot file too, joined by a comma, or "
                          "the directory that has both", "'%.300s' has no task graph, and no tasks", files);
    if (what == WHAT_OMP)
        status = metrics_run(&measured->run.timeline, &measured->metrics, error);
    measured->has_pop = what == WHAT_OMP && pop_has(&measured->run.timeline);
    bool ordered = measured->run.has_graph && measured->run.timeline.dependence_count;       /* what is made behind a wait is made after it, and ready at once */
    if (status == PCERE_OK && measured->has_pop)
        status = pop_make(&measured->run.timeline, ordered ? &measured->run.graph : NULL, &measured->pop, error);
    if (status == PCERE_OK && what == WHAT_GRAPH) {
        struct graph_paths paths;
        status = graph_paths_find(&measured->run.graph, &paths, error);
        if (status == PCERE_OK) {
            status = graph_metrics(&measured->run.graph, &paths, &measured->graph, error);
            graph_paths_done(&paths);
        }
    }
    return status;
}

static enum pcere_status metrics_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct metrics_words *words = raw;
    static const char *const whats[WHATS] = {"omp", "task", "graph", "what-if"};
    size_t what = 0;
    while (what < WHATS && (!cli->operand_count || strcmp(cli->operands[0], whats[what]) != 0))
        what++;
    if (what == WHATS)
        return pcere_fail(error, PCERE_USAGE, 0, "pcere metrics omp|task|graph|what-if TRACE...", cli->operand_count ? "'%.60s' is none of omp, task, graph, what-if" : "which metrics?%.0s",
                          cli->operand_count ? cli->operands[0] : "");
    if (cli->operand_count < 2)
        return pcere_fail(error, PCERE_USAGE, 0, "pcere metrics omp|task|graph|what-if TRACE...", "no trace is named");
    if (words->what_if.csv && cli->json)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "--json and --csv exclude each other");
    if (what == WHAT_IF)
        return metrics_what_if(cli, &words->what_if, error);
    if (words->what_if.threads.count || words->what_if.faster || words->what_if.split || words->what_if.join)
        return pcere_fail(error, PCERE_USAGE, 0, "pcere metrics what-if", "--threads, --faster, --split and --join ask what would be");
    struct measured *list = calloc(cli->operand_count, sizeof *list);
    enum pcere_status status = list ? PCERE_OK : pcere_fail_memory(error, "the metrics");
    bool cut = false;
    for (size_t i = 0; i + 1 < cli->operand_count && status == PCERE_OK; i++) {
        cli_progress(cli, cli->operands[i + 1]);
        status = one_measure(&list[i], cli->operands[i + 1], (enum what)what, error);
        if (status == PCERE_OK && list[i].run.remark[0])
            cli_note(cli, "%s: %s", cli->operands[i + 1], list[i].run.remark);
        cut |= list[i].run.timeline.cut;
    }
    cli_progress(cli, NULL);
    if (status == PCERE_OK && what == WHAT_OMP)
        status = omp_show(cli, list, words->what_if.csv, error);
    else if (status == PCERE_OK && what == WHAT_TASK)
        status = tasks_show(cli, list, words->what_if.csv, error);
    else if (status == PCERE_OK)
        graph_show(cli, list, words->what_if.csv);
    for (size_t i = 0; list && i + 1 < cli->operand_count; i++)
        run_done(&list[i].run);
    free(list);
    if (status == PCERE_OK && cut)
        status = pcere_fail(error, PCERE_DATA, 0, "the numbers are of what is whole", "a trace is cut or damaged");
    return status;
}

static const struct cli_option options_list[] = {
    {"csv", 0, CLI_FLAG, offsetof(struct metrics_words, what_if.csv), NULL, "CSV instead of a table.", 0, 0},
    {"threads", 0, CLI_THREADS, offsetof(struct metrics_words, what_if.threads), "LIST", "what-if: with these numbers of threads; as traced if not given.", 0, 0},
    {"faster", 0, CLI_TEXT, offsetof(struct metrics_words, what_if.faster), "PLACE=K,...",
     "what-if: tasks, iterations and bodies whose place contains PLACE take 1/K of their time. Without 'PLACE=': all.", 0, 0},
    {"split", 0, CLI_TEXT, offsetof(struct metrics_words, what_if.split), "PLACE=N,...", "what-if: each such task or range is N, of equal work.", 0, 0},
    {"join", 0, CLI_TEXT, offsetof(struct metrics_words, what_if.join), "PLACE=N,...", "what-if: N such tasks that do not wait for each other are one.", 0, 0},
};

const struct cli_verb cli_verb_metrics = {
    .name = "metrics",
    .summary = "efficiency of a traced run: of its threads and processes (omp), its kinds of tasks (task), its task graph (graph); what would help (what-if)",
    .synopsis = "omp|task|graph|what-if TRACE...",
    .description = "Each TRACE is one run: a file of 'pcere trace', a file in Chrome's trace format as OMPC and OmpTracing write it, several files joined by commas (its processes, its task "
                   "graph in Graphviz's language), or a directory that holds them. Several runs are shown side by side.\n\n"
                   "omp: processes, threads, tasks, total and parallel time, and efficiencies from 0 to 1 with the names of the paper that they come from; for OpenMP programs also where "
                   "wall time x threads went, in parts that add up to it. task: average, longest, shortest, number and sum of the times of tasks of one place and type. graph: the critical path, "
                   "and the longest paths of the other roots as shares of it.\n\n"
                   "what-if: how long the run would take with other numbers of threads and with changed tasks, by running the whole program's graph again in thought: as a runtime that steals work would "
                   "('what if'), by HEFT, and what no schedule can go below; and for each place its work, how long its tasks could wait (slack), and what the whole would take if they took half as "
                   "long.\n\nWhat each number means, and its equation, is in docs/METHOD.md. Of a trace that is cut what is whole is "
                   "used, and the exit status is 4.",
    .examples = "pcere metrics omp run1/ run2/\npcere metrics task trace.pct --csv\npcere metrics graph head.json,worker.json,graph.dot\n"
                "pcere metrics what-if cholesky.pct --threads 1,2,4,8 --faster cholesky.c:40=2\n",
    .options = options_list, .option_count = sizeof options_list / sizeof *options_list, .options_bytes = sizeof(struct metrics_words),
    .operands = CLI_OPERANDS_ANY,
    .run = metrics_verb,
};
