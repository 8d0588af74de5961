/* for_auto.c - the runtime chooses: schedule(auto). */
#include "check.h"

enum { COUNT = 3000 };
static float values[COUNT];

int main(void)
{
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for schedule(auto)
        for (int i = 0; i < COUNT; i++)
            values[i] += (float)(i & 15);
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == (float)(2 * (i & 15)));
    return 0;
}
