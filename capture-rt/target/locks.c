/* capture-rt/target/locks.c - which OpenMP locks are alive: a lock's word means something only to the runtime that made it, so a replay
 * makes each anew.
 *
 * The calls are forwarded to the runtime; the table lies in the shared log, and is kept only in a capturing run.
 */
#include "capture-rt/target/target.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

typedef void lock_call(void *lock);
typedef void lock_hint_call(void *lock, uintptr_t hint);

static lock_call *next_init, *next_init_nest, *next_destroy, *next_destroy_nest;
static lock_hint_call *next_init_hint, *next_init_nest_hint;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void resolve(void *ret_function, const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    memcpy(ret_function, &symbol, sizeof symbol);
}

void target_locks_resolve(void)
{
    if (!target_runtime_address())
        return;
    resolve(&next_init, "omp_init_lock");
    resolve(&next_init_nest, "omp_init_nest_lock");
    resolve(&next_destroy, "omp_destroy_lock");
    resolve(&next_destroy_nest, "omp_destroy_nest_lock");
    resolve(&next_init_hint, "omp_init_lock_with_hint");
    resolve(&next_init_nest_hint, "omp_init_nest_lock_with_hint");
}

/* A library's constructor may make a lock before ours has run. */
static void resolve_early(void)
{
    if (!next_init)
        target_locks_resolve();
}

static struct capture_log *table(void)
{
    const struct target_state *state = target_state;
    return state->active && state->log->mode == CAPTURE_MODE_CAPTURING ? state->log : NULL;
}

static uint32_t slot_of(uintptr_t address)
{
    return (uint32_t)((uint64_t)address * 0x9e3779b97f4a7c15u >> 40) & (CAPTURE_LOCK_SLOTS - 1);
}

static void lock_note(void *lock, uint16_t kind, uintptr_t hint)
{
    struct capture_log *log = table();
    if (!log)
        return;
    uintptr_t address = (uintptr_t)lock;
    uint32_t initial;
    memcpy(&initial, lock, sizeof initial);
    pthread_mutex_lock(&mutex);
    uint32_t slot = slot_of(address), probes = 0;
    struct capture_lock *found = NULL;
    for (; probes < CAPTURE_LOCK_SLOTS / 2; probes++, slot = (slot + 1) & (CAPTURE_LOCK_SLOTS - 1)) {
        struct capture_lock *entry = &log->locks[slot];
        if (entry->state != CAPTURE_LOCK_FREE && entry->address == address) {
            found = entry;
            break;
        }
        if (entry->state != CAPTURE_LOCK_LIVE && !found)
            found = entry;
        if (entry->state == CAPTURE_LOCK_FREE)
            break;
    }
    if (found)
        log->locks_live += found->state != CAPTURE_LOCK_LIVE;
    if (found)
        *found = (struct capture_lock){.address = address, .state = CAPTURE_LOCK_LIVE, .kind = kind, .hint = (uint32_t)hint,
                                       .initial = initial};
    else
        log->locks_dropped++;
    pthread_mutex_unlock(&mutex);
}

static void lock_forget(void *lock)
{
    struct capture_log *log = table();
    if (!log)
        return;
    uintptr_t address = (uintptr_t)lock;
    pthread_mutex_lock(&mutex);
    uint32_t slot = slot_of(address);
    for (uint32_t probes = 0; probes < CAPTURE_LOCK_SLOTS / 2; probes++, slot = (slot + 1) & (CAPTURE_LOCK_SLOTS - 1)) {
        struct capture_lock *entry = &log->locks[slot];
        if (entry->state == CAPTURE_LOCK_FREE)
            break;
        if (entry->address == address) {
            log->locks_live -= entry->state == CAPTURE_LOCK_LIVE;
            entry->state = CAPTURE_LOCK_DELETED;
            break;
        }
    }
    pthread_mutex_unlock(&mutex);
}

#define INIT(name, next, kind)              \
    TARGET_EXPORT void name(void *lock);    \
    TARGET_EXPORT void name(void *lock)     \
    {                                       \
        resolve_early();                    \
        if (next) {                         \
            next(lock);                     \
            lock_note(lock, kind, 0);       \
        }                                   \
    }
#define INIT_HINT(name, next, kind)                         \
    TARGET_EXPORT void name(void *lock, uintptr_t hint);    \
    TARGET_EXPORT void name(void *lock, uintptr_t hint)     \
    {                                                       \
        resolve_early();                                    \
        if (next) {                                         \
            next(lock, hint);                               \
            lock_note(lock, kind, hint);                    \
        }                                                   \
    }
#define DESTROY(name, next)                 \
    TARGET_EXPORT void name(void *lock);    \
    TARGET_EXPORT void name(void *lock)     \
    {                                       \
        resolve_early();                    \
        if (next) {                         \
            lock_forget(lock);              \
            next(lock);                     \
        }                                   \
    }

INIT(omp_init_lock, next_init, 0)
INIT(omp_init_nest_lock, next_init_nest, 1)
INIT_HINT(omp_init_lock_with_hint, next_init_hint, 0)
INIT_HINT(omp_init_nest_lock_with_hint, next_init_nest_hint, 1)
DESTROY(omp_destroy_lock, next_destroy)
DESTROY(omp_destroy_nest_lock, next_destroy_nest)
