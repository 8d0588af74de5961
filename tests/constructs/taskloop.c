/* taskloop.c - loops cut into tasks: grainsize, num_tasks, reduction, nogroup, collapse, simd. */
#include "check.h"

enum { COUNT = 512 };
static int a[COUNT], b[COUNT], grid[16][16];

int main(void)
{
    int sum = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop grainsize(32)
        for (int i = 0; i < COUNT; i++)
            a[i] = i;
#pragma omp taskloop num_tasks(7) reduction(+ : sum)
        for (int i = 0; i < COUNT; i++)
            sum += a[i];
#pragma omp taskloop collapse(2) nogroup
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 16; j++)
                grid[i][j] = i * j;
#pragma omp taskloop simd
        for (int i = 0; i < COUNT; i++)
            b[i] = a[i] * 2;
#pragma omp taskwait
    }
    CHECK(sum == COUNT * (COUNT - 1) / 2 && grid[15][15] == 225 && grid[3][5] == 15);
    for (int i = 0; i < COUNT; i++)
        CHECK(b[i] == 2 * i);
    return 0;
}
