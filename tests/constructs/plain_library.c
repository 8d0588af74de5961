/* plain_library.c - regions that call a library without bitcode (in_library_plain.c), which keeps state. */
#include "check.h"

double plain_value(int kind, double x);
long plain_calls(void);
long plain_mine(void);
extern long plain_last;

int main(void)
{
    for (int round = 1; round <= 2; round++) {
        double sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 200; i++)
            sum += plain_value(i, i);
        CHECK(sum == 2 * 9900 + 10000 + 290);
        CHECK(plain_calls() == 200 * round && plain_last == 200 * round);
        long mine = plain_mine();
        CHECK(mine > 0);
#pragma omp parallel
#pragma omp masked
        {
            plain_last += plain_mine();
            CHECK(plain_mine() == mine);
        }
        CHECK(plain_last == 200 * round + mine);
    }
    return 0;
}
