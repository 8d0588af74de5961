/* malloc_inside.c - blocks that live only inside the region; small, large, aligned, cleared. */
#include "check.h"
#include <string.h>

static long sum;

int main(void)
{
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 60; i++) {
            size_t bytes = i % 3 == 0 ? 300000 : 64 + (size_t)i;
            unsigned char *block = malloc(bytes), *clear = calloc(10, 10), *aligned = aligned_alloc(64, 256);
            CHECK(block && clear && aligned && (size_t)aligned % 64 == 0);
            memset(block, i, bytes);
            memset(aligned, 1, 256);
            for (int j = 0; j < 100; j++)
                CHECK(clear[j] == 0);
            sum += block[bytes - 1] + aligned[255];
            free(block);
            free(clear);
            free(aligned);
        }
    }
    CHECK(sum == 2 * (1770 + 60));
    return 0;
}
