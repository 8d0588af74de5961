/* capture-rt/target/locks.c - which OpenMP locks are alive: a lock's word means something only to the runtime that made it, so a replay
 * makes each anew; and which of them are held where a region starts and ends.
 *
 * The calls that make and destroy locks are forwarded to the runtime; the table lies in the shared log, and is kept only in a capturing run.
 * Setting a lock passes nothing of this: who holds one is found at a stop, by trying. The locks of critical constructs are the compiler's: no call makes them, and
 * stripped programs may have no name for them, so that each is noted when it is met before the runtime filled it.
 */
#include "capture-rt/target/target.h"

#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

typedef void lock_call(void *lock);
typedef void lock_hint_call(void *lock, uintptr_t hint);

static lock_call *next_init, *next_init_nest, *next_destroy, *next_destroy_nest;
static lock_hint_call *next_init_hint, *next_init_nest_hint;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

typedef void critical_call(void *ident, int32_t thread, void *lock);
typedef void critical_hint_call(void *ident, int32_t thread, void *lock, uint32_t hint);
typedef int32_t reduce_call(void *ident, int32_t thread, int32_t count, size_t bytes, void *data, void (*combine)(void *, void *), void *lock);
critical_call *next_critical __attribute__((visibility("hidden")));              /* for assembly */
critical_hint_call *next_critical_hint __attribute__((visibility("hidden")));
static reduce_call *next_reduce, *next_reduce_nowait;

static int (*test_lock)(void *lock), (*test_nest_lock)(void *lock);
static lock_call *unset_lock, *unset_nest_lock;

TARGET_EXPORT void omp_init_lock(void *lock);
TARGET_EXPORT void omp_init_nest_lock(void *lock);
TARGET_EXPORT void omp_destroy_lock(void *lock);
TARGET_EXPORT void omp_destroy_nest_lock(void *lock);
TARGET_EXPORT void omp_init_lock_with_hint(void *lock, uintptr_t hint);
TARGET_EXPORT void omp_init_nest_lock_with_hint(void *lock, uintptr_t hint);
TARGET_EXPORT void __kmpc_critical(void *ident, int32_t thread, void *lock);
TARGET_EXPORT void __kmpc_critical_with_hint(void *ident, int32_t thread, void *lock, uint32_t hint);
TARGET_EXPORT int32_t __kmpc_reduce(void *ident, int32_t thread, int32_t count, size_t bytes, void *data, void (*combine)(void *, void *), void *lock);
TARGET_EXPORT int32_t __kmpc_reduce_nowait(void *ident, int32_t thread, int32_t count, size_t bytes, void *data, void (*combine)(void *, void *), void *lock);

static void resolve(void *ret_function, const char *name, const void *own)
{
    void *symbol = target_runtime_symbol(name, own);
    memcpy(ret_function, &symbol, sizeof symbol);
}

void target_locks_resolve(void)
{
    resolve(&next_init, "omp_init_lock", TARGET_ADDRESS(omp_init_lock));
    resolve(&next_init_nest, "omp_init_nest_lock", TARGET_ADDRESS(omp_init_nest_lock));
    resolve(&next_destroy, "omp_destroy_lock", TARGET_ADDRESS(omp_destroy_lock));
    resolve(&next_destroy_nest, "omp_destroy_nest_lock", TARGET_ADDRESS(omp_destroy_nest_lock));
    resolve(&next_init_hint, "omp_init_lock_with_hint", TARGET_ADDRESS(omp_init_lock_with_hint));
    resolve(&next_init_nest_hint, "omp_init_nest_lock_with_hint", TARGET_ADDRESS(omp_init_nest_lock_with_hint));
    resolve(&next_critical, "__kmpc_critical", TARGET_ADDRESS(__kmpc_critical));
    resolve(&next_critical_hint, "__kmpc_critical_with_hint", TARGET_ADDRESS(__kmpc_critical_with_hint));
    resolve(&next_reduce, "__kmpc_reduce", TARGET_ADDRESS(__kmpc_reduce));
    resolve(&next_reduce_nowait, "__kmpc_reduce_nowait", TARGET_ADDRESS(__kmpc_reduce_nowait));
    resolve(&test_lock, "omp_test_lock", NULL);
    resolve(&test_nest_lock, "omp_test_nest_lock", NULL);
    resolve(&unset_lock, "omp_unset_lock", NULL);
    resolve(&unset_nest_lock, "omp_unset_nest_lock", NULL);
}

static struct capture_log *table(void)
{
    const struct target_state *state = target_state;
    return state->active && state->log->mode != CAPTURE_MODE_TIMING ? state->log : NULL;
}

static uint16_t turn_now(const struct capture_log *log) { return (uint16_t)__atomic_load_n(&log->stops, __ATOMIC_RELAXED); }

