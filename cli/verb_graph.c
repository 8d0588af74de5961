/* cli/verb_graph.c - pcere graph: a run's task graph in Graphviz's language, with its longest paths. */
#include "cli/cli.h"
#include "cli/trace_text.h"
#include "cli/verbs.h"
#include "core/json.h"
#include "core/units.h"
#include "trace/dot.h"
#include "trace/program.h"
#include "trace/run.h"

#include <stdlib.h>
#include <string.h>

struct graph_words { const char *output, *style; bool force, fold, whole; uint64_t nodes; };

static enum pcere_status style_parse(const char *word, enum dot_style *ret_style, struct pcere_error *error)
{
    if (!word || strcmp(word, "scheduling") == 0)
        *ret_style = DOT_SCHEDULING;
    else if (strcmp(word, "plain") == 0)
        *ret_style = DOT_PLAIN;
    else
        return pcere_fail(error, PCERE_USAGE, 0, "plain or scheduling", "--style: there is no '%.60s'", word);
    return PCERE_OK;
}

static enum pcere_status drawing_write(struct cli *cli, const struct graph_words *words, enum dot_style style, const struct graph *graph, const struct graph_paths *paths,
                                       const uint64_t *slack_ns, struct pcere_error *error)
{
    struct graph folded = {0};
    size_t most = words->nodes ? words->nodes : 2000;
    bool fold = words->fold || graph->count > most;
    enum pcere_status status = fold ? graph_fold(graph, &folded, error) : PCERE_OK;
    if (status == PCERE_OK && fold && !words->fold)
        cli_note(cli, "%zu nodes are too many to look at: folded by source location; --nodes allows more", graph->count);
    FILE *file = NULL;
    if (status == PCERE_OK)
        status = result_open(words->output, words->force, &file, error);
    if (status == PCERE_OK) {
        struct dot_options options = {.style = style, .paths = fold ? NULL : paths, .slack_ns = fold || style == DOT_PLAIN ? NULL : slack_ns};
        status = dot_write(fold ? &folded : graph, &options, file, words->output ? words->output : "standard output", error);
        status = result_close(words->output, file, status, error);
    }
    graph_done(&folded);
    return status;
}

static void summary_show(struct cli *cli, const struct graph_metrics *metrics)
{
    char time[UNITS_TEXT_BYTES];
    if (!cli->json) {
        cli_note(cli, "%llu nodes, %llu edges, %llu roots; critical path %s", (unsigned long long)metrics->nodes, (unsigned long long)metrics->dependences,
                 (unsigned long long)metrics->roots, units_format_ns(metrics->critical_ns, time));
        return;
    }
    json_object_set_new(cli->document, "nodes", json_from_u64(metrics->nodes));
    json_object_set_new(cli->document, "edges", json_from_u64(metrics->dependences));
    json_object_set_new(cli->document, "roots", json_from_u64(metrics->roots));
    json_object_set_new(cli->document, "critical_ns", json_from_u64(metrics->critical_ns));
}

static json_t *path_json(const struct graph *graph, const struct graph_paths *paths, const uint64_t *slack_ns)
{
    json_t *list = json_array();
    size_t most = 1000;
    for (uint32_t node = paths->root_count ? paths->roots[0] : GRAPH_NONE; node != GRAPH_NONE && most--; node = paths->next[node]) {
        json_t *one = json_object();
        char text[GRAPH_NAME_BYTES];
        json_object_set_new(one, "task", json_from_string(graph_node_name(graph, node, text)));
        json_object_set_new(one, "place", graph->nodes && graph->nodes[node].place ? json_from_string(graph->places[graph->nodes[node].place]) : json_null());
        json_object_set_new(one, "work_ns", json_from_u64(graph->work_ns[node]));
        json_object_set_new(one, "slack_ns", json_from_u64(slack_ns[node]));
        json_array_append_new(list, one);
    }
    return list;
}

static enum pcere_status whole_make(struct run *run, struct pcere_error *error)
{
    struct program_options as_it_was = {0};
    graph_done(&run->graph);
    enum pcere_status status = program_graph(&run->timeline, &as_it_was, &run->graph, error);
    run->has_graph = status == PCERE_OK;
    return status;
}

