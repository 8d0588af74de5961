/* analysis/virtual_runs.h - the runs that a machine with few counters would have needed, out of runs of which all counts are known.
 */
#ifndef PCERE_ANALYSIS_VIRTUAL_RUNS_H
#define PCERE_ANALYSIS_VIRTUAL_RUNS_H

#include "analysis/profile.h"

struct virtual_runs_options {
    uint32_t counters;                 /* events of a run */
    bool overlap;                      /* as BC needs it (planner.h) */
    double noise_ratio;                /* of counts (virtual_pmu.h) */
    uint64_t seed;
};

struct virtual_runs {
    struct profile **profiles;
    char **names;                      /* for messages: "run 3 (of b.pcx)" */
    size_t count;
};
void virtual_runs_done(struct virtual_runs *runs);

/* Plan runs for the events of the first truth, and let run r see its events in truth r; when there are fewer truths than runs they are used again
 * from the first on. PCERE_USAGE: no truth, counters out of range. PCERE_DATA: a truth without one of the events; what planner_cover says. */
enum pcere_status virtual_runs_make(struct profile *const *truths, const char *const *names, size_t count, const struct virtual_runs_options *options,
                                    struct virtual_runs *ret_runs, struct pcere_error *error);

/* The first truth as multiplexing sees it: the groups of such a plan without overlaps, rotated every period_ns. */
enum pcere_status virtual_runs_rotate(const struct profile *truth, const struct virtual_runs_options *options, uint64_t period_ns,
                                      struct profile **ret_profile, struct pcere_error *error);

#endif
