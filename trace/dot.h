/* trace/dot.h - task graphs as Graphviz has them: read (those of OMPC, and ours), and written in the two styles of the paper.
 *
 * V. Pinho (UNICAMP 2023), section 4.4: roots and leaves are octagons, other nodes ovals, data tasks grey; in the scheduling style nodes have their source location
 * and edges the bytes that they carry, blue from one process to another, red within one. Of paths (figure 4.14) the critical one is blue, the other roots' are green.
 */
#ifndef PCERE_TRACE_DOT_H
#define PCERE_TRACE_DOT_H

#include "trace/graph.h"

/* PCERE_USAGE: there is no such file. PCERE_DATA: it is no directed graph. PCERE_SYSTEM. A node's id is the number in its label or name; attributes that are read:
 * label, work_ns, place, kind; of edges label and bytes. */
enum pcere_status dot_read(const char *path, struct graph *ret_graph, struct pcere_error *error);

enum dot_style { DOT_PLAIN, DOT_SCHEDULING };

struct dot_options {
    enum dot_style style;
    const struct graph_paths *paths;     /* NULL: no path is coloured */
    const uint64_t *slack_ns;            /* [node]; NULL: not told */
    const uint32_t *process;             /* [node]: where it ran; NULL: unknown */
};

/* PCERE_SYSTEM: `file` did not take it all; `name` says which. */
enum pcere_status dot_write(const struct graph *graph, const struct dot_options *options, FILE *file, const char *name, struct pcere_error *error);

/* All tasks of one kind and place as one node whose work is their sum, with an edge where any of them had one: for graphs that nobody could look at. */
enum pcere_status graph_fold(const struct graph *graph, struct graph *ret_folded, struct pcere_error *error);

#endif
