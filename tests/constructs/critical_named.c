/* critical_named.c - named critical sections that exclude only their own name, one inside another, one hinted. */
#include "check.h"
#include <omp.h>

static long first, second, both;

int main(void)
{
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for
        for (int i = 0; i < 400; i++) {
#pragma omp critical(one)
            first += i;
#pragma omp critical(two) hint(omp_sync_hint_contended)
            {
                second -= i;
#pragma omp critical(inside)
                both++;
            }
        }
    }
    CHECK(first == 400 * 399 && second == -400 * 399 && both == 800);
    return 0;
}
