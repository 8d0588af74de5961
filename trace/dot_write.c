/* trace/dot_write.c - see dot.h: the writer, and graphs folded by source location. */
#include "core/units.h"
#include "trace/dot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void quoted(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        if (*text == '\n')
            fputs("\\n", file);
        else
            fputc(*text, file);
    }
}

enum { ON_CRITICAL = 1, ON_LONGEST = 2, HAS_BEFORE = 4, HAS_AFTER = 8 };

/* Which nodes have edges, and which lie on the longest path of a root. NULL: no memory. */
static uint8_t *marks_make(const struct graph *graph, const struct graph_paths *paths)
{
    uint8_t *marks = calloc(graph->count + 1, 1);
    for (size_t i = 0; marks && i < graph->edge_count; i++) {
        marks[graph->from[i]] |= HAS_AFTER;
        marks[graph->to[i]] |= HAS_BEFORE;
    }
    for (size_t i = 0; marks && paths && i < paths->root_count; i++) {
        uint8_t mark = paths->tail_ns[paths->roots[i]] == paths->critical_ns ? ON_CRITICAL : ON_LONGEST;
        for (uint32_t node = paths->roots[i]; node != GRAPH_NONE && !(marks[node] & mark); node = paths->next[node])
            marks[node] |= mark;
    }
    return marks;
}

static const char *path_colour(uint8_t marks)
{
    return marks & ON_CRITICAL ? "blue" : marks & ON_LONGEST ? "green" : NULL;
}

static void name_write(const struct graph *graph, uint32_t node, FILE *file)
{
    char text[GRAPH_NAME_BYTES];
    quoted(file, graph_node_name(graph, node, text));
}

static void node_write(const struct graph *graph, uint32_t number, uint8_t marks, const struct dot_options *options, FILE *file)
{
    static const struct graph_node unknown = {.id = UINT64_MAX};
    const struct graph_node *node = graph->nodes ? &graph->nodes[number] : &unknown;
    bool inner = (marks & HAS_BEFORE) && (marks & HAS_AFTER);
    fputs("  \"", file);
    name_write(graph, number, file);
    fprintf(file, "\" [shape=%s, kind=%s", node->kind == GRAPH_REGION || node->kind == GRAPH_LOOP ? "box" : inner ? "oval" : "octagon", graph_kind_words[node->kind]);
    if (graph->has_work)
        fprintf(file, ", work_ns=%llu", (unsigned long long)graph->work_ns[number]);
    if (options->slack_ns)
        fprintf(file, ", slack_ns=%llu", (unsigned long long)options->slack_ns[number]);
    if (node->place) {
        fputs(", place=\"", file);
        quoted(file, graph->places[node->place]);
        fputs("\"", file);
    }
    if (options->style == DOT_SCHEDULING && (node->place || graph->has_work)) {
        char time[UNITS_TEXT_BYTES];
        fputs(", label=\"", file);
        name_write(graph, number, file);
        if (node->place && !(node->name && strstr(node->name, graph->places[node->place]))) {     /* a folded node is called after it */
            fputs("\\n", file);
            quoted(file, graph->places[node->place]);
        }
        if (graph->has_work)
            fprintf(file, "\\n%s", units_format_ns(graph->work_ns[number], time));
        fputs("\"", file);
    }
    const char *colour = path_colour(marks);
    if (colour)
        fprintf(file, ", color=%s, penwidth=2", colour);
    else if (node->kind == GRAPH_DATA)
        fputs(", color=gray", file);
    if (node->kind == GRAPH_DATA)
        fputs(", style=filled, fillcolor=gray", file);
    fputs("];\n", file);
}

