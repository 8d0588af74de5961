/* in_library.c - what the programs about libraries link or load: a region over the library's own data and over the caller's. */
static long calls;
static double table[64] = {1, 2, 3};
static double weigh(double x) { return x + 1; }
double (*library_weight)(double) = weigh;

double library_scale(double *values, int count, double factor);
double library_scale(double *values, int count, double factor)
{
    double sum = 0;
    calls++;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < count; i++) {
        values[i] = library_weight(values[i] * factor) + table[i % 3];
        sum += values[i];
        if (i < 61)
            table[i + 3] = values[i];
    }
    return sum;
}

long library_calls(void);
long library_calls(void) { return calls; }
