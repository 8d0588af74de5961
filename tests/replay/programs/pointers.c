/* pointers.c - function pointers in captured data, also to the C library, captured blocks that a region frees and grows, new blocks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shape { double (*area)(const struct shape *); double a, b; };

static double rectangle(const struct shape *s) { return s->a * s->b; }
static double circle(const struct shape *s) { return 3.25 * s->a * s->a; }

static struct shape shapes[64];
static double (*const functions[])(double) = {sin, sqrt, exp};
static double (*chosen)(double) = cos;
static char *grown, *given;
static double total;

static int order(const void *l, const void *r) { return *(const int *)l - *(const int *)r; }
int (*comparison)(const void *, const void *) = order;

static void areas(void)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 64; i++)
        sum += shapes[i].area(&shapes[i]);
    total += sum;
}

static void library(double *out)
{
#pragma omp parallel for
    for (int i = 0; i < 64; i++)
        out[i] = functions[i % 3](i * 0.01) + chosen(0.5);
}

static int sorted(int *list, int n)
{
    int good = 0;
#pragma omp parallel
    {
#pragma omp single
        {
            qsort(list, (size_t)n, sizeof *list, comparison);
            good = list[0] <= list[n - 1];
        }
    }
    return good;
}

static int blocks(int step)
{
    int right = 0;
#pragma omp parallel
#pragma omp single
    {
        char *bigger = realloc(grown, 4000);
        right = bigger && !strcmp(bigger, "captured block");
        free(given);
        char *fresh = malloc(100);
        memset(fresh, step, 100);
        right += fresh[99] == step;
        free(fresh);
        free(bigger);
        grown = given = NULL;
    }
    return right;
}

int main(void)
{
    double out[64];
    int list[200], good = 0;
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < 64; i++)
            shapes[i] = (struct shape){i % 2 ? rectangle : circle, i, step};
        for (int i = 0; i < 200; i++)
            list[i] = (i * 7919 + step) % 1000;
        grown = malloc(64);
        given = malloc(200);
        strcpy(grown, "captured block");
        memset(given, 1, 200);
        areas();
        library(out);
        good += sorted(list, 200);
        good += blocks(step);
    }
    printf("%s %g %g\n", good == 9 ? "PASS" : "FAIL", total, out[63]);
    return good != 9;
}
