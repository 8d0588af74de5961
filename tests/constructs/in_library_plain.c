/* in_library_plain.c - a library built without the plugin: state, thread-local state, calls of the C library, a table of functions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

static long calls;
static _Thread_local long mine;
long plain_last;
static double twice(double x) { return 2 * x; }
static double root(double x) { return sqrt(fabs(x) + 1) * sqrt(fabs(x) + 1) - 1; }
static double (*const kinds[])(double) = {twice, root};

double plain_value(int kind, double x);
double plain_value(int kind, double x)
{
    char text[32];
    snprintf(text, sizeof text, "%d", kind);
    mine++;
#pragma omp atomic
    calls++;
    return floor(kinds[(unsigned)kind % 2](x) + 0.5) + (double)strlen(text) - 1;
}

long plain_calls(void);
long plain_calls(void)
{
    plain_last = calls;
    return calls;
}

long plain_mine(void);
long plain_mine(void) { return mine; }
