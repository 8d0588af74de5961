/* Blocks that a region frees, grows and allocates: with whatever allocator the program has. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 16 };
static char *blocks[BLOCKS];
static long sum, wrong;

int main(void)
{
    for (int step = 0; step < 4; step++) {
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i] = malloc(1001 + (size_t)i);
            memset(blocks[i], 'a' + i, 1001 + (size_t)i);
        }
#pragma omp parallel for reduction(+ : sum, wrong)
        for (int i = 0; i < BLOCKS; i++) {
            char *grown = realloc(blocks[i], 5000);
            for (int k = 0; k < 1001 + i; k++) {
                wrong += grown[k] != 'a' + i;
                sum += grown[k];
            }
            wrong += malloc_usable_size(grown) < 5000;
            free(grown);
            void *aligned = NULL;
            wrong += posix_memalign(&aligned, 256, 1000) != 0 || (size_t)aligned % 256 != 0;
            free(aligned);
        }
    }
    printf("%s sum %ld\n", wrong ? "FAIL" : "PASS", sum);
    return wrong != 0;
}
