/* for_static.c - a loop in equal shares: schedule(static). */
#include "check.h"

enum { COUNT = 4099 };
static int squares[COUNT];

int main(void)
{
    for (int step = 0; step < 3; step++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < COUNT; i++)
            squares[i] += i * i % 1000;
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(squares[i] == 3 * (i * i % 1000));
    return 0;
}
