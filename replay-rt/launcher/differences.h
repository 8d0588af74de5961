/* replay-rt/launcher/differences.h - what differs after a replay: by variable, and whether it matters.
 *
 *   words that differ (one or more runs) ─▶ values of their types ─▶ within the bound? the same in all runs? ─▶ a line for each variable
 */
#ifndef PCERE_REPLAY_LAUNCHER_DIFFERENCES_H
#define PCERE_REPLAY_LAUNCHER_DIFFERENCES_H

#include "core/error.h"
#include "replay-rt/launcher/codelet_memory.h"
#include "replay-rt/launcher/objects.h"
#include "replay-rt/launcher/replay.h"
#include "replay-rt/protocol.h"

#define DIFFERENCES_MADE "allocated by the region"    /* name of the mapping of that */

struct difference_list {              /* of one run */
    struct plan_difference *items;    /* thread-local variables by thread, then memory by address */
    size_t count;
    uint64_t different_bytes;         /* of all, also those that are not described */
    bool heap_released;               /* the region freed or grew captured blocks */
};

/* Take what a process found out of its plan, which is hostile. */
enum pcere_status difference_list_load(const struct plan_file *plan, struct difference_list *ret_list, struct pcere_error *error);
void difference_list_done(struct difference_list *list);

/* How far floating-point values may differ: by this times the larger of the two, or times the largest value of the same array. 0: not at all. */
struct difference_bound { double single_ratio, double_ratio, extended_ratio; };

/* The bound for `terms` values added in another order (docs/METHOD.md, "Verification"). */
void difference_bound_for_terms(double terms, struct difference_bound *ret_bound);

struct rounded;
struct difference_source {            /* borrowed */
    const struct objects *objects;
    const struct store_codelet *codelet;
    struct captured_view *view;       /* memory after the region, in the original */
    struct difference_bound bound;
    const struct rounded *rounded;    /* what directed rounding tells beyond the bound (rounded.h), or NULL */
};

/* Judge the runs' differences: result->verdict, causes and cause_count are set. `run_count` is 1 or 2. */
enum pcere_status differences_judge(const struct difference_source *source, const struct difference_list *runs, size_t run_count,
                                    struct verify_result *result, struct pcere_error *error);

#endif
