/* cancels.c - a sum of which nothing but rounding is left, and another in the order of the threads. */
#include <stdio.h>

enum { TERMS = 20000 };
static double terms[TERMS], cancelled, whole;

int main(void)
{
    unsigned state = 12345;
    for (int i = 0; i < TERMS / 2; i++) {
        state = state * 1664525u + 1013904223u;
        terms[i] = 1.0 + (state >> 8) / 16777216.0 / 3;
        terms[TERMS - 1 - (i * 7919L) % (TERMS / 2)] = -terms[i];
    }
    double left = 0, all = 0;
#pragma omp parallel for reduction(+ : left, all) schedule(static)
    for (int i = 0; i < TERMS; i++) {
        left += terms[i];
        all += terms[i] * terms[i];
    }
    cancelled = left;
    whole = all;
    puts(whole > TERMS && cancelled < 1 && cancelled > -1 ? "PASS" : "FAIL");
    return 0;
}
