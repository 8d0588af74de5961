/* cli/profile_runs.h - events that one run cannot count: which of them each run counts, and what becomes of the runs' profiles. */
#ifndef PCERE_CLI_PROFILE_RUNS_H
#define PCERE_CLI_PROFILE_RUNS_H

#include "cli/profile_run.h"

struct profile_runs_options {        /* borrowed while the runs live */
    const struct trace_event *events;
    size_t event_count;
    const char *combine;             /* the strategy that makes one profile of all runs; NULL: there is one run with all events */
    bool references;                 /* instead: a profile of each run, and every pair of events that fits together is in one of them */
    uint32_t counters;               /* most events of a run; 0: as many as this machine's kernel grants together */
    uint32_t repeats;                /* each run so often */
    const char *conflicts;           /* "ir-loads+task-clock,...": pairs that one run cannot count, beside what the kernel refuses; NULL: none */
};

struct profile_runs;

/* Plan the runs. PCERE_USAGE: no such strategy; words that exclude each other; more events than one run has, and no strategy; pairs of what is no event.
 * PCERE_REFUSED: one run is to count all, and cannot. PCERE_DATA: what planner_cover and planner_pairs say. */
enum pcere_status profile_runs_plan(const struct profile_runs_options *options, struct profile_runs **ret_runs, struct pcere_error *error);
void profile_runs_free(struct profile_runs *runs);
size_t profile_runs_count(const struct profile_runs *runs);

/* Have run `run` as the next one: its events and its part in the whole go to the request. The path of references is `path` with a number. */
enum pcere_status profile_runs_begin(struct profile_runs *runs, size_t run, const char *path, struct profile_request *request, struct pcere_error *error);

/* What a run gave. *ret_deliver: it is to be delivered, as it is, or, when it was the last one, as what all of them make; else the runs keep it, and *profile is NULL.
 * PCERE_DATA: what combine_profiles says. */
enum pcere_status profile_runs_join(struct profile_runs *runs, struct profile **profile, bool *ret_deliver, struct pcere_error *error);

/* "plan": {"runs", "bound", "events_per_run", "pairs_impossible"}, and of references "files": [{"file", "events"}]. */
void profile_runs_describe(const struct profile_runs *runs, json_t *document, bool *failed);
/* The same for people. */
void profile_runs_print(const struct profile_runs *runs, FILE *out);

#endif
