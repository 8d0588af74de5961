/* pthread_locks.c - the locks of POSIX threads, made before the region and used inside it: mutexes (recursive ones too), read-write and spin locks, semaphores, once. */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, recursive;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinning;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t permits;
static int counts[5], initialised;

static void initialise(void) { initialised++; }

int main(void)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    CHECK(pthread_mutex_init(&recursive, &kind) == 0 && pthread_spin_init(&spinning, PTHREAD_PROCESS_PRIVATE) == 0 && sem_init(&permits, 0, 1) == 0);
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for
        for (int i = 0; i < 200; i++) {
            pthread_mutex_lock(&plain);
            counts[0]++;
            pthread_mutex_unlock(&plain);
            pthread_mutex_lock(&recursive);
            pthread_mutex_lock(&recursive);
            counts[1]++;
            pthread_mutex_unlock(&recursive);
            pthread_mutex_unlock(&recursive);
            pthread_rwlock_wrlock(&shared);
            counts[2]++;
            pthread_rwlock_unlock(&shared);
            pthread_rwlock_rdlock(&shared);
            CHECK(counts[2] > 0);
            pthread_rwlock_unlock(&shared);
            pthread_spin_lock(&spinning);
            counts[3]++;
            pthread_spin_unlock(&spinning);
            sem_wait(&permits);
            counts[4]++;
            sem_post(&permits);
            pthread_once(&once, initialise);
        }
    }
    for (int i = 0; i < 5; i++)
        CHECK(counts[i] == 400);
    CHECK(initialised == 1);
    return 0;
}