static uint32_t slot_of(uintptr_t address)
{
    return (uint32_t)((uint64_t)address * 0x9e3779b97f4a7c15u >> 40) & (CAPTURE_LOCK_SLOTS - 1);
}

static void lock_note(void *lock, uint8_t kind, uintptr_t hint, bool other)
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
    if (found) {
        uint32_t block = (uint32_t)(found - log->locks) / CAPTURE_LOCK_BLOCK;
        log->lock_blocks[block / 64] |= UINT64_C(1) << block % 64;
        log->locks_live += found->state != CAPTURE_LOCK_LIVE;
    }
    if (found)
        *found = (struct capture_lock){.address = address, .state = CAPTURE_LOCK_LIVE, .kind = kind, .other = other, .hint = (uint32_t)hint,
                                       .turn = turn_now(log), .initial = initial};
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
            entry->turn = turn_now(log);
            break;
        }
    }
    pthread_mutex_unlock(&mutex);
}

/* ---- who holds them -------------------------------------------------------------------------------------------------------- */

/* Its memory may be another thing's by now, or gone. */
static bool lock_is_there(const struct capture_lock *lock, uint32_t *ret_word)
{
    struct iovec local = {ret_word, sizeof *ret_word}, remote = {(void *)(uintptr_t)lock->address, sizeof *ret_word};
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)sizeof *ret_word)
        return false;
    return lock->initial & 1 ? (*ret_word & 0xff) == (lock->initial & 0xff) : *ret_word == lock->initial;
}

/* A lock that lets itself be taken is free, or this thread's own nested one. True: another thread has it. */
static bool lock_try(struct capture_lock *lock, uint32_t thread)
{
    void *address = (void *)(uintptr_t)lock->address;
    if (!lock->kind) {
        lock->held = !test_lock(address);
        if (!lock->held)
            unset_lock(address);
        return false;
    }
    int count = test_nest_lock(address);
    if (count <= 0)
        return true;
    unset_nest_lock(address);
    lock->held = (uint32_t)count - 1;
    lock->owner = lock->held ? thread : 0;
    return false;
}

static void locks_visit(struct capture_log *log, bool (*visit)(struct capture_lock *lock, uint32_t thread), uint32_t thread, bool *ret_any)
{
    bool any = false;
    for (uint32_t block = 0; block < CAPTURE_LOCK_SLOTS / CAPTURE_LOCK_BLOCK; block++)
        for (uint32_t i = 0; log->lock_blocks[block / 64] >> block % 64 & 1 && i < CAPTURE_LOCK_BLOCK; i++) {
            struct capture_lock *lock = &log->locks[block * CAPTURE_LOCK_BLOCK + i];
            if (lock->state == CAPTURE_LOCK_LIVE)
                any |= visit(lock, thread);
        }
    *ret_any = any;
}

static bool alone_now;              /* under `mutex` */

static bool lock_probe(struct capture_lock *lock, uint32_t thread)
{
    uint32_t word = 0;
    bool there = lock_is_there(lock, &word), untouched = (lock->initial & 1) && word == lock->initial;
    lock->held = lock->owner = 0;
    if (!there || untouched || lock->other || ((alone_now || lock->kind) && !lock_try(lock, thread)))
        return false;
    lock->held = CAPTURE_LOCK_UNKNOWN;
    return alone_now;
}

static bool lock_claim(struct capture_lock *lock, uint32_t thread)
{
    return lock->held == CAPTURE_LOCK_UNKNOWN && lock_try(lock, thread);
}

static void locks_claim(uint32_t thread)
{
    bool any;
    pthread_mutex_lock(&mutex);
    if (thread)
        locks_visit(target_state->log, lock_claim, thread, &any);
    pthread_mutex_unlock(&mutex);
}

void target_locks_probe(struct target_state *state, bool alone, int32_t num_threads, int32_t proc_bind)
{
    bool others = false;
    if (!state->log->locks_live || !test_lock || !unset_lock || !test_nest_lock || !unset_nest_lock)
        return;
    pthread_mutex_lock(&mutex);
    alone_now = alone;
    locks_visit(state->log, lock_probe, 0, &others);
    pthread_mutex_unlock(&mutex);
    if (others)
        target_runtime_each(locks_claim, num_threads, proc_bind);
}

/* ---- of critical constructs ------------------------------------------------------------------------------------------------- */

static void critical_note(void *lock)
{
    struct capture_log *log = table();
    uint64_t address = (uintptr_t)lock;
    uint32_t slot = slot_of(address) % CAPTURE_CRITICALS;
    for (uint32_t probes = 0; log && probes < CAPTURE_CRITICALS; probes++, slot = (slot + 1) % CAPTURE_CRITICALS) {
        uint64_t there = 0;
        if (__atomic_load_n(&log->criticals[slot], __ATOMIC_RELAXED) == address ||
            __atomic_compare_exchange_n(&log->criticals[slot], &there, address, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) || there == address)
            return;
    }
}

