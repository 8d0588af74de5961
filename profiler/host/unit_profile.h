/* profiler/host/unit_profile.h - what was seen of a run, as a profile and as a graph. */
#ifndef PCERE_PROFILER_HOST_UNIT_PROFILE_H
#define PCERE_PROFILER_HOST_UNIT_PROFILE_H

#include "analysis/profile.h"
#include "profiler/host/units.h"

#include <stdio.h>

struct unit_profile_run {        /* what the trace does not know of its run; borrowed */
    const char *program;
    char *const *arguments;      /* NULL-terminated, without the program; NULL: none */
    char *const *environment;    /* NULL-terminated, as the program saw it: settings are taken out of it */
    const char *host;
    const uint32_t *nodes;       /* NUMA node of each processor, by number; NULL: not known */
    size_t node_count;
    const char *build_id;        /* of the program, where the trace is of another one (a codelet); NULL: the trace's */
    const char *region;          /* of a codelet, or NULL */
};

/* A profile with all XUs, in the order of their labels. PCERE_SYSTEM. */
enum pcere_status unit_profile_make(const struct units *units, enum label_rules rules, const struct unit_profile_run *run, struct profile **ret_profile,
                                    struct pcere_error *error);

/* The label graph (Fig. 2 of the paper) for Graphviz: XUs are grey boxes, constructs white ones, and an element that stands for a forced order is a
 * diamond. At most `most` nodes; 0: all. PCERE_SYSTEM: `file` did not take it. */
enum pcere_status label_graph_write(const struct units *units, size_t most, FILE *file, const char *name, struct pcere_error *error);

#endif
