/* num_threads.c - regions that ask for a number of threads, by clause and by call. */
#include "check.h"
#include <omp.h>

static int asked_by_clause, asked_by_call, sums[3];

int main(void)
{
    omp_set_dynamic(0);
    for (int wanted = 1; wanted <= 3; wanted++) {
#pragma omp parallel num_threads(wanted)
        {
#pragma omp single
            asked_by_clause = omp_get_num_threads();
#pragma omp atomic
            sums[wanted - 1]++;
        }
        CHECK(asked_by_clause == wanted && sums[wanted - 1] == wanted);
    }
    omp_set_num_threads(2);
#pragma omp parallel
    {
#pragma omp single
        asked_by_call = omp_get_num_threads();
    }
    CHECK(asked_by_call == 2);
    return 0;
}
