/* time_kept.c - a region writes the time of day into the program's data: that can never be the same again. */
#include "check.h"
#include <omp.h>

static double seconds[2], work[100];

int main(void)
{
    for (int step = 0; step < 2; step++) {
#pragma omp parallel
        {
#pragma omp single
            seconds[step] = omp_get_wtime();
#pragma omp for
            for (int i = 0; i < 100; i++)
                work[i] += i;
        }
    }
    CHECK(seconds[1] >= seconds[0] && work[99] == 198);
    return 0;
}
