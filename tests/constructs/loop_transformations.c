/* loop_transformations.c - loops that the compiler is told to change: tile and unroll, inside a parallel loop and as its loops. */
#include "check.h"

enum { ROWS = 45, COLUMNS = 70 };
static double in[ROWS][COLUMNS], out[COLUMNS][ROWS];
static long sums[ROWS];

int main(void)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            in[i][j] = i * 100 + j;
#pragma omp parallel for
#pragma omp tile sizes(8, 16)
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            out[j][i] = in[i][j];
#pragma omp parallel for
    for (int i = 0; i < ROWS; i++) {
#pragma omp unroll partial(4)
        for (int j = 0; j < COLUMNS; j++)
            sums[i] += (long)out[j][i];
    }
#pragma omp parallel for
#pragma omp unroll partial(2)
    for (int i = 0; i < ROWS; i++)
        sums[i] += i;
    for (int i = 0; i < ROWS; i++)
        CHECK(sums[i] == 100L * i * COLUMNS + COLUMNS * (COLUMNS - 1) / 2 + i);
    return 0;
}
