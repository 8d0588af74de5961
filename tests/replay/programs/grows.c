/* grows.c - regions that let large blocks grow again and again, each with what it held, of pages that were never touched as well; and that make them smaller. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define CHECK(x) ((x) ? (void)0 : (fprintf(stderr, "grows.c:%d: %s\n", __LINE__, #x), abort()))
enum { BLOCKS = 8, FIRST = 60000, MORE = 40000, STEPS = 6 };
static long *full[BLOCKS], *sparse[BLOCKS], *mapped;

static void *must(void *block)
{
    CHECK(block && block != MAP_FAILED);
    return block;
}

static void make(void)
{
    for (int b = 0; b < BLOCKS; b++) {
        full[b] = must(malloc(FIRST * sizeof(long)));
        sparse[b] = must(calloc(FIRST, sizeof(long)));
        for (long i = 0; i < FIRST; i++)
            full[b][i] = b + i;
        for (long i = 0; i < FIRST; i += 4000)     /* more pieces than are told apart */
            sparse[b][i] = b + i;
    }
    mapped = must(mmap(NULL, FIRST * sizeof(long), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (long i = 0; i < FIRST; i++)
        mapped[i] = i;
}

__attribute__((noinline)) static void grow(void)
{
#pragma omp parallel for
    for (int b = 0; b < BLOCKS; b++) {
        full[b][7]++;
        sparse[b][8000]++;
        for (long step = 0, count = FIRST; step < STEPS; step++, count += MORE) {
            full[b] = must(realloc(full[b], (size_t)(count + MORE) * sizeof(long)));
            sparse[b] = must(realloc(sparse[b], (size_t)(count + MORE) * sizeof(long)));
            for (long i = count; i < count + MORE; i++)
                full[b][i] = sparse[b][i] = b + i;
        }
        for (long i = 0; i < FIRST + STEPS * MORE; i++) {
            CHECK(full[b][i] == b + i + (i == 7));
            CHECK(sparse[b][i] == (i < FIRST && i % 4000 ? 0 : b + i + (i == 8000)));
        }
    }
}

__attribute__((noinline)) static void grow_mapping(void)
{
#pragma omp parallel
#pragma omp single
    {
        mapped = must(mremap(mapped, FIRST * sizeof(long), (FIRST + MORE) * sizeof(long), MREMAP_MAYMOVE));
        for (long i = 0; i < FIRST + MORE; i++)
            CHECK(mapped[i] == (i < FIRST ? i : 0));
    }
}

__attribute__((noinline)) static void shrink(void)
{
#pragma omp parallel for
    for (int b = 0; b < BLOCKS; b++) {
        full[b] = must(realloc(full[b], FIRST * sizeof(long)));
        CHECK(full[b][FIRST - 1] == b + FIRST - 1);
        sparse[b] = must(realloc(sparse[b], 2000000 * sizeof(long)));
        CHECK(sparse[b][8000] == b + 8001);
        free(sparse[b]);
        sparse[b] = NULL;
    }
}

int main(void)
{
    make();
    grow();
    grow_mapping();
    shrink();
    return puts(full[3][7] == 11 ? "PASS" : "FAIL") < 0;
}