/* For the assembly below. */
void critical_see(void *lock, const void *caller) __attribute__((visibility("hidden")));
void critical_see(void *lock, const void *caller)
{
    target_runtime_attach(caller);
    if (!next_critical)         /* another thread is about to find it */
        target_locks_resolve();
    if (lock && !__atomic_load_n((void **)lock, __ATOMIC_RELAXED))
        critical_note(lock);
}

/* One that the runtime filled has been noted, or was filled before anybody looked, when names must tell it: that costs two comparisons. These jump on: nothing of
 * ours lies on the stack of a thread that waits. */
#define CRITICAL(name, next)                                                                    \
    __asm__(".text\n.globl " name "\n.type " name ", @function\n.p2align 4\n" name ":\n"       \
            ".cfi_startproc\n"                                                                  \
            "    cmpq $0, (%rdx)\n"                                                             \
            "    je 1f\n"                                                                       \
            "    cmpq $0, " next "(%rip)\n"                                                     \
            "    je 1f\n"                                                                       \
            "2:  jmp *" next "(%rip)\n"                                                         \
            "1:  pushq %rdi\n    pushq %rsi\n    pushq %rdx\n    pushq %rcx\n    subq $8, %rsp\n" \
            "    .cfi_def_cfa_offset 48\n"                                                      \
            "    movq %rdx, %rdi\n"                                                             \
            "    movq 40(%rsp), %rsi\n"                                                         \
            "    call critical_see\n"                                                           \
            "    addq $8, %rsp\n    popq %rcx\n    popq %rdx\n    popq %rsi\n    popq %rdi\n"    \
            "    .cfi_def_cfa_offset 8\n"                                                       \
            "    jmp 2b\n"                                                                      \
            "    .cfi_endproc\n.size " name ", . - " name "\n")
CRITICAL("__kmpc_critical", "next_critical");
CRITICAL("__kmpc_critical_with_hint", "next_critical_hint");

int32_t __kmpc_reduce(void *ident, int32_t thread, int32_t count, size_t bytes, void *data, void (*combine)(void *, void *), void *lock)
{
    critical_see(lock, __builtin_return_address(0));
    return next_reduce(ident, thread, count, bytes, data, combine, lock);
}

int32_t __kmpc_reduce_nowait(void *ident, int32_t thread, int32_t count, size_t bytes, void *data, void (*combine)(void *, void *), void *lock)
{
    critical_see(lock, __builtin_return_address(0));
    return next_reduce_nowait(ident, thread, count, bytes, data, combine, lock);
}

/* ---- the calls --------------------------------------------------------------------------------------------------------------- */

/* Does the caller mean GCC's runtime? Then *call, a pointer to a function, leads there. Its locks are as large, and noted, since a replay makes them anew; but they are not tried. */
static bool other_is_meant(const char *name, const void *caller, void *call)
{
    void *other = target_beside_other(name, caller);
    if (other)
        memcpy(call, &other, sizeof other);
    return other;
}

#define INIT(name, next, kind)              \
    TARGET_EXPORT void name(void *lock)     \
    {                                       \
        target_runtime_attach(__builtin_return_address(0)); \
        if (next) {                         \
            lock_call *call = next;         \
            bool other = other_is_meant(#name, __builtin_return_address(0), &call); \
            call(lock);                     \
            lock_note(lock, kind, 0, other); \
        }                                   \
    }
#define INIT_HINT(name, next, kind)                         \
    TARGET_EXPORT void name(void *lock, uintptr_t hint)     \
    {                                                       \
        target_runtime_attach(__builtin_return_address(0)); \
        if (next) {                                         \
            lock_hint_call *call = next;                    \
            bool other = other_is_meant(#name, __builtin_return_address(0), &call); \
            call(lock, hint);                               \
            lock_note(lock, kind, hint, other);             \
        }                                                   \
    }
#define DESTROY(name, next)                 \
    TARGET_EXPORT void name(void *lock)     \
    {                                       \
        target_runtime_attach(__builtin_return_address(0)); \
        if (next) {                         \
            lock_call *call = next;         \
            other_is_meant(#name, __builtin_return_address(0), &call); \
            lock_forget(lock);              \
            call(lock);                     \
        }                                   \
    }

INIT(omp_init_lock, next_init, 0)
INIT(omp_init_nest_lock, next_init_nest, 1)
INIT_HINT(omp_init_lock_with_hint, next_init_hint, 0)
INIT_HINT(omp_init_nest_lock_with_hint, next_init_nest_hint, 1)
DESTROY(omp_destroy_lock, next_destroy)
DESTROY(omp_destroy_nest_lock, next_destroy_nest)
