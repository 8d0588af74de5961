/* malloc_kept.c - blocks made inside the region and used after it: their addresses are a result. */
#include "check.h"

static int *blocks[40];
static long *filled[64];           /* blocks of 64 bytes with their sizes: the last one's last word lies just behind a page of them */

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
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 64; i++) {
        filled[i] = malloc(7 * sizeof(long));
        for (int j = 0; j < 7; j++)
            filled[i][j] = i + j;
    }
#pragma omp parallel for
    for (int i = 0; i < 64; i++)
        CHECK(filled[i][0] == i && filled[i][6] == i + 6);
    for (int i = 0; i < 40; i++) {
        CHECK(blocks[i][0] == 2 * i);
        free(blocks[i]);
    }
    return 0;
}
