/* capture-rt/target/runtime.c - what the library asks of the OpenMP runtime, if one is there to be asked.
 *
 * Its functions are looked up. Starting the runtime reads files and allocates, which must not happen inside the program's first region: an empty
 * region starts it before. Such a region takes clauses that were pushed for the program's own with it, so they are pushed again.
 */
#include "capture-rt/target/target.h"

#include <string.h>

struct runtime_ident { int32_t reserved_1, flags, reserved_2, reserved_3; const char *source; };
typedef int32_t task_entry(int32_t thread, void *task);

#define RUNTIME_CALLS(X)                                                                                            \
    X(int32_t, __kmpc_global_thread_num, (struct runtime_ident *ident))                                             \
    X(void, __kmpc_push_num_threads, (struct runtime_ident *ident, int32_t thread, int32_t number))                 \
    X(void, __kmpc_push_proc_bind, (struct runtime_ident *ident, int32_t thread, int32_t kind))                     \
    X(void *, __kmpc_omp_target_task_alloc, (struct runtime_ident *ident, int32_t thread, int32_t flags, size_t task_bytes, size_t shared_bytes, task_entry *entry, int64_t device)) \
    X(int32_t, __kmpc_omp_task, (struct runtime_ident *ident, int32_t thread, void *task))                          \
    X(int32_t, __kmpc_omp_taskwait, (struct runtime_ident *ident, int32_t thread))                                  \
    X(int, omp_get_max_threads, (void))                                                                             \
    X(int, omp_get_thread_limit, (void))                                                                            \
    X(int, omp_get_level, (void))                                                                                   \
    X(int, omp_get_ancestor_thread_num, (int level))                                                                \
    X(int, omp_get_team_size, (int level))                                                                          \
    X(void, omp_get_schedule, (int *ret_kind, int *ret_chunk))                                                      \
    X(int, omp_get_max_active_levels, (void))                                                                       \
    X(int, omp_get_dynamic, (void))                                                                                 \
    X(int, omp_get_num_teams, (void))                                                                               \
    X(int, omp_get_team_num, (void))

static struct {
#define RUNTIME_POINTER(result, name, parameters) result(*name) parameters;
    RUNTIME_CALLS(RUNTIME_POINTER)
} runtime;

