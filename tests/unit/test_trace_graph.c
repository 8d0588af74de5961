/* tests/unit/test_trace_graph.c - longest paths, slack, dependences and DOT, against brute force. */
#include "core/files.h"
#include "tests/unit/unit.h"
#include "trace/dependences.h"
#include "trace/dot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t state = 4711;

static uint32_t chance(uint32_t most)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % most;
}

static uint64_t longest_from(const struct graph *graph, uint32_t node)
{
    uint64_t most = 0;
    for (size_t i = 0; i < graph->edge_count; i++)
        if (graph->from[i] == node) {
            uint64_t path = longest_from(graph, graph->to[i]);
            most = path > most ? path : most;
        }
    return most + graph->work_ns[node];
}

static uint64_t longest(const struct graph *graph)
{
    uint64_t most = 0;
    for (uint32_t node = 0; node < graph->count; node++) {
        uint64_t path = longest_from(graph, node);
        most = path > most ? path : most;
    }
    return most;
}

enum numbers { NUMBERS_RANDOM, NUMBERS_FORWARD, NUMBERS_FORWARD_EDGES_SHUFFLED };

static void edges_shuffle(struct graph *graph)
{
    for (size_t i = graph->edge_count; i-- > 1;) {
        size_t other = chance((uint32_t)i + 1);
        uint32_t from = graph->from[i], to = graph->to[i];
        graph->from[i] = graph->from[other];
        graph->to[i] = graph->to[other];
        graph->from[other] = from;
        graph->to[other] = to;
    }
}

static void random_graph(struct graph *graph, enum numbers numbers)
{
    uint32_t count = 1 + chance(9), order[10], node;
    for (uint32_t i = 0; i < count; i++) {
        CU_ASSERT_TRUE_FATAL(graph_node_add(graph, &(struct graph_node){0}, &node));
        graph->work_ns[node] = chance(20);
        order[i] = i;
    }
    for (uint32_t i = count; i-- > 1 && numbers == NUMBERS_RANDOM;) {
        uint32_t other = chance(i + 1), swap = order[i];
        order[i] = order[other];
        order[other] = swap;
    }
    for (uint32_t to = 0; to < count; to++)
        for (uint32_t from = 0; from < to; from++)
            if (chance(3) == 0)
                CU_ASSERT_TRUE(graph_edge_add(graph, order[from], order[to], 0));
    if (numbers == NUMBERS_FORWARD_EDGES_SHUFFLED)
        edges_shuffle(graph);
}

static void test_paths_against_brute_force(void)
{
    struct pcere_error error;
    for (int round = 0; round < 600; round++) {
        struct graph graph = {0};
        struct graph_paths paths;
        uint64_t *slack;
        random_graph(&graph, (enum numbers)(round % 3));
        CU_ASSERT_EQUAL_FATAL(graph_paths_find(&graph, &paths, &error), PCERE_OK);
        CU_ASSERT_EQUAL(paths.critical_ns, longest(&graph));
        for (uint32_t node = 0; node < graph.count; node++) {
            CU_ASSERT_EQUAL(paths.tail_ns[node], longest_from(&graph, node));
            uint64_t along = 0;
            for (uint32_t at = node; at != GRAPH_NONE; at = paths.next[at])
                along += graph.work_ns[at];
            CU_ASSERT_EQUAL(along, paths.tail_ns[node]);
        }
        CU_ASSERT_EQUAL_FATAL(graph_slack(&graph, &paths, &slack, &error), PCERE_OK);
        for (uint32_t node = 0; node < graph.count; node++) {
            graph.work_ns[node] += slack[node];
            CU_ASSERT_EQUAL(longest(&graph), paths.critical_ns);
            graph.work_ns[node]++;
            CU_ASSERT_EQUAL(longest(&graph), paths.critical_ns + 1);
            graph.work_ns[node] -= slack[node] + 1;
        }
        free(slack);
        graph_paths_done(&paths);
        graph_done(&graph);
    }
}

