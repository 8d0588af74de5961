/* tests/sampling/programs/independent.c - loops whose iterations can be sampled: what they do is decided by nothing that they compute.
 * Usage: independent [SIZE]; SIZE 1 takes some 50 ms a region on one core. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static double *array(size_t count)
{
    double *values = malloc(count * sizeof *values);
    for (size_t i = 0; values && i < count; i++)
        values[i] = 1.0 + (double)(i % 97) * 0.01;
    return values;
}

/* Row i has i elements: a prefix of the rows would be the cheap ones. */
static double triangular(int rows, const double *matrix, double *result)
{
#pragma omp parallel for
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (int j = 0; j <= i; j++)
            sum += sqrt(matrix[(size_t)i * (size_t)rows + (size_t)j]) / matrix[j];
        result[i] = sum;
    }
    return result[rows - 1];
}

/* Which value is kept depends on what the loop finds, and nothing else does: threads join their maxima by comparing and exchanging. */
static double largest(int rows, const double *matrix)
{
    double most = 0;
#pragma omp parallel for reduction(max : most)
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) {
            double value = sqrt(matrix[(size_t)i * (size_t)rows + (size_t)j]) / matrix[j];
            if (value > most)
                most = value;
        }
    return most;
}

struct sparse { int rows; int *start, *column; double *value; };

/* Rows of very different lengths, in no order. */
static struct sparse sparse_make(int rows)
{
    struct sparse matrix = {.rows = rows, .start = malloc(((size_t)rows + 1) * sizeof(int))};
    uint32_t state = 1;
    int total = 0;
    for (int i = 0; i <= rows; i++) {
        matrix.start[i] = total;
        state = state * 1664525u + 1013904223u;
        total += i < rows ? (int)(state >> 24) / 8 + (state >> 28 == 0 ? 200 : 1) : 0;
    }
    matrix.column = malloc((size_t)total * sizeof(int));
    matrix.value = array((size_t)total);
    for (int i = 0; i < total; i++) {
        state = state * 1664525u + 1013904223u;
        matrix.column[i] = (int)(state >> 8) % rows;
    }
    return matrix;
}

static void sparse_multiply(const struct sparse *matrix, const double *x, double *y)
{
#pragma omp parallel for
    for (int i = 0; i < matrix->rows; i++) {
        double sum = 0;
        for (int k = matrix->start[i]; k < matrix->start[i + 1]; k++)
            sum += matrix->value[k] * x[matrix->column[k]];
        y[i] = sum;
    }
}

/* Time steps inside the region, one loop after the other over the same data. */
static void stencil(int steps, int rows, int columns, double *restrict from, double *restrict to)
{
#pragma omp parallel
    for (int step = 0; step < steps; step++) {
        double *a = step % 2 ? to : from, *b = step % 2 ? from : to;
#pragma omp for
        for (int i = 1; i < rows - 1; i++)
            for (int j = 1; j < columns - 1; j++) {
                size_t at = (size_t)i * (size_t)columns + (size_t)j;
                b[at] = 0.25 * (a[at - 1] + a[at + 1] + a[at - (size_t)columns] + a[at + (size_t)columns]);
            }
    }
}

/* Paths of random length: iterations differ by more than a hundred times, and the schedule is dynamic. */
static double monte_carlo(int paths)
{
    double total = 0;
#pragma omp parallel for schedule(dynamic, 4) reduction(+ : total)
    for (int i = 0; i < paths; i++) {
        uint64_t state = (uint64_t)i * 0x9e3779b97f4a7c15u + 1;
        double weight = 1;
        int length = 0;
        do {
            state = state * 6364136223846793005u + 1442695040888963407u;
            weight *= 0.999 + 1e-12 * (double)(state >> 48);
            length++;
        } while (state >> 33 > (i % 7 ? 1u << 24 : 1u << 20) && length < 20000);
        total += weight;
    }
    return total;
}

static double guided(int rows, const double *matrix, double *result)
{
#pragma omp parallel for schedule(guided)
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (int j = 0; j < rows; j++)
            sum += sqrt(matrix[(size_t)i * (size_t)rows + (size_t)j]) / (1 + matrix[j]);
        result[i] = sum;
    }
    return result[0];
}

/* Two loops over the same data, the second hot where the first has just been. */
static void two_loops(size_t count, double *restrict a, double *restrict b)
{
#pragma omp parallel
    {
#pragma omp for
        for (size_t i = 0; i < count; i++)
            a[i] = a[i] * 1.5 + b[i];
#pragma omp for
        for (size_t i = 0; i < count; i++)
            b[i] = a[i] / (1 + b[i]);
    }
}

int main(int argc, char **argv)
{
    double size = argc > 1 ? atof(argv[1]) : 1;
    int rows = (int)(3000 * sqrt(size));
    double *matrix = array((size_t)rows * (size_t)rows), *result = array((size_t)rows);
    int sparse_rows = (int)(400000 * size);
    struct sparse sparse = sparse_make(sparse_rows);
    double *x = array((size_t)sparse_rows), *y = array((size_t)sparse_rows);
    int side = (int)(1000 * sqrt(size));
    double *from = array((size_t)side * (size_t)side), *to = array((size_t)side * (size_t)side);
    size_t count = (size_t)(9e6 * size);
    double *a = array(count), *b = array(count), sum = 0;
    sum += triangular(rows, matrix, result);
    sum += largest(rows, matrix);
    sparse_multiply(&sparse, x, y);
    stencil(60, side, side, from, to);
    sum += monte_carlo((int)(60000 * size));
    sum += guided(rows, matrix, result);
    two_loops(count, a, b);
    printf("%s %.3f\n", isfinite(sum + y[1] + to[1] + b[1]) ? "PASS" : "FAIL", sum);
    return 0;
}
