/* simd.c - vector loops inside regions: simd, for simd, safelen, simdlen, aligned, a reduction. */
#include "check.h"

enum { COUNT = 1024 };
static float a[COUNT] __attribute__((aligned(64))), b[COUNT] __attribute__((aligned(64)));
static int shifted[COUNT];

int main(void)
{
    float sum = 0;
#pragma omp parallel for simd aligned(a, b : 64) simdlen(8)
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)(i % 16);
        b[i] = 2;
    }
#pragma omp parallel
    {
#pragma omp for simd reduction(+ : sum) schedule(simd : dynamic, 8)
        for (int i = 0; i < COUNT; i++)
            sum += a[i] * b[i];
#pragma omp single
        {
#pragma omp simd safelen(4)
            for (int i = 4; i < COUNT; i++)
                shifted[i] = shifted[i - 4] + 1;
        }
    }
    CHECK(sum == 2 * 64 * 120 && shifted[COUNT - 1] == COUNT / 4 - 1);
    return 0;
}
