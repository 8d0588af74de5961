#include "capture-rt/tracer/ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define AHEAD_RECORDS 16384u             /* a MiB: of regions of half a microsecond so many come in twice the time that is slept */
#define AHEAD_STEP 4096u                 /* whole pages, whatever their size */
#define AHEAD_SLEEP_NS 4000000
#define AHEAD_NICE 19

struct ahead {
    struct capture_log *log;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool over;
};

/* Woken, or after a while. False: it is over. */
static bool ahead_sleep(struct ahead *ahead)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += AHEAD_SLEEP_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->over && pthread_cond_timedwait(&ahead->changed, &ahead->mutex, &until) != ETIMEDOUT) {}
    bool over = ahead->over;
    pthread_mutex_unlock(&ahead->mutex);
    return !over;
}

static void *ahead_main(void *context)
{
    struct ahead *ahead = context;
    uint64_t most = ahead->log->records_max, done = 0;
    struct capture_record *records = (void *)((char *)ahead->log + ahead->log->records_offset);
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), AHEAD_NICE);
    do {
        uint64_t count = __atomic_load_n(&ahead->log->record_count, __ATOMIC_RELAXED);
        done = done < count ? count / AHEAD_STEP * AHEAD_STEP : done;
        for (; done < most && done < count + AHEAD_RECORDS; done += AHEAD_STEP) {
            uint64_t step = most - done < AHEAD_STEP ? most - done : AHEAD_STEP;
            if (madvise(records + done, step * sizeof *records, MADV_POPULATE_WRITE) != 0)
                return NULL;             /* before Linux 5.14, or no memory: the program gets its pages as it needs them */
        }
    } while (done < most && ahead_sleep(ahead));
    return NULL;
}

struct ahead *ahead_begin(struct capture_log *log)
{
    struct ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead)
        return NULL;
    ahead->log = log;
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    if (pthread_create(&ahead->thread, NULL, ahead_main, ahead) == 0)
        return ahead;
    free(ahead);
    return NULL;
}

void ahead_end(struct ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->mutex);
    ahead->over = true;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
    pthread_join(ahead->thread, NULL);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->mutex);
    free(ahead);
}
