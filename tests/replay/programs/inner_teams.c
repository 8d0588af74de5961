/* inner_teams.c - what decides about teams inside a region whose own team a clause says: OMP_NUM_THREADS, the program's omp_set_num_threads, and a limit of levels that is none. */
#include <omp.h>
#include <stdio.h>

static int sizes[4][2];
static double sums[2];

__attribute__((noinline)) static void follows(void)
{
#pragma omp parallel num_threads(2)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel
#pragma omp single
        {
            sizes[0][outer] = omp_get_num_threads();
            for (int i = 1; i < 100000; i++)
                sums[outer] += 1.0 / i;
        }
    }
}

__attribute__((noinline)) static void sets(void)
{
#pragma omp parallel num_threads(2)
    {
        int outer = omp_get_thread_num();
        sizes[1][outer] = omp_get_max_threads();
#pragma omp parallel
#pragma omp single
        sizes[2][outer] = omp_get_num_threads();
    }
}

__attribute__((noinline)) static void levels(void)
{
#pragma omp parallel num_threads(2)
    sizes[3][omp_get_thread_num()] = omp_get_num_threads() + 10 * omp_in_parallel();
}

int main(void)
{
    omp_set_max_active_levels(2);
    follows();
    omp_set_num_threads(3);
    sets();
    omp_set_max_active_levels(0);
    levels();
    int bad = sizes[0][0] != sizes[0][1] || sizes[1][1] != 3 || sizes[2][0] != 3 || sizes[2][1] != 3 || sizes[3][0] != 1 || sizes[3][1] != 0;
    puts(bad ? "FAIL" : "PASS");
    return bad;
}