static void test_cycles_are_named(void)
{
    struct graph graph = {0};
    struct graph_paths paths;
    struct pcere_error error;
    uint32_t node;
    for (int i = 0; i < 5; i++)
        graph_node_add(&graph, &(struct graph_node){0}, &node);
    graph_edge_add(&graph, 0, 1, 0);
    graph_edge_add(&graph, 1, 2, 0);
    graph_edge_add(&graph, 2, 3, 0);
    graph_edge_add(&graph, 3, 1, 0);
    graph_edge_add(&graph, 3, 4, 0);
    CU_ASSERT_EQUAL(graph_paths_find(&graph, &paths, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "T1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "T3"));
    CU_ASSERT_PTR_NULL(strstr(error.message, "T0"));
    CU_ASSERT_PTR_NULL(strstr(error.message, "T4"));
    graph_done(&graph);
}

/* Figure 4.14's kind: a stencil whose roots' longest paths are 10, 10, 9, 8 and 8 tenths of the critical one. */
static void test_metrics_of_a_stencil(void)
{
    struct graph graph = {0};
    struct graph_paths paths;
    struct graph_metrics metrics;
    struct pcere_error error;
    uint32_t node;
    static const uint64_t first[] = {60, 60, 50, 40, 40};
    for (uint32_t i = 0; i < 10; i++) {
        graph_node_add(&graph, &(struct graph_node){0}, &node);
        graph.work_ns[node] = i < 5 ? first[i] : 40;
    }
    for (uint32_t i = 0; i < 5; i++)
        for (uint32_t k = i ? i - 1 : 0; k <= (i < 4 ? i + 1 : 4); k++)
            graph_edge_add(&graph, k, 5 + i, 0);
    CU_ASSERT_EQUAL_FATAL(graph_paths_find(&graph, &paths, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(graph_metrics(&graph, &paths, &metrics, &error), PCERE_OK);
    CU_ASSERT_EQUAL(metrics.critical_ns, 100);
    CU_ASSERT_EQUAL(metrics.critical_count, 2);
    CU_ASSERT_EQUAL(metrics.roots, 5);
    CU_ASSERT_EQUAL(metrics.dependences, 13);
    CU_ASSERT_DOUBLE_EQUAL(metrics.most, 0.9, 1e-12);
    CU_ASSERT_EQUAL(metrics.most_count, 1);
    CU_ASSERT_DOUBLE_EQUAL(metrics.least, 0.8, 1e-12);
    CU_ASSERT_EQUAL(metrics.least_count, 2);
    CU_ASSERT_DOUBLE_EQUAL(metrics.average, 2.5 / 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(metrics.median, 0.8, 1e-12);
    graph_paths_done(&paths);
    graph_done(&graph);
}

/* ---- dependences -------------------------------------------------------------------------------------------------------------- */

enum { TASKS = 12 };

static void closure(bool (*before)[TASKS])
{
    for (int k = 0; k < TASKS; k++)
        for (int i = 0; i < TASKS; i++)
            for (int j = 0; j < TASKS; j++)
                before[i][j] |= before[i][k] && before[k][j];
}

static bool conflict(const struct dependence *a, const struct dependence *b)
{
    if (!a->all_memory && !b->all_memory && a->address != b->address)
        return false;
    bool set = a->type == DEPENDENCE_IN || a->type == DEPENDENCE_MUTEXINOUTSET || a->type == DEPENDENCE_INOUTSET;
    return !(set && a->type == b->type && !a->all_memory && !b->all_memory);
}

static void test_dependences_against_the_rules(void)
{
    for (int round = 0; round < 2000; round++) {
        struct timeline_task tasks[TASKS];
        struct dependence list[TASKS * 2];
        uint32_t used = 0;
        bool wanted[TASKS][TASKS] = {0}, got[TASKS][TASKS] = {0};
        memset(tasks, 0, sizeof tasks);
        for (uint32_t i = 0; i < TASKS; i++) {
            tasks[i] = (struct timeline_task){.id = i + 1, .scope = chance(4) == 0, .first_dependence = used, .dependence_count = chance(3), .run_ns = 1};
            for (uint32_t k = 0; k < tasks[i].dependence_count; k++)
                list[used++] = (struct dependence){k + chance(2) * 2, 1 + chance(DEPENDENCE_TYPES - 1), chance(15) == 0};
        }
        for (int i = 0; i < TASKS; i++)
            for (int j = i + 1; j < TASKS; j++)
                for (uint32_t a = 0; a < tasks[i].dependence_count && tasks[i].scope == tasks[j].scope; a++)
                    for (uint32_t b = 0; b < tasks[j].dependence_count; b++)
                        wanted[i][j] |= conflict(&list[tasks[i].first_dependence + a], &list[tasks[j].first_dependence + b]);
        closure(wanted);
        struct timeline timeline = {.tasks = tasks, .task_count = TASKS, .dependences = list, .dependence_count = used};
        struct graph graph;
        struct pcere_error error;
        CU_ASSERT_EQUAL_FATAL(dependences_graph(&timeline, &graph, &error), PCERE_OK);
        CU_ASSERT_EQUAL_FATAL(graph.count, TASKS);
        for (size_t i = 0; i < graph.edge_count; i++) {
            CU_ASSERT_TRUE(graph.from[i] < graph.to[i]);
            got[graph.from[i]][graph.to[i]] = true;
        }
        closure(got);
        if (memcmp(wanted, got, sizeof got) != 0) {
            CU_FAIL("other tasks wait for each other than the rules say");
            round = 2000;
        }
        graph_done(&graph);
    }
}

static void test_waits_hold_back(void)
{
    struct timeline_task tasks[] = {{.id = 1, .run_ns = 10}, {.id = 2, .run_ns = 30}, {.id = 3, .run_ns = 5, .epoch = 1}, {.id = 4, .run_ns = 7, .phase = 1, .scope = 1}};
    struct timeline timeline = {.tasks = tasks, .task_count = 4};
    struct graph graph;
    struct graph_paths paths;
    struct pcere_error error;
    CU_ASSERT_EQUAL_FATAL(dependences_graph(&timeline, &graph, &error), PCERE_OK);
    CU_ASSERT_EQUAL(graph.count, 6);
    CU_ASSERT_EQUAL(graph.edge_count, 5);
    CU_ASSERT_EQUAL_FATAL(graph_paths_find(&graph, &paths, &error), PCERE_OK);
    CU_ASSERT_EQUAL(paths.critical_ns, 42);
    CU_ASSERT_EQUAL(paths.root_count, 2);
    graph_paths_done(&paths);
    graph_done(&graph);
}

/* ---- DOT ---------------------------------------------------------------------------------------------------------------------- */

static char path[] = "/tmp/pcere-dot-XXXXXX";

static enum pcere_status dot_text(const char *text, struct graph *graph, struct pcere_error *error)
{
    static bool made;
    if (!made)
        CU_ASSERT_FATAL(close(mkstemp(path)) == 0);
    made = true;
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
    *error = (struct pcere_error){0};
    return dot_read(path, graph, error);
}

static void test_dot_is_read(void)
{
    struct graph graph;
    struct pcere_error error;
    CU_ASSERT_EQUAL_FATAL(dot_text("// made by a runtime\nstrict digraph \"G\" {\n  rankdir = TB; node [shape=oval, style=\"filled\"];\n  /* tasks */ V0 [label=\"T7\\nfoo.c:3:4\", "
                                   "shape=octagon];\n  V1 [style=filled; color=gray]\n subgraph c { V2; }\n  V0 -> V1 -> \"V 2\" [label=\"4096\", color=blue]; V2 -> V0\n}\n",
                                   &graph, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(graph.count, 4);
    CU_ASSERT_EQUAL(graph.nodes[0].id, 7);
    CU_ASSERT_STRING_EQUAL(graph.places[graph.nodes[0].place], "foo.c:3:4");
    CU_ASSERT_EQUAL(graph.nodes[1].kind, GRAPH_DATA);
    CU_ASSERT_EQUAL(graph.nodes[2].id, 2);
    CU_ASSERT_EQUAL_FATAL(graph.edge_count, 3);
    CU_ASSERT_EQUAL(graph.edge_bytes[0], 4096);
    CU_ASSERT_EQUAL(graph.edge_bytes[1], 4096);
    CU_ASSERT_EQUAL(graph.to[1], 3);
    graph_done(&graph);
}

static void test_what_is_no_graph_is_refused(void)
{
    struct graph graph;
    struct pcere_error error;
    const char *const bad[] = {"", "graph { a -- b }", "digraph {", "digraph { a -> }", "digraph { a [x] }", "digraph { a [x=", "digraph { a -> b [label=\"", "digraph x y { }", "{ }",
                               "digraph { ! }", "digraph { a -- b }"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_EQUAL(dot_text(bad[i], &graph, &error), PCERE_DATA);
        CU_ASSERT_TRUE(error.message[0] != '\0');
    }
}

static void test_quoted_names_are_no_keywords(void)
{
    struct graph graph;
    struct pcere_error error;
    CU_ASSERT_EQUAL_FATAL(dot_text("digraph { node [shape=box]; \"node\" [work_ns=5]; \"subgraph\" -> \"node\"; \"edge\"; }", &graph, &error), PCERE_OK);
    CU_ASSERT_EQUAL(graph.count, 3);
    CU_ASSERT_EQUAL(graph.edge_count, 1);
    CU_ASSERT_EQUAL(graph.work_ns[0], 5);
    graph_done(&graph);
    CU_ASSERT_EQUAL(dot_text("\"digraph\" { }", &graph, &error), PCERE_DATA);
}

static void test_dot_round_trip(void)
{
    struct pcere_error error;
    for (int round = 0; round < 60; round++) {
        struct graph graph = {.has_work = true}, again;
        struct graph_paths paths, paths_again;
        random_graph(&graph, NUMBERS_FORWARD);
        for (uint32_t i = 0; i < graph.count; i++) {
            CU_ASSERT_TRUE(asprintf(&graph.nodes[i].name, "T%u \"x\\", i) > 0);
            graph.nodes[i].id = i;
            graph.nodes[i].kind = i % 3 == 2 ? GRAPH_DATA : GRAPH_TASK;
            CU_ASSERT_TRUE(graph_place(&graph, i % 2 ? "a.c:1:1" : "", &graph.nodes[i].place));
        }
        CU_ASSERT_EQUAL_FATAL(graph_paths_find(&graph, &paths, &error), PCERE_OK);
        dot_text("", &again, &error);
        FILE *file = fopen(path, "w");
        struct dot_options options = {.style = round % 2 ? DOT_PLAIN : DOT_SCHEDULING, .paths = &paths};
        CU_ASSERT_EQUAL_FATAL(dot_write(&graph, &options, file, path, &error), PCERE_OK);
        fclose(file);
        CU_ASSERT_EQUAL_FATAL(dot_read(path, &again, &error), PCERE_OK);
        CU_ASSERT_EQUAL_FATAL(again.count, graph.count);
        CU_ASSERT_EQUAL_FATAL(again.edge_count, graph.edge_count);
        for (uint32_t i = 0; i < graph.count; i++) {
            CU_ASSERT_STRING_EQUAL(again.nodes[i].name, graph.nodes[i].name);
            CU_ASSERT_EQUAL(again.work_ns[i], graph.work_ns[i]);
            CU_ASSERT_EQUAL(again.nodes[i].kind, graph.nodes[i].kind);
            CU_ASSERT_EQUAL(again.nodes[i].place != 0, graph.nodes[i].place != 0);
        }
        CU_ASSERT_EQUAL_FATAL(graph_paths_find(&again, &paths_again, &error), PCERE_OK);
        CU_ASSERT_EQUAL(paths.critical_ns, paths_again.critical_ns);
        graph_paths_done(&paths);
        graph_paths_done(&paths_again);
        graph_done(&graph);
        graph_done(&again);
    }
}

static void test_folding_keeps_the_work(void)
{
    struct graph graph = {.has_work = true}, folded;
    struct pcere_error error;
    uint32_t node, place, other;
    graph_place(&graph, "a.c:1:1", &place);
    graph_place(&graph, "b.c:2:2", &other);
    for (uint32_t i = 0; i < 6; i++) {
        graph_node_add(&graph, &(struct graph_node){.place = i % 2 ? other : place}, &node);
        graph.work_ns[node] = i + 1;
        if (i)
            graph_edge_add(&graph, i - 1, i, 0);
    }
    CU_ASSERT_EQUAL_FATAL(graph_fold(&graph, &folded, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(folded.count, 2);
    CU_ASSERT_EQUAL(folded.work_ns[0], 9);
    CU_ASSERT_EQUAL(folded.work_ns[1], 12);
    CU_ASSERT_EQUAL(folded.edge_count, 2);
    CU_ASSERT_STRING_EQUAL(folded.nodes[0].name, "task a.c:1:1 (3)");
    graph_done(&folded);
    graph_done(&graph);
}

static void path_remove(void)
{
    unlink(path);
}

static const struct unit_test tests[] = {
    {"longest paths and slack are those of brute force", test_paths_against_brute_force},
    {"a cycle is refused, and its tasks are named", test_cycles_are_named},
    {"metrics of a stencil are as worked by hand", test_metrics_of_a_stencil},
    {"declared dependences make the order that OpenMP's rules say", test_dependences_against_the_rules},
    {"taskwaits and barriers hold back what comes behind them", test_waits_hold_back},
    {"graphs in Graphviz's language are read", test_dot_is_read},
    {"what is no directed graph is refused", test_what_is_no_graph_is_refused},
    {"quoted names are no keywords", test_quoted_names_are_no_keywords},
    {"what is written is read back", test_dot_round_trip},
    {"folding by place keeps the work", test_folding_keeps_the_work},
};

int main(void)
{
    atexit(path_remove);
    return unit_main("trace graph", tests, sizeof tests / sizeof *tests);
}
