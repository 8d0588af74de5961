/* cli/profile_run.h - one recorded run, of a program or of a codelet: what is asked for, and what becomes of it. */
#ifndef PCERE_CLI_PROFILE_RUN_H
#define PCERE_CLI_PROFILE_RUN_H

#include "analysis/profile.h"
#include "cli/cli.h"
#include "profiler/host/units.h"

struct profile_runs;

struct profile_request {             /* borrowed */
    struct profile_runs *runs;       /* that this is one of (profile_runs.h) */
    const char *path;                /* of the profile; it does not exist, or `force` */
    const char *trace, *library;     /* the trace file to make; the profiler's library, absolute */
    bool kept;                       /* the trace is wanted, too */
    const struct trace_event *events;
    size_t event_count;
    enum label_rules rules;
    uint32_t threads;                /* 0: none given */
    enum trace_clock clock;
    uint32_t wanted;                 /* enum trace_want */
    struct trace_cache caches[2];    /* for events of the model of caches */
    bool force;
    bool csv;                        /* a line for each XU in place of the table */
    bool quiet;                      /* the file is all that is wanted */
    const char *graph;               /* NULL: none */
    uint64_t graph_most;
    const char *in_vivo, *warmup;    /* of a codelet, or NULL */
};

/* What --caches says ("32KiB/8,1MiB/16/64": bytes, ways, and bytes of a line), or, without a word, what this machine has. PCERE_USAGE: that are no caches that
 * can be modelled. PCERE_REFUSED: this machine does not tell its own. */
enum pcere_status profile_caches_choose(const char *word, struct trace_cache *ret_caches, struct pcere_error *error);

struct unit_profile_run;
/* The profile of a run on this machine; `about` says the rest of it. PCERE_DATA: iterations were asked for, but no loop of the program told any. */
enum pcere_status profile_make(const struct profile_request *request, const struct units *units, const struct unit_profile_run *about, struct profile **ret_profile,
                               struct pcere_error *error);

/* What could not be combined, a line each; nothing where all was. */
void profile_dropped_print(const struct profile *combined, FILE *out);
/* Write the profile and, if asked for, the graph; then show it: a table, or the document, which is then written and gone. */
enum pcere_status profile_deliver(struct cli *cli, const struct profile_request *request, const struct units *units, const struct profile *profile,
                                  struct pcere_error *error);

/* Profile the codelet that cli->operands name in cli->store. PCERE_USAGE: they name several regions, or none. */
enum pcere_status profile_codelet(struct cli *cli, const struct profile_request *request, struct pcere_error *error);

#endif
