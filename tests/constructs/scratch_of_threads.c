/* scratch_of_threads.c - scratch memory that each thread makes for itself in one region and uses in others: holds only for the capture's number of threads (P17). */
#include "check.h"

static double *scratch;
#pragma omp threadprivate(scratch)
static double sum;

static void use(int count)
{
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < count; i++) {
        scratch[i % 100] = i;
        sum += scratch[i % 100];
    }
}

int main(void)
{
#pragma omp parallel
    scratch = malloc(100 * sizeof *scratch);
    for (int step = 0; step < 4; step++)
        use(1000);
    CHECK(sum == 4 * 999 * 500);
#pragma omp parallel
    free(scratch);
    return 0;
}
