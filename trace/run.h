/* trace/run.h - all files that tell of one run, as one model: traces of its processes, and its task graph. */
#ifndef PCERE_TRACE_RUN_H
#define PCERE_TRACE_RUN_H

#include "trace/graph.h"
#include "trace/ranks.h"
#include "trace/timeline.h"

struct run {
    struct timeline timeline;
    struct graph graph;
    struct ranks ranks;          /* of an MPI program, whose clocks were put on one */
    bool has_trace, has_graph;
    char remark[512];            /* what of the files could not be used; "": nothing */
};

/* FILE, FILE,FILE,..., or a directory whose *.json, *.dot and *.pct files are meant: Chrome's JSON, Graphviz's language, our own traces, told by their content. `wanted` and
 * `apart` as in struct timeline; in `wanted` RUN_STEPS stands for its want_steps. Processes that are ranks of one MPI program have their clocks synchronised. Roles are found and begins and ends paired. A graph gets its tasks' times from the traces where it has none.
 * PCERE_USAGE: there is no such file. PCERE_DATA: no file of a known kind; two graphs. PCERE_SYSTEM. */
#define RUN_STEPS (1u << 31)
#define RUN_MINIMA (1u << 30)    /* ranks' first events are laid on each other, whatever messages say */

enum pcere_status run_load(const char *files, uint32_t wanted, enum timeline_apart apart, struct run *ret_run, struct pcere_error *error);
void run_done(struct run *run);          /* accepts zeroed */

#endif
