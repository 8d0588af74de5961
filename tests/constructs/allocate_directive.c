/* allocate_directive.c - variables that live in memory of an allocator: the allocate directive with allocator and align, the clause on several constructs. */
#include "check.h"
#include <omp.h>
#include <stdint.h>

enum { COUNT = 200 };
static long kept[COUNT];
#pragma omp allocate(kept) allocator(omp_default_mem_alloc)
static long results[COUNT];

static long local_sum(int from)
{
    long cells[16];
#pragma omp allocate(cells) allocator(omp_low_lat_mem_alloc) align(64)
    CHECK((uintptr_t)cells % 64 == 0);
    long sum = 0;
    for (int i = 0; i < 16; i++)
        cells[i] = from + i;
    for (int i = 0; i < 16; i++)
        sum += cells[i];
    return sum;
}

int main(void)
{
    for (int step = 0; step < 2; step++) {
        long words[32] = {step, 5}, total = 0;
#pragma omp parallel for firstprivate(words) reduction(+ : total) allocate(omp_large_cap_mem_alloc : words) allocate(omp_thread_mem_alloc : total)
        for (int i = 0; i < COUNT; i++) {
            kept[i] += local_sum(i) + words[0];
            total += words[1];
        }
        CHECK(total == 5 * COUNT);
#pragma omp parallel
#pragma omp single
        {
#pragma omp taskloop firstprivate(words) allocate(omp_default_mem_alloc : words) grainsize(20)
            for (int i = 0; i < COUNT; i++)
                results[i] = kept[i] + words[1];
#pragma omp task firstprivate(words) allocate(omp_high_bw_mem_alloc : words)
            CHECK(words[0] == step);
        }
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(kept[i] == 2L * (16 * i + 120) + 1 && results[i] == kept[i] + 5);
    return 0;
}
