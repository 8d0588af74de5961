/* scratch_across_files_threads.c - what scratch_across_files.c knows of threads. */
#include "scratch_across_files.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int workers;

void settings_read(void) { workers = thread_count(); }
int thread_count(void) { return omp_get_max_threads(); }
int thread_number(void) { return omp_get_thread_num(); }

void *bytes_per_thread(int threads, size_t bytes)
{
    void *memory = calloc((size_t)threads, bytes);
    if (!memory) {
        fprintf(stderr, "no memory for %d threads\n", threads);
        exit(1);
    }
    return memory;
}
