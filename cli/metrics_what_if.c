/* cli/metrics_what_if.c - see metrics_what_if.h. */
#include "cli/metrics_what_if.h"
#include "cli/trace_text.h"
#include "core/json.h"
#include "core/units.h"
#include "trace/pop.h"
#include "trace/program.h"
#include "trace/run.h"
#include "trace/what_if.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGES_MOST = 16, PLACES_SHOWN = 12 };

struct question { struct what_if changes[CHANGES_MOST]; size_t matches[CHANGES_MOST]; size_t change_count; const struct cli_threads *threads; };

struct answer { unsigned threads; uint64_t as_it_is_ns, stealing_ns, heft_ns, bound_ns; double busy; };

struct answers { struct answer *list; size_t count; struct what_if_place *places; size_t place_count; uint64_t traced_ns, task_ns; uint32_t traced_threads; struct graph graph; };

/* "PLACE=NUMBER,PLACE=NUMBER" or "NUMBER"; a place may be any part of one. The words are cut in pieces in `copy`, which stays. */
static enum pcere_status changes_parse(const char *option, enum what_if_kind kind, char *copy, struct question *question, struct pcere_error *error)
{
    for (char *rest = copy, *word; rest && (word = strsep(&rest, ","));) {
        char *equals = strrchr(word, '='), *end, *number = equals ? equals + 1 : word;
        double factor = strtod(number, &end);
        if (equals)
            *equals = '\0';
        if (end == number || *end || !(factor > 0) || factor > 1e6 || (kind != WHAT_IF_FASTER && (factor != floor(factor) || factor > 4096)))
            return pcere_fail(error, PCERE_USAGE, 0, kind == WHAT_IF_FASTER ? "cholesky.c:40=2 makes these tasks twice as fast" : "cholesky.c:40=4; a whole number up to 4096",
                              "--%s: '%.60s' is no number", option, number);
        if (question->change_count == CHANGES_MOST)
            return pcere_fail(error, PCERE_USAGE, 0, NULL, "more than %d changes", CHANGES_MOST);
        question->changes[question->change_count++] = (struct what_if){kind, equals ? word : "", factor};
    }
    return PCERE_OK;
}

/* ---- one run ------------------------------------------------------------------------------------------------------------------ */

/* What the runtime takes for each task: what lies between two, and no more than all waits for tasks that were ready. */
static enum pcere_status overhead_find(struct run *run, uint64_t *ret_task_ns, struct pcere_error *error)
{
    struct pop pop;
    if (!run->timeline.task_count || !run->has_graph)
        return *ret_task_ns = 0, PCERE_OK;
    enum pcere_status status = pop_make(&run->timeline, &run->graph, &pop, error);
    if (status != PCERE_OK)
        return status;
    uint64_t gap_ns = program_gap_ns(&run->timeline), mean_ns = pop.parts_ns[POP_SCHEDULING] / run->timeline.task_count;
    *ret_task_ns = gap_ns < mean_ns ? gap_ns : mean_ns;
    return PCERE_OK;
}

static enum pcere_status graph_make(struct run *run, uint32_t threads, uint64_t task_ns, struct graph *ret_graph, struct pcere_error *error)
{
    struct program_options options = {.threads = threads, .task_ns = task_ns};
    return program_graph(&run->timeline, &options, ret_graph, error);
}

static enum pcere_status length_find(const struct graph *graph, const struct graph_paths *paths, enum schedule_kind kind, uint32_t workers, uint64_t *ret_ns, struct pcere_error *error)
{
    struct schedule schedule;
    enum pcere_status status = schedule_make(graph, paths, kind, workers, &schedule, NULL, error);
    if (status == PCERE_OK)
        *ret_ns = schedule.makespan_ns;
    return status;
}

