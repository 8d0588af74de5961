/* atomic_wide.c - atomics of 16 bytes, which a library does (libatomic): its functions are chosen for the processor, and bound when they are first called. */
#include "check.h"

enum { COUNT = 600 };
typedef struct { long count, sum; } pair;
static _Alignas(16) pair shared;
static long double precise;

int main(void)
{
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(+ : precise)
        for (int i = 0; i < COUNT; i++) {
            pair seen, next;
            __atomic_load(&shared, &seen, __ATOMIC_SEQ_CST);
            do
                next = (pair){seen.count + 1, seen.sum + i};
            while (!__atomic_compare_exchange(&shared, &seen, &next, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
            precise += i;
        }
    }
    pair all;
    __atomic_load(&shared, &all, __ATOMIC_SEQ_CST);
    CHECK(all.count == 2 * COUNT && all.sum == COUNT * (COUNT - 1L) && precise == (long double)all.sum);
    return 0;
}
