/* predictor/statistics.c - see statistics.h. */
#include "predictor/statistics.h"

#include "predictor/random.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void statistics_sort(double *values, size_t count)
{
    if (count > 1)
        qsort(values, count, sizeof *values, compare_doubles);
}

/* Hoare's selection; the median of three as pivot keeps sorted and constant input linear. */
#define DEFINE_SELECT(name, type)                                                                                                \
    type name(type *values, size_t count, size_t rank)                                                                           \
    {                                                                                                                            \
        assert(rank < count);                                                                                                    \
        size_t low = 0, high = count - 1;                                                                                        \
        while (low < high) {                                                                                                     \
            type first = values[low], middle = values[low + (high - low) / 2], last = values[high];                              \
            type pivot = first < middle ? (middle < last ? middle : first < last ? last : first)                                 \
                                        : (first < last ? first : middle < last ? last : middle);                                \
            size_t i = low, j = high;                                                                                            \
            for (;;) {                                                                                                           \
                while (values[i] < pivot)                                                                                        \
                    i++;                                                                                                         \
                while (pivot < values[j])                                                                                        \
                    j--;                                                                                                         \
                if (i >= j)                                                                                                      \
                    break;                                                                                                       \
                type moved = values[i];                                                                                          \
                values[i++] = values[j];                                                                                         \
                values[j--] = moved;                                                                                             \
            }                                                                                                                    \
            /* Now [low, i) holds nothing above the pivot and [i, high] nothing below it, or values[i] is the pivot itself. */   \
            if (i == j && rank == i)                                                                                             \
                break;                                                                                                           \
            if (rank < i)                                                                                                        \
                high = i - 1;                                                                                                    \
            else                                                                                                                 \
                low = i == j ? i + 1 : i;                                                                                        \
        }                                                                                                                        \
        return values[rank];                                                                                                     \
    }

DEFINE_SELECT(statistics_select, double)
DEFINE_SELECT(statistics_select_u64, uint64_t)

/* A sixteenth of a power of two, from 16 on. */
#define PLACES 1024u

static size_t place_of(uint64_t value)
{
    uint64_t at_least = value < 16 ? 16 : value;
    unsigned top = 63u - (unsigned)__builtin_clzll(at_least);
    return top * 16u + (size_t)(at_least >> (top - 4) & 15u);
}

uint64_t statistics_middle_u64(const uint64_t *values, size_t count, uint64_t *scratch)
{
    assert(count > 0);
    uint64_t sums[PLACES] = {0}, sum = 0, below = 0;
    size_t middle = 0, found = 0;
    for (size_t i = 0; i < count; i++) {
        sums[place_of(values[i])] += values[i];
        sum += values[i];
    }
    while (middle < PLACES - 1 && below + sums[middle] < sum - sum / 2)
        below += sums[middle++];
    for (size_t i = 0; i < count; i++)
        if (place_of(values[i]) == middle)
            scratch[found++] = values[i];
    return found ? statistics_select_u64(scratch, found, found / 2) : 0;
}

double statistics_quantile(const double *sorted, size_t count, double probability)
{
    assert(count > 0);
    double position = probability * (double)(count - 1);
    if (!(position > 0))
        return sorted[0];
    if (position >= (double)(count - 1))
        return sorted[count - 1];
    size_t below = (size_t)position;
    return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

double statistics_median(const double *sorted, size_t count)
{
    assert(count > 0);
    return count % 2 ? sorted[count / 2] : sorted[count / 2 - 1] + (sorted[count / 2] - sorted[count / 2 - 1]) / 2;
}

double statistics_mean(const double *values, size_t count)
{
    assert(count > 0);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

double statistics_spread_ratio(const double *sorted, size_t count)
{
    double median = statistics_median(sorted, count);
    return median > 0 ? (sorted[count - 1] - sorted[0]) / median : 0;
}

double statistics_variation_ratio(const double *values, size_t count)
{
    double mean = statistics_mean(values, count);
    if (count < 2 || mean == 0)
        return 0;
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return sqrt(squares / (double)(count - 1)) / fabs(mean);
}

/* Sorted values have their deviations in two ascending runs, left and right of the median: merge them up to the middle. */
double statistics_mad(const double *sorted, size_t count)
{
    double median = statistics_median(sorted, count);
    size_t right = count / 2, left = right;   /* the next on the left is sorted[left - 1] */
    double deviation = 0, previous = 0;
    for (size_t taken = 0; taken <= count / 2; taken++) {
        previous = deviation;
        if (left == 0 || (right < count && sorted[right] - median <= median - sorted[left - 1]))
            deviation = sorted[right++] - median;
        else
            deviation = median - sorted[--left];
    }
    return count % 2 ? deviation : previous + (deviation - previous) / 2;
}

struct statistics_interval statistics_median_interval(const double *sorted, size_t count, double confidence)
{
    assert(count > 0);
    /* log of P(B(n, 1/2) = i), so that large n neither over- nor underflows */
    double n = (double)count, tail = 0;
    size_t rank = 0;                          /* ranks from 1: the interval is (rank, n + 1 - rank) */
    double covered = 0;
    while (rank < (count + 1) / 2) {
        double i = (double)rank;
        tail += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) - n * log(2));
        double coverage = 1 - 2 * tail;       /* of the ranks (rank + 1, n - rank) */
        if (rank > 0 && coverage < confidence)
            break;
        covered = coverage;
        rank++;
    }
    return (struct statistics_interval){.low = sorted[rank - 1], .high = sorted[count - rank], .confidence = fmax(covered, 0)};
}

