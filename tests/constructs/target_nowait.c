/* target_nowait.c - target constructs on the host: teams, and tasks of their own, for which the runtime has a team of its own. */
#include "check.h"

enum { COUNT = 1000, PARTS = 4 };
static int values[COUNT];

int main(void)
{
    long sum = 0;
    for (int step = 0; step < 2; step++) {
#pragma omp target teams distribute parallel for map(tofrom : values)
        for (int i = 0; i < COUNT; i++)
            values[i] += i;
#pragma omp parallel
#pragma omp single
        for (int part = 0; part < PARTS; part++) {
#pragma omp target nowait map(tofrom : values) firstprivate(part)
            for (int i = part * COUNT / PARTS; i < (part + 1) * COUNT / PARTS; i++)
                values[i]++;
        }
    }
    for (int i = 0; i < COUNT; i++)
        sum += values[i];
    CHECK(sum == 2 * (499500 + COUNT));
    return 0;
}