static enum pcere_status answer_find(struct graph *graph, struct question *question, struct answer *answer, struct graph_paths *paths, struct pcere_error *error)
{
    enum pcere_status status = graph_paths_find(graph, paths, error);
    if (status == PCERE_OK)
        status = length_find(graph, paths, SCHEDULE_STEALING, answer->threads, &answer->as_it_is_ns, error);
    for (size_t i = 0; status == PCERE_OK && i < question->change_count; i++)
        status = what_if_apply(graph, &question->changes[i], &question->matches[i], error);
    if (status == PCERE_OK && question->change_count) {
        graph_paths_done(paths);
        status = graph_paths_find(graph, paths, error);
    }
    if (status == PCERE_OK)
        status = length_find(graph, paths, SCHEDULE_STEALING, answer->threads, &answer->stealing_ns, error);
    if (status == PCERE_OK)
        status = length_find(graph, paths, SCHEDULE_HEFT, answer->threads, &answer->heft_ns, error);
    uint64_t work_ns = 0;
    for (size_t i = 0; i < graph->count; i++)
        work_ns += graph->work_ns[i];
    if (status == PCERE_OK) {
        answer->bound_ns = schedule_bound_ns(graph, paths, answer->threads);
        answer->busy = answer->stealing_ns ? (double)work_ns / ((double)answer->stealing_ns * answer->threads) : NAN;
    }
    return status;
}

static void traced_find(const struct run *run, struct answers *answers)
{
    answers->traced_threads = program_threads(&run->timeline);
    for (size_t i = 0; i < run->timeline.span_count; i++)
        if (run->timeline.spans[i].kind == SPAN_RUNTIME)
            answers->traced_ns = (uint64_t)(run->timeline.spans[i].end_ns - run->timeline.spans[i].begin_ns);
}

static enum pcere_status run_answer(struct run *run, struct question *question, struct answers *answers, struct pcere_error *error)
{
    traced_find(run, answers);
    unsigned one = answers->traced_threads ? answers->traced_threads : 1;
    size_t count = question->threads->count ? question->threads->count : 1;
    enum pcere_status status = overhead_find(run, &answers->task_ns, error);
    if (status != PCERE_OK)
        return status;
    if (!(answers->list = calloc(count, sizeof *answers->list)))
        return pcere_fail_memory(error, "the answers");
    for (size_t i = 0; i < count && status == PCERE_OK; i++) {
        struct answer *answer = &answers->list[answers->count++];
        struct graph graph = {0};
        struct graph_paths paths = {0};
        answer->threads = question->threads->count ? question->threads->counts[i] : one;
        if (answers->traced_threads)
            status = graph_make(run, answer->threads, answers->task_ns, &graph, error);
        else
            status = graph_copy(&run->graph, &graph, error);
        if (status == PCERE_OK)
            status = answer_find(&graph, question, answer, &paths, error);
        if (status == PCERE_OK && i + 1 == count)
            status = what_if_places(&graph, &paths, answer->threads, PLACES_SHOWN, &answers->places, &answers->place_count, error);
        graph_paths_done(&paths);
        if (i + 1 == count)
            answers->graph = graph;
        else
            graph_done(&graph);
    }
    return status;
}

/* ---- shown -------------------------------------------------------------------------------------------------------------------- */

static void lengths_show(struct cli *cli, const struct answers *list, bool csv)
{
    static const char *const headings[] = {"run", ">threads", ">as it is [ms]", ">what if [ms]", ">HEFT [ms]", ">at least [ms]", ">busy [%]"};
    static const char *const plain[] = {"run", "threads", "as it is [ms]", "what if [ms]", "HEFT [ms]", "at least [ms]", "busy [%]"};
    enum { COLUMNS = sizeof headings / sizeof *headings };
    struct cli_table *table = csv ? NULL : cli_table_new(COLUMNS, headings);
    if (csv)
        csv_print(plain, COLUMNS, stdout);
    for (size_t run = 0; run + 1 < cli->operand_count; run++)
        for (size_t i = 0; i < list[run].count; i++) {
            const struct answer *answer = &list[run].list[i];
            char texts[COLUMNS][CLI_TEXT_MOST];
            const uint64_t times[] = {answer->as_it_is_ns, answer->stealing_ns, answer->heft_ns, answer->bound_ns};
            snprintf(texts[1], sizeof texts[1], "%u%s", answer->threads, answer->threads == list[run].traced_threads ? " traced" : "");
            for (size_t k = 0; k < 4; k++)
                snprintf(texts[k + 2], sizeof texts[k + 2], "%.3f", (double)times[k] / 1e6);
            snprintf(texts[6], sizeof texts[6], "%.1f", 100 * answer->busy);
            const char *const cells[] = {cli->operands[run + 1], texts[1], texts[2], texts[3], texts[4], texts[5], texts[6]};
            if (csv)
                csv_print(cells, COLUMNS, stdout);
            else if (table)
                cli_table_row(table, cells);
        }
    if (table)
        cli_table_print(table, stdout);
    cli_table_free(table);
}

