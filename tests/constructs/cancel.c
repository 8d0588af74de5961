/* cancel.c - a loop and a task group left early; needs OMP_CANCELLATION=true, else nothing is left early. */
#include "check.h"
#include <omp.h>

static int found = -1, visited, in_group, cancelling;

int main(void)
{
#pragma omp parallel
    {
#pragma omp single
        cancelling = omp_get_cancellation();
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < 100000; i++) {
#pragma omp atomic
            visited++;
            if (i == 50) {
#pragma omp atomic write
                found = i;
#pragma omp cancel for
            }
#pragma omp cancellation point for
        }
    }
    CHECK(found == 50 && (cancelling ? visited < 100000 : visited == 100000));
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        for (int i = 0; i < 1000; i++) {
#pragma omp task firstprivate(i)
            {
#pragma omp atomic
                in_group++;
                if (i == 0) {
#pragma omp cancel taskgroup
                }
            }
        }
    }
    CHECK(in_group >= 1 && (cancelling || in_group == 1000));
    return 0;
}
