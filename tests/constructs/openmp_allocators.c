/* openmp_allocators.c - memory of the OpenMP runtime's allocators: scratch inside the region, blocks made before it and freed or grown in it, blocks
 * made in it and freed after it; of a predefined allocator and of one with traits. Tasks before it fill the pools that the runtime cuts small blocks from.
 */
#include "check.h"
#include <omp.h>
#include <stdint.h>
#include <string.h>

enum { COUNT = 16, CELLS = 500 };
static omp_allocator_handle_t wide;
static long *kept[COUNT], sum;

static omp_allocator_handle_t of(int i) { return i % 3 == 0 ? omp_default_mem_alloc : i % 3 == 1 ? wide : omp_null_allocator; }

static long *filled(long *cells, int count, long value)
{
    CHECK(cells);
    for (int i = 0; i < count; i++) cells[i] = value + i;
    return cells;
}

static void tasks_make(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 10; i++) {
        struct { long words[700]; } large = {{i}};
#pragma omp task firstprivate(large)
#pragma omp atomic
        sum += large.words[0] - large.words[1];
    }
}

static void scratch_use(int step)
{
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < COUNT; i++) {
        long *cells = filled(omp_alloc(CELLS * sizeof *cells, of(i)), CELLS, step + i), *clear = omp_calloc(CELLS, sizeof *clear, of(i));
        long *aligned = filled(omp_aligned_alloc(1024, sizeof *aligned, of(i)), 1, i);
        CHECK(clear && clear[CELLS - 1] == 0 && (uintptr_t)aligned % 1024 == 0 && (i % 3 != 1 || (uintptr_t)cells % 256 == 0));
        sum += cells[CELLS - 1] + aligned[0];
        omp_free(cells, of(i));
        omp_free(clear, omp_null_allocator), omp_free(aligned, of(i));
    }
}

static void kept_grow(int step)
{
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < COUNT; i++) {
        kept[i] = omp_realloc(kept[i], (CELLS + 100 * (size_t)(step + 1)) * sizeof(long), of(i), of(i));
        CHECK(kept[i] && kept[i][CELLS - 1] == i + CELLS - 1);
        kept[i][CELLS] = step;
        sum += kept[i][1];
    }
}

static void kept_replace(void)
{
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < COUNT; i++) {
        sum += kept[i][CELLS - 1], omp_free(kept[i], of(i));
        kept[i] = filled(omp_alloc(CELLS * sizeof(long), of(i)), CELLS, i);
    }
}

int main(void)
{
    omp_alloctrait_t traits[] = {{omp_atk_alignment, 256}, {omp_atk_fallback, omp_atv_null_fb}};
    wide = omp_init_allocator(omp_default_mem_space, 2, traits);
    CHECK(wide != omp_null_allocator);
    tasks_make();
    for (int i = 0; i < COUNT; i++)
        kept[i] = filled(omp_alloc(CELLS * sizeof(long), of(i)), CELLS, i);
    for (int step = 0; step < 2; step++) { scratch_use(step); kept_grow(step); kept_replace(); }
    for (int i = 0; i < COUNT; i++) omp_free(kept[i], of(i));
    omp_destroy_allocator(wide);
    CHECK(sum == 45 + 2 * (2 * COUNT * (COUNT - 1) + 2 * COUNT * (CELLS - 1)) + 3 * COUNT);
    return 0;
}