static void places_show(const struct answers *answers)
{
    static const char *const headings[] = {"place", "kind", ">count", ">work [ms]", ">critical [ms]", ">least slack [ms]", ">median slack [ms]", ">twice as fast: whole [ms]"};
    enum { COLUMNS = sizeof headings / sizeof *headings };
    struct cli_table *table = cli_table_new(COLUMNS, headings);
    for (size_t i = 0; table && i < answers->place_count && i < PLACES_SHOWN; i++) {
        const struct what_if_place *place = &answers->places[i];
        const uint64_t times[] = {place->work_ns, place->critical_ns, place->least_slack_ns, place->median_slack_ns, place->faster_ns};
        char count[24], texts[5][CLI_TEXT_MOST];
        snprintf(count, sizeof count, "%llu", (unsigned long long)place->count);
        for (size_t k = 0; k < 5; k++)
            snprintf(texts[k], sizeof texts[k], "%.3f", (double)times[k] / 1e6);
        const char *const cells[] = {place->place ? answers->graph.places[place->place] : "?", graph_kind_words[place->kind], count, texts[0], texts[1], texts[2], texts[3], texts[4]};
        cli_table_row(table, cells);
    }
    if (table)
        cli_table_print(table, stdout);
    cli_table_free(table);
}

static json_t *run_json(const struct answers *answers, const char *trace)
{
    json_t *run = json_object(), *predictions = json_array(), *places = json_array();
    for (size_t i = 0; i < answers->count; i++) {
        const struct answer *answer = &answers->list[i];
        json_t *one = json_object();
        json_object_set_new(one, "threads", json_integer(answer->threads));
        json_object_set_new(one, "as_it_is_ns", json_from_u64(answer->as_it_is_ns));
        json_object_set_new(one, "what_if_ns", json_from_u64(answer->stealing_ns));
        json_object_set_new(one, "heft_ns", json_from_u64(answer->heft_ns));
        json_object_set_new(one, "bound_ns", json_from_u64(answer->bound_ns));
        json_object_set_new(one, "busy_ratio", json_from_double(answer->busy));
        json_array_append_new(predictions, one);
    }
    for (size_t i = 0; i < answers->place_count; i++) {
        const struct what_if_place *place = &answers->places[i];
        json_t *one = json_object();
        json_object_set_new(one, "place", place->place ? json_from_string(answers->graph.places[place->place]) : json_null());
        json_object_set_new(one, "kind", json_from_string(graph_kind_words[place->kind]));
        json_object_set_new(one, "count", json_from_u64(place->count));
        json_object_set_new(one, "work_ns", json_from_u64(place->work_ns));
        json_object_set_new(one, "critical_ns", json_from_u64(place->critical_ns));
        json_object_set_new(one, "least_slack_ns", json_from_u64(place->least_slack_ns));
        json_object_set_new(one, "median_slack_ns", json_from_u64(place->median_slack_ns));
        json_object_set_new(one, "twice_as_fast_ns", i < PLACES_SHOWN ? json_from_u64(place->faster_ns) : json_null());
        json_array_append_new(places, one);
    }
    json_object_set_new(run, "trace", json_from_string(trace));
    json_object_set_new(run, "traced_threads", answers->traced_threads ? json_integer(answers->traced_threads) : json_null());
    json_object_set_new(run, "traced_ns", answers->traced_ns ? json_from_u64(answers->traced_ns) : json_null());
    json_object_set_new(run, "task_overhead_ns", json_from_u64(answers->task_ns));
    json_object_set_new(run, "predictions", predictions);
    json_object_set_new(run, "places", places);
    return run;
}

