/* orphaned.c - worksharing in functions of another file (orphaned_other.c), called inside and outside regions. */
#include "check.h"

void fill(int *values, int count, int step);
long sum_of(const int *values, int count);
extern int fills_done;

int main(void)
{
    static int values[1000];
    long sum = 0;
    for (int step = 1; step <= 2; step++) {
#pragma omp parallel
        {
            fill(values, 1000, step);
            long part = sum_of(values, 1000);
#pragma omp single
            sum = part;
        }
        CHECK(sum == step * 499500L);
    }
    fill(values, 1000, 5);
    CHECK(values[999] == 5 * 999 && fills_done == 3);
    return 0;
}
