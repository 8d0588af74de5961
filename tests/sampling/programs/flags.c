/* What decides how long a region takes is left in memory by it, outside of its loops: a flag that says what is done already, a count of sweeps, work that is used up. A shot that found what the
 * one before it left would run a part of that. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 200000, SWEEPS = 5 };

static double *values, *table;
static int made, sweeps, done;
static double left = 8;

static double work(double t, int rounds)
{
    for (int k = 0; k < rounds; k++)
        t = sin(t) + 0.5;
    return t;
}

__attribute__((noinline)) static double made_once(void)
{
    double sum = 0;
    #pragma omp parallel
    {
        if (!made) {
            #pragma omp for
            for (int i = 0; i < COUNT; i++)
                table[i] = work(i * 1e-4, 24);
        }
        #pragma omp for reduction(+ : sum)
        for (int i = 0; i < COUNT; i++)
            sum += work(table[i], 4);
        #pragma omp single
        made = 1;
    }
    return sum;
}

__attribute__((noinline)) static void until_done(void)
{
    done = sweeps = 0;
    #pragma omp parallel
    while (!done) {
        #pragma omp for
        for (int i = 0; i < COUNT; i++)
            values[i] = work(values[i], 6);
        #pragma omp single
        done = ++sweeps >= SWEEPS;
    }
}

__attribute__((noinline)) static void used_up(void)
{
    #pragma omp parallel
    {
        int rounds = (int)left;
        for (int r = 0; r < rounds; r++) {
            #pragma omp for
            for (int i = 0; i < COUNT; i++)
                values[i] = work(values[i], 6);
        }
        #pragma omp single
        left = left / 2;
    }
}

int main(void)
{
    values = calloc(COUNT, sizeof *values);
    table = calloc(COUNT, sizeof *table);
    for (int i = 0; i < COUNT; i++)
        values[i] = table[i] = i * 1e-5;          /* pages that a region makes are another matter */
    double first = made_once();
    double again = made_once();
    for (int i = 0; i < 3; i++)
        until_done();
    used_up();
    used_up();
    puts(fabs(first - again) <= 1e-9 * fabs(first) && sweeps == SWEEPS && left == 2 ? "PASS" : "FAIL");
    return 0;
}
