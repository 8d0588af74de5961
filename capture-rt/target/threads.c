/* capture-rt/target/threads.c - which threads the OpenMP runtime made: their stacks are its own, whatever team they belong to.
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

static void thread_note(uint64_t thread_pointer)
{
    const struct target_state *state = target_state;
    if (!state->active)
        return;
    uint64_t index = __atomic_fetch_add(&state->log->runtime_thread_count, 1, __ATOMIC_RELAXED);
    if (index < CAPTURE_THREADS_MAX)
        state->log->runtime_threads[index] = thread_pointer;
}

void target_threads_resolve(void)
{
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&next_create, &symbol, sizeof symbol);
}

TARGET_EXPORT int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    bool from_runtime = target_allocator_runtime(__builtin_return_address(0));
    if (!next_create)
        target_threads_resolve();
    if (!next_create)
        return EAGAIN;
    int result = next_create(ret_thread, attributes, start, argument);
    if (result == 0 && from_runtime)
        thread_note((uint64_t)*ret_thread);
    return result;
}
