/* setjmp_inside.c - non-local jumps that begin and end inside a region. */
#include "check.h"
#include <setjmp.h>

static int returns[100];

static void descend(jmp_buf back, int depth, int value)
{
    if (depth == 0)
        longjmp(back, value);
    descend(back, depth - 1, value);
}

int main(void)
{
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for
        for (int i = 0; i < 100; i++) {
            jmp_buf back;
            volatile int tries = 0;
            int value = setjmp(back);
            tries++;
            if (tries < 4)
                descend(back, 5, i + tries);
            returns[i] += value;
        }
    }
    for (int i = 0; i < 100; i++)
        CHECK(returns[i] == 2 * (i + 3));
    return 0;
}
