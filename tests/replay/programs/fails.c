/* fails.c - regions that behave in the original and not in a replay: they know their process. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pid_t self;
static int folded = 3;      /* never written: optimised programs do not have it */
static volatile int sink;

static void crashes(void)
{
#pragma omp parallel
    if (getpid() != self)
        *(volatile int *)8 = 1;
}

static void ends(void)
{
#pragma omp parallel
    if (getpid() != self)
        exit(17);
}

static void hangs(void)
{
#pragma omp parallel
    while (getpid() != self)
        sink++;
}

static void aborts(void)
{
#pragma omp parallel
    if (getpid() != self)
        abort();
}

static void vanished(void)
{
#pragma omp parallel
    sink += folded;
}

static volatile pid_t seen[8];

static void tells(void)
{
#pragma omp parallel
    seen[3] = getpid();
}

static void works(void)
{
#pragma omp parallel
    sink++;
}

int main(void)
{
    self = getpid();
    for (int i = 0; i < 6; i++) {
        crashes();
        ends();
        aborts();
        vanished();
        tells();
        works();
        hangs();
    }
    puts("PASS");
    return 0;
}
