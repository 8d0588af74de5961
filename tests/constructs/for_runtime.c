/* for_runtime.c - schedule(runtime), set by the program itself before the region: the region sees what was set. */
#include "check.h"
#include <omp.h>

enum { COUNT = 1000 };
static int values[COUNT];

int main(void)
{
    omp_set_schedule(omp_sched_dynamic, 13);
#pragma omp parallel
    {
        omp_sched_t kind;
        int chunk;
        omp_get_schedule(&kind, &chunk);
        CHECK(((unsigned)kind & 0xffu) == omp_sched_dynamic && chunk == 13);
#pragma omp for schedule(runtime)
        for (int i = 0; i < COUNT; i++)
            values[i] = i / 13;
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == i / 13);
    return 0;
}
