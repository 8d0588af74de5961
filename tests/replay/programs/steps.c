/* Three short regions, one after the other in each time step, on memory that caches do not hold. */
#include <stdio.h>
#include <stdlib.h>

#define ALL (3l << 20)
#define PART (1l << 14)
#define STEPS 60

static double field[ALL], flow[PART], sums[PART];

static void whole(void)
{
#pragma omp parallel for
    for (long i = 0; i < ALL; i++)
        field[i] = (double)(i % 7);
}

static void first(long from)
{
#pragma omp parallel for
    for (long i = 0; i < PART; i++)
        flow[i] = field[from + i] * 0.5;
}

static void second(void)
{
#pragma omp parallel for
    for (long i = 1; i < PART - 1; i++)
        sums[i] += flow[i - 1] + flow[i + 1];
}

static void third(long from)
{
#pragma omp parallel for
    for (long i = 0; i < PART; i++)
        field[from + i] += sums[i];
}

int main(void)
{
    double total = 0;
    whole();
    for (int step = 0; step < STEPS; step++) {
        first(step * PART);
        second();
        third(step * PART);
    }
    for (long i = 0; i < ALL; i++)
        total += field[i];
    printf(total > 0 ? "PASS\n" : "FAIL\n");
    return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
