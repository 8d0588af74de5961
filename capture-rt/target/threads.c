/* capture-rt/target/threads.c - which threads the OpenMP runtime made: their stacks are its own, whatever team they belong to. And who made others:
 * a library that has threads cannot be captured without them.
 *
 * A region with a num_threads clause, or an earlier larger team, leaves threads that no later team counts. Who calls pthread_create is
 * told by the return address; the handle that glibc gives is the new thread's thread pointer.
 */
#include "capture-rt/target/target.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

typedef int create_call(pthread_t *ret_thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);

static create_call *next_create;
static uintptr_t cpp_starter;       /* std::thread's function that calls pthread_create; 0: there is none, or it is not known yet */
static uint64_t makers[CAPTURE_MAKERS_MAX];      /* from the start: libraries may make threads before this one attaches */
static uint32_t maker_count;

static void thread_note(uint64_t thread_pointer)
{
    const struct target_state *state = target_state;
    if (!state->active)
        return;
    uint64_t index = __atomic_fetch_add(&state->log->runtime_thread_count, 1, __ATOMIC_RELAXED);
    if (index < CAPTURE_THREADS_MAX)
        state->log->runtime_threads[index] = thread_pointer;
}

static void maker_note(uint64_t address)
{
    uint32_t count = __atomic_load_n(&maker_count, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < count && i < CAPTURE_MAKERS_MAX; i++)
        if (__atomic_load_n(&makers[i], __ATOMIC_RELAXED) == address)
            return;
    count = __atomic_fetch_add(&maker_count, 1, __ATOMIC_RELAXED);
    if (count < CAPTURE_MAKERS_MAX)
        __atomic_store_n(&makers[count], address, __ATOMIC_RELAXED);
}

void target_threads_fill(struct capture_stop *stop)
{
    stop->maker_count = __atomic_load_n(&maker_count, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < stop->maker_count && i < CAPTURE_MAKERS_MAX; i++)
        stop->makers[i] = __atomic_load_n(&makers[i], __ATOMIC_RELAXED);
}

void target_threads_resolve(void)
{
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&next_create, &symbol, sizeof symbol);
    symbol = dlsym(RTLD_DEFAULT, "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE");
    cpp_starter = (uintptr_t)symbol;
}

#define CPP_STARTER_BYTES 1024u

/* Of threads that std::thread starts, the C++ library is the maker, whoever wanted them: that is told by what they are given, an object of a class of its own. */
static void cpp_maker_note(const void *maker, const void *argument)
{
    uint64_t class = 0;
    if (cpp_starter && argument && (uintptr_t)maker - cpp_starter < CPP_STARTER_BYTES)
        memcpy(&class, argument, sizeof class);
    if (class)
        maker_note(class);
}

TARGET_EXPORT int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    const void *maker = __builtin_return_address(0);
    bool from_runtime = target_allocator_runtime(maker);
    if (!next_create)
        target_threads_resolve();
    if (!next_create)
        return EAGAIN;
    int result = next_create(ret_thread, attributes, start, argument);
    if (result == 0 && from_runtime)
        thread_note((uint64_t)*ret_thread);
    if (result == 0 && !from_runtime) {
        maker_note((uint64_t)(uintptr_t)maker);
        maker_note((uint64_t)(uintptr_t)start);
        cpp_maker_note(maker, argument);
    }
    return result;
}
