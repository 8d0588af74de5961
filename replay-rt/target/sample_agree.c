/* replay-rt/target/sample_agree.c - whether shots agree with each other: pure computation over their times. */
#include "replay-rt/target/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OUTLIER_AMONG 4u                  /* shots at least */
#define OUTLIER_OTHERS 0.05               /* how far apart the others lie at most */
#define OUTLIER_RATIO 1.25
#define PAIR_RATIO 0.12                   /* two shots that lie farther apart say too little */
#define TREND_LEAST 1.03                  /* earlier shots over later ones: the data were still getting warm */

double pcere_sample_half_width(const uint64_t *samples_ns, uint64_t count)
{
    static const double student[] = {0, 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131};
    double mean = 0, squares = 0;
    for (uint64_t i = 0; i < count; i++)
        mean += (double)samples_ns[i] / (double)count;
    for (uint64_t i = 0; i < count; i++)
        squares += ((double)samples_ns[i] - mean) * ((double)samples_ns[i] - mean);
    if (count < 2 || mean <= 0)
        return INFINITY;
    return student[count - 1] * sqrt(squares / (double)(count - 1) / (double)count) / mean;
}

/* Of `count` times, by the test of Mann and Kendall for one side at 5 %: later ones are shorter, and by more than noise. */
static bool is_falling(const double *times, uint64_t count)
{
    double sum = 0, early = 0, late = 0, n = (double)count;
    for (uint64_t i = 0; i < count; i++)
        for (uint64_t j = i + 1; j < count; j++)
            sum += (times[j] > times[i]) - (times[j] < times[i]);
    for (uint64_t i = 0; i < count / 2; i++) {
        early += times[i];
        late += times[count - 1 - i];
    }
    return count >= 4 && sum <= -1.645 * sqrt(n * (n - 1) * (2 * n + 5) / 18) && early > late * TREND_LEAST;
}

bool pcere_sample_trend_found(const struct plan_result *result)
{
    double times[SAMPLE_SHOTS_MOST] = {0}, by_work[SAMPLE_SHOTS_MOST] = {0};
    uint64_t count = result->sample_count < SAMPLE_SHOTS_MOST ? result->sample_count : SAMPLE_SHOTS_MOST;
    bool told = true;
    for (uint64_t i = 0; i < count; i++) {
        told = told && result->works_ns[i];
        times[i] = (double)result->samples_ns[i];
        by_work[i] = times[i] / (result->works_ns[i] ? (double)result->works_ns[i] : 1);
    }
    return is_falling(times, count) && (!told || is_falling(by_work, count));
}

bool pcere_sample_pair_differs(const struct plan_result *result)
{
    double a = (double)result->samples_ns[0], b = (double)result->samples_ns[1];
    return result->sample_count == 2 && fabs(a - b) > PAIR_RATIO * (a + b) / 2;
}

void pcere_sample_drop(struct plan_result *result, uint64_t count)
{
    result->sample_count -= count;
    memmove(result->samples_ns, result->samples_ns + count, result->sample_count * sizeof *result->samples_ns);
    memmove(result->works_ns, result->works_ns + count, result->sample_count * sizeof *result->works_ns);
}

static int time_order(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

void pcere_sample_outlier_drop(struct plan_result *result, uint32_t least)
{
    uint64_t sorted[SAMPLE_SHOTS_MOST], count = result->sample_count, at = 0;
    if (count < OUTLIER_AMONG || count <= least || count > SAMPLE_SHOTS_MOST)
        return;
    memcpy(sorted, result->samples_ns, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, time_order);
    double agreed_ns = (double)sorted[(count - 1) / 2];
    if ((double)(sorted[count - 2] - sorted[0]) > OUTLIER_OTHERS * agreed_ns || (double)sorted[count - 1] < OUTLIER_RATIO * agreed_ns)
        return;
    while (result->samples_ns[at] != sorted[count - 1])
        at++;
    memmove(&result->samples_ns[at], &result->samples_ns[at + 1], (count - 1 - at) * sizeof *result->samples_ns);
    memmove(&result->works_ns[at], &result->works_ns[at + 1], (count - 1 - at) * sizeof *result->works_ns);
    result->sample_count = count - 1;
}
