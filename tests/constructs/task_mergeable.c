/* task_mergeable.c - included, final and mergeable tasks. */
#include "check.h"
#include <omp.h>

static int included, values[64];

int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        int local = 1;
#pragma omp task mergeable shared(local) if (0)
        local += 2;
        CHECK(local == 3);
#pragma omp task final(1) shared(values)
        {
            included = omp_in_final();
            for (int i = 0; i < 64; i++) {
#pragma omp task mergeable firstprivate(i)
                values[i] = i + omp_in_final();
            }
        }
#pragma omp taskwait
    }
    CHECK(included == 1);
    for (int i = 0; i < 64; i++)
        CHECK(values[i] == i + 1);
    return 0;
}
