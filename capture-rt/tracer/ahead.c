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
#define AHEAD_ROOM 65536u                /* invocations: 7 MiB at a time */

struct ahead {
    struct shared_log *log;
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

/* So many at least, a few more soon. */
static void room_make(struct shared_log *log, uint64_t count)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (count <= log->room_count)
        return;
    struct capture_invocation *room = realloc(log->room, (log->room_count + AHEAD_ROOM) * sizeof *room);
    if (!room)
        return;                         /* whoever reads the log asks again */
    uintptr_t low = (uintptr_t)(room + log->room_count) / page * page, high = (uintptr_t)(room + log->room_count + AHEAD_ROOM) / page * page;
    madvise((void *)low, high - low, MADV_POPULATE_WRITE);
    log->room = room;
    log->room_count += AHEAD_ROOM;
}

static void *ahead_main(void *context)
{
    struct ahead *ahead = context;
    const struct capture_log *log = ahead->log->log;
    uint64_t most = log->records_max, done = 0;
    struct capture_record *records = (void *)((char *)ahead->log->log + log->records_offset);
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), AHEAD_NICE);
    do {
        uint64_t count = __atomic_load_n(&log->record_count, __ATOMIC_RELAXED);
        done = done < count ? count / AHEAD_STEP * AHEAD_STEP : done;
        for (; done < most && done < count + AHEAD_RECORDS; done += AHEAD_STEP) {
            uint64_t step = most - done < AHEAD_STEP ? most - done : AHEAD_STEP;
            if (madvise(records + done, step * sizeof *records, MADV_POPULATE_WRITE) != 0)
                return NULL;             /* before Linux 5.14, or no memory: the program gets its pages as it needs them */
        }
        room_make(ahead->log, count < most ? count + AHEAD_STEP : most);
    } while (done < most && ahead_sleep(ahead));
    return NULL;
}

struct ahead *ahead_begin(struct shared_log *log)
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
