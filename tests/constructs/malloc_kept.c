/* malloc_kept.c - blocks made inside the region and used after it: their addresses are a result. */
#include "check.h"

static int *blocks[40];

int main(void)
{
#pragma omp parallel for
    for (int i = 0; i < 40; i++) {
        blocks[i] = malloc(100 * sizeof(int));
        CHECK(blocks[i]);
        blocks[i][99] = i;
    }
#pragma omp parallel for
    for (int i = 0; i < 40; i++)
        blocks[i][0] = blocks[i][99] * 2;
    for (int i = 0; i < 40; i++) {
        CHECK(blocks[i][0] == 2 * i);
        free(blocks[i]);
    }
    return 0;
}
