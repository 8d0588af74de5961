/* tests/bench/short_region.c - a program of 0.07 s that is nothing but one region of 0.7 us, entered 100,000 times.
 *
 * `short_region [INVOCATIONS]` prints one of its results.
 */
#include <stdio.h>
#include <stdlib.h>

#define LENGTH 380
static double x[LENGTH], y[LENGTH];

int main(int argc, char **argv)
{
    long most = argc > 1 ? atol(argv[1]) : 100000;
    for (int i = 0; i < LENGTH; i++)
        y[i] = i;
    for (long step = 0; step < most; step++) {
        #pragma omp parallel for
        for (int i = 0; i < LENGTH; i++)
            x[i] = 1 / (1 + y[i] * y[i]);
    }
    printf("%g\n", x[7]);
    return 0;
}
