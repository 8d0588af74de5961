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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <time.h>
#include <unistd.h>

static bool checks;
static int repetitions = 10;
enum { OWN_STACK_BYTES = 8 << 20 };

static void region_enter(void)
{
    static struct source_location here = {.flags = 2, .text = ";unknown;unknown;0;0;;"};
#if SERIAL                                          /* the construct's if clause was false */
    int32_t thread = __kmpc_global_thread_num(&here), bound = 0;
    __kmpc_serialized_parallel(&here, thread);
    region(&thread, &bound WORDS);
    __kmpc_end_serialized_parallel(&here, thread);
#else
    __kmpc_fork_call(&here, WORD_COUNT, region WORDS);
#endif
}

static void call_on_stack(void (*function)(void), uint64_t stack)
{
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %1, %%rsp\n\t"
                     "callq *%0\n\t"
                     "movq %%rbx, %%rsp"
                     : "+r"(function), "+r"(stack)
                     :
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
}

static void team_wake(void)
{
#pragma omp parallel
    __asm__ volatile("");
}

static double region_us(void)
{
    struct timespec start, end;
    team_wake();                                    /* as after the program's previous region */
    clock_gettime(CLOCK_MONOTONIC, &start);
    call_on_stack(region_enter, STACK);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - start.tv_sec) * 1e6 + (double)(end.tv_nsec - start.tv_nsec) * 1e-3;
}

static int time_order(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Something of this process lies where captured memory must be: with other random addresses it will not. */
static void start_again(const char *reason)
{
    const char *word = getenv("CODELET_ATTEMPT");
    char attempt[16], *arguments[4] = {"codelet", checks ? "--check" : NULL};
    char number[16];
    snprintf(attempt, sizeof attempt, "%d", word ? atoi(word) + 1 : 1);
    snprintf(number, sizeof number, "%d", repetitions);
    arguments[checks ? 2 : 1] = number;
    if (atoi(attempt) <= 20 && !setenv("CODELET_ATTEMPT", attempt, 1))
        execv("/proc/self/exe", arguments);
    fprintf(stderr, "codelet: %s\n", reason);
    exit(2);
}

/* Other threads may still wait in regions around this one. */
static void finish(int status)
{
    fflush(NULL);
    _exit(status);
}

/* Inside the regions that were around it in the program. */
static void region_work(void)
{
    memory_restore();
    support_start();
    memory_protect();
    support_restore();
    region_us();
    if (checks)
        finish(memory_check());
    written_find();
    double *times_us = calloc((size_t)repetitions, sizeof *times_us);
    for (int i = 0; i < repetitions; i++) {
        memory_restore();
        support_restore();
        times_us[i] = region_us();
    }
    qsort(times_us, (size_t)repetitions, sizeof *times_us, time_order);
    printf("%s, invocation %d: %d repetitions with OMP_NUM_THREADS=%d\n", REGION, INVOCATION, repetitions, omp_get_max_threads());
    printf("minimum %.3f us, median %.3f us; in the program, with %d: %.3f us\n", times_us[0],
           (times_us[(repetitions - 1) / 2] + times_us[repetitions / 2]) / 2, CAPTURE_THREADS, IN_VIVO_US);
    finish(0);
}

static void work(void)
{
    if (!memory_map())
        start_again("captured addresses are taken in this process");
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
    /* The captured process had its libraries at the top. With mappings from the bottom up this one keeps out of the way. */
    int layout = personality(0xffffffff);
    if (layout >= 0 && !(layout & ADDR_COMPAT_LAYOUT) && personality((unsigned long)layout | ADDR_COMPAT_LAYOUT) >= 0)
        start_again("cannot start with another address layout");
    team_wake();                                    /* starts the OpenMP runtime */
    size_t size = 1;
    while (environ[size - 1])
        size++;
    char **copy = calloc(size, sizeof *copy);       /* the captured stack may have to lie where this one is */
    for (size_t i = 0; i + 1 < size; i++)
        copy[i] = strdup(environ[i]);
    environ = copy;
    char *stack = mmap(NULL, OWN_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    call_on_stack(work, (uint64_t)stack + OWN_STACK_BYTES - 64);
}
