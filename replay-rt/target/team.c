/* replay-rt/target/team.c - how to run on all threads of an OpenMP team.
 *
 * The OpenMP runtime is called as compilers call it, so that this file needs no OpenMP in the C compiler.
 */
#include "replay-rt/target/codelet.h"

#include <time.h>

#define FORKS_NS 500000u        /* regions that do nothing are timed until then */

struct source_location {              /* ident_t of the OpenMP runtime */
    int32_t reserved1, flags, reserved2, reserved3;
    const char *text;
};

typedef void microtask_fn(int32_t *global_thread, int32_t *bound_thread, ...);
void __kmpc_fork_call(struct source_location *location, int32_t argument_count, microtask_fn *microtask, ...);
void __kmpc_push_num_threads(struct source_location *location, int32_t global_thread, int32_t count);
void __kmpc_push_proc_bind(struct source_location *location, int32_t global_thread, int32_t kind);
int32_t __kmpc_global_thread_num(struct source_location *location);
int omp_get_thread_num(void);
int omp_get_num_threads(void);

typedef int32_t task_entry_fn(int32_t thread, void *task);
__attribute__((weak)) void *__kmpc_omp_target_task_alloc(struct source_location *location, int32_t thread, int32_t flags, size_t task_bytes, size_t shared_bytes, task_entry_fn *entry, int64_t device);
__attribute__((weak)) int32_t __kmpc_omp_task(struct source_location *location, int32_t thread, void *task);
__attribute__((weak)) int32_t __kmpc_omp_taskwait(struct source_location *location, int32_t thread);

static void team_microtask(int32_t *global_thread, int32_t *bound_thread, team_fn *run, void *context)
{
    (void)global_thread;
    (void)bound_thread;
    run(context, (uint32_t)omp_get_thread_num(), (uint32_t)omp_get_num_threads());
}

static struct source_location location = {.flags = 2, .text = ";pcere;replay;0;0;;"};

void pcere_team_size_next(uint32_t threads)
{
    __kmpc_push_num_threads(&location, __kmpc_global_thread_num(&location), (int32_t)threads);
}

void pcere_team_run_of(uint32_t threads, team_fn *run, void *context)
{
    pcere_team_size_next(threads);
    pcere_team_run(run, context);
}

static int32_t team_proc_bind = -1;

void pcere_team_bind(int32_t proc_bind)
{
    team_proc_bind = proc_bind;
}

void pcere_team_bind_next(void)
{
    if (team_proc_bind >= 0)
        __kmpc_push_proc_bind(&location, __kmpc_global_thread_num(&location), team_proc_bind);
}

void pcere_team_run(team_fn *run, void *context)
{
    pcere_team_bind_next();
    __kmpc_fork_call(&location, 2, (microtask_fn *)(void (*)(void))team_microtask, run, context);
}

static void thread_nothing(void *context, uint32_t thread, uint32_t threads)
{
    (void)context;
    (void)thread;
    (void)threads;
}

void pcere_team_wake(void)
{
    pcere_team_run(thread_nothing, NULL);
}

static int32_t task_nothing(int32_t thread, void *task)
{
    (void)thread;
    (void)task;
    return 0;
}

void pcere_team_help(void)
{
    enum { TASK_TIED = 1, TASK_BYTES = 40, DEVICE_DEFAULT = -1 };
    int32_t thread = __kmpc_global_thread_num(&location);
    bool able = __kmpc_omp_target_task_alloc && __kmpc_omp_task && __kmpc_omp_taskwait;
    void *task = able ? __kmpc_omp_target_task_alloc(&location, thread, TASK_TIED, TASK_BYTES, 0, task_nothing, DEVICE_DEFAULT) : NULL;
    if (!task)
        return;
    __kmpc_omp_task(&location, thread, task);
    __kmpc_omp_taskwait(&location, thread);
}

uint64_t pcere_team_fork_ns(void)
{
    enum { FORKS_MOST = 15 };
    uint64_t times_ns[FORKS_MOST], begin_ns = pcere_clock_ns(CLOCK_MONOTONIC);
    size_t count = 0;
    do {
        uint64_t start_ns = pcere_clock_ns(CLOCK_MONOTONIC);
        pcere_team_wake();
        uint64_t time_ns = pcere_clock_ns(CLOCK_MONOTONIC) - start_ns;
        size_t at = count++;
        for (; at > 0 && times_ns[at - 1] > time_ns; at--)
            times_ns[at] = times_ns[at - 1];
        times_ns[at] = time_ns;
    } while (count < FORKS_MOST && pcere_clock_ns(CLOCK_MONOTONIC) - begin_ns < FORKS_NS);
    return times_ns[count / 2];
}

uint32_t pcere_team_runtime_number(void)
{
    return (uint32_t)__kmpc_global_thread_num(NULL);
}
