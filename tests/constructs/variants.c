/* variants.c - directives and functions that are chosen by context: metadirective, declare variant, begin declare variant. */
#include "check.h"

enum { COUNT = 300 };
static int values[COUNT], others[COUNT];

static int doubled_in_parallel(int x) { return 2 * x; }
#pragma omp declare variant(doubled_in_parallel) match(construct = {parallel})
static int doubled(int x) { return 20 * x; }

static int fallback(int x) { return -x; }
#pragma omp begin declare variant match(implementation = {vendor(llvm)})
static int fallback(int x) { return x + 1; }
#pragma omp end declare variant

int main(void)
{
    for (int step = 0; step < 2; step++) {
#pragma omp metadirective when(implementation = {vendor(llvm)} : parallel for) default(parallel for num_threads(1))
        for (int i = 0; i < COUNT; i++)
            values[i] += fallback(i);
#pragma omp parallel for
        for (int i = 0; i < COUNT; i++)
            others[i] = doubled(i);
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == 2 * (i + 1) && others[i] == 2 * i && (i > 0 || doubled(3) == 60));
    return 0;
}
