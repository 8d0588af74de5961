/* tests/programs/background.c - threads of the program's own that write all the time: a dump must show one moment.
 *
 * background LOG: each thread counts in two places far from each other, first here, then there. LOG gets lines "INVOCATION pair HERE THERE";
 * in any one moment the two counts are equal, or here is one ahead (check_memory.c).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 3
#define APART (1u << 20)

static _Atomic(int) stop;
static _Atomic(uint64_t) *here[THREADS], *there[THREADS];
static double values[100000];

static void *count(void *argument)
{
    size_t i = (size_t)(uintptr_t)argument;
    while (!stop) {
        atomic_fetch_add(here[i], 1);
        atomic_fetch_add(there[i], 1);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    FILE *log = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (!log)
        return 2;
    for (size_t i = 0; i < THREADS; i++) {
        char *block = malloc((size_t)16 * APART);
        if (!block)
            return 3;
        memset(block, 1, (size_t)16 * APART);
        here[i] = (void *)(block + 64);
        there[i] = (void *)(block + (size_t)15 * APART);
        *here[i] = *there[i] = 0;
        if (pthread_create(&threads[i], NULL, count, (void *)(uintptr_t)i) != 0)
            return 3;
    }
    for (int step = 1; step <= 10; step++) {
        for (size_t i = 0; i < THREADS; i++)
            fprintf(log, "%d pair %p %p\n", step, (void *)here[i], (void *)there[i]);
#pragma omp parallel for
        for (int i = 0; i < 100000; i++)
            values[i] += step;
    }
    stop = 1;
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    fclose(log);
    puts("PASS");
    return 0;
}
