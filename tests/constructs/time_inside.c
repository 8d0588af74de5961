/* time_inside.c - clocks read inside a region: only differences enter what is kept. */
#include "check.h"
#include <omp.h>
#include <time.h>

static int orderly;

int main(void)
{
    double start = omp_get_wtime();
    time_t began = time(NULL);
#pragma omp parallel for reduction(+ : orderly)
    for (int i = 0; i < 50; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        double now = omp_get_wtime();
        clock_gettime(CLOCK_MONOTONIC, &b);
        orderly += (b.tv_sec > a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec >= a.tv_nsec)) && now >= start && time(NULL) >= began &&
                   clock() >= 0 && omp_get_wtick() < 1;
    }
    CHECK(orderly == 50);
    return 0;
}
