/* task_all_memory.c - tasks that depend on all memory, between tasks that name theirs; a depobj that changes its kind; dependences of included tasks. */
#include "check.h"
#include <omp.h>

enum { COUNT = 16 };
static int values[COUNT], before_all, after_all, seen_last, changed;

int main(void)
{
    for (int step = 1; step <= 2; step++) {
#pragma omp parallel
#pragma omp single
        {
            for (int i = 0; i < COUNT; i++) {
#pragma omp task depend(out : values[i]) firstprivate(i)
                values[i] += i * step;
            }
#pragma omp task depend(inout : omp_all_memory)
            {
                before_all = 0;
                for (int i = 0; i < COUNT; i++)
                    before_all += values[i];
            }
            for (int i = 0; i < COUNT; i++) {
#pragma omp task depend(inout : values[i]) firstprivate(i)
                values[i]++;
            }
#pragma omp task depend(out : omp_all_memory)
            {
                after_all = 0;
                for (int i = 0; i < COUNT; i++)
                    after_all += values[i];
            }
            omp_depend_t object;
#pragma omp depobj(object) depend(in : values[COUNT - 1])
#pragma omp task depend(depobj : object)
            seen_last = values[COUNT - 1];
#pragma omp depobj(object) update(inout)
#pragma omp task depend(depobj : object)
            values[COUNT - 1] += 100;
#pragma omp task if (0) depend(in : values[COUNT - 1])
            changed = values[COUNT - 1];
#pragma omp taskwait
#pragma omp depobj(object) destroy
        }
        CHECK(after_all == before_all + COUNT && changed == seen_last + 100);
    }
    CHECK(values[0] == 2 && values[COUNT - 1] == 3 * (COUNT - 1) + 202);
    return 0;
}
