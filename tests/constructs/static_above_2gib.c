/* static_above_2gib.c - an array of 3 GiB of which little is touched, so that addresses need more than 32 bits. */
#include "check.h"

static char large[3ul << 30];
static int after = 5;

int main(void)
{
    const size_t stride = (3ul << 30) / 64;
    long sum = 0;
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 64; i++) {
            large[(size_t)i * stride + 4095] = (char)(large[(size_t)i * stride + 4095] + i);
            sum += large[(size_t)i * stride + 4095] + after;
        }
    }
    CHECK(sum == 2016 * 3 + 128 * 5 && large[63 * stride + 4095] == 126);
    return 0;
}
