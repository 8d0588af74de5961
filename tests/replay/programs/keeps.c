/* keeps.c - a region that uses what the C library, the kernel and the OpenMP runtime keep for its program: streams, random numbers, environment, a signal
 * handler, a held lock, threadprivate copies. The first argument is a file of numbers. */
#define _GNU_SOURCE
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double values[3], sums[3];
static long drawn[3];
static char line[64], given[32];
static volatile int caught;
static int seed = 3, held[3];
#pragma omp threadprivate(seed)
static omp_nest_lock_t lock;

static void handler(int number) { caught += number; }

int main(int count, char **arguments)
{
    FILE *numbers = fopen(count > 1 ? arguments[1] : "numbers", "r"), *copy = tmpfile();
    if (!numbers || !copy || !fgets(line, sizeof line, numbers))
        return 1;
    signal(SIGUSR1, handler);
    srandom(5);
    omp_init_nest_lock(&lock);
    omp_set_nest_lock(&lock);
    for (int step = 0; step < 3; step++) {
#pragma omp parallel for ordered schedule(static)
        for (int i = 0; i < 40; i++) {
#pragma omp ordered
            {
                for (int k = 0; k < 40 && fgets(line, sizeof line, numbers); k++)
                    values[step] = atof(line);
                fprintf(copy, "%d %g\n", i, values[step]);
                printf("row %d\n", i);
                fprintf(stderr, "message %d\n", i);
                drawn[step] += random() % 100;
                seed = seed * 7 % 1009;
                sums[step] += seed;
                const char *found = getenv("KEEPS_GIVEN");
                snprintf(given, sizeof given, "%s", found ? found : "nothing");
                if (i == 0) {
                    raise(SIGUSR1);
                    held[step] = omp_test_nest_lock(&lock);
                    omp_unset_nest_lock(&lock);
                }
            }
        }
    }
    fclose(copy);
    fclose(numbers);
    return printf("PASS %g %g %ld %s %d %d\n", values[2], sums[2], drawn[2], given, caught, held[2]) < 0;
}
