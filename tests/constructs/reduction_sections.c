/* reduction_sections.c - reductions over sections of several dimensions, over arrays of run-time length, and by the tasks of a group. */
#include "check.h"

enum { ROWS = 6, COLUMNS = 8, COUNT = 480 };

static void by_length(int n, long *result)
{
    long sums[n];
    for (int i = 0; i < n; i++)
        sums[i] = 10;
#pragma omp parallel for reduction(+ : sums[:n])
    for (int i = 0; i < COUNT; i++)
        sums[i % n] += i;
    for (int i = 0; i < n; i++)
        *result += sums[i];
}

int main(void)
{
    /* Not global ones: of these clang gives threads no copies of their own (16 and 19; 22 does), so that they race. */
    int grid[ROWS][COLUMNS] = {{0}}, lowest[COLUMNS];
    int *groups = calloc(COLUMNS, sizeof *groups);
    CHECK(groups);
    for (int i = 0; i < COLUMNS; i++)
        lowest[i] = 1000;
#pragma omp parallel for reduction(+ : grid[2 : 3][ : ]) reduction(min : lowest[1 : ])
    for (int i = 0; i < COUNT; i++) {
        grid[2 + i % 3][i % COLUMNS] += 1;
        if (i % COLUMNS > 0 && 500 - i < lowest[i % COLUMNS])
            lowest[i % COLUMNS] = 500 - i;
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            CHECK(grid[i][j] == (i < 2 || i > 4 ? 0 : COUNT / 24));
    for (int j = 0; j < COLUMNS; j++)
        CHECK(lowest[j] == (j == 0 ? 1000 : 500 - (COUNT - COLUMNS) - j));
    long total = 0;
    by_length(5, &total);
    by_length(64, &total);
    CHECK(total == 10 * (5 + 64) + 2L * COUNT * (COUNT - 1) / 2);
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : groups[0 : COLUMNS])
    for (int i = 0; i < COUNT / 4; i++) {
#pragma omp task in_reduction(+ : groups[0 : COLUMNS]) firstprivate(i)
        groups[i % COLUMNS] += i / COLUMNS;
    }
    for (int i = 0; i < COLUMNS; i++)
        CHECK(groups[i] == 14 * 15 / 2);
    free(groups);
    return 0;
}
