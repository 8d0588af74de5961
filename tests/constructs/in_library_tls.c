/* in_library_tls.c - a library with thread-local variables, static and offered, and a static variable inside a function. */
static _Thread_local long mine = 5;
_Thread_local long library_own = 7;
static _Thread_local double scratch[32];

long library_count(long step);
long library_count(long step)
{
    static long calls;
#pragma omp atomic
    calls++;
    mine += step;
    library_own += 2 * step;
    scratch[step & 31] += (double)step;
    return mine;
}

double library_sum(long steps);
double library_sum(long steps)
{
    double sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        double own = 0;
#pragma omp for
        for (long i = 0; i < steps; i++)
            own += (double)(library_count(1) > 0);
        sum += own + scratch[1] * 0;
    }
    return sum;
}

long library_mine(void);
long library_mine(void) { return mine; }
