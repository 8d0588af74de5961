/* region_empty.c - regions that do nothing, and regions of which the optimiser leaves nothing. */
#include "check.h"
#include <omp.h>

static int numbers[100];

static inline int nothing(int number) { return number * 0; }

static void regions_run(void)
{
#pragma omp parallel
    {
    }
#pragma omp parallel
    ;
#pragma omp parallel for
    for (int i = 0; i < 100; i++) {
    }
#pragma omp parallel num_threads(3)
    {
        int number = omp_get_thread_num();
        (void)number;
    }
#pragma omp parallel if (0)
    {
    }
#pragma omp parallel sections
    {
    }
#pragma omp parallel for
    for (int i = 10; i < 5; i++)
        numbers[i] = 7;
    int sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100; i++)
        sum += nothing(i);
    CHECK(sum == 0);
}

int main(void)
{
    for (int step = 0; step < 3; step++) {
        regions_run();
#pragma omp parallel for
        for (int i = 0; i < 100; i++)
            numbers[i] += i;
    }
    CHECK(numbers[99] == 297);
    return 0;
}
