/* Threads, clock, verification and printing for all benchmarks: nothing of it is timed. */
#include "npb.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* OMP_NUM_THREADS as the standard has it: positive numbers, separated by commas. */
static bool is_thread_list(const char *text)
{
    for (;;) {
        char *end;
        long threads;

        errno = 0;
        threads = strtol(text, &end, 10);
        if (end == text || errno != 0 || threads < 1 || threads > INT_MAX)
            return false;
        while (*end == ' ' || *end == '\t')
            end++;
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
}

int npb_begin(const struct npb_run *run, int most)
{
    const char *asked = getenv("OMP_NUM_THREADS");
    int threads;

    if (asked && !is_thread_list(asked)) {
        fprintf(stderr, "%s: OMP_NUM_THREADS is '%s', which is not a number of threads (1, 2, ...)\n",
                run->name, asked);
        return 0;
    }
    threads = omp_get_max_threads();
    if (most > 0 && threads > most) {
        fprintf(stderr, "%s: %d threads are too many: this program was built for at most %d\n",
                run->name, threads, most);
        return 0;
    }

    printf("\n NAS Parallel Benchmarks in C and OpenMP (cNPB) - %s Benchmark\n\n", run->name);
    printf(" Class: %c\n Size: %s\n", NPB_CLASS, run->size);
    if (run->iterations > 0)
        printf(" Iterations: %d\n", run->iterations);
    printf(" Number of available threads: %d\n\n", threads);
    return threads;
}

double npb_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool npb_close(const char *what, double value, double reference, double epsilon)
{
    double difference = fabs((value - reference) / reference);
    bool close = difference <= epsilon; /* so written that NaN fails */

    printf(" %-12s %21.14e   published %21.14e   relative error %.2e   %s\n", what, value, reference,
           difference, close ? "ok" : "DIFFERS");
    return close;
}

int npb_end(const struct npb_run *run)
{
    int threads = omp_get_max_threads();
    double mops = run->seconds > 0.0 ? 1e-6 * run->operations / run->seconds : 0.0;

    printf("\n %s Benchmark Completed.\n", run->name);
    printf(" Class           = %24c\n", NPB_CLASS);
    printf(" Size            = %24s\n", run->size);
    printf(" Iterations      = %24d\n", run->iterations);
    printf(" Time in seconds = %24.3f\n", run->seconds);
    printf(" Total threads   = %24d\n", threads);
    printf(" Mop/s total     = %24.2f\n", mops);
    printf(" Mop/s/thread    = %24.2f\n", mops / threads);
    printf(" Operation type  = %24s\n", run->operation);
    printf(" Verification    = %24s\n", run->verified ? "SUCCESSFUL" : "FAILED");
    printf(" Compiler        =  %s\n\n", __VERSION__);

    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "%s: cannot write the results: stdout is full or closed\n", run->name);
        return NPB_FAILED;
    }
    return run->verified ? EXIT_SUCCESS : NPB_FAILED;
}
