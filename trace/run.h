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
/* What need not be kept, where a timeline does without arrows: neighbours shorter than least_ns are joined while files are read, and of one large file in Chrome's format only what touches the window is kept, which takes reading it twice.
 * Memory is in proportion to what is left, and to the tasks of a trace of ours. */
struct run_sparing { uint64_t least_ns; int64_t from_ns, to_ns; /* since the run's begin; 0 and INT64_MAX: all of it */ uint64_t large_bytes; /* what is a large file; 0: as is best */ };
enum pcere_status run_load_sparing(const char *files, uint32_t wanted, enum timeline_apart apart, const struct run_sparing *sparing, struct run *ret_run, struct pcere_error *error);
/* Whether a file is one of 'pcere trace'; else it looks like another trace, or a graph. PCERE_USAGE: there is no such file. PCERE_DATA: empty, or of no known kind. PCERE_SYSTEM. */
enum pcere_status run_is_native(const char *path, bool *ret_native, struct pcere_error *error);
void run_done(struct run *run);          /* accepts zeroed */

#endif
