/* nowait.c - loops without a barrier between them; static shares of equal loops meet in the same thread. */
#include "check.h"

enum { COUNT = 1536 };
static double a[COUNT], b[COUNT], c[COUNT];

int main(void)
{
#pragma omp parallel
    {
#pragma omp for schedule(static) nowait
        for (int i = 0; i < COUNT; i++)
            a[i] = i;
#pragma omp for schedule(static) nowait
        for (int i = 0; i < COUNT; i++)
            b[i] = 2 * a[i];
#pragma omp for schedule(static) nowait
        for (int i = 0; i < COUNT; i++)
            c[i] = a[i] + b[i];
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(c[i] == 3.0 * i);
    return 0;
}
