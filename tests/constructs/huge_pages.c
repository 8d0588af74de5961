/* huge_pages.c - data on large pages, asked for by madvise. */
#include "check.h"
#include <sys/mman.h>

enum { COUNT = 1 << 20 };

int main(void)
{
    size_t bytes = (size_t)COUNT * sizeof(int) + (2u << 20);
    char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    madvise(area, bytes, MADV_HUGEPAGE);
    int *values = (int *)(void *)(area + (-(size_t)area & ((2u << 20) - 1)));
    for (int i = 0; i < COUNT; i += 2)
        values[i] = i;
    long sum = 0;
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < COUNT; i += 16) {
            sum += values[i] & 0xff;
            values[i] += 1;
        }
    }
    CHECK(values[16] == 18 && sum == 65536L * 120 + 65536L * 121);
    munmap(area, bytes);
    return 0;
}
