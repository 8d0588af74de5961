/* tests/sampling/programs/hidden.c - loops whose iterations need the one before, in functions that the compiler does not see here (hidden_part.c). What a
 * sample of such iterations does is known only when it runs. */
#include <stdio.h>
#include <stdlib.h>

void wait_for(int turn);
void check_order(int turn);
double work(int turn);

int main(void)
{
    enum { COUNT = 2000 };
    double *values = calloc(COUNT, sizeof *values), sum = 0;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < COUNT; i++) {
        wait_for(i);
        values[i] = work(i);
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < COUNT; i++) {
        check_order(i);
        values[i] += work(i);
    }
    for (int i = 0; i < COUNT; i++)
        sum += values[i];
    printf("%s\n", sum > COUNT ? "PASS" : "FAIL");
    return 0;
}
