/* restored.c - each run of the region finds what it wrote as it was, and pages that were never touched before as zeros, and checks that. Its
 * invocations take so different times that each is a class: those that run before another one have pages that it has not, and lack some that it has. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define CHECK(condition) \
    ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), abort()))

enum { VALUES = 1 << 16, PAGES = 64, PAGE_BYTES = 4096, STEPS = 4 };
static double values[VALUES];
static char *untouched;
static int step;

static void work(void)
{
    char *own = untouched + (size_t)step * PAGES * PAGE_BYTES;
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < VALUES; i++) {
            CHECK(values[i] == step);
            double sum = 0;
            for (int j = 0; j < 4 * step * step; j++)
                sum += sqrt(i + j);
            values[i] += 1 + (sum < 0);
        }
#pragma omp single
            for (int page = 0; page < PAGES; page++) {
                CHECK(own[page * PAGE_BYTES] == 0);
                own[page * PAGE_BYTES] = 1;
            }
    }
}

int main(void)
{
    untouched = mmap(NULL, (size_t)STEPS * PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(untouched != MAP_FAILED);
    for (step = 0; step < STEPS; step++)
        work();
    printf("PASS\n");
    return 0;
}
