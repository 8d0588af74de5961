/* task_affinity.c - tasks with the clauses that only advise or order: affinity with iterators, final with mergeable inside, strict grain sizes, if. */
#include "check.h"
#include <omp.h>
#if __clang_major__ >= 17
#define STRICT strict:
#else
#define STRICT
#endif

enum { COUNT = 256 };
static long a[COUNT], b[COUNT];
static int finals;

static long tree(int from, int to)
{
    long left, right;
    if (to - from == 1)
        return a[from];
    int middle = (from + to) / 2;
#pragma omp task shared(left) final(to - from <= 32) mergeable affinity(iterator(int i = from : middle) : a[i])
    {
        if (omp_in_final() && to - from == 2)
#pragma omp atomic
            finals++;
        left = tree(from, middle);
    }
#pragma omp task shared(right) if (to - from > 64)
    right = tree(middle, to);
#pragma omp taskwait
    return left + right;
}

int main(void)
{
    long sum = 0;
    for (int step = 1; step <= 2; step++) {
#pragma omp parallel
#pragma omp single
        {
#pragma omp taskloop grainsize(STRICT 30)
            for (int i = 0; i < COUNT; i++)
                a[i] = i * step;
#pragma omp taskloop num_tasks(STRICT 6) if (taskloop : step == 2)
            for (int i = 0; i < COUNT; i++)
                b[i] += a[i];
            sum += tree(0, COUNT);
        }
    }
    CHECK(sum == 3L * COUNT * (COUNT - 1) / 2 && finals > 0 && b[COUNT - 1] == 3 * (COUNT - 1));
    return 0;
}
