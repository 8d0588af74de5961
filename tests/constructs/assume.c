/* assume.c - promises to the compiler: assumes, begin assumes, and assume where the compiler knows it. */
#include "check.h"
#pragma omp assumes no_openmp_routines

enum { COUNT = 256 };
static unsigned values[COUNT];

#pragma omp begin assumes no_parallelism
static unsigned half(unsigned x)
{
    unsigned result;
#if __clang_major__ >= 20
#pragma omp assume holds(x % 2 == 0)
#endif
    {
        result = x / 2;
    }
    return result;
}
#pragma omp end assumes

int main(void)
{
#pragma omp parallel for
    for (unsigned i = 0; i < COUNT; i++)
        values[i] = half(4 * i);
    for (unsigned i = 0; i < COUNT; i++)
        CHECK(values[i] == 2 * i);
    return 0;
}
