/* random_inside.c - random numbers: rand and random of libc, whose state libc keeps; erand48 and rand_r with a state of the program's. */
#include "check.h"

static int hidden[3], drawn[50];
static double uniform[50];

int main(void)
{
    srand(17);
    for (int step = 0; step < 3; step++) {
#pragma omp parallel
        {
#pragma omp single
            hidden[step] = rand() % 1000 + 1000 * (int)(random() % 1000);
#pragma omp for
            for (int i = 0; i < 50; i++) {
                unsigned seed = (unsigned)(i + 50 * step);
                unsigned short state[3] = {(unsigned short)i, 1, 2};
                drawn[i] = rand_r(&seed);
                uniform[i] = erand48(state);
            }
        }
    }
    srand(17);
    for (int step = 0; step < 3; step++) {
        int first = rand() % 1000;
        CHECK(hidden[step] == first + 1000 * (int)(random() % 1000));
    }
    CHECK(uniform[49] >= 0 && uniform[49] < 1 && drawn[0] != drawn[1]);
    return 0;
}
