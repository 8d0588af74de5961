/* profiler/host/label_graph.c - the label graph as Graphviz draws it. */
#include "profiler/host/unit_profile.h"

#include <errno.h>
#include <stdlib.h>

static const char *const words[TRACE_KINDS] = {
    "unknown", "parallel", "for", "sections", "distribute", "single", "masked", "task", "taskloop", "teams", "target", "variable",
};

/* A file's name may hold what ends a string. */
static void quoted(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        fputc(*text, file);
    }
}

static void node_write(const struct units *units, uint32_t number, bool unit, FILE *file)
{
    const struct label_table *labels = &units->labels;
    const struct label_node *node = &labels->nodes[number];
    const struct trace_construct *construct = &labels->file->constructs[node->construct < labels->file->construct_count ? node->construct : 0];
    const char *style = unit ? ", style=filled, fillcolor=\"#c8c8c8\"" : "";
    if (node->kind == LABEL_ROOT) {
        fprintf(file, "  n%u [shape=oval, label=\"root\"];\n", number);
        return;
    }
    fprintf(file, "  n%u [label=\"", number);
    if (node->kind == LABEL_FIRST)
        fprintf(file, "%s from %lld", construct->kind == TRACE_SECTIONS ? "sections" : "iterations", (long long)node->index);
    else {
        fprintf(file, "%s\\n", words[construct->kind]);
        quoted(file, construct->place);
    }
    fprintf(file, "\"%s];\n", style);
    if (node->kind == LABEL_FORCED) {
        fprintf(file, "  e%u [shape=diamond, label=\"%llu\"];\n  n%u -> e%u [label=\"0\", arrowhead=none];\n  e%u -> n%u;\n", number,
                (unsigned long long)node->index, node->parent, number, number, number);
        return;
    }
    fprintf(file, "  n%u -> n%u [label=\"%lld\"];\n", node->parent, number, (long long)node->index);
}

enum pcere_status label_graph_write(const struct units *units, size_t most, FILE *file, const char *name, struct pcere_error *error)
{
    size_t count = units->labels.count;
    if (most && count > most)
        count = most;
    bool *is_unit = calloc(count + 1, sizeof *is_unit);
    if (!is_unit)
        return pcere_fail_memory(error, "the label graph");
    for (size_t i = 0; i < units->count; i++)
        if (units->list[i].node < count)
            is_unit[units->list[i].node] = true;
    fputs("digraph labels {\n  node [shape=box, fontsize=10];\n  edge [fontsize=9];\n", file);
    for (uint32_t i = 0; i < count; i++)
        node_write(units, i, is_unit[i], file);
    if (count < units->labels.count)
        fprintf(file, "  more [shape=plaintext, label=\"and %zu more\"];\n", units->labels.count - count);
    fputs("}\n", file);
    free(is_unit);
    if (fflush(file) != 0 || ferror(file))
        return pcere_fail(error, PCERE_SYSTEM, errno, "free some space", "cannot write '%s'", name);
    return PCERE_OK;
}
