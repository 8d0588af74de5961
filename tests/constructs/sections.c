/* sections.c - different work for different threads, with lastprivate and a reduction. */
#include "check.h"

static int done[5];

int main(void)
{
    int last = 0, sum = 0;
    for (int step = 1; step <= 2; step++) {
#pragma omp parallel sections lastprivate(last) reduction(+ : sum)
        {
            done[0] += step, sum += 1;
#pragma omp section
            done[1] += step, sum += 10;
#pragma omp section
            done[2] += step, sum += 100;
#pragma omp section
            last = 4 + step, sum += 1000;
        }
    }
#pragma omp parallel
    {
#pragma omp sections nowait
        {
            done[3] = 7;
#pragma omp section
            done[4] = 8;
        }
    }
    CHECK(sum == 2222 && last == 6 && done[0] == 3 && done[1] == 3 && done[2] == 3 && done[3] == 7 && done[4] == 8);
    return 0;
}
