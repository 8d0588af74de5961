/* scripts/evaluation/touched.c - brought into a program by LD_PRELOAD: the heap has 128 MiB that were written once before the program begins, so that no
 * block from it has its first touch in what is measured.
 */
#include <stdlib.h>
#include <string.h>

__attribute__((constructor)) static void heap_touch(void)
{
    size_t bytes = (size_t)128 << 20;
    char *block = malloc(bytes);
    if (block)
        memset(block, 1, bytes);
    free(block);
}
