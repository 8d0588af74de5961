/* order_concurrent.c - order(concurrent), reproducible and unconstrained, on for, simd and loop. */
#include "check.h"

enum { COUNT = 900 };
static int a[COUNT], b[COUNT], c[COUNT];

int main(void)
{
    for (int step = 1; step <= 2; step++) {
#pragma omp parallel for order(concurrent)
        for (int i = 0; i < COUNT; i++)
            a[i] += i * step;
#pragma omp parallel
        {
#pragma omp for order(reproducible : concurrent) schedule(static, 20)
            for (int i = 0; i < COUNT; i++)
                b[i] += a[i];
#pragma omp for simd order(unconstrained : concurrent) schedule(dynamic, 30)
            for (int i = 0; i < COUNT; i++)
                c[i] += b[i] + step;
        }
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(a[i] == 3 * i && b[i] == 4 * i && c[i] == 5 * i + 3);
    return 0;
}
