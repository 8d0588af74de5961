/* driver.c - runs one OpenMP region outside its program, in the memory that it had there, and times it.
 *
 *   ./codelet [--check] [REPETITIONS]        OMP_NUM_THREADS says with how many threads
 *
 * The first run is not timed: it shows which pages the region writes. Before each timed one these get their old content, and pages
 * that were absent are absent again. --check runs once and compares memory with what the program had behind the region.
 */
#include "codelet.h"
#include "region.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool checks;
static int repetitions = 10;

/* What the compiler makes of the construct: a call with the region's function, and the words that the program passed to it. */
static void region_enter(void)
{
    static struct source_location here = {.flags = 2, .text = ";unknown;unknown;0;0;;"};
    if (PROC_BIND >= 0)
        __kmpc_push_proc_bind(&here, __kmpc_global_thread_num(&here), PROC_BIND);
    inner_teams_begin(&here);
#if SERIAL                                          /* the construct's if clause was false */
    int32_t thread = __kmpc_global_thread_num(&here), bound = 0;
    __kmpc_serialized_parallel(&here, thread);
    region_code()(&thread, &bound WORDS);
    __kmpc_end_serialized_parallel(&here, thread);
#elif CONDITIONAL                                   /* words: the condition, and an argument */
    __kmpc_fork_call_if(&here, WORD_COUNT, region_code() WORDS);
#else
    __kmpc_fork_call(&here, WORD_COUNT, region_code() WORDS);
#endif
    inner_teams_end();
}

static double region_us(void)
{
    struct timespec start, end;
    team_wake();                                    /* as after the program's previous region */
    clock_gettime(CLOCK_MONOTONIC, &start);
    call_as_program(region_enter);                  /* on its stack, with its rounding */
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - start.tv_sec) * 1e6 + (double)(end.tv_nsec - start.tv_nsec) * 1e-3;
}

static int time_order(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Captured memory lies at its addresses, and the regions around this one have been entered. */
static void region_work(void)
{
    program_start();
    if (!checks)
        heap_start();
    program_restore();
    region_us();
    if (checks)
        process_end(memory_check());
    written_find();
    double *times_us = calloc((size_t)repetitions, sizeof *times_us);
    for (int i = 0; i < repetitions; i++) {
        memory_restore();
        program_restore();
        times_us[i] = region_us();
    }
    qsort(times_us, (size_t)repetitions, sizeof *times_us, time_order);
    fprintf(out, "%s, invocation %d: %d repetitions with OMP_NUM_THREADS=%d\n", REGION, INVOCATION, repetitions, omp_get_max_threads());
    fprintf(out, "minimum %.3f us, median %.3f us; in the program, with %d: %.3f us\n", times_us[0],
            (times_us[(repetitions - 1) / 2] + times_us[repetitions / 2]) / 2, CAPTURE_THREADS, IN_VIVO_US);
    process_end(0);
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++)
        if (!strcmp(arguments[i], "--check"))
            checks = true;
        else if ((repetitions = atoi(arguments[i])) < 1)
            return fprintf(stderr, "usage: codelet [--check] [REPETITIONS]\n"), 2;
#ifdef THREADS_MOST
    if (omp_get_max_threads() > THREADS_MOST)
        return fprintf(stderr, "codelet: this region holds for at most %d thread%s\n", THREADS_MOST, THREADS_MOST == 1 ? "" : "s"), 2;
#endif
#ifdef THREADS_LEAST
    if (omp_get_max_threads() < THREADS_LEAST)
        return fprintf(stderr, "codelet: this region holds for at least %d threads\n", THREADS_LEAST), 2;
#endif
    process_start(arguments, region_work);          /* maps memory.bin by memory.txt */
}
