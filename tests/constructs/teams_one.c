/* teams_one.c - a league of one team of one thread, and one of three, with distribute schedules, reductions and regions inside that ask for limits. */
#include "check.h"
#include <omp.h>

enum { COUNT = 500 };
static int values[COUNT], others[COUNT], inside, limit;

int main(void)
{
    for (int step = 0; step < 2; step++) {
        long sum = 0;
#pragma omp teams num_teams(1) thread_limit(1)
        {
#pragma omp parallel
            {
#pragma omp atomic
                inside++;
#pragma omp single
                limit = omp_get_thread_limit();
            }
#pragma omp distribute dist_schedule(static, 20)
            for (int i = 0; i < COUNT; i++)
                values[i] += i;
        }
#pragma omp teams num_teams(3) reduction(+ : sum)
        {
#pragma omp distribute parallel for simd schedule(static, 7) reduction(+ : sum)
            for (int i = 0; i < COUNT; i++)
                sum += others[i] += values[i];
        }
        CHECK(sum == (step == 0 ? 1 : 3) * (long)COUNT * (COUNT - 1) / 2);
    }
    CHECK(inside == 2 && limit == 1);
    return 0;
}
