/* analysis/epd.h - execution profile dissimilarity: how far a profile lies from reference runs that saw events at the same time.
 *
 * R. Neill, A. Drebes and A. Pop (IWOMP 2017), sections 5.1 to 5.3. For each pair of events that references have together: two histograms of XUs over
 * the reference's range in `bins` equal intervals each way; a bin weighs its share of XUs and lies at the mean of its XUs, in intervals; the earth
 * mover's distance between them, as a mean over the references. That is divided by the pair's calibration, the same between references; the
 * geometric mean over pairs is the EPD: 1 is as far away as runs are from each other.
 *
 * Where the paper is silent: values outside of the reference's range fall in one bin below and one above it, which lie where their XUs do. Where all of the
 * reference's XUs have one value, an interval is 1. Calibration is over all ordered pairs of different references.
 */
#ifndef PCERE_ANALYSIS_EPD_H
#define PCERE_ANALYSIS_EPD_H

#include "analysis/profile.h"

#define EPD_BINS 20u
#define EPD_BINS_MOST 120u
#define EPD_FLOOR 1e-3

struct epd_options {
    uint32_t bins;                     /* n, intervals in each dimension; 0: EPD_BINS */
    double floor;                      /* in intervals: a smaller distance counts like this one where a ratio or logarithm is taken; 0: EPD_FLOOR */
};

struct epd_pair {
    char *x, *y;                       /* events */
    uint32_t references;               /* that have both */
    double calibration;                /* in intervals; NaN with fewer than two references */
};

struct epd_calibration {
    struct epd_options options;        /* as used */
    struct epd_pair *pairs;
    size_t pair_count;
    size_t zero;                       /* pairs whose references do not differ at all */
    size_t alone;                      /* pairs with one reference: nothing to calibrate with */
};

/* The calibration of every pair of events that some reference has. The references are runs of one program and input (PCERE_DATA); names are
 * for messages. PCERE_USAGE: no reference, more bins than EPD_BINS_MOST. PCERE_DATA: a reference without XUs; no pair of events. */
enum pcere_status epd_calibrate(struct profile *const *references, const char *const *names, size_t count, const struct epd_options *options,
                                struct epd_calibration *ret_calibration, struct pcere_error *error);
void epd_calibration_done(struct epd_calibration *calibration);

struct epd_result {
    double epd;                        /* geometric mean of distance over calibration, of the pairs whose calibration is not zero; NaN: none */
    size_t pairs;                      /* that it is over */
    double floored;                    /* the same over all calibrated pairs, distances and calibrations below the floor counting like it */
    size_t floored_pairs;
    size_t zero_same, zero_other;      /* pairs whose calibration is zero: where the profile does not differ either, and where it does */
    size_t missing;                    /* pairs that the profile does not have */
    double *distances;                 /* [pair] mean distance in intervals; NaN: missing */
};

/* How far `profile` lies from the references that `calibration` was made of. PCERE_DATA: it has no XUs or none of the pairs, or is a profile of
 * another program or input. */
enum pcere_status epd_evaluate(const struct profile *profile, const char *name, struct profile *const *references, const char *const *names, size_t count,
                               const struct epd_calibration *calibration, struct epd_result *ret_result, struct pcere_error *error);
void epd_result_done(struct epd_result *result);

/* The distance between two profiles in two events each (rows of their events), over the range of `reference`, in its intervals. */
enum pcere_status epd_distance(const struct profile *profile, const uint32_t events[2], const struct profile *reference, const uint32_t reference_events[2],
                               uint32_t bins, double *ret_distance, struct pcere_error *error);

#endif
