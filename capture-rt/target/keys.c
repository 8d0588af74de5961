/* capture-rt/target/keys.c - values that threads keep by pthread_setspecific and tss_set.
 *
 * No C library lists its keys: they are noted as they are made, by whatever name. What a thread keeps it alone can ask for. Keys of the OpenMP runtime are
 * noted as well, since a replay's runtime is to have one of the same number.
 */
#include "capture-rt/target/target.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/uio.h>
#include <threads.h>
#include <unistd.h>

typedef int create_call(pthread_key_t *ret_key, void (*end)(void *));
typedef int delete_call(pthread_key_t key);

/* Also of keys that are made before the library wakes up. */
static struct key { const void *maker, *place; uint64_t end; uint32_t live; } keys[CAPTURE_KEYS_MAX];
static create_call *next_create;
static delete_call *next_delete;

static void resolve(void)
{
    void *create = dlsym(RTLD_NEXT, "pthread_key_create"), *delete = dlsym(RTLD_NEXT, "pthread_key_delete");
    memcpy(&next_create, &create, sizeof create);
    memcpy(&next_delete, &delete, sizeof delete);
}

static int key_make(pthread_key_t *ret_key, void (*end)(void *), const void *maker, const void *place)
{
    if (!next_create)
        resolve();
    int result = next_create ? next_create(ret_key, end) : EAGAIN;
    if (result == 0 && *ret_key < CAPTURE_KEYS_MAX) {
        keys[*ret_key].maker = maker;
        keys[*ret_key].place = place;
        keys[*ret_key].end = (uintptr_t)end;
        __atomic_store_n(&keys[*ret_key].live, 1, __ATOMIC_RELEASE);
    }
    return result;
}

static int key_delete(pthread_key_t key)
{
    if (!next_delete)
        resolve();
    if (key < CAPTURE_KEYS_MAX)
        __atomic_store_n(&keys[key].live, 0, __ATOMIC_RELEASE);
    return next_delete ? next_delete(key) : EINVAL;
}

TARGET_EXPORT int pthread_key_create(pthread_key_t *ret_key, void (*end)(void *))
{
    return key_make(ret_key, end, __builtin_return_address(0), ret_key);
}

/* What the C++ library calls it. */
int __pthread_key_create(pthread_key_t *ret_key, void (*end)(void *));
TARGET_EXPORT int __pthread_key_create(pthread_key_t *ret_key, void (*end)(void *))
{
    return key_make(ret_key, end, __builtin_return_address(0), ret_key);
}

TARGET_EXPORT int tss_create(tss_t *ret_key, tss_dtor_t end)
{
    pthread_key_t key;
    int result = key_make(&key, end, __builtin_return_address(0), ret_key);
    if (result == 0)
        *ret_key = key;
    return result == 0 ? thrd_success : thrd_error;
}

TARGET_EXPORT int pthread_key_delete(pthread_key_t key)
{
    return key_delete(key);
}

TARGET_EXPORT void tss_delete(tss_t key)
{
    key_delete(key);
}

/* ---- at a stop ----------------------------------------------------------------------------------------------------------------- */

static void row_add(struct capture_stop *stop, uint32_t key, uint32_t thread, uint64_t value)
{
    uint32_t at = __atomic_fetch_add(&stop->key_count, 1, __ATOMIC_RELAXED);
    if (at < CAPTURE_KEY_ROWS)
        stop->keys[at] = (struct capture_key){.key = key, .thread = thread, .value = value};
}

static bool is_live(uint32_t key)
{
    return __atomic_load_n(&keys[key].live, __ATOMIC_ACQUIRE);
}

/* Who made it by a last call is not seen: what called that is the C library then (pthread_once). */
static bool is_of_libc(const void *maker)
{
    Dl_info its, libc;
    return dladdr(maker, &its) && dladdr(TARGET_ADDRESS(strtok), &libc) && its.dli_fbase == libc.dli_fbase;
}

/* An object that a library made for the program, or another of its variables: its memory may be another thing's by now, or gone. */
static bool is_held(uint32_t key)
{
    pthread_key_t there;
    struct iovec local = {&there, sizeof there}, remote = {(void *)(uintptr_t)keys[key].place, sizeof there};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)sizeof there && there == key;
}

void target_keys_begin(struct capture_stop *stop)
{
    stop->key_count = 0;
    for (uint32_t key = 0; key < CAPTURE_KEYS_MAX; key++)
        if (is_live(key)) {
            row_add(stop, key, target_allocator_runtime(keys[key].maker) ? CAPTURE_KEY_RUNTIME : CAPTURE_KEY_MADE, keys[key].end);
            row_add(stop, key, CAPTURE_KEY_MAKER, (uintptr_t)keys[key].maker);
            if (is_of_libc(keys[key].maker))
                row_add(stop, key, CAPTURE_KEY_PLACE, (uintptr_t)keys[key].place);
            if (is_held(key))
                row_add(stop, key, CAPTURE_KEY_HOLDER, (uintptr_t)keys[key].place);
        }
}

void target_keys_note(struct capture_stop *stop, uint32_t thread)
{
    for (uint32_t key = 0; key < CAPTURE_KEYS_MAX; key++) {
        const void *value = is_live(key) && !target_allocator_runtime(keys[key].maker) ? pthread_getspecific(key) : NULL;
        if (value)
            row_add(stop, key, thread, (uintptr_t)value);
    }
}
