/* tests/cli/two_regions.c - what reports are made of: two regions, one of a file whose name is meant to break pages and tables. */
#include <stdio.h>
static double a[40000];
int main(void)
{
    for (int i = 0; i < 12; i++) {
#pragma omp parallel for
        for (int j = 0; j < 40000; j++)
            a[j] += i * 0.5 + j;
    }
#line 7 "<!--<script><b>,\"x.c"
#pragma omp parallel
    {
#pragma omp for
        for (int j = 0; j < 40000; j++)
            a[j] *= 1.5;
    }
    printf("%g\n", a[7]);
    return 0;
}
