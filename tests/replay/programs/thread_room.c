/* Room for as many threads as there are, as programs decide it; and what they decide by a thread count without making room. */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000, LINE = 8, MOST = 64 };
static double *doubled, *shifted, *chosen, *of_the_highest, *allowed, *any, sums[MOST];
static int grain, threads;

static void is_doubled(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        doubled[LINE * omp_get_thread_num()] += i;
}

static void is_shifted(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        shifted[LINE * omp_get_thread_num()] += i;
}

static void is_chosen(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        chosen[LINE * omp_get_thread_num()] += i;
}

static void has_the_highest(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        of_the_highest[LINE * omp_get_thread_num()] += i;
}

static void has_the_allowed(void)
{
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        allowed[LINE * omp_get_thread_num()] += i;
}

static void works_by_grains(void)
{
#pragma omp parallel
    for (int first = omp_get_thread_num() * grain; first < N; first += omp_get_num_threads() * grain)
        for (int i = first; i < first + grain && i < N; i++)
            any[i] += 1;
}

static void adds_in_a_tree(void)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
#pragma omp for
        for (int i = 0; i < N; i++)
            sums[me] += 1;
        for (int step = 1; step < threads; step *= 2) {
#pragma omp barrier
            if (me % (2 * step) == 0 && me + step < MOST)
                sums[me] += sums[me + step];
        }
    }
}

__attribute__((noinline)) static int next_power(int of)
{
    int power = 1;
    while (power < of)
        power *= 2;
    return power;
}

static size_t room(int of)
{
    switch (of) {
    case 1: return 1;
    case 2: return 2;
    case 3:
    case 4: return 4;
    default: return MOST;
    }
}

static int highest(void)
{
    int most = 0;
#pragma omp parallel reduction(max : most)
    most = omp_get_thread_num() + 1;
    return most;
}

static int processors(void)
{
    cpu_set_t set;
    int count = 0;
    if (sched_getaffinity(0, sizeof set, &set))
        return MOST;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set))
            count++;
    return count;
}

int main(void)
{
    int bits = 0, tiles[] = {16, 40};
    threads = omp_get_max_threads();
    while (1 << bits < threads)
        bits++;
    grain = threads > 4 ? tiles[0] : threads > 1 ? 64 : tiles[1];
    doubled = calloc((size_t)(LINE * next_power(threads)), sizeof *doubled);
    shifted = calloc((size_t)LINE << bits, sizeof *shifted);
    chosen = calloc(LINE * room(threads), sizeof *chosen);
    of_the_highest = calloc((size_t)(LINE * highest()), sizeof *of_the_highest);
    allowed = calloc((size_t)(LINE * (processors() + MOST)), sizeof *allowed);
    any = calloc(N, sizeof *any);
    if (!doubled || !shifted || !chosen || !of_the_highest || !allowed || !any)
        return 1;
    for (int step = 0; step < 2; step++) {
        is_doubled();
        is_shifted();
        is_chosen();
        has_the_highest();
        has_the_allowed();
        works_by_grains();
        adds_in_a_tree();
    }
    return puts(any[N - 1] == 2 ? "PASS" : "FAIL") < 0;
}
