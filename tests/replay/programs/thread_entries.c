/* thread_entries.c - regions that the program enters only with several threads, and others that it does not enter. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 20000 };
static double data[N];

static void serially(void)
{
    for (int i = 0; i < N; i++)
        data[i] += i % 7;
}

/* ---- only with several threads ------------------------------------------------------------------------------------------------ */

__attribute__((noinline)) static void called_behind_a_comparison(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        data[i] += i % 7;
}

__attribute__((noinline)) static void called_by_a_caller(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        data[i] += i % 5;
}

__attribute__((noinline)) static void caller(void) { called_by_a_caller(); }

__attribute__((noinline)) static void returns_early(int size)
{
    int threads = size / 100 < omp_get_max_threads() ? size / 100 : omp_get_max_threads();
    if (size < 10 || threads == 1) {
        serially();
        return;
    }
#pragma omp parallel for num_threads(threads)
    for (int i = 0; i < N; i++)
        data[i] += i % 3;
}

static struct { int verbose, threads; } settings;

__attribute__((noinline)) static void with_four(int size)
{
    if (size > 10 && settings.threads >= 4) {
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            data[i] += i % 2;
    }
}

/* ---- not for the number of threads ---------------------------------------------------------------------------------------------- */

__attribute__((noinline)) static void never(int size)
{
    if (size < 0) {
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            data[i] += 1;
    }
}

__attribute__((noinline)) static void on_larger_machines(void)
{
    if (omp_get_num_procs() > 4096) {
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            data[i] += 1;
    }
}

__attribute__((noinline)) static void also_from_elsewhere(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        data[i] += 1;
}

/* `wanted` is four when it is come to: no matter of how many threads the user asks for. */
__attribute__((noinline)) static void behind_a_loop(int size)
{
    int wanted = 1;
    for (; wanted <= 3; wanted++) {
#pragma omp parallel num_threads(wanted)
        serially();
        if (size > 0)
            return;
    }
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        data[i] += 1;
}

int main(int argc, char **argv)
{
    int threads = omp_get_max_threads(), size = argc > 1 ? atoi(argv[1]) : N;
    settings.threads = threads;
    for (int k = 0; k < 3; k++) {
        if (threads > 1) {
            called_behind_a_comparison();
            caller();
            also_from_elsewhere();
        } else {
            serially();
        }
        returns_early(size);
        with_four(size);
        never(size);
        behind_a_loop(size);
        on_larger_machines();
        if (size == 17)
            also_from_elsewhere();
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            data[i] += 1;
    }
    puts("PASS");
    return 0;
}
