/* barrier.c - phases: what the neighbour wrote is there after the barrier. */
#include "check.h"
#include <omp.h>

static int phase_of[512];
static int phases_done;

int main(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num() % 512, next = (omp_get_thread_num() + 1) % omp_get_num_threads() % 512;
        for (int phase = 1; phase <= 10; phase++) {
            phase_of[me] = phase;
#pragma omp barrier
            CHECK(phase_of[next] == phase);
#pragma omp barrier
        }
#pragma omp single
        phases_done = 10;
    }
    CHECK(phases_done == 10);
    return 0;
}
