/* A region that works on little memory, and before it, each time, one that streams through much: what the first has left in the caches is gone. With
 * -DPRINTS the streaming one writes to standard output as well. */
#include <stdio.h>
#include <stdlib.h>

#define LITTLE (1l << 17)
#define MUCH (3l << 20)
#define STEPS 80

static double little[LITTLE], much[MUCH], total;

static void fill(double *values, long count)
{
#pragma omp parallel for
    for (long i = 0; i < count; i++)
        values[i] = (double)(i % 7);
}

static void stream(int step)
{
#pragma omp parallel for
    for (long i = 0; i < MUCH; i++)
        much[i] = much[i] * 0.5 + step;
#ifdef PRINTS
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < MUCH; i += 512) {
        much[i] += 1;
        if (i == 0)
            printf("step %d\n", step);
    }
#endif
}

static void add(void)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (long i = 0; i < LITTLE; i++)
        sum += little[i * 5003 & (LITTLE - 1)] += 1;
    total += sum;
}

int main(void)
{
    fill(little, LITTLE);
    fill(much, MUCH);
    for (int step = 0; step < STEPS; step++) {
        stream(step);
        add();
    }
    double expected = 0;
    for (long i = 0; i < LITTLE; i++)
        expected += (double)(i % 7) * STEPS + STEPS * (STEPS + 1) / 2.0;
    puts(total == expected ? "PASS" : "FAIL");
    return total != expected;
}
