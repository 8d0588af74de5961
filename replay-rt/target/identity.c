/* replay-rt/target/identity.c - who a thread is: pthread_self() tells the region what it told the captured thread of the same number, since programs keep that (a lock's owner, "the main
 * thread") and compare it.
 *
 * What this process knows threads by stays what it is: the C library's functions that take a thread get this process's in its place, and the OpenMP runtime is told nothing else.
 * Weak, since a program may have functions of these names.
 */
#include "replay-rt/target/codelet.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <threads.h>
#include <time.h>

enum { THREADS_MOST = 256 };

static struct { uint64_t captured, own, stack_low; } threads[THREADS_MOST];        /* by their numbers in the team */
static __thread uint64_t captured_self;

static uint64_t stack_low(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes;
    if (pthread_getattr_np((pthread_t)__builtin_thread_pointer(), &attributes) != 0)
        return (uint64_t)__builtin_thread_pointer();
    if (pthread_attr_getstack(&attributes, &low, &bytes) != 0)
        low = __builtin_thread_pointer();
    pthread_attr_destroy(&attributes);
    return (uint64_t)low;
}

void pcere_identity_take(const struct codelet *codelet, uint32_t number)
{
    const struct plan_thread *known = PLAN_TABLE(codelet, threads, struct plan_thread);
    captured_self = 0;
    if (number < THREADS_MOST) {
        threads[number].own = (uint64_t)__builtin_thread_pointer();
        threads[number].stack_low = number && codelet->plan->policy.task == PLAN_VERIFY ? stack_low() : threads[number].own;
    }
    for (uint64_t i = 0; number < THREADS_MOST && i < codelet->plan->threads.count; i++)
        if (known[i].image == PLAN_THREAD_SELF && known[i].number == number)
            captured_self = threads[number].captured = known[i].tls_address;
}

/* In the captured thread's stack, and not among its thread-local variables, which lie above. */
static bool is_in_captured_stack(const struct codelet *codelet, uint32_t number, uint64_t address)
{
    const struct plan_thread *known = PLAN_TABLE(codelet, threads, struct plan_thread);
    const struct plan_mapping *mapping = pcere_mapping_at(address);
    if (!mapping || address >= threads[number].captured || threads[number].captured >= mapping->end)
        return false;
    for (uint64_t i = 0; i < codelet->plan->threads.count; i++)
        if (known[i].number == number && known[i].tls_bytes && address >= known[i].tls_address)
            return false;
    return true;
}

bool pcere_identity_holds(const struct codelet *codelet, uint64_t thread)
{
    const struct plan_thread *known = PLAN_TABLE(codelet, threads, struct plan_thread);
    for (uint64_t i = 0; i < codelet->plan->threads.count; i++)
        if (known[i].image == PLAN_THREAD_SELF && known[i].tls_address == thread)
            return true;
    return false;
}

bool pcere_stack_of_team(uint64_t address)
{
    for (uint32_t i = 1; i < THREADS_MOST && threads[i].own; i++)
        if (address >= threads[i].stack_low && address < threads[i].own)
            return true;
    return false;
}

bool pcere_stack_of_captured_team(const struct codelet *codelet, uint64_t address)
{
    for (uint32_t i = 1; i < THREADS_MOST && threads[i].own; i++)
        if (threads[i].captured && is_in_captured_stack(codelet, i, address))
            return true;
    return false;
}

static uint64_t self_tell(const void *caller)
{
    bool asks = captured_self && pcere_heap_in_region() && !pcere_runtime_holds(caller);
    return asks ? captured_self : (uint64_t)__builtin_thread_pointer();
}

static uint64_t own_of(uint64_t thread)
{
    for (size_t i = 0; i < THREADS_MOST && threads[i].own; i++)
        if (threads[i].captured && threads[i].captured == thread)
            return threads[i].own;
    return thread;
}

#define WEAK __attribute__((weak, visibility("default")))

WEAK pthread_t pthread_self(void) { return self_tell(__builtin_return_address(0)); }
WEAK thrd_t thrd_current(void) { return self_tell(__builtin_return_address(0)); }

/* Constructors of libraries call such functions before this executable's run. */
#define FORWARD(name, parameters, arguments)                            \
    static int (*next_##name) parameters;                               \
    WEAK int name parameters                                            \
    {                                                                   \
        void *symbol = next_##name ? NULL : dlsym(RTLD_NEXT, #name);    \
        if (symbol)                                                     \
            memcpy(&next_##name, &symbol, sizeof symbol);               \
        thread = own_of(thread);                                        \
        return next_##name arguments;                                   \
    }
FORWARD(pthread_kill, (pthread_t thread, int number), (thread, number))
FORWARD(pthread_getaffinity_np, (pthread_t thread, size_t bytes, cpu_set_t *set), (thread, bytes, set))
FORWARD(pthread_setaffinity_np, (pthread_t thread, size_t bytes, const cpu_set_t *set), (thread, bytes, set))
FORWARD(pthread_getattr_np, (pthread_t thread, pthread_attr_t *attributes), (thread, attributes))
FORWARD(pthread_getname_np, (pthread_t thread, char *name, size_t bytes), (thread, name, bytes))
FORWARD(pthread_setname_np, (pthread_t thread, const char *name), (thread, name))
FORWARD(pthread_getschedparam, (pthread_t thread, int *policy, struct sched_param *parameters), (thread, policy, parameters))
FORWARD(pthread_setschedparam, (pthread_t thread, int policy, const struct sched_param *parameters), (thread, policy, parameters))
FORWARD(pthread_getcpuclockid, (pthread_t thread, clockid_t *clock), (thread, clock))
