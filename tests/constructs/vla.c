/* vla.c - arrays of run-time length: shared, private, firstprivate, two-dimensional. */
#include "check.h"

static double run(int rows, int columns)
{
    double shared[rows][columns], start[columns], scratch[columns], sum = 0;
    for (int j = 0; j < columns; j++)
        start[j] = j;
#pragma omp parallel firstprivate(start) private(scratch)
    {
#pragma omp for reduction(+ : sum)
        for (int i = 0; i < rows; i++) {
            double own[i + 1];
            for (int j = 0; j <= i; j++)
                own[j] = j;
            for (int j = 0; j < columns; j++) {
                scratch[j] = start[j] + own[i];
                shared[i][j] = scratch[j];
                sum += scratch[j];
            }
        }
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            CHECK(shared[i][j] == i + j);
    return sum;
}

int main(void)
{
    CHECK(run(10, 20) == 10 * 190 + 20 * 45);
    CHECK(run(33, 7) == 33 * 21 + 7 * 528);
    return 0;
}
