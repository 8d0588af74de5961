/* scan_simd.c - prefix sums in simd loops and with a reduction of the program's own: for simd and simd with inclusive and exclusive scans. */
#include "check.h"

enum { COUNT = 700 };
struct range { int low, high; };
#pragma omp declare reduction(join : struct range : omp_out.low = omp_in.low < omp_out.low ? omp_in.low : omp_out.low, \
        omp_out.high = omp_in.high > omp_out.high ? omp_in.high : omp_out.high) initializer(omp_priv = (struct range){1 << 30, -(1 << 30)})
static int from[COUNT], sums[COUNT], before[COUNT], highest[COUNT];

int main(void)
{
    for (int i = 0; i < COUNT; i++)
        from[i] = i * 37 % 101 - 50;
    int sum = 0, other = 3;
#pragma omp parallel for simd reduction(inscan, + : sum)
    for (int i = 0; i < COUNT; i++) {
        sum += from[i];
#pragma omp scan inclusive(sum)
        sums[i] = sum;
    }
#pragma omp parallel
#pragma omp single
    {
#pragma omp simd reduction(inscan, + : other)
        for (int i = 0; i < COUNT; i++) {
            before[i] = other;
#pragma omp scan exclusive(other)
            other += from[i];
        }
    }
    struct range range = {1 << 30, -(1 << 30)};
#pragma omp parallel for reduction(inscan, join : range)
    for (int i = 0; i < COUNT; i++) {
        struct range one = {from[i], from[i]};
        range.low = one.low < range.low ? one.low : range.low;
        range.high = one.high > range.high ? one.high : range.high;
#pragma omp scan inclusive(range)
        highest[i] = range.high;
    }
    for (int i = 0, until = 0, most = -100; i < COUNT; i++) {
        CHECK(before[i] == until + 3);
        until += from[i];
        most = from[i] > most ? from[i] : most;
        CHECK(sums[i] == until && highest[i] == most);
    }
    return 0;
}
