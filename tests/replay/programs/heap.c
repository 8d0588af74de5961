/* heap.c - two regions whose blocks are of other invocations: one replaces them, the other leaves them behind for serial code to free. */
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 60, LEFT = 3000, ROUNDS = 200 };
static double *blocks[BLOCKS];
static char *left[LEFT];

static void replace(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < BLOCKS; i++) {
        size_t count = (size_t)(5000 + i * 37 % 6000);
        double first = blocks[i][0];
        free(blocks[i]);
        blocks[i] = malloc(count * sizeof(double));
        for (size_t k = 0; k < count; k++)
            blocks[i][k] = first * 0.5 + (double)k;
    }
}

static void leave(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < LEFT; i++) {
        left[i] = malloc(4000);
        left[i][0] = 1;
    }
}

int main(void)
{
    void *pin = NULL;                 /* above what is left: else the C library gives it back to the system */
    double sum = 0;
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = calloc(11000, sizeof(double));
    for (int round = 0; round < ROUNDS; round++) {
        replace();
        leave();
        pin = pin ? pin : malloc(4000);
        for (int i = 0; i < LEFT; i++) {
            sum += left[i][0];
            free(left[i]);
        }
    }
    free(pin);
    printf("%s\n", sum == (double)LEFT * ROUNDS && blocks[7][1] > 0 ? "PASS" : "FAIL");
    return 0;
}
