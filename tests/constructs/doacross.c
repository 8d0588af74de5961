/* doacross.c - ordered(2) with depend(sink) and depend(source): a wavefront. */
#include "check.h"

enum { SIZE = 24 };
static long grid[SIZE][SIZE];

int main(void)
{
    for (int i = 0; i < SIZE; i++)
        grid[i][0] = grid[0][i] = 1;
#pragma omp parallel for ordered(2) schedule(static, 1)
    for (int i = 1; i < SIZE; i++)
        for (int j = 1; j < SIZE; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            grid[i][j] = (grid[i - 1][j] + grid[i][j - 1]) % 1000003;
#pragma omp ordered depend(source)
        }
    for (int i = 1; i < SIZE; i++)
        for (int j = 1; j < SIZE; j++)
            CHECK(grid[i][j] == (grid[i - 1][j] + grid[i][j - 1]) % 1000003);
    return 0;
}
