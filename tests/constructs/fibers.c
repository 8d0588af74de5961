/* fibers.c - regions that go on with fibers made before them; each saves where it left off, which is another place in each process. */
#include "check.h"
#include <stdlib.h>
#include <ucontext.h>

enum { FIBERS = 8, STEPS = 3, STACK_BYTES = 65536 };
static struct fiber { ucontext_t here, back; long sum; } fibers[FIBERS];

static void work(int number)
{
    struct fiber *fiber = &fibers[number];
    for (int step = 1; step <= STEPS; step++) {
        fiber->sum += step * (number + 1);
        swapcontext(&fiber->here, &fiber->back);
    }
}

int main(void)
{
    for (int i = 0; i < FIBERS; i++) {
        struct fiber *fiber = &fibers[i];
        CHECK(getcontext(&fiber->here) == 0);
        fiber->here.uc_stack = (stack_t){.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
        CHECK(fiber->here.uc_stack.ss_sp != NULL);
        makecontext(&fiber->here, (void (*)(void))work, 1, i);
    }
    for (int step = 0; step < STEPS; step++) {
#pragma omp parallel for
        for (int i = 0; i < FIBERS; i++)
            swapcontext(&fibers[i].back, &fibers[i].here);
    }
    for (int i = 0; i < FIBERS; i++)
        CHECK(fibers[i].sum == 6 * (i + 1));
    return 0;
}
