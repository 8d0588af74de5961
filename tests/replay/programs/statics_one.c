/* statics_one.c, statics_two.c - statics of one name in two files, also inside functions, and one that the other file changes. */
#include <stdio.h>

#define SIZE 700
#define SEED 11
#include "statics_inline.h"

static double table[512];
static int calls = 3;
double shared_total;
int two_run(int n);

static void fill(int n)
{
    static int rounds = 100;
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        table[i] += i * rounds + calls;
    rounds++;
    calls += 2;
}

int main(void)
{
    int sum = 0;
    for (int step = 0; step < 6; step++) {
        fill(512);
        sum += two_run(512) + (int)(weigh() % 1000);
    }
    for (int i = 0; i < 512; i++)
        shared_total += table[i];
    printf("PASS %g %d\n", shared_total, sum);
    return 0;
}
