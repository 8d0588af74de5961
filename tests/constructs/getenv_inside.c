/* getenv_inside.c - the environment, read inside a region: one variable from outside, one that the program set itself. */
#include "check.h"
#include <string.h>

static int lengths[4];
static char *held;

int main(void)
{
    CHECK(setenv("CONSTRUCT_OWN", "a value of its own", 1) == 0);
    held = getenv("CONSTRUCT_OWN");
    for (int step = 0; step < 2; step++) {
#pragma omp parallel
#pragma omp single
        {
            const char *own = getenv("CONSTRUCT_OWN"), *given = getenv("CONSTRUCT_GIVEN"), *none = getenv("CONSTRUCT_NONE");
            lengths[0] = own ? (int)strlen(own) : -1;
            lengths[1] = given ? (int)strlen(given) : -1;
            lengths[2] = none ? 1 : 0;
            lengths[3] = (int)strlen(held);
        }
        CHECK(lengths[0] == 18 && (lengths[1] == 5 || lengths[1] == -1) && lengths[2] == 0 && lengths[3] == 18);
    }
    return 0;
}
