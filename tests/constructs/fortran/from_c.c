/* A C program that calls a Fortran subroutine with a region. */
#include <stdio.h>

void smooth_(double *values, int *count);

int main(void)
{
    enum { count = 300 };
    static double values[count];
    int n = count;
#pragma omp parallel for
    for (int i = 0; i < count; i++)
        values[i] = i;
    smooth_(values, &n);
    for (int i = 1; i < count - 1; i++)
        if (values[i] != i + 1)
            return 1;
    puts("PASS");
    return 0;
}
