/* pthread_working.c - regions of threads that the program started, while the initial thread works and has regions too. */
#include "check.h"
#include <pthread.h>

enum { COUNT = 800, STEPS = 4 };
static int first[COUNT], second[COUNT];
static long main_sum;
static volatile long churn;

static void *work(void *argument)
{
    int *values = argument;
    for (int step = 0; step < STEPS; step++)
#pragma omp parallel for
        for (int i = 0; i < COUNT; i++)
            values[i] += i + step;
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    CHECK(pthread_create(&threads[0], NULL, work, first) == 0);
    CHECK(pthread_create(&threads[1], NULL, work, second) == 0);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < 20000; i++)
            churn = churn + i;
#pragma omp parallel for reduction(+ : main_sum)
        for (int i = 0; i < COUNT; i++)
            main_sum += i;
    }
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < COUNT; i++)
        CHECK(first[i] == STEPS * i + 6 && second[i] == first[i]);
    CHECK(main_sum == STEPS * (COUNT * (COUNT - 1) / 2L));
    return 0;
}
