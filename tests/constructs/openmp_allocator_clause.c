/* openmp_allocator_clause.c - an allocate clause with an allocator of the program's, and one with a limited pool, which is full before, or inside the region. */
#include "check.h"
#include <omp.h>

enum { COUNT = 16, WORDS = 64 };
static long sum, refused;

int main(void)
{
    omp_alloctrait_t traits[] = {{omp_atk_alignment, 256}, {omp_atk_fallback, omp_atv_null_fb}};
    omp_alloctrait_t pool[] = {{omp_atk_pool_size, 100000}, {omp_atk_fallback, omp_atv_null_fb}};
    omp_allocator_handle_t wide = omp_init_allocator(omp_default_mem_space, 2, traits), limited = omp_init_allocator(omp_default_mem_space, 2, pool);
    CHECK(wide != omp_null_allocator && limited != omp_null_allocator && !omp_alloc(200000, limited));
    long words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = i;
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(+ : sum, refused) firstprivate(words) allocate(wide : words)
        for (int i = 0; i < COUNT; i++) {
            CHECK((unsigned long)words % 256 == 0);
            words[i] = step;
            sum += words[WORDS - 1] + words[i];
            refused += !omp_alloc(200000, limited);
        }
    }
    long *small = omp_alloc(sizeof *small, limited);
    CHECK(small);
    *small = 7;
    small = omp_realloc(small, 10 * sizeof *small, limited, limited);
    CHECK(small && small[0] == 7);
    omp_free(small, limited);
    omp_destroy_allocator(wide);
    omp_destroy_allocator(limited);
    CHECK(sum == COUNT * (1 + 2 * (WORDS - 1)) && refused == 2 * COUNT);
    return 0;
}
