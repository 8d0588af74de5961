/* teams.c - a league of teams on the host. */
#include "check.h"
#include <omp.h>

enum { COUNT = 1000 };
static int values[COUNT], league;

int main(void)
{
    for (int step = 0; step < 2; step++) {
#pragma omp teams num_teams(2) thread_limit(2)
        {
            if (omp_get_team_num() == 0)
                league = omp_get_num_teams();
#pragma omp distribute parallel for
            for (int i = 0; i < COUNT; i++)
                values[i] += i;
        }
    }
    long sum = 0;
#pragma omp teams distribute reduction(+ : sum)
    for (int i = 0; i < COUNT; i++)
        sum += values[i];
    CHECK(league >= 1 && sum == 999000);
    return 0;
}
