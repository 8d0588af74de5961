/* cli/tune_search.h - the search of `pcere tune`: measures settings of regions on their codelets, keeps every sample in the store, verifies what it
 * recommends.
 *
 * What the store's samples already say is not measured again, so that a search that was ended goes on where it was.
 */
#ifndef PCERE_CLI_TUNE_SEARCH_H
#define PCERE_CLI_TUNE_SEARCH_H

#include "cli/prediction.h"
#include "cli/replay_options.h"
#include "predictor/tuning.h"

struct tune_space {                      /* lists of what is tried; [0] of flags, schedules and binds is NULL: as it is */
    const uint32_t *threads;
    const char *const *flags, *const *schedules, *const *binds;
    struct tuning_space counts;
    bool sets_schedule;                  /* the program calls omp_set_schedule */
    bool all_loops;                      /* schedules are those of all loops, not of those alone that say schedule(runtime) */
};

struct tune_region {
    size_t index;                        /* in the manifest */
    const struct replay_target *targets; /* its captured classes */
    size_t target_count;
    struct tuning_trial *trials;         /* all that were tried */
    size_t trial_count, trial_capacity;
    const struct tuning_trial *base;     /* the best as it is: of the thread counts alone; NULL: nothing runs */
    const struct tuning_trial *best;     /* of all; base, where nothing else is better */
    const struct tuning_trial *applied;  /* best, but with flags that all searched regions of its source file are right with, and together fastest: a file is compiled once */
    bool clear;                          /* best is faster than base beyond their intervals */
    const char *verified;                /* NULL: the same code as it is; else "identical", "rounding" (results with the flags of `best`) */
    char *note;                          /* why something faster was not taken, or NULL */
};

struct tune_search {
    struct cli *cli;
    struct replay_setup setup;
    struct prediction prediction;        /* the samples, and whose they are */
    struct tune_space space;
    struct tune_region *regions;
    size_t region_count;
    uint64_t budget_ns, spent_ns;        /* wall time of replays, builds included; 0: no limit */
    uint64_t seed;
    size_t measured, known, failed, left;    /* settings of regions: replayed now, already in the store, that do not run, not tried for lack of time */
};

/* The regions of search->setup.targets that weigh at least `share_least_ratio` of the run, and nothing measured yet. */
enum pcere_status tune_search_init(struct tune_search *search, double share_least_ratio, struct pcere_error *error);
void tune_search_done(struct tune_search *search);

/* Search, confirm what was found by replaying it and the base once more, verify it. Only what keeps everything from running is a failure. */
enum pcere_status tune_search_run(struct tune_search *search, struct pcere_error *error);

/* The trial of a setting, or NULL. */
const struct tuning_trial *tune_trial(const struct tune_region *region, const struct tuning_setting *setting);

#endif
