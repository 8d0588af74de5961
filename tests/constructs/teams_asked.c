/* teams_asked.c - regions in a league that ask which team of how many they are, and how many threads there may be, and divide work by that themselves. */
#include "check.h"
#include <omp.h>

enum { COUNT = 600 };
static int values[COUNT], by_team[COUNT];

int main(void)
{
    int league = 1;
    for (int step = 1; step <= 3; step++) {
#pragma omp teams num_teams(3) thread_limit(4)
        {
            if (omp_get_team_num() == 0)
                league = omp_get_num_teams();
#pragma omp parallel
            {
                int teams = omp_get_num_teams(), team = omp_get_team_num();
#pragma omp for
                for (int i = team; i < COUNT; i += teams) {
                    values[i] += i * step;
                    by_team[i] = 10 * teams + team + 100 * omp_get_thread_limit();
                }
            }
        }
        for (int i = 0; i < COUNT; i++)
            CHECK(by_team[i] == 400 + 10 * league + i % league);
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == 6 * i);
    return 0;
}
