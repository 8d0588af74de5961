/* profile_counters.c - a program that counts for profile-guided optimisation: regions count in variables that have no symbols. */
#include "check.h"

static int square(int i) { return i % 3 ? i * i : 0; }

int main(void)
{
    long sum = 0;
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 100; i++)
            sum += i % 7 ? square(i) : i;
    }
    CHECK(sum > 0);
    return 0;
}
