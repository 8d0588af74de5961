/* openmp_pool.c - an OpenMP allocator with a limited pool: scratch of it inside regions, more than it has, blocks that regions free, allocate and grow. */
#include "check.h"
#include <omp.h>

enum { COUNT = 16, CELLS = 500, ROUNDS = 2, LIMIT = 100000 };
static omp_allocator_handle_t limited;
static long *kept[COUNT], sum, refused;

static long *filled(long *cells, int count, long value)
{
    CHECK(cells);
    for (int i = 0; i < count; i++)
        cells[i] = value + i;
    return cells;
}

static void scratch_use(int round)
{
#pragma omp parallel reduction(+ : sum, refused)
    {
#pragma omp for
        for (int i = 0; i < COUNT; i++) {
            long *cells = filled(omp_alloc(CELLS * sizeof *cells, limited), CELLS, round + i);
            sum += cells[CELLS - 1];
            omp_free(cells, limited);
        }
#pragma omp for
        for (int i = 0; i < COUNT; i++)
            refused += !omp_alloc(LIMIT - COUNT * CELLS * sizeof(long), limited);
    }
}

static void kept_replace(void)
{
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < COUNT; i++) {
        sum += kept[i][CELLS - 1];
        omp_free(kept[i], limited);
        kept[i] = filled(omp_aligned_alloc(64, CELLS * sizeof(long), limited), CELLS, i);
    }
}

static void kept_grow(void)
{
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < COUNT; i++) {
        kept[i] = omp_realloc(kept[i], (CELLS + 10) * sizeof(long), limited, limited);
        CHECK(kept[i]);
        sum += kept[i][1];
    }
}

int main(void)
{
    omp_alloctrait_t traits[] = {{omp_atk_pool_size, LIMIT}, {omp_atk_fallback, omp_atv_null_fb}};
    limited = omp_init_allocator(omp_default_mem_space, 2, traits);
    CHECK(limited != omp_null_allocator);
    for (int i = 0; i < COUNT; i++)
        kept[i] = filled(omp_alloc(CELLS * sizeof(long), limited), CELLS, i);
    for (int round = 0; round < ROUNDS; round++) {
        scratch_use(round);
        kept_replace();
        kept_grow();
    }
    for (int i = 0; i < COUNT; i++)
        omp_free(kept[i], limited);
    long *all = omp_alloc(LIMIT - 1000, limited);
    CHECK(all);
    omp_free(all, limited);
    omp_destroy_allocator(limited);
    CHECK(refused == ROUNDS * COUNT && sum == ROUNDS * COUNT * (2 * (CELLS - 1) + COUNT - 1 + 1) + COUNT * (ROUNDS - 1) * ROUNDS / 2 + ROUNDS * COUNT * (COUNT - 1) / 2);
    return 0;
}
