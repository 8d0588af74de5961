/* layers.c - a region whose invocations each have data of their own: together these are more than a core caches for itself. */
#include <stdio.h>
#include <stdlib.h>

enum { LAYERS = 64, ITEMS = 32768 };

int main(void)
{
    double *layers[LAYERS], sum = 0;
    for (int l = 0; l < LAYERS; l++) {
        layers[l] = malloc(ITEMS * sizeof(double));
        for (int i = 0; i < ITEMS; i++)
            layers[l][i] = l + 1;
    }
    for (int round = 0; round < 40; round++)
        for (int l = 0; l < LAYERS; l++) {
            const double *layer = layers[l];
            double part = 0;
            #pragma omp parallel for reduction(+ : part)
            for (int i = 0; i < ITEMS; i++)
                part += layer[i];
            sum += part;
        }
    puts(sum == 40.0 * ITEMS * LAYERS * (LAYERS + 1) / 2 ? "PASS" : "FAIL");
    return 0;
}