static void edge_write(const struct graph *graph, size_t edge, const uint8_t *marks, const struct dot_options *options, FILE *file)
{
    uint32_t from = graph->from[edge], to = graph->to[edge];
    const char *colour = options->paths && options->paths->next[from] == to ? path_colour(marks[from]) : NULL;
    if (!colour && options->style == DOT_SCHEDULING && options->process)
        colour = options->process[from] == options->process[to] ? "red" : "blue";
    fputs("  \"", file);
    name_write(graph, from, file);
    fputs("\" -> \"", file);
    name_write(graph, to, file);
    fputs("\"", file);
    bool bytes = options->style == DOT_SCHEDULING && graph->edge_bytes && graph->edge_bytes[edge];
    if (colour || bytes)
        fputs(" [", file);
    if (colour)
        fprintf(file, "color=%s%s", colour, bytes ? ", " : "");
    if (bytes)
        fprintf(file, "label=\"%llu\"", (unsigned long long)graph->edge_bytes[edge]);
    fputs(colour || bytes ? "];\n" : ";\n", file);
}

enum pcere_status dot_write(const struct graph *graph, const struct dot_options *options, FILE *file, const char *name, struct pcere_error *error)
{
    uint8_t *marks = marks_make(graph, options->paths);
    if (!marks)
        return pcere_fail_memory(error, "the graph");
    fputs("digraph tasks {\n  node [fontsize=10];\n", file);
    for (uint32_t i = 0; i < graph->count; i++)
        node_write(graph, i, marks[i], options, file);
    for (size_t i = 0; i < graph->edge_count; i++)
        edge_write(graph, i, marks, options, file);
    fputs("}\n", file);
    free(marks);
    errno = 0;
    if (fflush(file) != 0 || ferror(file))
        return pcere_fail(error, PCERE_SYSTEM, errno, "free some space", "cannot write '%s'", name);
    return PCERE_OK;
}

/* ---- folded ------------------------------------------------------------------------------------------------------------------- */

static int by_ends(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static bool groups_make(const struct graph *graph, struct graph *folded, uint32_t *group)
{
    enum { KINDS = GRAPH_KINDS };
    size_t places = graph->place_count + 1;
    uint32_t *known = calloc(places * KINDS, sizeof *known);
    uint64_t *counts = calloc(places * KINDS + 1, sizeof *counts);
    bool memory = known && counts;
    for (size_t i = 0; memory && i < graph->count; i++) {
        struct graph_node node = graph->nodes ? graph->nodes[i] : (struct graph_node){0};
        uint32_t *slot = &known[node.kind * places + node.place];
        if (!*slot) {
            struct graph_node one = {.id = UINT64_MAX, .kind = node.kind};
            memory = graph_place(folded, graph->place_count ? graph->places[node.place] : "", &one.place) && graph_node_add(folded, &one, slot);
            ++*slot;
        }
        group[i] = *slot - 1;
        folded->work_ns[group[i]] += graph->work_ns[i];
        counts[group[i]]++;
    }
    for (size_t i = 0; memory && i < folded->count; i++) {
        const char *place = folded->nodes[i].place ? folded->places[folded->nodes[i].place] : "?";
        memory = asprintf(&folded->nodes[i].name, "%s %s (%llu)", graph_kind_words[folded->nodes[i].kind], place, (unsigned long long)counts[i]) >= 0;
    }
    free(known);
    free(counts);
    return memory;
}

enum pcere_status graph_fold(const struct graph *graph, struct graph *ret_folded, struct pcere_error *error)
{
    struct graph folded = {.has_work = graph->has_work};
    uint32_t *group = calloc(graph->count + 1, sizeof *group);
    uint64_t *ends = malloc((graph->edge_count + 1) * sizeof *ends);
    bool memory = group && ends && groups_make(graph, &folded, group);
    for (size_t i = 0; memory && i < graph->edge_count; i++)
        ends[i] = (uint64_t)group[graph->from[i]] << 32 | group[graph->to[i]];
    if (memory)
        qsort(ends, graph->edge_count, sizeof *ends, by_ends);
    for (size_t i = 0; memory && i < graph->edge_count; i++)
        if (!i || ends[i] != ends[i - 1])
            memory = graph_edge_add(&folded, (uint32_t)(ends[i] >> 32), (uint32_t)ends[i], 0);
    free(group);
    free(ends);
    if (memory)
        *ret_folded = folded;
    else
        graph_done(&folded);
    return memory ? PCERE_OK : pcere_fail_memory(error, "the folded graph");
}
