/* free_captured.c - blocks from before the region are released inside it: small ones, large ones, and one of posix_memalign. */
#include "check.h"

static char *blocks[40];
static int freed;

int main(void)
{
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < 40; i++) {
            void *aligned = NULL;
            if (i % 10 == 9)
                CHECK(posix_memalign(&aligned, 4096, 5000) == 0);
            blocks[i] = aligned ? aligned : malloc(i % 10 == 0 ? 400000 : 50 + (size_t)i);
            CHECK(blocks[i]);
            blocks[i][49] = (char)i;
        }
#pragma omp parallel for reduction(+ : freed)
        for (int i = 0; i < 40; i++) {
            freed += blocks[i][49] == i;
            free(blocks[i]);
            blocks[i] = NULL;
        }
    }
    CHECK(freed == 80);
    return 0;
}
