/* in_library_threadprivate.c - a library that keeps threadprivate variables across its regions. */
long library_step = 5;
#pragma omp threadprivate(library_step)
static long calls;
#pragma omp threadprivate(calls)

void library_run(long count, long *values);
void library_run(long count, long *values)
{
#pragma omp parallel for
    for (long i = 0; i < count; i++) {
        library_step++;
        calls++;
        values[i] += i;
    }
}

long library_calls(void);
long library_calls(void) { return calls; }
