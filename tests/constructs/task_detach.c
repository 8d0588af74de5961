/* task_detach.c - a task that is over only when another one says so: detach and omp_fulfill_event. */
#include "check.h"
#include <omp.h>

static int begun, fulfilled, after;

int main(void)
{
    for (int step = 0; step < 2; step++) {
#pragma omp parallel
#pragma omp single
        {
            omp_event_handle_t event;
#pragma omp task detach(event) depend(out : begun)
            {
                begun++;
#pragma omp task firstprivate(event)
                {
#pragma omp atomic
                    fulfilled++;
                    omp_fulfill_event(event);
                }
            }
#pragma omp task depend(in : begun)
            {
#pragma omp atomic read
                after = fulfilled;
            }
#pragma omp taskwait
        }
        CHECK(begun == step + 1 && fulfilled == step + 1 && after == step + 1);
    }
    return 0;
}
