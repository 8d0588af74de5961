/* threadprivate.c - a copy for each thread, used within each region; the copies are summed by a critical section. */
#include "check.h"
#include <omp.h>

static int count, scratch[100];
#pragma omp threadprivate(count, scratch)
static long total;

int main(void)
{
    for (int step = 0; step < 2; step++) {
#pragma omp parallel
        {
            count = 0;
            scratch[99] = 0;
#pragma omp for
            for (int i = 0; i < 1000; i++) {
                count++;
                scratch[99] += i;
            }
#pragma omp critical
            total += count + scratch[99];
        }
    }
    CHECK(total == 2 * (1000 + 499500));
    return 0;
}
