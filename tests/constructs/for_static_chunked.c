/* for_static_chunked.c - shares dealt out like cards: schedule(static, 7), with a stride, downwards. */
#include "check.h"

enum { COUNT = 2000 };
static long values[COUNT];

int main(void)
{
    for (int step = 1; step <= 3; step++) {
#pragma omp parallel for schedule(static, 7)
        for (int i = COUNT - 1; i >= 0; i -= 3)
            values[i] = values[i] * 2 + step * i;
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == ((COUNT - 1 - i) % 3 == 0 ? 11L * i : 0));
    return 0;
}
