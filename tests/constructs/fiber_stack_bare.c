/* fiber_stack_bare.c - a region on a coroutine's stack that has nothing behind it which may be read. */
#define _GNU_SOURCE
#include "check.h"
#include <sys/mman.h>
#include <ucontext.h>

enum { COUNT = 1000, STACK_BYTES = 1 << 18, PAGE_BYTES = 4096 };
static long values[COUNT];
static ucontext_t caller, coroutine;

static void body(void)
{
    for (;;) {
#pragma omp parallel for
        for (int i = 0; i < COUNT; i++)
            values[i] += i;
        swapcontext(&coroutine, &caller);
    }
}

int main(void)
{
    char *stack = mmap(NULL, STACK_BYTES + PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    CHECK(stack != MAP_FAILED && mprotect(stack + STACK_BYTES, PAGE_BYTES, PROT_NONE) == 0 && getcontext(&coroutine) == 0);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = STACK_BYTES;
    coroutine.uc_link = &caller;
    makecontext(&coroutine, body, 0);
    for (int turn = 0; turn < 4; turn++)
        CHECK(swapcontext(&caller, &coroutine) == 0);
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == 4L * i);
    return 0;
}
