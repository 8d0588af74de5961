/* combined_masked.c - masked with what it can stand before: parallel masked, and masked taskloop and masked taskloop simd with and without parallel, which
 * clang 19 leaves out of the program. */
#include "check.h"
#if __clang_major__ < 19
#error this compiler leaves parallel masked out of the program
#endif

enum { COUNT = 600 };
static int a[COUNT], b[COUNT], c[COUNT], d[COUNT], entered;

int main(void)
{
    for (int step = 1; step <= 2; step++) {
#pragma omp parallel masked
        for (int i = 0; i < COUNT; i++)
            d[i] += 6 * i * step;
#pragma omp parallel masked
        entered++;
#if __clang_major__ >= 22
#pragma omp parallel
        {
#pragma omp masked taskloop grainsize(40)
            for (int i = 0; i < COUNT; i++)
                a[i] += i * step;
#pragma omp barrier
#pragma omp masked taskloop simd num_tasks(7)
            for (int i = 0; i < COUNT; i++)
                b[i] += a[i];
        }
#pragma omp parallel masked taskloop collapse(2)
        for (int i = 0; i < 20; i++)
            for (int j = 0; j < 30; j++)
                c[i * 30 + j] += b[i * 30 + j];
#pragma omp parallel masked taskloop simd grainsize(50)
        for (int i = 0; i < COUNT; i++)
            d[i] += c[i] - step;
#endif
    }
    CHECK(entered == 2);
#if __clang_major__ >= 22
    CHECK(a[COUNT - 1] == 3 * (COUNT - 1) && b[10] == 40 && c[10] == 50 && d[10] == 180 + 60 - 3);
#else
    CHECK(a[0] + b[0] + c[0] == 0 && d[10] == 180);
#endif
    return 0;
}
