/* pthread_specific.c - what threads keep by pthread_setspecific and tss_set before a region is there inside it: the team's other threads', too, and a key that
 * is made inside has the number that it had.
 */
#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <threads.h>

static pthread_key_t early, dropped, late, inner;
static tss_t standard;
static long sum, threads_known, ended;

static void end(void *value) { ended += *(long *)value; }

__attribute__((constructor)) static void make_early(void)
{
    CHECK(pthread_key_create(&early, NULL) == 0 && pthread_key_create(&dropped, NULL) == 0);
}

static void keep(void)
{
#pragma omp parallel
    {
        long *own = calloc(1, sizeof *own);
        *own = 10 + omp_get_thread_num();
        pthread_setspecific(early, own);
    }
}

static void use(void)
{
#pragma omp parallel
    {
        long *own = pthread_getspecific(early);
        if (own) {
#pragma omp atomic
            sum += ++*own;
#pragma omp atomic
            threads_known++;
        }
#pragma omp master
        sum += *(long *)pthread_getspecific(late) + *(long *)tss_get(standard);
    }
}

static void *short_life(void *key)
{
    static long value = 7;
    pthread_setspecific(*(pthread_key_t *)key, &value);
    return NULL;
}

/* A thread that ends has what it kept ended, under a key of before and under one of the region's own. */
static void end_inside(void)
{
#pragma omp parallel num_threads(1)
    {
        pthread_t thread;
        CHECK(pthread_key_create(&inner, end) == 0);
        for (int i = 0; i < 2; i++)
            CHECK(pthread_create(&thread, NULL, short_life, i ? &inner : &late) == 0 && pthread_join(thread, NULL) == 0);
        pthread_key_delete(inner);
    }
}

int main(void)
{
    static long kept = 100, kept_standard = 1000;
    CHECK(pthread_key_create(&late, end) == 0 && tss_create(&standard, NULL) == thrd_success);
    pthread_key_delete(dropped);
    pthread_setspecific(late, &kept);
    tss_set(standard, &kept_standard);
    keep();
    use();
    end_inside();
    long threads = omp_get_max_threads();
    CHECK(threads_known == threads && sum == 1100 + 11 * threads + threads * (threads - 1) / 2 && ended == 14);
    return 0;
}
