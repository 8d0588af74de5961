/* cancels.c - a sum of terms that cancel, but for little; another in the order of the threads; and one of the first kind that is wrong with several threads. */
#include <omp.h>
#include <stdio.h>

enum { TERMS = 20000 };
#define LEFT 1e-6                         /* of the sum; each addition is off by up to 1e-12, in another way in another order */
static double terms[TERMS], cancelled, whole, wrong;

static void right(void)
{
    double left = 0, all = 0;
#pragma omp parallel for reduction(+ : left, all) schedule(static)
    for (int i = 0; i < TERMS; i++) {
        left += terms[i];
        all += terms[i] * terms[i];
    }
    cancelled = left;
    whole = all;
}

/* As much as is left of the sum, added where there are several threads. */
static void left_over(void)
{
    double left = 0;
#pragma omp parallel for reduction(+ : left) schedule(static)
    for (int i = 0; i < TERMS; i++)
        left += terms[i] + (i == TERMS / 3 && omp_get_num_threads() > 1 ? LEFT : 0);
    wrong = left;
}

int main(void)
{
    unsigned state = 12345;
    for (int i = 0; i < TERMS / 2; i++) {
        state = state * 1664525u + 1013904223u;
        terms[i] = 1.0 + (state >> 8) / 16777216.0 / 3;
        terms[TERMS - 1 - (i * 7919L) % (TERMS / 2)] = -terms[i];
    }
    terms[0] += LEFT;
    right();
    left_over();
    puts(whole > TERMS && cancelled < 2 * LEFT && cancelled > 0 && wrong < 3 * LEFT && wrong > 0 ? "PASS" : "FAIL");
    return 0;
}
