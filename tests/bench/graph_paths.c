/* tests/bench/graph_paths.c [TASKS [EDGES [declared|shuffled|scattered|renamed]]] - what the longest paths and metrics of a generated graph cost: 10 million tasks and 20 million edges if not said.
 *
 * declared: edges from one of the 64 tasks before, in the order of their ends, as declared dependences make them. shuffled: these in random order. scattered: from any task before, in random order. renamed: so, and the tasks have random numbers.
 */
#include "trace/graph.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static uint64_t state = 88172645463325252u;

static uint32_t chance(size_t most)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state % most);
}

static void swap(uint32_t *list, size_t a, size_t b)
{
    uint32_t other = list[a];
    list[a] = list[b];
    list[b] = other;
}

static bool graph_make(struct graph *graph, size_t tasks, size_t edges, const char *kind)
{
    bool near = strcmp(kind, "declared") == 0 || strcmp(kind, "shuffled") == 0, renamed = strcmp(kind, "renamed") == 0;
    uint32_t *names = malloc(tasks * sizeof *names), node;
    for (size_t i = 0; names && i < tasks; i++) {
        names[i] = (uint32_t)i;
        if (!graph_node_add(graph, &(struct graph_node){.id = i}, &node))
            return false;
        graph->work_ns[node] = 1000 + chance(9000);
    }
    for (size_t i = tasks; names && renamed && i-- > 1;)
        swap(names, i, chance(i + 1));
    for (size_t i = 0; names && i < edges; i++) {
        size_t to = 1 + (size_t)((double)i / (double)edges * (double)(tasks - 1)), reach = near && to > 64 ? 64 : to;
        if (!graph_edge_add(graph, names[to - 1 - chance(reach)], names[to], 0))
            return false;
    }
    for (size_t i = edges; strcmp(kind, "declared") != 0 && i-- > 1;) {
        size_t other = chance(i + 1);
        swap(graph->from, i, other);
        swap(graph->to, i, other);
    }
    graph->has_work = true;
    free(names);
    return names != NULL;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int count, char **words)
{
    size_t tasks = count > 1 ? strtoull(words[1], NULL, 10) : 10000000, edges = count > 2 ? strtoull(words[2], NULL, 10) : 20000000;
    struct graph graph = {0};
    if (tasks < 2 || tasks >= GRAPH_NONE || !graph_make(&graph, tasks, edges, count > 3 ? words[3] : "declared"))
        return 2;
    struct rusage loaded, after;
    struct pcere_error error;
    struct graph_paths paths = {0};
    struct graph_metrics metrics;
    getrusage(RUSAGE_SELF, &loaded);
    double begin = seconds();
    bool done = graph_paths_find(&graph, &paths, &error) == PCERE_OK && graph_metrics(&graph, &paths, &metrics, &error) == PCERE_OK;
    double end = seconds();
    getrusage(RUSAGE_SELF, &after);
    if (done)
        printf("%.3f s, %ld MB beside %ld MB; %llu roots, critical path %llu ns\n", end - begin, (after.ru_maxrss - loaded.ru_maxrss) / 1000, loaded.ru_maxrss / 1000, (unsigned long long)metrics.roots,
               (unsigned long long)metrics.critical_ns);
    graph_paths_done(&paths);
    graph_done(&graph);
    return !done;
}
