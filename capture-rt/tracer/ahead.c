#include "capture-rt/tracer/ahead.h"

#include "core/workers.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AHEAD_RECORDS (2 * CAPTURE_RECORDS_TURN)     /* the program is in the first half when it asks for more */
#define AHEAD_ROOM CAPTURE_RECORDS_TURN  /* invocations at a time */
#define AHEAD_CHUNK ((uintptr_t)64 << 10)/* of memory at a time: meanwhile this process can map nothing, and a thread that yields may be without a processor for long */

struct ahead {
    struct shared_log *log;
    pthread_t thread;
    _Atomic(bool) over;
    _Atomic(uint32_t) paused;
};

static void paused_await(struct ahead *ahead)
{
    while (ahead->paused && !ahead->over)
        syscall(SYS_futex, &ahead->paused, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
}

/* False: before Linux 5.14, or no memory, or it is over. */
static bool populate(struct ahead *ahead, uintptr_t low, uintptr_t high)
{
    for (; low < high; low += AHEAD_CHUNK) {
        paused_await(ahead);
        if (ahead->over || madvise((void *)low, high - low < AHEAD_CHUNK ? high - low : AHEAD_CHUNK, MADV_POPULATE_WRITE) != 0)
            return false;
    }
    return true;
}

/* Until the program has begun more records than when it was `turn`. Nothing else wakes: each time would take the processor from one of its threads, and behind a hypervisor
 * with page tables of its own that costs a program that touches fresh memory on all processors up to half of its speed. */
static void turn_await(struct capture_log *log, uint32_t turn)
{
    syscall(SYS_futex, &log->records_turn, FUTEX_WAIT, turn, NULL, NULL, 0);
}

static void turn_end(struct capture_log *log)
{
    __atomic_fetch_add(&log->records_turn, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &log->records_turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* So many at least, a few more soon. */
static void room_make(struct ahead *ahead, uint64_t count)
{
    struct shared_log *log = ahead->log;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (count <= log->room_count)
        return;
    struct capture_invocation *room = realloc(log->room, (log->room_count + AHEAD_ROOM) * sizeof *room);
    if (!room)
        return;                         /* whoever reads the log asks again */
    uintptr_t low = (uintptr_t)(room + log->room_count) / page * page, high = (uintptr_t)(room + log->room_count + AHEAD_ROOM) / page * page;
    log->room = room;
    populate(ahead, low, high);
    log->room_count += AHEAD_ROOM;
}

static void *ahead_main(void *context)
{
    struct ahead *ahead = context;
    struct capture_log *log = ahead->log->log;
    uint64_t most = log->records_max, done = 0;
    struct capture_record *records = (void *)((char *)ahead->log->log + log->records_offset);
    workers_yield();
    while (done < most && !ahead->over) {
        uint32_t turn = __atomic_load_n(&log->records_turn, __ATOMIC_ACQUIRE);
        uint64_t count = __atomic_load_n(&log->record_count, __ATOMIC_RELAXED);
        done = done < count ? count / CAPTURE_RECORDS_TURN * CAPTURE_RECORDS_TURN : done;
        for (; done < most && done < count + AHEAD_RECORDS; done += CAPTURE_RECORDS_TURN) {
            uint64_t step = most - done < CAPTURE_RECORDS_TURN ? most - done : CAPTURE_RECORDS_TURN;
            if (!populate(ahead, (uintptr_t)(records + done), (uintptr_t)(records + done + step)))
                return NULL;             /* the program gets its pages as it needs them */
        }
        room_make(ahead, count < most ? count + CAPTURE_RECORDS_TURN : most);
        if (!ahead->over)
            turn_await(log, turn);
    }
    return NULL;
}

struct ahead *ahead_begin(struct shared_log *log)
{
    struct ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead)
        return NULL;
    ahead->log = log;
    if (pthread_create(&ahead->thread, NULL, ahead_main, ahead) == 0)
        return ahead;
    free(ahead);
    return NULL;
}

void ahead_pause(struct ahead *ahead, bool pause)
{
    if (!ahead)
        return;
    ahead->paused = pause;
    if (!pause)
        syscall(SYS_futex, &ahead->paused, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void ahead_end(struct ahead *ahead)
{
    if (!ahead)
        return;
    ahead->over = true;
    ahead_pause(ahead, false);
    turn_end(ahead->log->log);
    pthread_join(ahead->thread, NULL);
    free(ahead);
}
