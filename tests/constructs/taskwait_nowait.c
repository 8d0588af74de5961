/* taskwait_nowait.c - waiting for some tasks only: taskwait depend, the same with nowait, which other tasks wait behind; taskyield. */
#include "check.h"

enum { COUNT = 40 };
static int first[COUNT], second[COUNT], order;

int main(void)
{
    for (int step = 1; step <= 2; step++) {
#pragma omp parallel
#pragma omp single
        {
            for (int i = 0; i < COUNT; i++) {
#pragma omp task depend(out : first[i]) firstprivate(i)
                {
#pragma omp taskyield
                    first[i] += i * step;
                }
#pragma omp taskwait depend(in : first[i]) depend(out : second[i]) nowait
#pragma omp task depend(inout : second[i]) firstprivate(i)
                second[i] += first[i];
            }
#pragma omp taskwait depend(in : second[0], second[COUNT - 1])
            order += second[COUNT - 1];
        }
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(first[i] == 3 * i && second[i] == 4 * i);
    CHECK(order == 5 * (COUNT - 1));
    return 0;
}
