/* critical.c - the unnamed critical section. */
#include "check.h"

static long count, list[1000];

int main(void)
{
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for
        for (int i = 0; i < 500; i++) {
#pragma omp critical
            {
                list[count] = i;
                count++;
            }
        }
    }
    long sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += list[i];
    CHECK(count == 1000 && sum == 2 * 500 * 499 / 2);
    return 0;
}