void target_runtime_resolve(void)
{
    void *symbol;
#define RUNTIME_RESOLVE(result, name, parameters)   \
    symbol = target_runtime_symbol(#name, NULL);    \
    memcpy(&runtime.name, &symbol, sizeof symbol);
    RUNTIME_CALLS(RUNTIME_RESOLVE)
}

static struct runtime_ident ident = {0, 2 /* entered through __kmpc calls */, 0, 22, ";unknown;unknown;0;0;;"};

static void nothing(int32_t *global_number, int32_t *number, ...)
{
    (void)global_number, (void)number;
}

static void thread_note(int32_t *global_number, int32_t *number, ...)
{
    struct target_state *state = target_state;
    if (*number < 0 || (uint32_t)*number >= CAPTURE_THREADS_MAX)
        return;
    struct capture_thread *thread = &state->log->stop.threads[*number];
    thread->thread_pointer = target_thread_pointer();
    thread->present = 1;
    target_modules_touch();
    target_copies_note(*global_number, (uint32_t)*number);
    if (*number)
        target_keys_note(&state->log->stop, (uint32_t)*number);
}

static void region_run(target_microtask *microtask, int32_t num_threads, int32_t proc_bind)
{
    target_fork_next()(&ident, 0, microtask);
    if (num_threads > 0 && runtime.__kmpc_push_num_threads && runtime.__kmpc_global_thread_num)
        runtime.__kmpc_push_num_threads(&ident, runtime.__kmpc_global_thread_num(&ident), num_threads);
    if (proc_bind >= 0 && runtime.__kmpc_push_proc_bind && runtime.__kmpc_global_thread_num)
        runtime.__kmpc_push_proc_bind(&ident, runtime.__kmpc_global_thread_num(&ident), proc_bind);
}

#define TASK_TIED 1
#define TASK_BYTES 40u           /* kmp_task_t: two pointers, a number, two more */
#define DEVICE_DEFAULT (-1)

static int32_t task_nothing(int32_t thread, void *task)
{
    (void)thread, (void)task;
    return 0;
}

/* The first target task makes the runtime's team of hidden helpers, which takes tens of milliseconds: one that does nothing. */
static void helpers_start(const struct target_state *state)
{
    bool able = runtime.__kmpc_global_thread_num && runtime.__kmpc_omp_target_task_alloc && runtime.__kmpc_omp_task && runtime.__kmpc_omp_taskwait;
    if (!state->log->helpers || !able)
        return;
    int32_t thread = runtime.__kmpc_global_thread_num(&ident);
    void *task = runtime.__kmpc_omp_target_task_alloc(&ident, thread, TASK_TIED, TASK_BYTES, 0, task_nothing, DEVICE_DEFAULT);
    if (!task)
        return;
    runtime.__kmpc_omp_task(&ident, thread, task);
    runtime.__kmpc_omp_taskwait(&ident, thread);
}

/* All but the teams in any case: that is no part of the first region's time, in whatever run. */
void target_runtime_start(const struct target_state *state, int32_t num_threads, int32_t proc_bind)
{
    if (state->log->real) {
        target_runtime_max_threads();
        return;
    }
    if (target_fork_next())
        region_run(nothing, num_threads, proc_bind);
    helpers_start(state);
}

void target_runtime_threads(struct target_state *state, int32_t num_threads, int32_t proc_bind)
{
    struct capture_thread *threads = state->log->stop.threads;
    memset(threads, 0, sizeof state->log->stop.threads);
    target_modules_find();
    target_copies_forget();
    target_keys_begin(&state->log->stop);
    if (target_fork_next() && (num_threads > 1 || (num_threads <= 0 && target_runtime_max_threads() > 1)))
        region_run(thread_note, num_threads, proc_bind);
    threads[0].thread_pointer = target_thread_pointer();
    threads[0].present = 1;
    target_modules_touch();
    target_keys_note(&state->log->stop, 0);
    if (runtime.__kmpc_global_thread_num)
        target_copies_note(runtime.__kmpc_global_thread_num(&ident), 0);
}

static void (*visit_each)(uint32_t thread);

static void thread_visit(int32_t *global_number, int32_t *number, ...)
{
    (void)global_number;
    if (*number >= 0)
        visit_each((uint32_t)*number);
}

void target_runtime_each(void (*visit)(uint32_t thread), int32_t num_threads, int32_t proc_bind)
{
    visit_each = visit;
    if (target_fork_next())
        region_run(thread_visit, num_threads, proc_bind);
}

int target_runtime_asked(void)
{
    return runtime.omp_get_max_threads ? runtime.omp_get_max_threads() : 0;
}

static int runtime_thread_limit(void)
{
    return runtime.omp_get_thread_limit ? runtime.omp_get_thread_limit() : 0;
}

int target_runtime_max_threads(void)
{
    int threads = target_runtime_asked(), limit = runtime_thread_limit();
    return limit > 0 && limit < threads ? limit : threads;
}

void target_runtime_settings(struct capture_stop *stop)
{
    int kind = 0, chunk = 0;
    if (runtime.omp_get_schedule)
        runtime.omp_get_schedule(&kind, &chunk);
    stop->schedule_kind = kind;
    stop->schedule_chunk = chunk;
    stop->max_active_levels = runtime.omp_get_max_active_levels ? runtime.omp_get_max_active_levels() : 0;
    stop->dynamic = runtime.omp_get_dynamic ? runtime.omp_get_dynamic() : -1;
    stop->global_thread = runtime.__kmpc_global_thread_num ? (uint32_t)runtime.__kmpc_global_thread_num(&ident) : 0;
    stop->thread_limit = runtime_thread_limit();
    stop->teams = target_runtime_teams();
    int team = runtime.omp_get_team_num ? runtime.omp_get_team_num() : 0;
    stop->team = team > 0 && (uint32_t)team < stop->teams ? (uint32_t)team : 0;
    int levels = target_runtime_level();
    stop->level_count = levels > 0 ? (uint32_t)levels : 0;
    for (int level = 1; level <= levels && level <= (int)CAPTURE_LEVELS_MAX; level++)
        stop->levels[level - 1] = (struct capture_level){(uint32_t)target_runtime_team(level), (uint32_t)target_runtime_number(level)};
}

uint32_t target_runtime_teams(void)
{
    int teams = runtime.omp_get_num_teams ? runtime.omp_get_num_teams() : 1;
    return teams > 1 ? (uint32_t)teams : 1;
}

int target_runtime_level(void)
{
    return runtime.omp_get_level ? runtime.omp_get_level() : 0;
}

int target_runtime_number(int level)
{
    return runtime.omp_get_ancestor_thread_num ? runtime.omp_get_ancestor_thread_num(level) : -1;
}

int target_runtime_team(int level)
{
    return runtime.omp_get_team_size ? runtime.omp_get_team_size(level) : -1;
}

const void *target_runtime_address(void)
{
    return TARGET_ADDRESS(target_fork_next());
}
