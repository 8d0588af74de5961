/* tests/sampling/programs/chunks.c - loops whose chunks each thread knows beforehand (schedule(static, k), also by schedule(runtime)), and sections.
 * Usage: chunks [SIZE]; SIZE 1 takes some 50 ms a region on one core. */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static double work(int64_t amount, double seed)
{
    double x = seed;
    for (int64_t i = 0; i < amount; i++)
        x = x * 0.999999 + 1e-6;
    return x;
}

/* Iteration i costs in proportion to i. */
static void growing(int count, double *result)
{
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < count; i++)
        result[i] = work(i / 2, i);
}

/* Chunks of three; with two threads one of them has all that are dear. */
static void uneven(int count, double *result)
{
#pragma omp parallel for schedule(static, 3)
    for (int i = 0; i < count; i++)
        result[i] = work(i / 3 % 2 ? 3000 : 500, i);
}

/* The control of each iteration depends on its data, which nothing changes. */
static void data_dependent(int count, const uint32_t *data, double *result)
{
#pragma omp parallel for schedule(static, 7)
    for (int i = 0; i < count; i++) {
        double x = i;
        uint32_t state = data[i];
        while (state >> 24 != 7 && state >> 25 != 11) {
            x = work(20, x);
            state = state * 1664525u + 1013904223u;
        }
        result[i] = x;
    }
}

/* Few chunks for each thread: blocks lie inside of chunks. */
static void large_chunks(int count, double *result)
{
    int chunk = count / 5 + 1;
#pragma omp parallel for schedule(static, chunk)
    for (int i = 0; i < count; i++)
        result[i] = work(200 + i / 64, i);
}

/* 64-bit numbers, two dimensions, negative steps. */
static void downwards(int64_t count, double *result)
{
#pragma omp parallel for schedule(static, 2) collapse(2)
    for (int64_t i = count; i > 0; i -= 2)
        for (int j = 8; j > 0; j -= 3)
            result[i] = work(100 * j, (double)i);
}

/* A whole chunk takes less than any clock. */
static void slivers(int count, double *result)
{
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < count; i++)
        result[i] = result[i] * 0.5 + 1;
}

/* As uneven, where the schedule is found at run time. */
static void by_runtime(int count, double *result)
{
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < count; i++)
        result[i] = work(i / 3 % 2 ? 3000 : 500, i);
}

/* Pieces of code that have nothing in common: one tells nothing of the other. */
static void apart(double *result)
{
#pragma omp parallel sections
    {
#pragma omp section
        result[0] = work(3000000, 1);
#pragma omp section
        result[1] = work(9000000, 2);
    }
}

/* ... but what they take in one step is what they take in the next. */
static void step_by_step(int steps, double *result)
{
#pragma omp parallel
    for (int step = 0; step < steps; step++) {
#pragma omp sections
        {
#pragma omp section
            result[0] = work(60000, step);
#pragma omp section
            result[1] = work(20000, step + 1);
#pragma omp section
            result[2] = work(40000, step + 2);
        }
    }
}

int main(int argc, char **argv)
{
    double size = argc > 1 ? atof(argv[1]) : 1;
    int count = (int)(12000 * size), many = (int)(20000000 * size);
    double *result = malloc((size_t)many * sizeof *result), sum = 0;
    uint32_t *data = malloc((size_t)count * 4 * sizeof *data), state = 1;
    for (int i = 0; i < many; i++)
        result[i] = i;
    for (int i = 0; i < count * 4; i++)
        data[i] = state = state * 22695477u + 1;
    omp_set_schedule(omp_sched_static, 3);
    growing(count, result);
    uneven(count, result);
    data_dependent(count * 4, data, result);
    large_chunks(count * 2, result);
    downwards(count, result);
    slivers(many, result);
    by_runtime(count, result);
    apart(result);
    step_by_step((int)(200 * size), result);
    for (int i = 0; i < count; i++)
        sum += result[i];
    printf("%s %.3f\n", isfinite(sum) ? "PASS" : "FAIL", sum);
    return 0;
}