static void answers_show(struct cli *cli, const struct answers *list, bool csv)
{
    if (!cli->json) {
        lengths_show(cli, list, csv);
        for (size_t i = 0; !csv && i + 1 < cli->operand_count; i++) {
            char traced[UNITS_TEXT_BYTES], task[UNITS_TEXT_BYTES];
            if (list[i].traced_ns)
                printf("\n%s took %s with %u thread%s; a task costs %s beside its work\n", cli->operands[i + 1], units_format_ns(list[i].traced_ns, traced), list[i].traced_threads,
                       list[i].traced_threads == 1 ? "" : "s", units_format_ns(list[i].task_ns, task));
            putchar('\n');
            places_show(&list[i]);
        }
        return;
    }
    json_t *runs = json_array();
    for (size_t i = 0; i + 1 < cli->operand_count; i++)
        json_array_append_new(runs, run_json(&list[i], cli->operands[i + 1]));
    json_object_set_new(cli->document, "runs", runs);
}

static enum pcere_status run_read(struct cli *cli, const char *files, struct run *run, bool *cut, struct pcere_error *error)
{
    enum pcere_status status = run_load(files, 1u << SPAN_TASK | 1u << SPAN_RUNTIME | POP_SPANS | RUN_STEPS, TIMELINE_PAIRED, run, error);
    if (status == PCERE_OK && run->remark[0])
        cli_note(cli, "%s: %s", files, run->remark);
    if (status == PCERE_OK && !program_threads(&run->timeline) && !run->has_graph)
        return pcere_fail(error, PCERE_NO, 0, "a trace of 'pcere trace' has them; of OMPC's traces, name the *.dot file too, joined by a comma", "'%.300s' has no tasks and regions to run again",
                          files);
    *cut |= run->timeline.cut;
    return status;
}

enum pcere_status metrics_what_if(struct cli *cli, const struct what_if_words *words, struct pcere_error *error)
{
    static const char *const options[] = {"faster", "split", "join"};
    const char *const texts[] = {words->faster, words->split, words->join};
    char *copies[3] = {NULL, NULL, NULL};
    struct question question = {.threads = &words->threads};
    struct answers *list = calloc(cli->operand_count, sizeof *list);
    enum pcere_status status = list ? PCERE_OK : pcere_fail_memory(error, "the answers");
    bool cut = false;
    for (size_t i = 0; i < 3 && status == PCERE_OK; i++)
        if (texts[i])
            status = (copies[i] = strdup(texts[i])) ? changes_parse(options[i], (enum what_if_kind)i, copies[i], &question, error) : pcere_fail_memory(error, "an option");
    for (size_t i = 0; status == PCERE_OK && i < words->threads.count; i++)
        if (words->threads.counts[i] > SCHEDULE_WORKERS_MOST)
            status = pcere_fail(error, PCERE_USAGE, 0, NULL, "--threads: more than %d", SCHEDULE_WORKERS_MOST);
    for (size_t i = 0; i + 1 < cli->operand_count && status == PCERE_OK; i++) {
        struct run run = {0};
        cli_progress(cli, cli->operands[i + 1]);
        status = run_read(cli, cli->operands[i + 1], &run, &cut, error);
        if (status == PCERE_OK)
            status = run_answer(&run, &question, &list[i], error);
        run_done(&run);
    }
    cli_progress(cli, NULL);
    for (size_t i = 0; status == PCERE_OK && i < question.change_count; i++)
        if (!question.matches[i])
            cli_note(cli, "no task's place contains '%s'", question.changes[i].pattern);
    if (status == PCERE_OK)
        answers_show(cli, list, words->csv);
    for (size_t i = 0; list && i + 1 < cli->operand_count; i++) {
        free(list[i].list);
        free(list[i].places);
        graph_done(&list[i].graph);
    }
    free(list);
    for (size_t i = 0; i < 3; i++)
        free(copies[i]);
    if (status == PCERE_OK && cut)
        status = pcere_fail(error, PCERE_DATA, 0, "the numbers are of what is whole", "a trace is cut or damaged");
    return status;
}
