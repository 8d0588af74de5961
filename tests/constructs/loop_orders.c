/* loop_orders.c - loops whose order the compiler is told to change: interchange and reverse, inside a parallel loop and as its loops. */
#include "check.h"

enum { ROWS = 45, COLUMNS = 70 };
static long grid[ROWS][COLUMNS], turned[COLUMNS][ROWS], sums[ROWS];

int main(void)
{
#pragma omp parallel for
#pragma omp interchange
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            grid[i][j] = i * 100 + j;
#pragma omp parallel for
#pragma omp reverse
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            turned[j][i] = grid[i][j];
#pragma omp parallel for
    for (int i = 0; i < ROWS; i++) {
        long last = COLUMNS;
#pragma omp reverse
        for (int j = 0; j < COLUMNS; j++) {
            CHECK(j == last - 1);
            last = j;
            sums[i] += turned[j][i];
        }
    }
    for (int i = 0; i < ROWS; i++)
        CHECK(sums[i] == 100L * i * COLUMNS + COLUMNS * (COLUMNS - 1) / 2);
    return 0;
}
