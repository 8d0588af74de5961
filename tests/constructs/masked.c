/* masked.c - the primary thread alone, a chosen thread alone, and the old word for it. */
#include "check.h"
#include <omp.h>

static int by_primary, by_chosen, by_master;

int main(void)
{
    for (int step = 0; step < 3; step++) {
#pragma omp parallel
        {
#pragma omp masked
            by_primary++;
#pragma omp masked filter(omp_get_num_threads() - 1)
            by_chosen++;
#pragma omp master
            by_master += omp_get_thread_num() == 0;
        }
    }
    CHECK(by_primary == 3 && by_chosen == 3 && by_master == 3);
    return 0;
}
