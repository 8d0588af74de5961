/* if_clause.c - a region that is parallel only if it pays. */
#include "check.h"
#include <omp.h>

enum { COUNT = 4000 };
static int values[COUNT], teams[4];

static void add(int count, int step)
{
#pragma omp parallel if (count > 100)
    {
#pragma omp single
        teams[step] = omp_get_num_threads();
#pragma omp for
        for (int i = 0; i < count; i++)
            values[i]++;
    }
}

int main(void)
{
    for (int step = 0; step < 4; step++)
        add(step % 2 ? COUNT : 50, step);
    CHECK(teams[0] == 1 && teams[2] == 1 && teams[1] == teams[3]);
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == (i < 50 ? 4 : 2));
    return 0;
}
