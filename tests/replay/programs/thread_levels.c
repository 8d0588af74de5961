/* thread_levels.c - functions that have their regions outside of all others alone, and are called inside of one for each thread's own part as well. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { PART = 20000 };

__attribute__((noinline)) static void by_clause(double *at, long from, long count)
{
#pragma omp parallel for if (count > 100 && omp_get_level() == 0)
    for (long i = 0; i < count; i++)
        at[from + i] += (double)i;
}

__attribute__((noinline)) static void by_branch(double *at, long from, long count)
{
    if (omp_get_level() < 1) {
#pragma omp parallel for
        for (long i = 0; i < count; i++)
            at[from + i] += (double)i;
    } else {
        for (long i = 0; i < count; i++)
            at[from + i] += (double)i;
    }
}

__attribute__((noinline)) static void by_return(double *at, long from, long count)
{
    int inside = omp_in_parallel();
    if (inside) {
        for (long i = 0; i < count; i++)
            at[from + i] += (double)i;
        return;
    }
#pragma omp parallel for
    for (long i = 0; i < count; i++)
        at[from + i] += (double)i;
}

/* Entered inside, too. */
__attribute__((noinline)) static void at_any_level(double *at, long from, long count)
{
#pragma omp parallel for if (omp_get_level() < 2)
    for (long i = 0; i < count; i++)
        at[from + i] += (double)i;
}

int main(void)
{
    long all = PART * (long)omp_get_max_threads();
    double *at = calloc((size_t)all, sizeof *at);
    for (int step = 0; step < 3; step++) {
        by_clause(at, 0, all);
        by_branch(at, 0, all);
        by_return(at, 0, all);
        at_any_level(at, 0, all);
#pragma omp parallel
        {
            long mine = PART * (long)omp_get_thread_num();
            by_clause(at, mine, PART);
            by_branch(at, mine, PART);
            by_return(at, mine, PART);
            at_any_level(at, mine, PART);
        }
    }
    puts(at[all - 1] > 0 ? "PASS" : "FAIL");
    free(at);
    return 0;
}
