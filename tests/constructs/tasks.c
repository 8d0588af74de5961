/* tasks.c - a recursive division of work, with if, final, firstprivate and taskwait. */
#include "check.h"

static int calls;

static long fibonacci(int n, int depth)
{
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a) firstprivate(n, depth) if (depth < 6) final(n < 6)
    a = fibonacci(n - 1, depth + 1);
#pragma omp task shared(b)
    b = fibonacci(n - 2, depth + 1);
#pragma omp taskwait
#pragma omp atomic
    calls++;
    return a + b;
}

int main(void)
{
    long result = 0;
    for (int step = 0; step < 2; step++) {
#pragma omp parallel
#pragma omp single
        result = fibonacci(15, 0);
        CHECK(result == 610);
    }
    CHECK(calls == 2 * 986);
    return 0;
}
