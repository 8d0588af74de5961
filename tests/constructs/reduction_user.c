/* reduction_user.c - a reduction that the program declares, over a structure. */
#include "check.h"

struct best { double value; int where; };

static struct best better(struct best a, struct best b)
{
    return b.value > a.value || (b.value == a.value && b.where < a.where) ? b : a;
}

#pragma omp declare reduction(best : struct best : omp_out = better(omp_out, omp_in)) initializer(omp_priv = (struct best){-1e300, 1 << 30})

enum { COUNT = 3000 };
static double values[COUNT];

int main(void)
{
    for (int i = 0; i < COUNT; i++)
        values[i] = (i * 7919) % 2003;
    struct best found = {-1, -1};
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(best : found)
        for (int i = 0; i < COUNT; i++)
            found = better(found, (struct best){values[i], i});
        CHECK(found.value == 2002);
        for (int i = 0; i < COUNT; i++)
            CHECK(values[i] < 2002 || i >= found.where);
        values[found.where] = 2002;
    }
    return 0;
}
