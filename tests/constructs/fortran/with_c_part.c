/* The C part of with_c.f90. */
double scale_all(double *values, int count, double factor);

double scale_all(double *values, int count, double factor)
{
    double total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < count; i++) {
        values[i] *= factor;
        total += values[i];
    }
    return total;
}
