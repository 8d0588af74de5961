/* tests/fuzz/fuzz_dot.c - Graphviz's language: any text. What is read has its longest paths or a cycle, can be written, and is the same when it is read again. */
#include "tests/fuzz/fuzz.h"
#include "trace/dot.h"

static void write_and_read(const struct graph *graph, const struct graph_paths *paths)
{
    char path[100];
    struct pcere_error error = {0};
    struct graph again = {0};
    snprintf(path, sizeof path, "%s/again.dot", fuzz_folder_get());
    for (int style = DOT_PLAIN; style <= DOT_SCHEDULING; style++) {
        FILE *file = fopen(path, "w");
        if (!file)
            abort();
        FUZZ_EXPECT(dot_write(graph, &(struct dot_options){.style = (enum dot_style)style, .paths = paths}, file, path, &error) == PCERE_OK);
        fclose(file);
    }
    enum pcere_status status = dot_read(path, &again, &error);
    FUZZ_EXPECT(status == PCERE_OK);
    FUZZ_EXPECT(again.count == graph->count && again.edge_count == graph->edge_count);
    graph_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[100];
    struct graph graph = {0}, folded = {0};
    struct graph_paths paths = {0};
    struct graph_metrics metrics;
    struct pcere_error error = {0};
    snprintf(path, sizeof path, "%s/graph.dot", fuzz_folder_get());
    fuzz_write(path, data, size);
    enum pcere_status status = dot_read(path, &graph, &error);
    FUZZ_EXPECT(status == PCERE_OK || (status == PCERE_DATA && *error.message));
    if (status == PCERE_OK) {
        for (size_t i = 0; i < graph.edge_count; i++)
            FUZZ_EXPECT(graph.from[i] < graph.count && graph.to[i] < graph.count);
        bool found = graph_paths_find(&graph, &paths, &error) == PCERE_OK;
        FUZZ_EXPECT(found || *error.message);
        if (found) {
            uint64_t *slack = NULL;
            FUZZ_EXPECT(graph_metrics(&graph, &paths, &metrics, &error) == PCERE_OK);
            FUZZ_EXPECT(graph_slack(&graph, &paths, &slack, &error) == PCERE_OK);
            free(slack);
        }
        write_and_read(&graph, found ? &paths : NULL);
        FUZZ_EXPECT(graph_fold(&graph, &folded, &error) == PCERE_OK);
        graph_done(&folded);
        graph_paths_done(&paths);
    }
    graph_done(&graph);
    return 0;
}
