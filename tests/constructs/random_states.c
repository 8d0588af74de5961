/* random_states.c - drand48 and its like, and random with a state that the program has in its own memory. */
#include "check.h"

static char state[64] __attribute__((aligned(8)));
static long drawn[4], whole[4];
static double fractions[4];

int main(void)
{
    srand48(7);
    initstate(5, state, sizeof state);
    for (int step = 0; step < 4; step++) {
#pragma omp parallel
        {
#pragma omp single
            {
                drawn[step] = random();
                fractions[step] = drand48();
                whole[step] = lrand48();
            }
        }
    }
    srand48(7);
    initstate(5, state, sizeof state);
    for (int step = 0; step < 4; step++)
        CHECK(drawn[step] == random() && fractions[step] == drand48() && whole[step] == lrand48());
    return 0;
}
