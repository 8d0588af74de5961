/* tests/unit/test_trace_schedule.c - graphs executed in thought: closed forms, bounds that hold for every graph, what changes of tasks do. */
#include "tests/unit/unit.h"
#include "trace/what_if.h"

#include <stdlib.h>
#include <string.h>

static uint64_t state = 8128;

static uint32_t chance(uint32_t most)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % most;
}

static uint32_t add(struct graph *graph, uint64_t work_ns, const char *place)
{
    struct graph_node node = {.id = graph->count};
    uint32_t made = 0;
    CU_ASSERT_TRUE_FATAL(graph_place(graph, place, &node.place));
    CU_ASSERT_TRUE_FATAL(graph_node_add(graph, &node, &made));
    graph->work_ns[made] = work_ns;
    return made;
}

static void edge(struct graph *graph, uint32_t from, uint32_t to)
{
    CU_ASSERT_TRUE_FATAL(graph_edge_add(graph, from, to, 0));
}

static uint64_t length(const struct graph *graph, enum schedule_kind kind, uint32_t workers, uint64_t **ret_begin_ns)
{
    struct pcere_error error;
    struct graph_paths paths;
    struct schedule schedule = {0};
    CU_ASSERT_EQUAL_FATAL(graph_paths_find(graph, &paths, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(schedule_make(graph, &paths, kind, workers, &schedule, ret_begin_ns, &error), PCERE_OK);
    graph_paths_done(&paths);
    return schedule.makespan_ns;
}

static void test_closed_forms(void)
{
    for (enum schedule_kind kind = 0; kind < SCHEDULE_KINDS; kind++) {
        struct graph graph = {0};
        CU_ASSERT_EQUAL(length(&graph, kind, 3, NULL), 0);
        for (int i = 0; i < 12; i++)
            add(&graph, 10, "a");
        CU_ASSERT_EQUAL(length(&graph, kind, 1, NULL), 120);
        CU_ASSERT_EQUAL(length(&graph, kind, 4, NULL), 30);
        CU_ASSERT_EQUAL(length(&graph, kind, 5, NULL), 30);
        CU_ASSERT_EQUAL(length(&graph, kind, 100, NULL), 10);
        for (uint32_t i = 1; i < 12; i++)
            edge(&graph, i - 1, i);
        CU_ASSERT_EQUAL(length(&graph, kind, 4, NULL), 120);
        graph_done(&graph);
    }
}

/* A diamond whose long side must begin first: 2 workers need 1 + max(6, 2 + 2 + 2) + 1. */
static void test_heft_prefers_the_long_path(void)
{
    struct graph graph = {0};
    uint32_t root = add(&graph, 1, ""), leaf = add(&graph, 1, "");
    for (int i = 0; i < 4; i++) {
        uint32_t side = add(&graph, i == 3 ? 6 : 2, "");
        edge(&graph, root, side);
        edge(&graph, side, leaf);
    }
    CU_ASSERT_EQUAL(length(&graph, SCHEDULE_HEFT, 2, NULL), 8);
    graph_done(&graph);
}

static void test_schedules_of_random_graphs(void)
{
    for (int round = 0; round < 400; round++) {
        struct pcere_error error;
        struct graph graph = {0};
        struct graph_paths paths;
        uint32_t count = 1 + chance(40), workers = 1 + chance(5);
        uint64_t work_ns = 0;
        for (uint32_t i = 0; i < count; i++) {
            add(&graph, chance(4) ? chance(30) : 0, "");
            work_ns += graph.work_ns[i];
        }
        for (uint32_t to = 0; to < count; to++)
            for (uint32_t from = 0; from < to; from++)
                if (chance(8) == 0)
                    edge(&graph, round % 2 ? from : count - 1 - from, round % 2 ? to : count - 1 - to);
        CU_ASSERT_EQUAL_FATAL(graph_paths_find(&graph, &paths, &error), PCERE_OK);
        for (enum schedule_kind kind = 0; kind < SCHEDULE_KINDS; kind++) {
            uint64_t *begin_ns, end_ns = length(&graph, kind, workers, &begin_ns);
            CU_ASSERT_TRUE(end_ns >= schedule_bound_ns(&graph, &paths, workers));
            CU_ASSERT_TRUE(end_ns * workers <= work_ns + paths.critical_ns * (workers - 1));        /* Graham's bound */
            CU_ASSERT_EQUAL(length(&graph, kind, count + 1, NULL), paths.critical_ns);
            CU_ASSERT_EQUAL(length(&graph, kind, 1, NULL), work_ns);
            for (size_t i = 0; i < graph.edge_count; i++)
                CU_ASSERT_TRUE(begin_ns[graph.to[i]] >= begin_ns[graph.from[i]] + graph.work_ns[graph.from[i]]);
            for (uint32_t i = 0; i < count; i++) {
                uint32_t together = 0;
                for (uint32_t k = 0; k < count; k++)
                    together += graph.work_ns[i] && graph.work_ns[k] && begin_ns[k] <= begin_ns[i] && begin_ns[i] < begin_ns[k] + graph.work_ns[k];
                CU_ASSERT_TRUE(together <= workers);
            }
            free(begin_ns);
        }
        graph_paths_done(&paths);
        graph_done(&graph);
    }
}

static void test_changes(void)
{
    struct pcere_error error;
    struct graph graph = {0};
    size_t matched;
    uint32_t root = add(&graph, 10, "main.c:1"), long_one = add(&graph, 60, "slow.c:7"), short_one = add(&graph, 20, "fast.c:9"), leaf = add(&graph, 10, "main.c:2");
    edge(&graph, root, long_one);
    edge(&graph, root, short_one);
    edge(&graph, long_one, leaf);
    edge(&graph, short_one, leaf);
    CU_ASSERT_EQUAL(length(&graph, SCHEDULE_HEFT, 2, NULL), 80);
    CU_ASSERT_EQUAL(what_if_apply(&graph, &(struct what_if){WHAT_IF_FASTER, "slow.c", 2}, &matched, &error), PCERE_OK);
    CU_ASSERT_EQUAL(matched, 1);
    CU_ASSERT_EQUAL(length(&graph, SCHEDULE_HEFT, 2, NULL), 50);
    CU_ASSERT_EQUAL(what_if_apply(&graph, &(struct what_if){WHAT_IF_SPLIT, "slow.c", 3}, &matched, &error), PCERE_OK);
    CU_ASSERT_EQUAL(graph.count, 6);
    CU_ASSERT_EQUAL(length(&graph, SCHEDULE_HEFT, 4, NULL), 40);              /* 10 + max(10, 20) + 10 */
    CU_ASSERT_EQUAL(length(&graph, SCHEDULE_HEFT, 1, NULL), 70);
    CU_ASSERT_EQUAL(what_if_apply(&graph, &(struct what_if){WHAT_IF_JOIN, "slow.c", 2}, &matched, &error), PCERE_OK);
    CU_ASSERT_EQUAL(matched, 3);
    CU_ASSERT_EQUAL(length(&graph, SCHEDULE_STEALING, 4, NULL), 40);          /* 10 + max(20, 20) + 10 */
    CU_ASSERT_EQUAL(what_if_apply(&graph, &(struct what_if){WHAT_IF_JOIN, "", 9}, &matched, &error), PCERE_OK);
    CU_ASSERT_EQUAL(length(&graph, SCHEDULE_STEALING, 4, NULL), 50);          /* 10 + max(30, 20) + 10 */
    CU_ASSERT_EQUAL(what_if_apply(&graph, &(struct what_if){WHAT_IF_FASTER, "nowhere", 9}, &matched, &error), PCERE_OK);
    CU_ASSERT_EQUAL(matched, 0);
    graph_done(&graph);
}

/* Split tasks in a chain: all parts of one before all parts of the next. */
static void test_split_chain(void)
{
    struct pcere_error error;
    struct graph graph = {0};
    size_t matched;
    for (uint32_t i = 0; i < 5; i++)
        add(&graph, 12, "a");
    for (uint32_t i = 1; i < 5; i++)
        edge(&graph, i - 1, i);
    CU_ASSERT_EQUAL(what_if_apply(&graph, &(struct what_if){WHAT_IF_SPLIT, "", 4}, &matched, &error), PCERE_OK);
    CU_ASSERT_EQUAL(matched, 5);
    CU_ASSERT_EQUAL(length(&graph, SCHEDULE_STEALING, 4, NULL), 15);
    CU_ASSERT_EQUAL(length(&graph, SCHEDULE_HEFT, 2, NULL), 30);
    CU_ASSERT_EQUAL(length(&graph, SCHEDULE_HEFT, 1, NULL), 60);
    graph_done(&graph);
}

static void test_places(void)
{
    struct pcere_error error;
    struct graph graph = {0};
    struct graph_paths paths;
    struct what_if_place *places;
    size_t count;
    uint32_t root = add(&graph, 10, "a"), left = add(&graph, 60, "b"), right = add(&graph, 20, "c"), other = add(&graph, 30, "c");
    edge(&graph, root, left);
    edge(&graph, root, right);
    edge(&graph, root, other);
    CU_ASSERT_EQUAL_FATAL(graph_paths_find(&graph, &paths, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(what_if_places(&graph, &paths, 3, 2, &places, &count, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(count, 3);
    CU_ASSERT_STRING_EQUAL(graph.places[places[0].place], "b");
    CU_ASSERT_EQUAL(places[0].critical_ns, 60);
    CU_ASSERT_EQUAL(places[0].least_slack_ns, 0);
    CU_ASSERT_EQUAL(places[0].faster_ns, 40);
    CU_ASSERT_STRING_EQUAL(graph.places[places[1].place], "c");
    CU_ASSERT_EQUAL(places[1].count, 2);
    CU_ASSERT_EQUAL(places[1].work_ns, 50);
    CU_ASSERT_EQUAL(places[1].least_slack_ns, 30);
    CU_ASSERT_EQUAL(places[1].median_slack_ns, 40);
    CU_ASSERT_EQUAL(places[1].faster_ns, 70);
    CU_ASSERT_EQUAL(graph.work_ns[left], 60);
    free(places);
    graph_paths_done(&paths);
    graph_done(&graph);
}

static const struct unit_test tests[] = {
    {"independent tasks and chains take what arithmetic says", test_closed_forms},
    {"HEFT begins the longest path first", test_heft_prefers_the_long_path},
    {"every schedule keeps the order, the workers and the bounds", test_schedules_of_random_graphs},
    {"faster, finer and coarser tasks take what arithmetic says", test_changes},
    {"parts of a split task wait for all parts of the one before", test_split_chain},
    {"places tell their slack and what they are worth", test_places},
};

UNIT_MAIN("trace.schedule", tests)
