/* ordered.c - parts of a parallel loop in the loop's order. */
#include "check.h"

enum { COUNT = 300 };
static int order[COUNT], at;

int main(void)
{
    for (int step = 0; step < 2; step++) {
        at = 0;
#pragma omp parallel for ordered schedule(dynamic, 3)
        for (int i = 0; i < COUNT; i++) {
            int value = i * 3;
#pragma omp ordered
            order[at++] = value;
        }
        CHECK(at == COUNT);
        for (int i = 0; i < COUNT; i++)
            CHECK(order[i] == i * 3);
    }
    return 0;
}
