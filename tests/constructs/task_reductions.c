/* task_reductions.c - sums that tasks take part in: the task modifier on parallel and for, with tasks of tasks, and in_reduction of taskloops. */
#include "check.h"

enum { COUNT = 300 };
static long by_parallel, by_loop, by_group;

int main(void)
{
    for (int step = 1; step <= 2; step++) {
        by_parallel = by_loop = by_group = 0;
#pragma omp parallel reduction(task, + : by_parallel)
        {
#pragma omp single
            for (int i = 0; i < COUNT; i++) {
#pragma omp task in_reduction(+ : by_parallel) firstprivate(i)
                {
                    by_parallel += i * step;
#pragma omp task in_reduction(+ : by_parallel)
                    by_parallel++;
                }
            }
        }
#pragma omp parallel
        {
#pragma omp for reduction(task, + : by_loop) schedule(static, 10)
            for (int i = 0; i < COUNT; i++) {
#pragma omp task in_reduction(+ : by_loop) firstprivate(i)
                by_loop += i;
            }
#pragma omp single
#pragma omp taskgroup task_reduction(+ : by_group)
            {
#pragma omp taskloop in_reduction(+ : by_group) grainsize(30) nogroup
                for (int i = 0; i < COUNT; i++)
                    by_group += i;
            }
        }
        CHECK(by_parallel == (long)step * COUNT * (COUNT - 1) / 2 + COUNT && by_loop == COUNT * (COUNT - 1) / 2 && by_group == COUNT * (COUNT - 1) / 2);
    }
    return 0;
}
