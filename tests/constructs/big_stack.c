/* big_stack.c - 24 MB of private arrays a thread, more than a thread's usual stack: needs OMP_STACKSIZE. Without it there is nothing to see. */
#include "check.h"
#include <omp.h>
#include <sys/resource.h>

enum { COUNT = 6 << 20 };
static long sum;

static __attribute__((noinline)) long use(int tag)
{
    volatile int large[COUNT];
    for (int i = 0; i < COUNT; i += 1024)
        large[i] = tag;
    return large[0] + large[COUNT - 1024];
}

int main(void)
{
    if (!getenv("OMP_STACKSIZE"))
        return 0;
#pragma omp parallel reduction(+ : sum)
    {
        /* OMP_STACKSIZE says nothing about the initial thread */
        if (omp_get_thread_num() > 0)
            sum += use(1) - 1;
        sum += 1;
    }
    CHECK(sum == 2 * omp_get_max_threads() - 1);
    return 0;
}
