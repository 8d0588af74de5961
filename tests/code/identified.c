/* tests/code/identified.c - every kind of construct; identities.sh knows the lines. */
#include <stdio.h>
#include <stdlib.h>

static int total;
#define TWO_ON_A_LINE _Pragma("omp barrier") _Pragma("omp barrier")

static inline void orphaned(int *part)
{
#pragma omp for
    for (int i = 0; i < 8; i++)
        part[i]++;
}

static void every(int n, int *part)
{
    int sum = 0;
#pragma omp parallel if (n > 2) reduction(+ : sum) num_threads(2)
    {
#pragma omp for schedule(dynamic, 2) nowait
        for (int i = 0; i < n; i++)
            sum += i;
#pragma omp single
        {
#pragma omp task
            {
#pragma omp critical(outer)
                {
#pragma omp critical(inner)
                    total++;
                }
            }
#pragma omp taskloop
            for (int i = 0; i < n; i++)
                part[i % 8]++;
#pragma omp taskgroup
            {
#pragma omp task
                part[0]++;
            }
        }
#pragma omp sections
        {
            part[1]++;
#pragma omp section
            part[2]++;
        }
#pragma omp master
        part[3]++;
        TWO_ON_A_LINE
#pragma omp taskwait
        orphaned(part);
        orphaned(part);
    }
    total += sum;
}

int main(int argc, char **argv)
{
    int part[8] = {0}, n = argc > 1 ? atoi(argv[1]) : 8;
    for (int k = 0; k < 4; k++)
#pragma omp parallel num_threads(2)
        orphaned(part);
    every(n, part);
    if (argc > 2)       /* wrong on purpose: the runtime says where */
#pragma omp parallel num_threads(2)
    {
#pragma omp for
        for (int i = 0; i < 2; i++)
            orphaned(part);
    }
    printf("%d\n", total);
    return total == n * (n - 1) / 2 + 1 ? 0 : 1;
}
