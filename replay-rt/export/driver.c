/* driver.c - runs one OpenMP region outside its program, in the memory that it had there, and times it.
 *
 *   ./codelet [--check] [REPETITIONS]        OMP_NUM_THREADS says with how many threads
 *
 * The first run is not timed: it shows which pages the region writes. Before each timed one these get their old content, and pages
 * that were absent are absent again. --check runs once and compares memory with what the program had behind the region.
 */
#define _GNU_SOURCE
#include "codelet.h"
#include "region.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool checks;
static int repetitions = 10;

/* Where the optimiser leaves nothing of the region. */
static void nothing(int32_t *thread, int32_t *bound, ...)
{
    (void)thread, (void)bound;
}

static void region_enter(void)
{
    void (*code)(int32_t *, int32_t *, ...) = region ? region : nothing;
    static struct source_location here = {.flags = 2, .text = ";unknown;unknown;0;0;;"};
#if SERIAL                                          /* the construct's if clause was false */
    int32_t thread = __kmpc_global_thread_num(&here), bound = 0;
    __kmpc_serialized_parallel(&here, thread);
    code(&thread, &bound WORDS);
    __kmpc_end_serialized_parallel(&here, thread);
#elif CONDITIONAL                                   /* words: the condition, and an argument */
    __kmpc_fork_call_if(&here, WORD_COUNT, code WORDS);
#else
    __kmpc_fork_call(&here, WORD_COUNT, code WORDS);
#endif
}

static void team_wake(void)
{
#pragma omp parallel
    __asm__ volatile("");
}

/* How this thread rounds, and what it does with denormals; those of its team do as it does. 0: as before. */
static uint64_t float_set(uint64_t control)
{
    uint32_t vectors = (uint32_t)control & 0xffff, vectors_before;
    uint16_t old = (uint16_t)(control >> 32), old_before;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(vectors_before), "=m"(old_before));
    if (control)
        __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(vectors), "m"(old));
    return (uint64_t)old_before << 32 | vectors_before;
}

static double region_us(void)
{
    struct timespec start, end;
    team_wake();                                    /* as after the program's previous region */
    clock_gettime(CLOCK_MONOTONIC, &start);
    uint64_t ours = float_set(FLOAT_CONTROL);
    call_on_stack(region_enter, STACK);
    float_set(ours);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - start.tv_sec) * 1e6 + (double)(end.tv_nsec - start.tv_nsec) * 1e-3;
}

static int time_order(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Other threads may still wait in regions around this one. */
static void finish(int status)
{
    fflush(out);
    _exit(status);
}

static void state_prepare(void)
{
    support_restore();
    state_restore();
    files_restore();
}

/* Inside the regions that were around it in the program. */
static void region_work(void)
{
    memory_restore();
    support_start();
    files_start();
    state_start();
    memory_protect();
    state_prepare();
    region_us();
    if (checks)
        finish(memory_check());
    written_find();
    double *times_us = calloc((size_t)repetitions, sizeof *times_us);
    for (int i = 0; i < repetitions; i++) {
        memory_restore();
        state_prepare();
        times_us[i] = region_us();
    }
    qsort(times_us, (size_t)repetitions, sizeof *times_us, time_order);
    fprintf(out, "%s, invocation %d: %d repetitions with OMP_NUM_THREADS=%d\n", REGION, INVOCATION, repetitions, omp_get_max_threads());
    fprintf(out, "minimum %.3f us, median %.3f us; in the program, with %d: %.3f us\n", times_us[0],
           (times_us[(repetitions - 1) / 2] + times_us[repetitions / 2]) / 2, CAPTURE_THREADS, IN_VIVO_US);
    finish(0);
}

static void work(void)
{
    team_wake();                                    /* starts the OpenMP runtime */
    if (!memory_map())
        process_again("captured addresses are taken in this process");
    team_enter(region_work);
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
        return fprintf(stderr, "codelet: this region holds for at most %d threads\n", THREADS_MOST), 2;
#endif
    process_start(arguments, work);
}
