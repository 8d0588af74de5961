/* predictor/statistics.h - what a handful of noisy timings says: medians, their intervals, spread.
 *
 * Everything here is robust against few values: each function says what it gives for one and for two of them. `count` is at least 1
 * (asserted), values are finite. Functions that take `sorted` want ascending order: statistics_sort makes it.
 */
#ifndef PCERE_PREDICTOR_STATISTICS_H
#define PCERE_PREDICTOR_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ascending, in place. */
void statistics_sort(double *values, size_t count);

/* The value that would stand at `rank` (0 is the smallest) if `values` were sorted. Reorders `values`, so that no value before `rank` is
 * larger than it and none after it is smaller. Linear time on average. */
double statistics_select(double *values, size_t count, size_t rank);
uint64_t statistics_select_u64(uint64_t *values, size_t count, size_t rank);

/* What is typical of the sum of `values` (which must not overflow) rather than of their number: the median of those that are about as large (within a
 * sixteenth) as the one with which, ascending, half of the sum is reached. `scratch` has room for all of them. */
uint64_t statistics_middle_u64(const uint64_t *values, size_t count, uint64_t *scratch);

/* The `probability` quantile (0 to 1) with linear interpolation between order statistics: R's type 7 (Hyndman and Fan 1996). */
double statistics_quantile(const double *sorted, size_t count, double probability);

/* The middle value, or the mean of the two in the middle. */
double statistics_median(const double *sorted, size_t count);

/* Arithmetic mean. */
double statistics_mean(const double *values, size_t count);

/* Sample standard deviation (divisor count - 1) over the mean; 0 for one value or where the mean is 0. */
double statistics_variation_ratio(const double *values, size_t count);

/* How far apart they lie: largest less smallest, over the median; 0 where the median is not above 0. */
double statistics_spread_ratio(const double *sorted, size_t count);

/* Median absolute deviation from the median, in the unit of the values and not scaled: times 1.4826 it estimates the standard deviation of
 * normal data. 0 for one value, half the difference for two. Linear time, no memory. */
double statistics_mad(const double *sorted, size_t count);
#define STATISTICS_MAD_TO_SIGMA 1.4826

struct statistics_interval {
    double low, high;      /* in the unit of the values */
    double confidence;     /* what the interval really covers, 0 to 1: below what was asked where there are too few values */
};

/* Interval for the population's median from order statistics: the narrowest symmetric pair of ranks (j, n + 1 - j) whose binomial
 * coverage 1 - 2 P(B(n, 1/2) < j) is at least `confidence` (0 to 1; exact for any continuous distribution, Conover 1999, section 3.2).
 * Fewer than 6 values cannot reach 0.95: then it is minimum to maximum with the coverage 1 - 2^(1-n) that this has (one value: 0). */
struct statistics_interval statistics_median_interval(const double *sorted, size_t count, double confidence);

/* Quantile 0.975 of Student's t: a table up to 15 degrees of freedom, then Cornish and Fisher's expansion. 0 of them: infinity. */
double statistics_student_quantile(size_t freedom);

/* Half of the 95 % interval of the mean of a region's shots, by Student's t. Two or three say next to nothing of how much shots scatter (those of one codelet 0.2 % in one replay and 31 % in
 * another), so that STATISTICS_SHOT_RATIO of the mean is taken for it, too, and counts as STATISTICS_SHOT_ASSUMED degrees of freedom beside their own (moderated t, Smyth 2004): what
 * variances of MG's and FT's codelets scatter around, and how far. A single shot has that alone. */
#define STATISTICS_SHOT_RATIO 0.05
#define STATISTICS_SHOT_ASSUMED 2
double statistics_shots_half(const double *values, size_t count);

/* The interval of that mean, widened by what processes differ of themselves
 * (STATISTICS_PROCESS_RATIO of the mean as standard deviation: 36 codelets in 26 replays each differed by 2.3 to 4.6 % in the median, at one and two threads), since shots of one
 * process share that. */
#define STATISTICS_PROCESS_RATIO 0.035
struct statistics_interval statistics_shots_interval(const double *values, size_t count);

/* The same of whole repetitions, made by so many processes: their median, with the interval of order statistics; fewer than 6 reach as far as Student's t says, too, since two or
 * three say little of where others would be. One says nothing of that: STATISTICS_SINGLE_RATIO is taken, which held 91 to 94 of 100 single runs. Where nothing interrupted them
 * (`quiet`), that counts as STATISTICS_SINGLE_ASSUMED degrees of freedom beside their own. Widened by what processes differ of themselves, the less, the more there are. */
#define STATISTICS_SINGLE_RATIO 0.05
#define STATISTICS_SINGLE_ASSUMED 2
struct statistics_interval statistics_repetitions_interval(const double *sorted, size_t count, size_t processes, bool quiet);

/* The same around their mean, where that counts: by Student's t, however many there are. */
struct statistics_interval statistics_means_interval(const double *values, size_t count, size_t processes);

struct statistics_group {  /* values that share an offset: one process's repetitions */
    const double *values;
    size_t count;
};

/* Draws of the median, or the mean, under a two-level bootstrap: groups are drawn with replacement, then values within each group drawn, since a
 * process has an offset of its own (1 to 5 %) that more repetitions in it do not average out. Writes `draw_count` medians (`mean`: means) of all drawn
 * values to `draws`. One group: values only. `scratch` holds as many values as group_count times the largest group.
 * Groups of count 0 are not allowed. *state is the seed of random.h and moves on. */
void statistics_bootstrap(const struct statistics_group *groups, size_t group_count, bool mean, uint64_t *state, double *scratch,
                          double *draws, size_t draw_count);

#endif
