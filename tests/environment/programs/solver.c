/* A small solver as users have them: static and heap data, a reduction, numbers printed with a decimal point. */
#include <stdio.h>
#include <stdlib.h>

#define SIZE 20000

static double field[SIZE];

static double residual(const double *source)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < SIZE; i++)
        sum += (source[i] - field[i]) * (source[i] - field[i]);
    return sum;
}

int main(void)
{
    double *source = malloc(SIZE * sizeof *source), left = 0;
    for (int i = 0; source && i < SIZE; i++)
        source[i] = 0.5 * (i % 100);
    for (int step = 0; source && step < 12; step++) {
#pragma omp parallel for
        for (int i = 0; i < SIZE; i++)
            field[i] += 0.5 * (source[i] - field[i]);
        left = residual(source);
    }
    printf("residual %.6g\n", left);
    free(source);
    return !(left > 0 && left < 1);
}
