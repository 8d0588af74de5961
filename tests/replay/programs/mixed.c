/* mixed.c, plain.c - plain.c is compiled without the plugin: its code runs where it was, with its data. */
#include <stdio.h>

extern int plain_calls, plain_values[50];
double plain_scale(double x, double (*f)(double));
int plain_print(char *out, int value);

static double twice(double x) { return 2 * x; }

/* Nothing but a region: the call of the end probe is a tail call, whose frame is gone. */
static int table[64];
__attribute__((noinline)) static void bare(void)
{
#pragma omp parallel for
    for (int i = 0; i < 64; i++)
        table[i] += i;
}

int main(void)
{
    double sum = 0;
    char text[32] = "";
    for (int step = 0; step < 5; step++) {
        double part = 0;
#pragma omp parallel for reduction(+ : part)
        for (int i = 0; i < 50; i++) {
            part += plain_scale(i, twice);
            plain_values[i] += i;
        }
        sum += part;
#pragma omp parallel
#pragma omp single
        plain_print(text, step);
    }
    for (int i = 0; i < 3; i++)
        bare();
    printf("PASS %g %d %s\n", sum, plain_calls, text);
    return 0;
}
