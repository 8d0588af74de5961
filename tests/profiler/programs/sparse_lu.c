/* LU factorisation of a matrix with empty blocks; tasks are ordered by what they read and write. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 8, SIZE = 12 };
static double *blocks[BLOCKS][BLOCKS];

static double *block_new(void)
{
    return calloc(SIZE * SIZE, sizeof(double));
}

static void factor(double *d)
{
    for (int k = 0; k < SIZE; k++)
        for (int i = k + 1; i < SIZE; i++) {
            d[i * SIZE + k] /= d[k * SIZE + k];
            for (int j = k + 1; j < SIZE; j++)
                d[i * SIZE + j] -= d[i * SIZE + k] * d[k * SIZE + j];
        }
}

static void row_solve(const double *d, double *r)
{
    for (int k = 0; k < SIZE; k++)
        for (int i = k + 1; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++)
                r[i * SIZE + j] -= d[i * SIZE + k] * r[k * SIZE + j];
}

static void column_solve(const double *d, double *c)
{
    for (int i = 0; i < SIZE; i++)
        for (int k = 0; k < SIZE; k++) {
            c[i * SIZE + k] /= d[k * SIZE + k];
            for (int j = k + 1; j < SIZE; j++)
                c[i * SIZE + j] -= c[i * SIZE + k] * d[k * SIZE + j];
        }
}

static void update(const double *c, const double *r, double *inner)
{
    for (int i = 0; i < SIZE; i++)
        for (int k = 0; k < SIZE; k++)
            for (int j = 0; j < SIZE; j++)
                inner[i * SIZE + j] -= c[i * SIZE + k] * r[k * SIZE + j];
}

int main(void)
{
    for (int i = 0; i < BLOCKS; i++)
        for (int j = 0; j < BLOCKS; j++)
            if (i == j || (i * 7 + j * 3) % 5 < 2) {
                blocks[i][j] = block_new();
                for (int k = 0; k < SIZE * SIZE; k++)
                    blocks[i][j][k] = (i == j && k % (SIZE + 1) == 0 ? 400 : 1) + 0.01 * ((i * 31 + j * 17 + k) % 10);
            }
    #pragma omp parallel
    #pragma omp single
    for (int k = 0; k < BLOCKS; k++) {
        #pragma omp task depend(inout: blocks[k][k])
        factor(blocks[k][k]);
        for (int j = k + 1; j < BLOCKS; j++)
            if (blocks[k][j]) {
                #pragma omp task depend(in: blocks[k][k]) depend(inout: blocks[k][j])
                row_solve(blocks[k][k], blocks[k][j]);
            }
        for (int i = k + 1; i < BLOCKS; i++)
            if (blocks[i][k]) {
                #pragma omp task depend(in: blocks[k][k]) depend(inout: blocks[i][k])
                column_solve(blocks[k][k], blocks[i][k]);
            }
        for (int i = k + 1; i < BLOCKS; i++)
            for (int j = k + 1; j < BLOCKS; j++)
                if (blocks[i][k] && blocks[k][j]) {
                    if (!blocks[i][j])
                        blocks[i][j] = block_new();
                    #pragma omp task depend(in: blocks[i][k], blocks[k][j]) depend(inout: blocks[i][j])
                    update(blocks[i][k], blocks[k][j], blocks[i][j]);
                }
    }
    double sum = 0;
    for (int i = 0; i < BLOCKS; i++)
        sum += blocks[i][i][SIZE * SIZE - 1];
    printf("%.6f\n", sum);
    return !isfinite(sum);
}
