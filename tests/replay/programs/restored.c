/* restored.c - each run of the region finds what it wrote as it was, pages that were never touched before as such, and checks that. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define CHECK(condition) \
    ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), abort()))

enum { VALUES = 1 << 16, PAGES = 64, PAGE_BYTES = 4096, STEPS = 4 };
static double values[VALUES];
static char *untouched;
static int step;

static long faults(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
    return usage.ru_minflt;
}

static void work(void)
{
    char *own = untouched + (size_t)step * PAGES * PAGE_BYTES;
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < VALUES; i++) {
            CHECK(values[i] == step);
            values[i]++;
        }
#pragma omp single
        {
            long before = faults();
            for (int page = 0; page < PAGES; page++) {
                CHECK(own[page * PAGE_BYTES] == 0);
                own[page * PAGE_BYTES] = 1;
            }
            CHECK(faults() > before);
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
