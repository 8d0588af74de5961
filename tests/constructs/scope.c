/* scope.c - a scope with private variables and a reduction over the team, without dividing work. */
#include "check.h"
#include <omp.h>

static int team, total;

int main(void)
{
    for (int step = 0; step < 2; step++) {
        total = 0;
#pragma omp parallel
        {
            int mine = -1;
#pragma omp scope private(mine) reduction(+ : total)
            {
                mine = omp_get_thread_num();
                total += mine + 1;
            }
#pragma omp single
            team = omp_get_num_threads();
        }
        CHECK(total == team * (team + 1) / 2);
    }
    return 0;
}
