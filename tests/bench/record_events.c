/* tests/bench/record_events.c EVENTS chunks|tasks - a program that hardly does anything but meet OpenMP constructs, and says how long that took: what is recorded then costs most. Run by
 * scripts/bench-trace.
 *
 * chunks: a loop with schedule(dynamic,1), a record for each chunk; of its two threads one sleeps in its first, so that they do not fight for the next one. tasks: made by one thread and waited for in hundreds; a record for the making of each, one where it begins and one where it ends.
 * Prints seconds, and the number of chunks or tasks.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double sum;

static void chunks_run(long count)
{
    double own = 0;
    int over = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : own) num_threads(2) shared(over)
    for (long i = 0; i < count; i++) {
        own += (double)i;
        if (i == count - 1)
            __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
        else if (omp_get_thread_num() == 1)
            while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
                usleep(20000);
    }
    sum = own;
}

static void tasks_run(long count)
{
    static double cells[100];
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < count; i += 100) {
        for (long k = 0; k < 100; k++) {
#pragma omp task firstprivate(i, k)
            cells[k] += (double)i;
        }
#pragma omp taskwait
    }
    sum = cells[0];
}

int main(int argc, char **argv)
{
    long count = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
    int tasks = argc == 3 && strcmp(argv[2], "tasks") == 0;
    if (count < 100) {
        fputs("usage: record_events EVENTS chunks|tasks\n", stderr);
        return 2;
    }
    chunks_run(1000);
    tasks_run(1000);
    double begin = omp_get_wtime();
    if (tasks)
        tasks_run(count / 100 * 100);
    else
        chunks_run(count);
    double seconds = omp_get_wtime() - begin;
    printf("%.9f %ld %g\n", seconds, tasks ? count / 100 * 100 : count, sum);
    return 0;
}
