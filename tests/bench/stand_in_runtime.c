/* tests/bench/stand_in_runtime.c - stands where libomp stands, and does nothing but tell a tool what libomp would tell: what is left of a call's time is the recorder's. Run by
 * scripts/bench-profiles as libomp.so.5 of tests/bench/record_cost.c.
 *
 * One thread, in a team of one. Its functions begin with __kmpc_ as libomp's do, so that the recorder finds itself before them; stand_in_tool(false) silences them.
 */
#include "tests/bench/stand_in_runtime.h"

#include <dlfcn.h>
#include <omp-tools.h>
#include <stddef.h>
#include <string.h>

typedef struct stand_in_ident ident;
typedef ompt_callback_mutex_t ompt_callback_mutex_acquired_t;

static struct tool { ompt_callback_t of[64]; } told, none;
static struct tool *tool = &none;
static ompt_start_tool_result_t *started;
static ompt_data_t team_now, task_now;
static ompt_frame_t frame;
static int32_t next_chunk;

#define TELL(event, ...)                                                                                                       \
    do {                                                                                                                       \
        if (tool->of[ompt_callback_##event])                                                                                   \
            ((ompt_callback_##event##_t)tool->of[ompt_callback_##event])(__VA_ARGS__);                                          \
    } while (0)

static int callback_set(ompt_callbacks_t event, ompt_callback_t callback)
{
    told.of[event] = callback;
    return ompt_set_always;
}

static ompt_interface_fn_t look_up(const char *name)
{
    return strcmp(name, "ompt_set_callback") == 0 ? (ompt_interface_fn_t)callback_set : NULL;
}

void stand_in_tool(bool on)
{
    tool = on ? &told : &none;
}

void stand_in_start(void)
{
    ompt_start_tool_result_t *(*start)(unsigned, const char *);
    void *symbol = dlsym(RTLD_DEFAULT, "ompt_start_tool");
    memcpy(&start, &symbol, sizeof start);
    started = start ? start(201611, "a stand-in") : NULL;
    stand_in_tool(started && started->initialize(look_up, 0, &started->tool_data));
    TELL(thread_begin, ompt_thread_initial, &team_now);
    TELL(implicit_task, ompt_scope_begin, &team_now, &task_now, 1, 1, ompt_task_initial);
}

void stand_in_end(void)
{
    TELL(implicit_task, ompt_scope_end, &team_now, &task_now, 1, 1, ompt_task_initial);
    if (started)
        started->finalize(&started->tool_data);
}

void __kmpc_fork_call(ident *where, int32_t count, void (*body)(int32_t *, int32_t *), ...)
{
    (void)where, (void)count;
    ompt_data_t team = {0}, task = {0}, team_outer = team_now, task_outer = task_now;
    int32_t number = 0;
    TELL(parallel_begin, &task_outer, &frame, &team, 1, ompt_parallel_invoker_runtime | ompt_parallel_team, NULL);
    TELL(implicit_task, ompt_scope_begin, &team, &task, 1, 0, ompt_task_implicit);
    team_now = team;
    task_now = task;
    body(&number, &number);
    TELL(sync_region, ompt_sync_region_barrier_implicit_parallel, ompt_scope_begin, &team, &task, NULL);
    TELL(sync_region, ompt_sync_region_barrier_implicit_parallel, ompt_scope_end, &team, &task, NULL);
    TELL(implicit_task, ompt_scope_end, NULL, &task, 1, 0, ompt_task_implicit);
    team_now = team_outer;
    task_now = task_outer;
    TELL(parallel_end, &team, &task_outer, ompt_parallel_invoker_runtime | ompt_parallel_team, NULL);
}

void __kmpc_dispatch_init_4(ident *where, int32_t thread, int32_t schedule, int32_t lower, int32_t upper, int32_t step, int32_t chunk)
{
    (void)where, (void)thread, (void)schedule, (void)upper, (void)step, (void)chunk;
    next_chunk = lower;
    TELL(work, ompt_work_loop_dynamic, ompt_scope_begin, &team_now, &task_now, 1, NULL);
}

void stand_in_last_chunk(void)
{
    next_chunk = -1;
}

int __kmpc_dispatch_next_4(ident *where, int32_t thread, int32_t *last, int32_t *lower, int32_t *upper, int32_t *step)
{
    (void)where, (void)thread;
    if (next_chunk < 0) {
        TELL(work, ompt_work_loop_dynamic, ompt_scope_end, &team_now, &task_now, 0, NULL);
        return 0;
    }
    *last = 0;
    *lower = *upper = next_chunk++;
    *step = 1;
    ompt_dispatch_chunk_t chunk = {(uint64_t)*lower, 1};
    ompt_data_t instance = {.ptr = &chunk};
    TELL(dispatch, &team_now, &task_now, ompt_dispatch_ws_loop_chunk, instance);
    return 1;
}

void __kmpc_for_static_init_4(ident *where, int32_t thread, int32_t schedule, int32_t *last, int32_t *lower, int32_t *upper, int32_t *stride, int32_t step, int32_t chunk)
{
    (void)where, (void)thread, (void)schedule, (void)lower, (void)upper, (void)stride, (void)step, (void)chunk;
    *last = 1;
    TELL(work, ompt_work_loop_static, ompt_scope_begin, &team_now, &task_now, 100, NULL);
}

void __kmpc_for_static_fini(ident *where, int32_t thread)
{
    (void)where, (void)thread;
    TELL(work, ompt_work_loop_static, ompt_scope_end, &team_now, &task_now, 0, NULL);
}

int32_t __kmpc_single(ident *where, int32_t thread)
{
    (void)where, (void)thread;
    TELL(work, ompt_work_single_executor, ompt_scope_begin, &team_now, &task_now, 1, NULL);
    return 1;
}

void __kmpc_end_single(ident *where, int32_t thread)
{
    (void)where, (void)thread;
    TELL(work, ompt_work_single_executor, ompt_scope_end, &team_now, &task_now, 1, NULL);
}

static void task_run(ompt_data_t *task)
{
    TELL(task_schedule, &task_now, ompt_task_switch, task);
    TELL(task_schedule, task, ompt_task_complete, &task_now);
}

int32_t __kmpc_omp_task(ident *where, int32_t thread, void *unused)
{
    (void)where, (void)thread, (void)unused;
    ompt_data_t task = {0};
    TELL(task_create, &task_now, &frame, &task, ompt_task_explicit, 0, NULL);
    task_run(&task);
    return 0;
}

/* As libomp's: the tool is asked whether it wants the list after it heard of the task. */
static void depending_task(int32_t count, const struct stand_in_depend *depends)
{
    ompt_data_t task = {0};
    TELL(task_create, &task_now, &frame, &task, ompt_task_explicit, 1, NULL);
    if (tool->of[ompt_callback_dependences]) {
        ompt_dependence_t list[8];
        for (int32_t i = 0; i < count && i < 8; i++)
            list[i] = (ompt_dependence_t){{.value = (uint64_t)depends[i].address}, ompt_dependence_type_inout};
        TELL(dependences, &task, list, count);
    }
    task_run(&task);
}

int32_t __kmpc_omp_task_with_deps(ident *where, int32_t thread, void *unused, int32_t count, struct stand_in_depend *depends, int32_t plain_count, void *plain)
{
    (void)where, (void)thread, (void)unused, (void)plain_count, (void)plain;
    depending_task(count, depends);
    return 0;
}

void stand_in_unseen_task(int32_t count, struct stand_in_depend *depends)
{
    depending_task(count, depends);
}

void stand_in_wait(void)
{
    TELL(sync_region, ompt_sync_region_taskwait, ompt_scope_begin, &team_now, &task_now, NULL);
    TELL(sync_region, ompt_sync_region_taskwait, ompt_scope_end, &team_now, &task_now, NULL);
}

void stand_in_lock(void)
{
    TELL(mutex_acquire, ompt_mutex_lock, 0, 0, 1, NULL);
    TELL(mutex_acquired, ompt_mutex_lock, 1, NULL);
}
