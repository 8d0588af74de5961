/* atomic_wide.c - atomics of 16 bytes, which a library does (libatomic): its functions are chosen for the processor, and bound when they are first called. */
#include "check.h"
#include <stdatomic.h>

enum { COUNT = 600 };
typedef struct { long count, sum; } pair;
static _Atomic pair shared;
static long double precise;

int main(void)
{
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(+ : precise)
        for (int i = 0; i < COUNT; i++) {
            pair seen = atomic_load(&shared), next;
            do
                next = (pair){seen.count + 1, seen.sum + i};
            while (!atomic_compare_exchange_weak(&shared, &seen, next));
            precise += i;
        }
    }
    pair all = atomic_load(&shared);
    CHECK(all.count == 2 * COUNT && all.sum == COUNT * (COUNT - 1L) && precise == (long double)all.sum);
    return 0;
}
