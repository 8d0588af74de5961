/* scratch_on_stack.c - one entry for each thread in an array of run-time length, counted by a region of its own. */
#include "check.h"
#include <omp.h>

enum { COUNT = 1000 };

int main(void)
{
    int threads = 0;
#pragma omp parallel
#pragma omp single
    threads = omp_get_num_threads();
    long partial[threads], sum = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        partial[me] = 0;
#pragma omp for
        for (int i = 0; i < COUNT; i++)
            partial[me] += i;
    }
    for (int i = 0; i < threads; i++)
        sum += partial[i];
    CHECK(sum == COUNT * (COUNT - 1) / 2);
    return 0;
}
