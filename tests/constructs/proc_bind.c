/* proc_bind.c - regions that say where their threads go. */
#include "check.h"
#include <omp.h>

static int bound[3], values[100];

int main(void)
{
#pragma omp parallel proc_bind(close)
#pragma omp single
    bound[0] = (int)omp_get_proc_bind() >= 0;
#pragma omp parallel for proc_bind(spread)
    for (int i = 0; i < 100; i++)
        values[i] = i;
#pragma omp parallel proc_bind(primary)
#pragma omp single
    bound[1] = omp_get_place_num() >= -1;
    CHECK(bound[0] == 1 && bound[1] == 1 && values[99] == 99);
    return 0;
}
