/* in_library_other.c - offers the same names as in_library.c, and means other things by them. */
static long calls;
static double table[16] = {10, 20};
double (*library_weight)(double);

double library_scale(double *values, int count, double factor);
double library_scale(double *values, int count, double factor)
{
    double sum = 0;
    calls += 10;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < count; i++) {
        values[i] = values[i] + factor + table[i % 2];
        sum += values[i];
    }
    return sum;
}

long library_calls(void);
long library_calls(void) { return calls; }
