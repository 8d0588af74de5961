/* recursion.c - a function that contains a region calls itself inside that region. */
#include "check.h"

static int visits[5];

static void descend(int depth)
{
#pragma omp parallel for
    for (int i = 0; i < 3; i++) {
#pragma omp atomic
        visits[depth]++;
        if (depth < 4)
            descend(depth + 1);
    }
}

int main(void)
{
    descend(0);
    descend(3);
    CHECK(visits[0] == 3 && visits[1] == 9 && visits[2] == 27 && visits[3] == 81 + 3 && visits[4] == 243 + 9);
    return 0;
}
