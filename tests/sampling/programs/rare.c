/* A region that runs often, and of whose iterations a few take most of its time: no sample of them says what it takes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 16000, RUNS = 60, STEPS_USUAL = 192, STEPS_RARE = 768000 };
static double cells[CELLS];

static void relax(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < CELLS; i++) {
        int steps = i % 4000 == 1234 ? STEPS_RARE : STEPS_USUAL;      /* four of them take as long as all others together */
        double x = i + 1;
        for (int s = 0; s < steps; s++)
            x = x * 0.999 + 1 / x;
        cells[i] = x;
    }
}

int main(void)
{
    double sum = 0;
    for (int run = 0; run < RUNS; run++)
        relax();
    for (int i = 0; i < CELLS; i++)
        sum += cells[i];
    printf("%s\n", isfinite(sum) ? "PASS" : "FAIL");
    return 0;
}
