/* heap_above_2gib.c - a heap block of 5 GiB of which little is touched, before the region and inside it. */
#include "check.h"

int main(void)
{
    const size_t bytes = 5ul << 30, stride = bytes / 128;
    char *large = calloc(bytes, 1);
    CHECK(large);
    for (int i = 0; i < 64; i++)
        large[(size_t)i * stride] = (char)i;
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 128; i++) {
        sum += large[(size_t)i * stride];
        large[(size_t)i * stride + 1] = 1;
    }
    CHECK(sum == 2016 && large[127 * stride + 1] == 1);
    free(large);
    return 0;
}
