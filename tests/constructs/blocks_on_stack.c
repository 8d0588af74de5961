/* blocks_on_stack.c - a region whose initial thread leaves pointers to its blocks on the stack, where nobody finds them; the blocks hold what is another value each time. */
#include "check.h"
#include <stdlib.h>
#include <time.h>

static long sum;

static __attribute__((noinline)) long leave(int step)
{
    long *volatile places[64];
    for (int i = 0; i < 64; i++) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        places[i] = malloc(sizeof *places[i] * 2);
        places[i][0] = now.tv_nsec ^ (now.tv_sec << 30);
        places[i][1] = step;
    }
    return places[63][1];
}

int main(void)
{
    for (int step = 1; step <= 3; step++) {
#pragma omp parallel
        {
#pragma omp masked
            sum += leave(step);
        }
    }
    CHECK(sum == 6);
    return 0;
}
