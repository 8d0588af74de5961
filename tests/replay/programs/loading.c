/* Regions that crash where memory is not as it was in the program: each does its work once, and says so in memory. */
#include <stdio.h>
#include <stdlib.h>

enum { BIG = 6 << 20, LITTLE = 64 << 9, FRESH = 32, WORK = 100000 };    /* doubles: 48 MiB, 64 pages; pages; additions */

static double *data, *fresh;
static long left;
static double expected;               /* of data[511], which both regions change */

static void memory_check(long work, double found)
{
    if (work != WORK || found != expected)
        abort();
}

/* Works as long as `left` says, in little of the memory, and leaves nothing to do; touches memory that nobody had touched. */
__attribute__((noinline)) static void only_once(void)
{
#pragma omp parallel
    {
        long work = left;
#pragma omp masked
        {
            memory_check(work, data[511]);
            for (long i = 0; i < FRESH; i++)
                if (fresh[i * 512] != 0)
                    abort();
        }
#pragma omp barrier
#pragma omp for
        for (long i = 0; i < work; i++)
            data[i * 511 % LITTLE] += 1;
#pragma omp single
        {
            for (long i = 0; i < FRESH; i++)
                fresh[i * 512] = 1;
            left = 0;
        }
    }
}

/* The same again and again: the program sets `left` back. */
__attribute__((noinline)) static void many_times(void)
{
#pragma omp parallel
    {
        long work = left;
#pragma omp masked
        memory_check(work, data[511]);
#pragma omp barrier
#pragma omp for
        for (long i = 0; i < work; i++)
            data[i * 511 % BIG] += 1;
#pragma omp single
        left = 0;
    }
}

/* Long enough to be sampled; every iteration has pages of its own. */
__attribute__((noinline)) static void streamed(void)
{
#pragma omp parallel for
    for (long i = 0; i < BIG / 512; i++)
        for (int round = 0; round < 24; round++)
            for (long j = 0; j < 512; j++)
                data[i * 512 + j] = data[i * 512 + j] * 0.5 + 1;
}

int main(void)
{
    data = malloc(BIG * sizeof *data);
    fresh = calloc(FRESH * 512, sizeof *fresh);
    if (!data || !fresh)
        return 1;
    for (long i = 0; i < BIG; i++)
        data[i] = (double)i;
    left = WORK;
    expected = data[511];
    only_once();
    for (int i = 0; i < 8; i++) {
        left = WORK;
        expected = data[511];
        many_times();
    }
    streamed();
    printf("PASS %g %g %ld\n", data[511], fresh[512], left);
    return 0;
}
