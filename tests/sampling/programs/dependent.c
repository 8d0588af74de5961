/* tests/sampling/programs/dependent.c - regions that must be replayed whole: what they do follows from what they compute, or threads wait for
 * each other. Usage: dependent [SIZE]; SIZE 1 takes some 50 ms a region on one core. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Where bin i begins follows from what the loop before has counted. */
static void prefix_sums(int count, const int *keys, int bins, int *counts, int *starts, int *sorted)
{
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < bins; i++)
            counts[i] = 0;
#pragma omp for
        for (int i = 0; i < count; i++)
#pragma omp atomic
            counts[keys[i]]++;
#pragma omp single
        {
            starts[0] = 0;
            for (int i = 1; i < bins; i++)
                starts[i] = starts[i - 1] + counts[i - 1];
        }
#pragma omp for
        for (int i = 0; i < count; i++) {
            int at;
#pragma omp atomic capture
            at = starts[keys[i]]++;
            sorted[at] = keys[i];
        }
    }
}

static int run_begin[1025], pairs[1 << 20], pair_next[1024], pair_places[1 << 22];

/* Counters that are indices have steps of two lengths: part of them could lead where all of them never do. */
static void two_strides(void)
{
#pragma omp parallel for schedule(dynamic)
    for (int run = 0; run < 1024; run++)
        for (int k = run_begin[run]; k < run_begin[run + 1]; k++) {
            pair_places[pair_next[run]++] = k;
            pair_places[pair_next[pairs[k]] += 2] = k;
        }
}

static void histogram(int count, int *keys, int *bins)
{
#pragma omp parallel for
    for (int i = 0; i < count; i++) {
        keys[i] = (keys[i] * 7 + 1) & 1023;
#pragma omp atomic
        bins[keys[i]]++;
    }
}

/* As many sweeps as it takes. */
static int converge(int count, double *restrict from, double *restrict to, double limit)
{
    int sweeps = 0;
    double change = 1;
#pragma omp parallel
    {
        double last = 1;
        int mine = 0;
        while (last > limit && mine < 10000) {
#pragma omp barrier
#pragma omp single
            change = 0;
#pragma omp for reduction(max : change)
            for (int i = 1; i < count - 1; i++) {
                to[i] = 0.5 * (from[i - 1] + from[i + 1]);
                change = fmax(change, fabs(to[i] - from[i]));
            }
#pragma omp for
            for (int i = 1; i < count - 1; i++)
                from[i] = to[i];
            last = change;
            mine++;
        }
#pragma omp master
        sweeps = mine;
    }
    return sweeps;
}

/* The cell of a particle follows from its place, which another loop has changed. */
static void particles(int count, int cells, double *position, double *speed, int *cell, double *density)
{
#pragma omp parallel
    for (int step = 0; step < 4; step++) {
#pragma omp for
        for (int i = 0; i < count; i++) {
            position[i] = fmod(position[i] + speed[i] * 0.1 + 1, 1);
            cell[i] = (int)(position[i] * cells) % cells;
        }
#pragma omp for
        for (int i = 0; i < count; i++)
#pragma omp atomic
            density[cell[i]] += speed[i];
    }
}

/* A row waits until the row above has come so far. */
static void pipeline(int rows, int columns, double *grid, int *done)
{
#pragma omp parallel for schedule(static, 1)
    for (int i = 1; i < rows; i++)
        for (int j = 1; j < columns; j++) {
            for (int ready = 0; ready < j;)
#pragma omp atomic read seq_cst
                ready = done[i - 1];
            size_t at = (size_t)i * (size_t)columns + (size_t)j;
            grid[at] = 0.3 * (grid[at - 1] + grid[at - (size_t)columns]) + 0.1;
#pragma omp atomic write seq_cst
            done[i] = j;
        }
}

static double tasks(int depth, double value)
{
    double left = 0, right = 0;
    if (depth == 0) {
        for (int i = 0; i < 2000; i++)
            value = sqrt(value + 1);
        return value;
    }
#pragma omp task shared(left)
    left = tasks(depth - 1, value);
#pragma omp task shared(right)
    right = tasks(depth - 1, value + 1);
#pragma omp taskwait
    return left + right;
}

static double task_tree(int depth)
{
    double sum = 0;
#pragma omp parallel
#pragma omp single
    sum = tasks(depth, 1);
    return sum;
}

/* Each thread's share without a loop of OpenMP's. */
static void by_hand(int count, double *values)
{
#pragma omp parallel
    for (int i = 0; i < count; i++)
        values[i % 64] += sin(values[(i + 1) % 64]);
}

/* A thousand loops of some microseconds. */
static void tiny_loops(int steps, int count, double *values)
{
#pragma omp parallel
    for (int step = 0; step < steps; step++) {
#pragma omp for
        for (int i = 0; i < count; i++)
            values[i] = values[i] * 0.5 + 1;
    }
}

int main(int argc, char **argv)
{
    double size = argc > 1 ? atof(argv[1]) : 1;
    int count = (int)(4e6 * size), cells = 1024;
    int *keys = calloc((size_t)count, sizeof *keys), *sorted = calloc((size_t)count, sizeof *sorted), *cell = calloc((size_t)count, sizeof *cell);
    int *counts = calloc(1024, sizeof *counts), *starts = calloc(1024, sizeof *starts), *bins = calloc(1024, sizeof *bins);
    double *position = calloc((size_t)count, sizeof *position), *speed = calloc((size_t)count, sizeof *speed), *density = calloc(1024, sizeof *density);
    for (int i = 0; i < count; i++) {
        keys[i] = (int)(((uint32_t)i * 2654435761u) >> 22);
        position[i] = (double)keys[i] / 1024;
        speed[i] = (double)(i % 13) * 0.01;
    }
    prefix_sums(count, keys, 1024, counts, starts, sorted);
    int ordered = 1;
    for (int i = 1; i < count; i++)
        ordered &= sorted[i - 1] <= sorted[i];
    histogram(count, keys, bins);
    for (int i = 0; i < 1 << 20; i++)
        pairs[i] = i >> 10;
    for (int i = 0; i <= 1024; i++)
        run_begin[i] = i << 10;
    for (int i = 0; i < 1024; i++)
        pair_next[i] = i << 12;
    two_strides();
    ordered &= pair_places[3] == 1;
    int width = (int)(20000 * sqrt(size));
    double *from = calloc((size_t)width, sizeof *from), *to = calloc((size_t)width, sizeof *to);
    from[width / 2] = 1;
    int sweeps = converge(width, from, to, 4e-3);
    particles(count / 4, cells, position, speed, cell, density);
    int rows = (int)(1500 * sqrt(size));
    double *grid = calloc((size_t)rows * (size_t)rows, sizeof *grid);
    int *done = calloc((size_t)rows, sizeof *done);
    done[0] = rows;
    pipeline(rows, rows, grid, done);
    double sum = task_tree(12);
    double values[64] = {1};
    by_hand((int)(2e6 * size), values);
    double *small = calloc(4096, sizeof *small);
    tiny_loops((int)(40000 * size), 4096, small);
    printf("%s %d %g\n", ordered && sweeps > 1 && isfinite(sum + values[1] + density[0] + small[0]) ? "PASS" : "FAIL", sweeps, sum);
    return 0;
}
