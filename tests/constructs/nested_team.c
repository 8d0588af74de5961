/* nested_team.c - inner regions that all threads of an outer team enter, each with data of its own on its own stack. */
#include "check.h"
#include <omp.h>

enum { COUNT = 600 };
static int results[64], levels_wrong;
static int entered;
#pragma omp threadprivate(entered)

int main(void)
{
    int outer = omp_get_max_threads() > 1 ? omp_get_max_threads() : 3;
    omp_set_max_active_levels(2);
    for (int step = 0; step < 3; step++) {
#pragma omp parallel num_threads(outer)
        {
            int own[COUNT], sum = 0, me = omp_get_thread_num();
            entered = me * 10;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
            for (int i = 0; i < COUNT; i++) {
                own[i] = i * (me + 1) + step;
                sum += own[i];
                if (omp_get_level() != 2 || omp_get_ancestor_thread_num(1) != me || omp_get_team_size(1) != outer || omp_get_team_size(0) != 1)
#pragma omp atomic
                    levels_wrong++;
            }
            results[me] = sum + own[COUNT - 1] + entered;
        }
    }
    CHECK(levels_wrong == 0);
    for (int t = 0; t < outer; t++)
        CHECK(results[t] == (t + 1) * COUNT * (COUNT - 1) / 2 + 2 * COUNT + (COUNT - 1) * (t + 1) + 2 + t * 10);
    return 0;
}
