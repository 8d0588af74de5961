/* reduction_array.c - reductions over whole arrays and array sections, fixed and of run-time length. */
#include "check.h"

enum { COUNT = 1200, BINS = 10 };

int main(void)
{
    int histogram[BINS] = {0}, n = 3 * BINS;
    double *sums = calloc((size_t)n, sizeof *sums);
    CHECK(sums);
#pragma omp parallel for reduction(+ : histogram)
    for (int i = 0; i < COUNT; i++)
        histogram[i % BINS]++;
#pragma omp parallel for reduction(+ : sums[BINS : n - BINS])
    for (int i = 0; i < COUNT; i++)
        sums[BINS + i % (2 * BINS)] += i % 4;
    for (int i = 0; i < BINS; i++)
        CHECK(histogram[i] == COUNT / BINS && sums[i] == 0);
    for (int i = BINS; i < n; i++)
        CHECK(sums[i] == (i - BINS) % 4 * (COUNT / (2 * BINS)));
    free(sums);
    return 0;
}
