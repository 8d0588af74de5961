/* analysis/difference.h - two profiles side by side, by label: which XUs changed, by how much, and how sure that is.
 *
 * Each side is one run or several repeats of it; the sides may differ in anything (program, settings, machine), as long as labels match. Sums by
 * construct, thread, processor or NUMA node are over all XUs, whether they have a partner or not.
 */
#ifndef PCERE_ANALYSIS_DIFFERENCE_H
#define PCERE_ANALYSIS_DIFFERENCE_H

#include "analysis/profile.h"

struct difference_side {
    struct profile *const *profiles;   /* repeats of one run; they are put into the order of labels */
    const char *const *names;          /* for messages */
    size_t count;
};

struct difference_xu {
    uint32_t a_row, b_row;             /* in the first profile of each side */
    double a, b;                       /* mean over the repeats */
    double confidence;                 /* that it changed, 0 to 1; NaN: one run on each side, and counts that need not repeat */
};

/* The confidence: 1 for counts that are the same in every run and differ. Else, if all of a side's counts are below all of the other's,
 * 1 - 2 / (n over a), n runs in all, a of them on one side: how rarely chance puts them so (a permutation test, two-sided). 0 if they overlap.
 * It is of one XU: of many, chance alone moves some. */

struct difference_event {
    char *name, *unit;
    size_t matched;                    /* XUs with a partner */
    size_t changed;                    /* of them: whose means differ */
    size_t sure;                       /* of them: with a confidence of DIFFERENCE_SURE at least */
    double expected_by_chance;         /* how many XUs that did not change would reach `sure`: 0 where counts are exact, else NaN if unknown */
    double a_sum, b_sum;               /* over all XUs, mean over the repeats */
    struct difference_xu *top;         /* those that changed most, the largest difference first */
    size_t top_count;
};
#define DIFFERENCE_SURE 0.95

enum difference_by { DIFFERENCE_BY_CONSTRUCT, DIFFERENCE_BY_THREAD, DIFFERENCE_BY_CPU, DIFFERENCE_BY_NODE, DIFFERENCE_BY_COUNT };

struct difference_group {
    char *name;                        /* construct, "thread 3", "processor 1", "node 0", or "unknown" */
    double a_xus, b_xus;               /* mean over the repeats, like the sums */
    double *a_sums, *b_sums;           /* [event] */
};

struct difference {
    struct difference_event *events;   /* those that all profiles of both sides have */
    size_t event_count;
    bool by_ids;                       /* labels were matched with constructs told by their ids, since names differ; groups have A's names */
    size_t renamed;                    /* constructs with another name on the other side */
    size_t only_a, only_b;             /* XUs of the first profiles whose label is not in every other */
    struct difference_group *groups;   /* in the order of the larger sum of the first event */
    size_t group_count;
};

/* "construct", "thread", "core", "node"; and back, DIFFERENCE_BY_COUNT for another word. */
const char *difference_by_name(enum difference_by by);
enum difference_by difference_by_find(const char *name);

/* PCERE_USAGE: a side without profiles. PCERE_DATA: repeats that are no repeats; a profile without XUs; no event in common. PCERE_SYSTEM. */
enum pcere_status difference_make(const struct difference_side *a, const struct difference_side *b, enum difference_by by, size_t top,
                                  struct difference *ret_difference, struct pcere_error *error);
void difference_done(struct difference *difference);

/* As described above, from least and largest of each side. */
double difference_confidence(bool exact, const double a[2], size_t a_count, const double b[2], size_t b_count);

#endif
