/* combined.c - constructs that stand for several: parallel master (taskloop, taskloop simd), teams distribute parallel for simd, parallel for simd. */
#include "check.h"

enum { COUNT = 640 };
static int a[COUNT], b[COUNT], c[COUNT], d[COUNT];

int main(void)
{
    long sum = 0, other = 0;
    for (int step = 1; step <= 2; step++) {
#pragma omp parallel master taskloop simd grainsize(40)
        for (int i = 0; i < COUNT; i++)
            a[i] += i * step;
#pragma omp parallel master taskloop num_tasks(9) collapse(2)
        for (int i = 0; i < 20; i++)
            for (int j = 0; j < 32; j++)
                b[i * 32 + j] += a[i * 32 + j] + step;
#pragma omp teams distribute parallel for simd num_teams(2) dist_schedule(static, 80) schedule(static, 16) reduction(+ : sum)
        for (int i = 0; i < COUNT; i++)
            sum += c[i] = b[i] - a[i];
#pragma omp parallel for simd collapse(2) schedule(simd : guided, 4) reduction(+ : other)
        for (int i = 0; i < 20; i++)
            for (int j = 0; j < 32; j++)
                other += d[i * 32 + j] = i + j;
#pragma omp parallel master
        d[0] += step;
    }
    CHECK(a[COUNT - 1] == 3 * (COUNT - 1) && b[5] == 5 + 1 + 15 + 2 && sum == 4L * COUNT + COUNT * (COUNT - 1) / 2 && other == 2L * (32 * 190 + 20 * 496) && d[0] == 2);
    return 0;
}
