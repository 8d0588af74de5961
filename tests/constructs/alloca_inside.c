/* alloca_inside.c - memory on each thread's stack, of a size known only when it runs. */
#include "check.h"
#include <alloca.h>
#include <string.h>

static long sum;

int main(void)
{
    char *outside = alloca(5000);
    memset(outside, 1, 5000);
#pragma omp parallel for reduction(+ : sum)
    for (int i = 1; i <= 64; i++) {
        size_t bytes = (size_t)i * 1000;
        unsigned char *block = alloca(bytes);
        memset(block, i, bytes);
        sum += block[bytes - 1] + outside[i * 70];
    }
    CHECK(sum == 2080 + 64);
    return 0;
}
