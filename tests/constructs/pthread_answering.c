/* pthread_answering.c - a region that waits for what a thread of the program's own does meanwhile: it cannot be run without that thread. */
#include "check.h"
#include <pthread.h>
#include <sched.h>

static _Atomic int question, answer;
static int before[100];

static void *answering(void *argument)
{
    (void)argument;
    while (!question)
        sched_yield();
    answer = question + 1;
    return NULL;
}

static void asking(void)
{
#pragma omp parallel
#pragma omp single
    {
        question = 6;
        while (!answer)
            sched_yield();
    }
}

int main(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, answering, NULL) == 0);
#pragma omp parallel for
    for (int i = 0; i < 100; i++)
        before[i] = i;
    asking();
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(answer == 7 && before[99] == 99);
    return 0;
}
