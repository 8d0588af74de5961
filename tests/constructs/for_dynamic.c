/* for_dynamic.c - iterations fetched one after the other: schedule(dynamic), monotonic and not, unsigned and 64-bit. */
#include "check.h"

enum { COUNT = 600 };
static double work[COUNT];

static double spin(unsigned rounds)
{
    double x = 1;
    for (unsigned i = 0; i < rounds; i++)
        x = x * 0.5 + 1;
    return x;
}

int main(void)
{
#pragma omp parallel for schedule(dynamic)
    for (unsigned i = 0; i < COUNT; i++)
        work[i] = spin(i % 64);
#pragma omp parallel for schedule(nonmonotonic : dynamic, 5)
    for (long long i = 0; i < COUNT; i++)
        work[i] += spin(64);
#pragma omp parallel for schedule(monotonic : dynamic, 3)
    for (unsigned long i = 0; i < COUNT; i++)
        work[i] -= spin(64);
    for (unsigned i = 0; i < COUNT; i++)
        CHECK(work[i] > spin(i % 64) - 1e-9 && work[i] < spin(i % 64) + 1e-9);
    return 0;
}
