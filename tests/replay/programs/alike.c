/* Memory of which every page is like the next, and regions that crash where it is not as it was in the program. */
#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 512, PAGES = 2048, STEPS = 12 };    /* doubles: 8 MiB */
#define USUAL -0.4                    /* its last byte but one is 0xd9, which is rare */

static double *data;
static long step;
static double sum;

static double expected(long steps) { return USUAL * (PAGES * PAGE - steps * PAGE) + 2.0 * PAGE * steps; }

/* One page more differs after each step. */
__attribute__((noinline)) static void changes(void)
{
#pragma omp parallel
    {
#pragma omp masked
        if (data[step * PAGE] != USUAL || data[(step + 1) * PAGE] != USUAL || (step && data[(step - 1) * PAGE] != 2))
            abort();
#pragma omp barrier
#pragma omp for
        for (long i = step * PAGE; i < (step + 1) * PAGE; i++)
            data[i] = 2;
    }
}

__attribute__((noinline)) static void uses(void)
{
    double s = 0;
#pragma omp parallel for reduction(+ : s)
    for (long i = 0; i < PAGES * PAGE; i++)
        s += data[i];
    sum = s;
    if (s - expected(step) > 1e-3 || expected(step) - s > 1e-3)
        abort();
}

int main(void)
{
    data = aligned_alloc(PAGE * sizeof *data, PAGES * PAGE * sizeof *data);
    if (!data)
        return 1;
    for (long i = 0; i < PAGES * PAGE; i++)
        data[i] = USUAL;
    for (; step < STEPS;) {
        changes();
        step++;
        uses();
    }
    printf("PASS %g\n", sum);
    return 0;
}
