/* function_versions.c - functions of which the compiler makes several, and the dynamic linker chooses: target_clones, ifunc. */
#include "check.h"

enum { COUNT = 500 };
static double values[COUNT], given[8] = {1, 2, 3, 4, 5, 6, 7, 8};

__attribute__((target_clones("avx2", "default"))) static double weigh(const double *of, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += of[i] * i;
    return sum;
}

static int plain(int x) { return x + 1; }
static int (*choose(void))(int) { return plain; }
__attribute__((ifunc("choose"))) int chosen(int x);

int main(void)
{
    for (int step = 0; step < 2; step++) {
        double total = 0;
#pragma omp parallel for reduction(+ : total)
        for (int i = 0; i < COUNT; i++) {
            values[i] = chosen(i);
            total += weigh(given, i % 8);
        }
        CHECK(total > 0 && values[COUNT - 1] == COUNT);
    }
    return 0;
}
