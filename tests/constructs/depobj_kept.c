/* depobj_kept.c - dependence objects that are made before a region, in the runtime's memory, and used, updated and destroyed in it and behind it. */
#include "check.h"
#include <omp.h>

enum { COUNT = 12 };
static long chain, values[COUNT];
static omp_depend_t kept[COUNT], on_chain;

int main(void)
{
    for (int i = 0; i < COUNT; i++) {
#pragma omp depobj(kept[i]) depend(out : values[i])
    }
#pragma omp depobj(on_chain) depend(inout : chain)
    for (int step = 0; step < 3; step++) {
#pragma omp parallel
#pragma omp single
        {
            for (int i = 0; i < COUNT; i++) {
#pragma omp task depend(depobj : kept[i]) firstprivate(i)
                values[i] += i + step;
#pragma omp task depend(in : values[i]) depend(depobj : on_chain) firstprivate(i)
                chain = chain * 3 % 1009 + values[i];
            }
#pragma omp taskwait depend(depobj : kept[0]) depend(depobj : kept[COUNT - 1])
        }
        for (int i = 0; i < COUNT; i++) {
#pragma omp depobj(kept[i]) update(inout)
        }
    }
#pragma omp parallel
#pragma omp single
    {
#pragma omp depobj(on_chain) update(in)
#pragma omp task depend(depobj : on_chain)
        CHECK(chain >= 0);
#pragma omp taskwait
#pragma omp depobj(on_chain) destroy
    }
    long wanted = 0;
    for (int step = 0; step < 3; step++)
        for (int i = 0, sum = step * (step + 1) / 2; i < COUNT; i++)
            wanted = wanted * 3 % 1009 + (long)i * (step + 1) + sum;
    for (int i = 0; i < COUNT; i++) {
#pragma omp depobj(kept[i]) destroy
        CHECK(values[i] == 3 * i + 3);
    }
    CHECK(chain == wanted);
    return 0;
}
