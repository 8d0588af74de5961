/* task_untied.c - tasks that may go on in another thread after taskyield. */
#include "check.h"

enum { COUNT = 40 };
static int stages[COUNT];

int main(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < COUNT; i++) {
#pragma omp task untied firstprivate(i)
        {
            stages[i] = 1;
#pragma omp taskyield
            stages[i] += 10;
#pragma omp task shared(stages) firstprivate(i)
            stages[i] += 100;
#pragma omp taskwait
            stages[i] *= 2;
        }
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(stages[i] == 222);
    return 0;
}
