/* for_runtime_environment.c - schedule(runtime) from OMP_SCHEDULE, which the capture has to hand on to the replay. */
#include "check.h"
#include <omp.h>

enum { COUNT = 1000 };
static int values[COUNT], kind_seen, chunk_seen;

int main(void)
{
#pragma omp parallel
    {
#pragma omp single
        {
            omp_sched_t kind;
            omp_get_schedule(&kind, &chunk_seen);
            kind_seen = (int)((unsigned)kind & 0xffu);
        }
#pragma omp for schedule(runtime)
        for (int i = 0; i < COUNT; i++)
            values[i] = 2 * i;
    }
    CHECK(!getenv("OMP_SCHEDULE") || (kind_seen == omp_sched_guided && chunk_seen == 9));
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == 2 * i);
    return 0;
}
