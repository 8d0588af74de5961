/* See mixed.c. */
#include <math.h>
#include <stdio.h>

int plain_calls, plain_values[50];
static double offset = 0.25;

double plain_scale(double x, double (*f)(double))
{
#pragma omp atomic
    plain_calls++;
    return f(x) + offset + sqrt(x);
}

int plain_print(char *out, int value) { return snprintf(out, 32, "value %d", value); }
