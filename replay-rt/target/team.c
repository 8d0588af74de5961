/* replay-rt/target/team.c - how to run on all threads of an OpenMP team.
 *
 * The OpenMP runtime is called as compilers call it, so that this file needs no OpenMP in the C compiler.
 */
#include "replay-rt/target/codelet.h"

struct source_location {              /* ident_t of the OpenMP runtime */
    int32_t reserved1, flags, reserved2, reserved3;
    const char *text;
};

typedef void microtask_fn(int32_t *global_thread, int32_t *bound_thread, ...);
void __kmpc_fork_call(struct source_location *location, int32_t argument_count, microtask_fn *microtask, ...);
void __kmpc_push_num_threads(struct source_location *location, int32_t global_thread, int32_t count);
int32_t __kmpc_global_thread_num(struct source_location *location);
int omp_get_thread_num(void);
int omp_get_num_threads(void);

static void team_microtask(int32_t *global_thread, int32_t *bound_thread, team_fn *run, void *context)
{
    (void)global_thread;
    (void)bound_thread;
    run(context, (uint32_t)omp_get_thread_num(), (uint32_t)omp_get_num_threads());
}

static struct source_location location = {.flags = 2, .text = ";pcere;replay;0;0;;"};

void pcere_team_run_of(uint32_t threads, team_fn *run, void *context)
{
    __kmpc_push_num_threads(&location, __kmpc_global_thread_num(&location), (int32_t)threads);
    pcere_team_run(run, context);
}

void pcere_team_run(team_fn *run, void *context)
{
    __kmpc_fork_call(&location, 2, (microtask_fn *)(void (*)(void))team_microtask, run, context);
}

uint32_t pcere_team_runtime_number(void)
{
    return (uint32_t)__kmpc_global_thread_num(NULL);
}
