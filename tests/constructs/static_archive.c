/* static_archive.c - a region inside a static archive (in_library.c), and one in the program that calls into it. */
#include "check.h"

double library_scale(double *values, int count, double factor);
long library_calls(void);
extern double (*library_weight)(double);

static double minus_one(double x) { return x - 1; }

int main(void)
{
    static double values[300];
    double own = 0;
    CHECK(library_scale(values, 300, 2) == 300 + 600);
    library_weight = minus_one;
    CHECK(library_scale(values, 300, 0) == -300 + 600);
#pragma omp parallel for reduction(+ : own)
    for (int i = 0; i < 300; i++)
        own += library_weight(values[i]) + (double)library_calls();
    CHECK(own == 300 - 300 + 600);
    return 0;
}
