/* pthread_region.c - regions of a thread that is not the initial one. */
#include "check.h"
#include <pthread.h>

enum { COUNT = 800 };
static int values[COUNT];

static void *work(void *argument)
{
    int *step = argument;
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++)
        values[i] += *step * i;
    return NULL;
}

int main(void)
{
    for (int step = 1; step <= 2; step++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, work, &step) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(values[i] == 3 * i);
    return 0;
}
