/* scratch_across_files_regions.c - the regions of scratch_across_files.c. */
#include "scratch_across_files.h"

void sum_in_parts(double *parts)
{
#pragma omp parallel
    {
        double *mine = parts + (size_t)thread_number() * PAD;
#pragma omp for
        for (int i = 0; i < WORK; i++)
            mine[i % PAD] += i;
    }
}

void count_steps(struct counters *counters)
{
#pragma omp parallel for
    for (int i = 0; i < WORK; i++)
        counters->of_threads[thread_number() * 8]++;
    counters->steps++;
}

void mark_parts(char *marks)
{
#pragma omp parallel
    marks[thread_number() * PAD]++;
}
