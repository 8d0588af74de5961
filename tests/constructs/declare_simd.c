/* declare_simd.c - functions with vector variants that the compiler makes. */
#include "check.h"

enum { COUNT = 512 };
static double in[COUNT], out[COUNT];

#pragma omp declare simd notinbranch
static double square_plus(double x, double y)
{
    return x * x + y;
}

#pragma omp declare simd uniform(base) linear(i : 1) inbranch
static __attribute__((noinline)) double fetch(const double *base, int i)
{
    return base[i] * 2;
}

int main(void)
{
    for (int i = 0; i < COUNT; i++)
        in[i] = i % 32;
#pragma omp parallel for simd
    for (int i = 0; i < COUNT; i++) {
        out[i] = square_plus(in[i], 1);
        if (i % 2)
            out[i] += fetch(in, i);
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(out[i] == in[i] * in[i] + 1 + (i % 2 ? 2 * in[i] : 0));
    return 0;
}
