/* tests/sampling/programs/refused.c - regions with what a part of them cannot stand: ordered loops, cancellation, regions inside, flushes, files, jumps, teams of loops that
 * depend on a call nobody sees. */
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 18 };
static double values[COUNT], sums[64];
static int order[COUNT], placed, found = -1, ready;

/* Regions of milliseconds on any machine. */
static void work(int i)
{
    for (int step = 0; step < 50; step++)
        values[i] = sqrt(values[i] + i);
}

static void in_order(void)
{
#pragma omp parallel for ordered schedule(static, 64)
    for (int i = 0; i < COUNT; i++) {
        double value = sqrt(values[i] + i);
#pragma omp ordered
        order[placed++] = (int)value;
    }
}

static void until_found(void)
{
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < COUNT; i++) {
            if (values[i] < 0) {
#pragma omp atomic write
                found = i;
#pragma omp cancel for
            }
            work(i);
        }
    }
}

static void regions_inside(void)
{
#pragma omp parallel for
    for (int block = 0; block < 64; block++) {
        double sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < COUNT / 2; i++)
            sum += sqrt(values[block * (COUNT / 64) + i % (COUNT / 64)]);
        sums[block] = sum;
    }
}

static void by_flags(void)
{
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++) {
        work(i);
        if (i == COUNT - 1) {
#pragma omp flush
            ready = 1;
#pragma omp flush
        }
    }
}

static void to_a_file(FILE *file)
{
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++) {
        work(i);
        if (i % (COUNT / 4) == 0)
            fprintf(file, "%d\n", i);
    }
}

static void with_jumps(void)
{
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++) {
        jmp_buf back;
        if (!setjmp(back)) {
            work(i);
            if (values[i] < 1)
                longjmp(back, 1);
        }
    }
}

int main(void)
{
    FILE *file = tmpfile();
    if (!file)
        return 1;
    for (int i = 0; i < COUNT; i++)
        values[i] = i;
    in_order();
    until_found();
    regions_inside();
    by_flags();
    to_a_file(file);
    with_jumps();
    if (placed != COUNT || found != -1 || !ready || sums[63] <= 0)
        return 1;
    printf("PASS\n");
    return 0;
}
