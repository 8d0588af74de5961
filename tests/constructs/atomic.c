/* atomic.c - read, write, update, capture, compare; integers, floating point, seq_cst. */
#include "check.h"

enum { COUNT = 2000 };
static int total, largest, tickets[COUNT], flag;
static double sum;
static unsigned char bits;

int main(void)
{
    int next = 0;
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++) {
#pragma omp atomic
        total += i;
#pragma omp atomic update
        sum += 0.5;
#pragma omp atomic update
        bits |= (unsigned char)(1u << (i % 8));
        int mine, seen;
#pragma omp atomic capture
        mine = next++;
        tickets[mine] = 1;
#if __clang_major__ > 16
#pragma omp atomic compare
#else
#pragma omp critical
#endif
        if (largest < i)
            largest = i;
#pragma omp atomic write seq_cst
        flag = 7;
#pragma omp atomic read seq_cst
        seen = flag;
        CHECK(seen == 7);
    }
    CHECK(total == COUNT * (COUNT - 1) / 2 && sum == COUNT / 2 && bits == 255 && largest == COUNT - 1 && next == COUNT);
    for (int i = 0; i < COUNT; i++)
        CHECK(tickets[i] == 1);
    return 0;
}
