/* taskgroup_cancelled.c - a search by tasks that one of them ends for all, and sections and a team that leave early: cancel and cancellation point. */
#include "check.h"

enum { COUNT = 3000, PARTS = 30 };
static int haystack[COUNT], found, after;

int main(void)
{
    haystack[1234] = 1;
    for (int step = 0; step < 2; step++) {
        found = -1;
#pragma omp parallel
#pragma omp single
        {
#pragma omp taskgroup
            for (int part = 0; part < PARTS; part++) {
#pragma omp task firstprivate(part)
                for (int i = part * (COUNT / PARTS); i < (part + 1) * (COUNT / PARTS); i++) {
#pragma omp cancellation point taskgroup
                    if (haystack[i]) {
#pragma omp atomic write
                        found = i;
#pragma omp cancel taskgroup
                    }
                }
            }
            CHECK(found == 1234);
#pragma omp task
            after++;
        }
#pragma omp parallel sections
        {
#pragma omp section
            {
#pragma omp cancel sections if (haystack[1234])
                after += 1000;
            }
        }
#pragma omp parallel
        {
#pragma omp cancellation point parallel
#pragma omp cancel parallel if (step < 2)
#pragma omp atomic
            after += 1000;
        }
    }
    CHECK(after == 2);
    return 0;
}
