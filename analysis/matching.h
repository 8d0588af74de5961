/* analysis/matching.h - which rows of several profiles belong together. Private to analysis/: between combine.c and its strategies.
 */
#ifndef PCERE_ANALYSIS_MATCHING_H
#define PCERE_ANALYSIS_MATCHING_H

#include "analysis/combine.h"

struct matching_input {
    struct profile *const *profiles;       /* in the order of labels */
    const char *const *names;
    size_t profile_count;
    uint32_t **types;                      /* [profile][row] the XU's type: construct and kind, numbered over all profiles */
    size_t type_count;
    const uint32_t *first_with;            /* [profile][event], event_stride apart: of the profile's event, the first profile that has one of its name */
    size_t event_stride;
    struct combine_options options;
};

struct matching {
    size_t count;
    uint32_t **rows;                       /* [profile][derived XU]: the row; in the order of the first profile's rows */
};

/* What was matched so far against profile `p`: both in one order, by which `order` compares the first profile's row of a match with the `at`-th of the
 * `next_count` of profile p. matching->rows[p] becomes that `at`. */
typedef int matching_order_fn(const void *context, uint32_t first_row, size_t at);
void matching_join(struct matching *matching, size_t p, size_t next_count, matching_order_fn *order, const void *context);

/* All fill a matching whose `rows` have room for the largest profile. */
enum pcere_status matching_ctc(const struct matching_input *input, struct matching *matching, struct pcere_error *error);
enum pcere_status matching_lgl(const struct matching_input *input, struct matching *matching, struct pcere_error *error);
/* Equal labels with constructs told by their ids, where names differ: lines were moved, or one build has no debug information. *ret_used: false, and nothing
 * done, where names suffice, or a profile has no ids or no texts of labels. *ret_renamed: constructs that have other names in another profile. */
enum pcere_status matching_ids(const struct matching_input *input, struct matching *matching, bool *ret_used, size_t *ret_renamed, struct pcere_error *error);
/* Put what was matched into the order of the first profile's rows. */
enum pcere_status matching_order(const struct matching_input *input, struct matching *matching, struct pcere_error *error);
/* BC, BC unlabeled and assignment. */
enum pcere_status matching_bc(const struct matching_input *input, struct matching *matching, struct pcere_error *error);

/* Values of XUs in the dimensions of the overlapping events, for one type, from 0 to 1 over both sides together. */
struct matching_side {
    size_t count;
    uint32_t *at;                          /* what the caller knows a XU by; ascending is the order of labels */
    double **values;                       /* [dimension][XU] */
};

/* Least sum of Euclidean distances between pairs: partner_of_a[i] becomes an index into b or UINT32_MAX. As many pairs as the smaller side has
 * XUs. Of equally good pairings, the one that keeps the order of labels more. Optimal up to COMBINE_BLOCK XUs on each side, else within blocks. */
enum pcere_status matching_assign(const struct matching_side *a, const struct matching_side *b, size_t dimensions, uint32_t *partner_of_a,
                                  struct pcere_error *error);

#endif
