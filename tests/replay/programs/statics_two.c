/* See statics_one.c. */
#define SIZE 60000
#define SEED 23
#include "statics_inline.h"

static int table[512];
static int calls = 7;
extern double shared_total;

static void fill(int n)
{
    static int rounds = 5;
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        table[i] += i % rounds + calls;
    rounds++;
    calls++;
#pragma omp parallel
    {
#pragma omp critical(total)
        shared_total += 0.5;
    }
}

int two_run(int n)
{
    fill(n);
    return table[n - 1] + calls + (int)(weigh() % 1000);
}
