/* nested.c - parallel regions in parallel regions, three levels deep. */
#include "check.h"
#include <omp.h>

static int at_level[4], cells[4][4][4];

static void innermost(int i, int j)
{
#pragma omp parallel for num_threads(2)
    for (int k = 0; k < 4; k++) {
        cells[i][j][k] += i * 16 + j * 4 + k;
#pragma omp atomic
        at_level[omp_get_level()]++;
    }
}

static void middle(int i)
{
#pragma omp parallel for num_threads(2)
    for (int j = 0; j < 4; j++) {
#pragma omp atomic
        at_level[omp_get_level()]++;
        innermost(i, j);
    }
}

int main(void)
{
    omp_set_max_active_levels(3);
#pragma omp parallel for
    for (int i = 0; i < 4; i++) {
#pragma omp atomic
        at_level[omp_get_level()]++;
        middle(i);
    }
    CHECK(at_level[1] == 4 && at_level[2] == 16 && at_level[3] == 64);
    for (int i = 0; i < 64; i++)
        CHECK(cells[i / 16][i / 4 % 4][i % 4] == i);
    return 0;
}
