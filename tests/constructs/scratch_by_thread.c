/* scratch_by_thread.c - an array with one entry for each thread, allocated outside: more threads than when it was captured write beyond it. */
#include "check.h"
#include <omp.h>

enum { COUNT = 3000, PAD = 512 };

int main(void)
{
    int threads = omp_get_max_threads();
    double *partial = malloc((size_t)threads * PAD * sizeof *partial), sum = 0;
    CHECK(partial);
    for (int step = 0; step < 2; step++) {
#pragma omp parallel
        {
            double *mine = partial + (size_t)omp_get_thread_num() * PAD;
            for (int i = 0; i < PAD; i++)
                mine[i] = 0;
#pragma omp for
            for (int i = 0; i < COUNT; i++)
                mine[i % PAD] += i;
        }
    }
    for (int i = 0; i < threads * PAD; i++)
        sum += partial[i];
    free(partial);
    CHECK(sum == COUNT * (COUNT - 1) / 2);
    return 0;
}
