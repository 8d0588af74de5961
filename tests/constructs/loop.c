/* loop.c - the loop construct, in its combined forms. */
#include "check.h"

enum { COUNT = 900 };
static int a[COUNT], b[COUNT];

int main(void)
{
#pragma omp parallel loop
    for (int i = 0; i < COUNT; i++)
        a[i] = i;
#pragma omp parallel
    {
#pragma omp loop bind(parallel) order(concurrent)
        for (int i = 0; i < COUNT; i++)
            b[i] = a[i] * 3;
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(b[i] == 3 * i);
    return 0;
}
