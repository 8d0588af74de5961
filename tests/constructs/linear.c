/* linear.c - variables that grow with the iteration: linear on for and simd. */
#include "check.h"

enum { COUNT = 500 };
static int spread[3 * COUNT];

int main(void)
{
    int at = 5;
#pragma omp parallel for linear(at : 2)
    for (int i = 0; i < COUNT; i++) {
        spread[at] = i;
        at += 2;
    }
    CHECK(at == 5 + 2 * COUNT);
    for (int i = 0; i < COUNT; i++)
        CHECK(spread[5 + 2 * i] == i);
    int *pointer = spread;
#pragma omp parallel for simd linear(pointer : 3)
    for (int i = 0; i < COUNT; i++) {
        *pointer = -i;
        pointer += 3;
    }
    CHECK(pointer == spread + 3 * COUNT);
    for (int i = 0; i < COUNT; i++)
        CHECK(spread[3 * i] == -i);
    return 0;
}
