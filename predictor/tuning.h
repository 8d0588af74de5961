/* predictor/tuning.h - which settings to try next for a region, and which of those that were measured is the best.
 *
 * A setting is one value of each dimension, by its number in the list of what may be tried; number 0 is how the program is now. Few
 * combinations are all tried; else by coordinates: the thread counts as they are, then each other dimension in turn at the best so far, then the
 * thread counts again if that changed. This finds the best combination where dimensions do not work against each other, and says nothing of others.
 */
#ifndef PCERE_PREDICTOR_TUNING_H
#define PCERE_PREDICTOR_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tuning_dimension { TUNING_THREADS, TUNING_FLAGS, TUNING_SCHEDULE, TUNING_BIND, TUNING_DIMENSIONS };

#define TUNING_EXHAUSTIVE_MOST 12u       /* combinations that are all tried */
#define TUNING_STAGES 5u                 /* of the search by coordinates */

struct tuning_space { uint32_t counts[TUNING_DIMENSIONS]; };              /* each at least 1 */
struct tuning_setting { uint32_t values[TUNING_DIMENSIONS]; };           /* each below its count */

struct tuning_trial {
    struct tuning_setting setting;
    uint64_t time_ns, low_ns, high_ns;       /* of the region, all invocations; 95 % */
    bool failed;                             /* it does not run, or its results are wrong */
};

bool tuning_is_exhaustive(const struct tuning_space *space);
uint32_t tuning_stages(const struct tuning_space *space);       /* 1, or TUNING_STAGES */

/* Settings that a stage (from 0) tries, `best` being the best so far, into settings[]; returns how many: at most TUNING_EXHAUSTIVE_MOST or the largest count. */
size_t tuning_stage(const struct tuning_space *space, uint32_t stage, const struct tuning_setting *best, struct tuning_setting *settings);
size_t tuning_stage_most(const struct tuning_space *space);

bool tuning_same(const struct tuning_setting *a, const struct tuning_setting *b);

/* The shortest that did not fail; of times within TUNING_ALIKE_RATIO of it, the one that changes fewest dimensions, and then the one with fewest threads. NULL: all
 * failed. `threads` are the counts behind the numbers of TUNING_THREADS. */
#define TUNING_ALIKE_RATIO 0.01
const struct tuning_trial *tuning_best(const struct tuning_trial *trials, size_t count, const uint32_t *threads);

/* Is one faster than the other beyond their intervals? */
bool tuning_clearly_faster(const struct tuning_trial *trial, const struct tuning_trial *than);

#endif
