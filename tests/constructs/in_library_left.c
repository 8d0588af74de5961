/* in_library_left.c - one of two libraries that have functions and variables of the same names: static, hidden, inside functions. */
static double table[8] = {1.5};
static long calls;
__attribute__((visibility("hidden"))) long shared_name;
__attribute__((visibility("hidden"))) double helper(double x) { return x + 2; }
static double weigh(double x) { return helper(x) + table[0]; }
static double (*volatile weight)(double) = weigh;

double left_sum(int count);
double left_sum(int count)
{
    static double last;
    double sum = 0;
    calls++;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < count; i++) {
        sum += weight(i);
        if (i >= count - 7)
            table[1 + i % 7] = i;
    }
    shared_name += count;
    last = sum;
    return last + (double)(calls + shared_name) * 0;
}
