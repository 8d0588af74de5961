/* firstprivate_large.c - structures and arrays of many pages, copied into each thread. */
#include "check.h"

struct big { double values[20000]; int tag; };

int main(void)
{
    static struct big big;
    struct { int cells[3000]; } medium;
    double sum = 0;
    for (int i = 0; i < 20000; i++)
        big.values[i] = i % 10;
    for (int i = 0; i < 3000; i++)
        medium.cells[i] = i;
    big.tag = 17;
    struct big copy = big;
#pragma omp parallel firstprivate(copy, medium) reduction(+ : sum)
    {
        CHECK(copy.tag == 17 && medium.cells[2999] == 2999);
        copy.tag = 18;
#pragma omp for
        for (int i = 0; i < 20000; i++) {
            copy.values[i] += medium.cells[i % 3000] * 0.0 + 1;
            sum += copy.values[i];
        }
    }
    CHECK(copy.tag == 17 && sum == 20000 * 5.5);
    return 0;
}
