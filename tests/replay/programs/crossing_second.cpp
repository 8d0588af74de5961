// A library that is built with the plugin or without it; it throws into its caller's regions, and has one of its own.
#include "crossing.h"

static long doubled;

double secondTwice(double x)
{
    __atomic_fetch_add(&doubled, 1, __ATOMIC_RELAXED);
    if (x < 0)
        throw std::out_of_range("second");
    return 2 * x;
}

double secondNested(int n)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(1)
    for (int i = 0; i < n; i++)
        sum += i;
    return sum;
}
