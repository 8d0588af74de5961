/* reduction_scan.c - prefix sums: inscan with inclusive and exclusive scans. */
#include "check.h"

enum { COUNT = 1000 };
static int inclusive[COUNT], exclusive[COUNT];

int main(void)
{
    int sum = 0;
#pragma omp parallel for reduction(inscan, + : sum)
    for (int i = 0; i < COUNT; i++) {
        sum += i;
#pragma omp scan inclusive(sum)
        inclusive[i] = sum;
    }
    sum = 0;
#pragma omp parallel for reduction(inscan, + : sum)
    for (int i = 0; i < COUNT; i++) {
        exclusive[i] = sum;
#pragma omp scan exclusive(sum)
        sum += i;
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(inclusive[i] == i * (i + 1) / 2 && exclusive[i] == i * (i - 1) / 2);
    return 0;
}
