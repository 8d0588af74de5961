/* lastprivate.c - the last iteration's value leaves the loop. Static schedules only: with dynamic ones libomp 19 now and then calls no
 * iteration the last, and clang 19 gets conditional ones wrong. */
#include "check.h"

int main(void)
{
    int last = -1, index = -1;
    double pair[2] = {0, 0};
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for lastprivate(last, pair) schedule(static, 10)
        for (int i = 0; i < 777; i++) {
            last = i * 2;
            pair[0] = i + step;
            pair[1] = -i;
        }
        CHECK(last == 776 * 2 && pair[0] == 776 + step && pair[1] == -776);
    }
#pragma omp parallel
#pragma omp for lastprivate(index)
    for (index = 0; index < 100; index++) {
    }
    CHECK(index == 100);
    return 0;
}
