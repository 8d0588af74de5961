/* nested_depth3.c - three levels with numbers of threads of their own, serial ones among them; each asks where it is. */
#include "check.h"
#include <omp.h>

static long totals[2][3], wrong;

static void innermost(int a, int b)
{
    long total = 0;
#pragma omp parallel for num_threads(2) reduction(+ : total)
    for (int k = 0; k < 50; k++) {
        total += k;
        if (omp_get_level() != 3 || omp_get_active_level() != 2 || omp_get_ancestor_thread_num(2) != 0 || omp_get_team_size(2) != 1 ||
            omp_get_ancestor_thread_num(1) != a % 2 || omp_get_team_size(1) != 2)
#pragma omp atomic
            wrong++;
    }
    totals[a][b] += total;
}

static void middle(int a)
{
#pragma omp parallel for if (a > 5)
    for (int b = 0; b < 3; b++)
        innermost(a, b);
}

int main(void)
{
    omp_set_max_active_levels(3);
#pragma omp parallel for num_threads(2) schedule(static, 1)
    for (int a = 0; a < 2; a++)
        middle(a);
    CHECK(wrong == 0);
    for (int i = 0; i < 6; i++)
        CHECK(totals[i / 3][i % 3] == 49 * 50 / 2);
    return 0;
}
