/* tests/bench/small_tasks.c TASKS [NS [none]] - tasks of 2 us (or NS) with a dependence each (or none), made by one thread and executed by all: what recording costs is most beside them. Prints seconds. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long work(unsigned long steps)
{
    unsigned long x = 88172645463325252u;
    for (unsigned long i = 0; i < steps; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    return x;
}

int main(int count, char **words)
{
    static unsigned long cells[64];
    long tasks = count > 1 ? strtol(words[1], NULL, 10) : 300000;
    double wanted = (count > 2 ? strtod(words[2], NULL) : 2000) * 1e-9, least = 1;
    for (int i = 0; i < 20; i++) {               /* how many steps are so long */
        double begin = omp_get_wtime();
        cells[i] = work(100000);
        double took = omp_get_wtime() - begin;
        least = took < least ? took : least;
    }
    unsigned long steps = (unsigned long)(wanted / least * 100000);
    int none = count > 3;
    double begin = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < tasks; i++) {
        unsigned long *cell = &cells[i % 64];
        if (none) {
#pragma omp task firstprivate(cell)
            if (work(steps) == 1)
                cells[63]++;
            continue;
        }
#pragma omp task depend(inout : cell[0]) firstprivate(cell)
        *cell += work(steps);
    }
    printf("%.6f %lu\n", omp_get_wtime() - begin, cells[0] & 1);
    return 0;
}