double statistics_student_quantile(size_t freedom)
{
    static const double table[] = {INFINITY, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131};
    const double z = 1.959964;
    if (freedom < sizeof table / sizeof *table)
        return table[freedom];
    return z + (z * z * z + z) / (4 * (double)freedom);
}

/* `ratio` of the mean is assumed for the spread, and counts as so many degrees of freedom. */
static double moderated_half(const double *values, size_t count, double ratio, size_t assumed)
{
    double mean = statistics_mean(values, count), own = statistics_variation_ratio(values, count), freedom = (double)(count - 1);
    double variance = ((double)assumed * ratio * ratio + freedom * own * own) / ((double)assumed + freedom);
    return statistics_student_quantile(assumed + count - 1) * sqrt(variance / (double)count) * fabs(mean);
}

double statistics_shots_half(const double *values, size_t count)
{
    assert(count > 0);
    return moderated_half(values, count, STATISTICS_SHOT_RATIO, STATISTICS_SHOT_ASSUMED);
}

struct statistics_interval statistics_shots_interval(const double *values, size_t count)
{
    double mean = statistics_mean(values, count), half = hypot(statistics_shots_half(values, count), 1.96 * STATISTICS_PROCESS_RATIO * mean);
    return (struct statistics_interval){.low = fmax(mean - half, 0), .high = mean + half, .confidence = 0.95};
}

static double student_half(const double *values, size_t count, size_t assumed)
{
    return count < 2 ? 1.96 * STATISTICS_SINGLE_RATIO * statistics_mean(values, count) : moderated_half(values, count, STATISTICS_SINGLE_RATIO, assumed);
}

static double process_half(size_t processes, double middle)
{
    return 1.96 * STATISTICS_PROCESS_RATIO / sqrt((double)(processes ? processes : 1)) * middle;
}

struct statistics_interval statistics_means_interval(const double *values, size_t count, size_t processes)
{
    double mean = statistics_mean(values, count), half = hypot(student_half(values, count, 0), process_half(processes, mean));
    return (struct statistics_interval){.low = fmax(mean - half, 0), .high = mean + half, .confidence = 0.95};
}

struct statistics_interval statistics_repetitions_interval(const double *sorted, size_t count, size_t processes, bool quiet)
{
    enum { ENOUGH = 6 };
    struct statistics_interval interval = statistics_median_interval(sorted, count, 0.95);
    double median = statistics_median(sorted, count), low = median - interval.low, high = interval.high - median;
    double process = process_half(processes, median), student = count < ENOUGH ? student_half(sorted, count, quiet ? STATISTICS_SINGLE_ASSUMED : 0) : 0;
    return (struct statistics_interval){
        .low = fmax(median - hypot(fmax(low, student), process), 0), .high = median + hypot(fmax(high, student), process), .confidence = 0.95};
}

/* Reorders the values. */
static double any_median(double *values, size_t count)
{
    double upper = statistics_select(values, count, count / 2), lower = upper;
    if (count % 2 == 0) {                     /* selection left everything that is not larger on the left */
        lower = values[0];
        for (size_t i = 1; i < count / 2; i++)
            lower = fmax(lower, values[i]);
    }
    return lower + (upper - lower) / 2;
}

void statistics_bootstrap(const struct statistics_group *groups, size_t group_count, bool mean, uint64_t *state, double *scratch,
                          double *draws, size_t draw_count)
{
    assert(group_count > 0);
    for (size_t draw = 0; draw < draw_count; draw++) {
        size_t filled = 0;
        for (size_t g = 0; g < group_count; g++) {
            const struct statistics_group *group = &groups[group_count == 1 ? 0 : random_below(state, group_count)];
            assert(group->count > 0);
            for (size_t i = 0; i < group->count; i++)
                scratch[filled++] = group->values[random_below(state, group->count)];
        }
        draws[draw] = mean ? statistics_mean(scratch, filled) : any_median(scratch, filled);
    }
}
