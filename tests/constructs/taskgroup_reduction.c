/* taskgroup_reduction.c - task_reduction and in_reduction; a reduction with the task modifier. */
#include "check.h"

enum { COUNT = 200 };

int main(void)
{
    long sum = 0, other = 0;
    int highest = -1;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : sum) task_reduction(max : highest)
        {
            for (int i = 0; i < COUNT; i++) {
#pragma omp task in_reduction(+ : sum) in_reduction(max : highest) firstprivate(i)
                {
                    sum += i;
                    highest = i % 150 > highest ? i % 150 : highest;
                }
            }
        }
    }
#pragma omp parallel for reduction(task, + : other)
    for (int i = 0; i < 20; i++) {
#pragma omp task in_reduction(+ : other) firstprivate(i)
        other += i;
    }
    CHECK(sum == COUNT * (COUNT - 1) / 2 && highest == 149 && other == 190);
    return 0;
}
