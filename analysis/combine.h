/* analysis/combine.h - one complete profile of several runs that each saw a part of the events.
 *
 * R. Neill, A. Drebes and A. Pop, "Accurate and Complete Hardware Profiling for OpenMP" (IWOMP 2017), section 3. A strategy says which XU of
 * which run belong together (a matching); a derived XU then has the counts of all of them, each event from the first profile that has it.
 */
#ifndef PCERE_ANALYSIS_COMBINE_H
#define PCERE_ANALYSIS_COMBINE_H

#include "analysis/profile.h"

enum combine_strategy {
    COMBINE_CTC,            /* chronological type combination: per type, the first with the first in order of start, and so on */
    COMBINE_LGL,            /* label graph location: equal labels; equal ones within a profile in order of start */
    COMBINE_BC,             /* behaviour clustering: profile by profile, in one cell of a grid over the events that both have, in order of labels */
    COMBINE_BC_UNLABELED,   /* the same with random pairs within a cell */
    COMBINE_ASSIGNMENT,     /* like BC, but the pairs with the least sum of distances */
    COMBINE_STRATEGY_COUNT,
};

/* "ctc", "lgl", "bc", "bc-unlabeled", "assignment"; and back, COMBINE_STRATEGY_COUNT for another word. */
const char *combine_strategy_name(enum combine_strategy strategy);
enum combine_strategy combine_strategy_find(const char *name);

#define COMBINE_DIVISIONS 64u              /* d_max, if the caller names none */

struct combine_options {
    enum combine_strategy strategy;
    uint32_t divisions;                    /* d_max of BC: the grid's divisions in each dimension to begin with; 0: COMBINE_DIVISIONS */
    uint64_t seed;                         /* of BC unlabeled */
};

/* Combine `count` profiles, which are put into the order of labels on the way, and else stay the caller's. `names` are for messages. The result
 * is in the order of labels; its label, start, thread and the like are those of the first profile, its runs those of all profiles, `sources` the
 * rows. An event that several profiles have gets an interval over them. What was dropped is listed by run and type.
 *
 * PCERE_USAGE: fewer than two profiles. PCERE_DATA: runs of another program, input or settings; no event in common where the strategy needs one
 * (BC, assignment); nothing could be combined. PCERE_SYSTEM: no memory. Time is linear in XUs but for sorting, times divisions for BC in the worst
 * case, and quadratic in a block of COMBINE_BLOCK XUs for assignment. */
enum pcere_status combine_profiles(struct profile *const *profiles, const char *const *names, size_t count, const struct combine_options *options,
                                   struct profile **ret_combined, struct pcere_error *error);

#define COMBINE_BLOCK 256u                 /* an assignment is optimal within so many XUs; more are halved along their widest dimension first */

#endif
