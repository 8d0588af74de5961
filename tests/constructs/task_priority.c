/* task_priority.c - tasks with priorities: a hint that changes no result. OMP_MAX_TASK_PRIORITY belongs to it. */
#include "check.h"
#include <omp.h>

enum { COUNT = 100 };
static int ran[COUNT], priority_most;

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        priority_most = omp_get_max_task_priority();
        for (int i = 0; i < COUNT; i++) {
#pragma omp task priority(i % 5) firstprivate(i)
            ran[i] = i % 5 + 1;
        }
    }
    CHECK(!getenv("OMP_MAX_TASK_PRIORITY") || priority_most == 5);
    for (int i = 0; i < COUNT; i++)
        CHECK(ran[i] == i % 5 + 1);
    return 0;
}
