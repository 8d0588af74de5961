/* realloc_captured.c - blocks from before the region grow and shrink inside it, keeping what they hold. */
#include "check.h"
#include <malloc.h>

enum { COUNT = 30 };
static int *blocks[COUNT];

int main(void)
{
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = malloc(50 * sizeof(int));
        CHECK(blocks[i]);
        for (int j = 0; j < 50; j++)
            blocks[i][j] = i + j;
    }
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for
        for (int i = 0; i < COUNT; i++) {
            size_t count = step == 0 ? (i % 5 ? 200 : 60000) : 20;
            CHECK(malloc_usable_size(blocks[i]) >= 50 * sizeof(int));
            int *larger = realloc(blocks[i], count * sizeof(int));
            CHECK(larger);
            for (int j = 0; j < 20; j++)
                CHECK(larger[j] == i + j);
            larger[count - 1] = step ? i + 19 : -1;
            blocks[i] = larger;
        }
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK(blocks[i][19] == i + 19);
        free(blocks[i]);
    }
    return 0;
}
