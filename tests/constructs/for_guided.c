/* for_guided.c - shrinking shares: schedule(guided). */
#include "check.h"

enum { COUNT = 5000 };
static unsigned char seen[COUNT];

int main(void)
{
#pragma omp parallel for schedule(guided)
    for (int i = 0; i < COUNT; i++)
        seen[i]++;
#pragma omp parallel for schedule(guided, 16)
    for (int i = 0; i < COUNT; i++)
        seen[i] = (unsigned char)(seen[i] + 2);
    for (int i = 0; i < COUNT; i++)
        CHECK(seen[i] == 3);
    return 0;
}
