/* pthread_once_key.c - a key that pthread_once's routine makes by its last call, so that nobody sees who made it. */
#include "check.h"
#include <pthread.h>

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static long total;

__attribute__((noinline)) static void make(void) { pthread_key_create(&key, free); }

static long *counter(void)
{
    pthread_once(&once, make);
    long *own = pthread_getspecific(key);
    if (!own) {
        own = calloc(1, sizeof *own);
        pthread_setspecific(key, own);
    }
    return own;
}

int main(void)
{
    for (int i = 0; i < 3; i++)
        ++*counter();
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(+ : total)
        for (int i = 0; i < 1000; i++) {
            ++*counter();
            total += *(long *)pthread_getspecific(key) > 0;
        }
    }
    CHECK(total == 2000 && *counter() > 3);
    return 0;
}
