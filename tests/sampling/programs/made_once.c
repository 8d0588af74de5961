/* tests/sampling/programs/made_once.c - fresh pages: a loop makes those that the next one reads around each of its planes, and one loop makes its own alone. */
#include <stdio.h>
#include <stdlib.h>

enum { PLANES = 192, PLANE = 16384 };

static double first[PLANES][PLANE], second[PLANES][PLANE], alone[PLANES][PLANE];

__attribute__((noinline)) static void shared(double scale)
{
    #pragma omp parallel
    {
        #pragma omp for
        for (int k = 0; k < PLANES; k++)
            for (int i = 0; i < PLANE; i++)
                first[k][i] = scale * (k + i % 7);
        #pragma omp for
        for (int k = 2; k < PLANES - 2; k++)
            for (int i = 0; i < PLANE; i++)
                second[k][i] = first[k - 2][i] - first[k - 1][i] + first[k][i] - first[k + 1][i] + first[k + 2][i];
    }
}

__attribute__((noinline)) static void own(double scale)
{
    #pragma omp parallel for
    for (int k = 0; k < PLANES; k++)
        for (int i = 0; i < PLANE; i++)
            alone[k][i] = scale * (k - i % 5);
}

int main(int count, char **words)
{
    double scale = count > 1 ? atof(words[1]) : 1;
    shared(scale);
    own(scale);
    int good = second[PLANES / 2][1] == first[PLANES / 2][1] && alone[PLANES / 2][1] == scale * (PLANES / 2 - 1);
    puts(good ? "PASS" : "FAIL");
    return !good;
}