static enum pcere_status graph_verb(struct cli *cli, void *raw, struct pcere_error *error)
{
    const struct graph_words *words = raw;
    enum dot_style style = DOT_SCHEDULING;
    struct run run = {0};
    struct graph_paths paths = {0};
    struct graph_metrics metrics;
    uint64_t *slack_ns = NULL;
    if (cli->operand_count != 1)
        return pcere_fail(error, PCERE_USAGE, 0, "pcere graph TRACE", "one run is drawn, not %zu", cli->operand_count);
    if (cli->json && !words->output)
        return pcere_fail(error, PCERE_USAGE, 0, "-o FILE names where the graph goes", "--json needs standard output for its document");
    enum pcere_status status = style_parse(words->style, &style, error);
    if (status == PCERE_OK)
        status = run_load(cli->operands[0], 1u << SPAN_TASK | RUN_STEPS, TIMELINE_PAIRED, &run, error);
    if (status == PCERE_OK && (words->whole || !run.has_graph) && program_threads(&run.timeline))
        status = whole_make(&run, error);
    if (status == PCERE_OK && !run.has_graph)
        status = pcere_fail(error, PCERE_NO, 0, "tasks, loops and regions of OpenMP are its nodes; a *.dot file of OMPC is one", "'%.300s' has no task graph, and no tasks", cli->operands[0]);
    if (status == PCERE_OK && run.remark[0])
        cli_note(cli, "%s", run.remark);
    if (status == PCERE_OK)
        status = graph_paths_find(&run.graph, &paths, error);
    if (status == PCERE_OK)
        status = graph_slack(&run.graph, &paths, &slack_ns, error);
    if (status == PCERE_OK)
        status = graph_metrics(&run.graph, &paths, &metrics, error);
    if (status == PCERE_OK)
        status = drawing_write(cli, words, style, &run.graph, &paths, slack_ns, error);
    if (status == PCERE_OK) {
        summary_show(cli, &metrics);
        if (cli->json)
            json_object_set_new(cli->document, "critical_path", path_json(&run.graph, &paths, slack_ns));
    }
    if (status == PCERE_OK && run.timeline.cut)
        status = pcere_fail(error, PCERE_DATA, 0, "the graph is of what is whole", "the trace is cut or damaged");
    free(slack_ns);
    graph_paths_done(&paths);
    run_done(&run);
    return status;
}

static const struct cli_option options_list[] = {
    {"output", 'o', CLI_TEXT, offsetof(struct graph_words, output), "FILE", "Where the graph goes; standard output if not given.", 0, 0},
    {"force", 0, CLI_FLAG, offsetof(struct graph_words, force), NULL, "Replace a file that exists.", 0, 0},
    {"style", 0, CLI_TEXT, offsetof(struct graph_words, style), "STYLE", "scheduling (the default): nodes with place and time, edges with bytes. plain: shapes and colours alone.", 0, 0},
    {"fold", 0, CLI_FLAG, offsetof(struct graph_words, fold), NULL, "One node for all tasks of a source location.", 0, 0},
    {"whole", 0, CLI_FLAG, offsetof(struct graph_words, whole), NULL,
     "The whole program: its serial parts, regions, loops with their ranges of iterations, bodies and waits too. Programs without tasks are drawn so in any case.", 0, 0},
    {"nodes", 0, CLI_NUMBER, offsetof(struct graph_words, nodes), "N", "Fold graphs of more than N nodes (2000).", 1, 1u << 30},
};

const struct cli_verb cli_verb_graph = {
    .name = "graph",
    .summary = "draw a traced run's task graph for Graphviz, with the critical path",
    .synopsis = "TRACE",
    .description = "TRACE is a run as for 'pcere metrics'. Edges come from the dependences that tasks declared, by OpenMP's rules, so the graph is the same in each run. Roots and leaves are octagons, "
                   "other tasks ovals, regions and loops boxes, data tasks grey. The critical path is blue, the longest paths of other roots are green.\n\nWith --json: the critical path's tasks, and for "
                   "each how much later it could begin (slack); the graph's nodes have theirs as 'slack_ns'.",
    .examples = "pcere graph trace.pct | dot -Tsvg -o graph.svg\npcere graph --fold -o graph.dot ompc-run/\n",
    .options = options_list, .option_count = sizeof options_list / sizeof *options_list, .options_bytes = sizeof(struct graph_words),
    .operands = CLI_OPERANDS_ANY,
    .run = graph_verb,
};
