/* scripts/evaluation/patterns.c PATTERN RADIX PERIOD FRACTION [WIDTH STEPS MICROSECONDS [SEED]] - graphs of tasks in the patterns of Task Bench (Slaughter et al., SC 2020): STEPS rows of WIDTH
 * tasks, each of which waits for some of the row before.
 *
 *   stencil: its own place and both neighbours.     nearest: the RADIX places around it.     spread: RADIX places evenly apart, moved with the step (by its remainder by PERIOD)
 *   random: its own place, and each other one of the nearest with probability FRACTION, drawn anew for each step up to PERIOD
 *
 * Tasks differ: each works from 0 to twice MICROSECONDS, drawn from its place and step, calibrated once. Another SEED draws other tasks and neighbours. Prints the seconds that all took.
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed;

static double draw(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t mixed = (seed * 0xd6e8feb86659fd93u ^ a * 0x9e3779b97f4a7c15u ^ b * 0xc2b2ae3d27d4eb4fu ^ c * 0x165667b19e3779f9u) + 0x27d4eb2f165667c5u;
    mixed = (mixed ^ mixed >> 31) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return (double)((mixed ^ mixed >> 31) >> 11) / 9007199254740992.0;
}

static void work(uint64_t loops)
{
    volatile double value = 1;
    for (uint64_t i = 0; i < loops; i++)
        value = value * 0.999999 + 1e-9;
}

enum { MOST = 64 };

static int waits_for(const char *pattern, int radix, int period, double fraction, int width, int step, int place, int *list)
{
    int count = 0;
    if (strcmp(pattern, "spread") == 0) {
        for (int k = 0; k < radix; k++)
            list[count++] = (place + k * width / radix + (k ? step % period : 0)) % width;
        return count;
    }
    int low = strcmp(pattern, "stencil") == 0 ? -1 : -(radix / 2), high = strcmp(pattern, "stencil") == 0 ? 1 : (radix - 1) / 2;
    for (int offset = low; offset <= high; offset++) {
        int other = place + offset;
        if (other < 0 || other >= width)
            continue;
        if (strcmp(pattern, "random") == 0 && offset && draw((uint64_t)(step % period), (uint64_t)place, (uint64_t)other + 1000) >= fraction)
            continue;
        list[count++] = other;
    }
    return count;
}

int main(int argc, char **argv)
{
    const char *pattern = argc > 1 ? argv[1] : "stencil";
    int radix = argc > 2 ? atoi(argv[2]) : 3, period = argc > 3 ? atoi(argv[3]) : 3, width = argc > 5 ? atoi(argv[5]) : 24, steps = argc > 6 ? atoi(argv[6]) : 24;
    double fraction = argc > 4 ? atof(argv[4]) : 0.25, microseconds = argc > 7 ? atof(argv[7]) : 50;
    seed = argc > 8 ? strtoull(argv[8], NULL, 10) : 0;
    if (radix < 1 || radix > MOST || period < 1 || width < 1 || width > 4096 || steps < 1)
        return 2;
    double begin = omp_get_wtime();
    work(2000000);
    double loops_a_second = 2000000 / (omp_get_wtime() - begin);
    char *rows = calloc((size_t)steps, (size_t)width);        /* a place for each task: none waits because its place is written again */
    if (!rows)
        return 1;
    int here = 0;
    #pragma omp parallel reduction(+: here)       /* threads are there when time begins to count */
    here++;
    begin = omp_get_wtime();
    #pragma omp parallel
    #pragma omp single
    for (int step = 0; step < steps; step++)
        for (int place = 0; place < width; place++) {
            int list[MOST + 2], count = step ? waits_for(pattern, radix, period, fraction, width, step, place, list) : 0;
            char *here = rows + step * width, *before = here - (step ? width : 0);
            uint64_t loops = (uint64_t)(2 * draw((uint64_t)step, (uint64_t)place, 7) * microseconds * 1e-6 * loops_a_second);
            #pragma omp task depend(iterator(k = 0:count), in: before[list[k]]) depend(out: here[place])
            work(loops);
        }
    printf("seconds %.6f\n", omp_get_wtime() - begin);
    return 0;
}
