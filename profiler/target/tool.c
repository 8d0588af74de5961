/* profiler/target/tool.c - the OpenMP tool: teams, implicit tasks, explicit tasks, and waits, as the runtime tells of them.
 *
 * It also hears of loops and chunks; where those come from a call that entries.c saw, its record is better, and nothing is done here.
 */
#include "profiler/target/recorder.h"
#include "profiler/target/tool_interface.h"

#include <string.h>

static void thread_begin(ompt_thread_t type, ompt_data_t *data)
{
    (void)type, (void)data;
    recorder_get();
}

static void thread_end(ompt_data_t *data)
{
    (void)data;
    recorder_thread_end();
}

/* The construct of the call that is being made, or, without one, what the runtime tells of the caller. */
static uint32_t construct_take(struct recorder *recorder, const void *address, uint32_t kind)
{
    uint32_t construct = recorder->pending;
    recorder->pending = 0;
    if (construct)
        return construct;
    if (!address || recorder_by_runtime(address))
        return 0;
    recorder_state->header->unmatched++;
    return recorder_construct(recorder, NULL, address, kind);
}

static void parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *team, unsigned size, int flags, const void *address)
{
    (void)task, (void)frame, (void)size;
    struct recorder *recorder = recorder_get();
    if (!recorder)
        return;
    bool league = (flags & (int)ompt_parallel_league) != 0;
    team->value = recorder_team_new(recorder);
    recorder_put(recorder, TRACE_WORD(TRACE_PARALLEL_BEGIN, league, construct_take(recorder, address, league ? TRACE_TEAMS : TRACE_PARALLEL)), team->value);
}

static void parallel_end(ompt_data_t *team, ompt_data_t *task, int flags, const void *address)
{
    (void)task, (void)flags, (void)address;
    struct recorder *recorder = recorder_get();
    if (recorder)
        recorder_put(recorder, TRACE_WORD(TRACE_PARALLEL_END, 0, 0), team->value);
}

static void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *team, ompt_data_t *task, unsigned size, unsigned number, int flags)
{
    struct recorder *recorder = recorder_get();
    if (!recorder)
        return;
    bool initial = (flags & (int)ompt_task_initial) != 0;
    if (endpoint == ompt_scope_end) {
        recorder_put(recorder, TRACE_WORD(TRACE_IMPLICIT_END, initial, 0), task->value);
        return;
    }
    task->value = recorder_task_new(recorder);
    uint32_t begin = TRACE_WORD(TRACE_IMPLICIT_BEGIN, initial, number < TRACE_EXTRA_MOST ? number : TRACE_EXTRA_MOST);
    if (initial && !(team && team->value)) {
        recorder_put(recorder, begin, task->value);
        return;
    }
    recorder_put(recorder, TRACE_WORD(TRACE_TEAM, 0, size < TRACE_EXTRA_MOST ? size : TRACE_EXTRA_MOST), team ? team->value : 0);
    recorder_put_also(recorder, begin, task->value);
}

static ompt_set_callback_t set_callback;

static unsigned depend_type(const struct recorder_depend *depend)
{
    bool in = depend->flags & RECORDER_DEPEND_IN, out = depend->flags & RECORDER_DEPEND_OUT;
    return in && out                                        ? ompt_dependence_type_inout
           : out                                            ? ompt_dependence_type_out
           : in                                             ? ompt_dependence_type_in
           : depend->flags & RECORDER_DEPEND_MUTEXINOUTSET ? ompt_dependence_type_mutexinoutset
           : depend->flags & RECORDER_DEPEND_INOUTSET      ? ompt_dependence_type_inoutset
                                                            : TRACE_DEPENDENCE_ALL_MEMORY;
}

/* Told on the thread that made the task, before anything else of it. */
static void dependences(ompt_data_t *task, const ompt_dependence_t *list, int count)
{
    (void)task;
    struct recorder *recorder = recorder_get();
    if (!recorder || recorder->depends.state == RECORDER_DEPENDS_TOLD)
        return;
    for (int i = 0; i < count; i++) {
        unsigned type = (unsigned)list[i].dependence_type;
        recorder_put_also(recorder, TRACE_WORD(TRACE_DEPENDENCE, type < 8 ? type : TRACE_DEPENDENCE_ALL_MEMORY, 0), list[i].variable.value);
    }
}

/* Of the task that was just made. Where its call was not seen, the runtime is asked to tell them, which it does next. */
static void depends_put(struct recorder *recorder)
{
    struct recorder_depends *depends = &recorder->depends;
    if (depends->state != RECORDER_DEPENDS_KNOWN) {
        depends->state = RECORDER_DEPENDS_UNKNOWN;
        set_callback(ompt_callback_dependences, (ompt_callback_t)dependences);
        return;
    }
    for (int k = 0; k < 2; k++)
        for (int32_t i = 0; i < depends->counts[k]; i++)
            recorder_put_also(recorder, TRACE_WORD(TRACE_DEPENDENCE, depend_type(&depends->lists[k][i]), 0), (uint64_t)depends->lists[k][i].address);
    depends->state = RECORDER_DEPENDS_TOLD;
}

static void task_create(ompt_data_t *parent, const ompt_frame_t *frame, ompt_data_t *task, int flags, int has_dependences, const void *address)
{
    (void)parent, (void)frame;
    struct recorder *recorder = recorder_get();
    if (!recorder || flags & (int)ompt_task_initial)
        return;
    bool waits = (flags & (int)ompt_task_taskwait) != 0;
    unsigned told = (flags & (int)ompt_task_untied ? TRACE_TASK_UNTIED : 0) | (flags & (int)ompt_task_undeferred ? TRACE_TASK_UNDEFERRED : 0) |
                    (waits ? TRACE_TASK_WAITS : 0) | (flags & (int)ompt_task_target ? TRACE_TASK_TARGET : 0);
    task->value = recorder_task_new(recorder);
    recorder_put(recorder, TRACE_WORD(TRACE_TASK_CREATE, told, waits ? 0 : construct_take(recorder, address, TRACE_TASK)), task->value);
    if (has_dependences && recorder_state->header->wanted & TRACE_WANT_TASK_GRAPH)
        depends_put(recorder);
}

static void task_schedule(ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *next)
{
    (void)prior;
    struct recorder *recorder = recorder_get();
    if (recorder)
        recorder_put(recorder, TRACE_WORD(TRACE_TASK_SWITCH, (unsigned)status & 15, 0), next ? next->value : 0);
}

static void sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *team, ompt_data_t *task, const void *address)
{
    (void)team, (void)task, (void)address;
    struct recorder *recorder = recorder_get();
    if (!recorder)
        return;
    if (endpoint != ompt_scope_end)
        recorder_put(recorder, TRACE_WORD(TRACE_WAIT_BEGIN, (unsigned)kind & 15, 0), 0);
    if (endpoint != ompt_scope_begin)
        recorder_put(recorder, TRACE_WORD(TRACE_WAIT_END, (unsigned)kind & 15, 0), 0);
}

static void mutex_acquire(ompt_mutex_t kind, unsigned hint, unsigned implementation, ompt_wait_id_t id, const void *address)
{
    (void)hint, (void)implementation, (void)address;
    struct recorder *recorder = recorder_get();
    if (recorder)
        recorder_put(recorder, TRACE_WORD(TRACE_MUTEX_BEGIN, (unsigned)kind & 15, 0), id);
}

static void mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t id, const void *address)
{
    (void)address;
    struct recorder *recorder = recorder_get();
    if (recorder)
        recorder_put(recorder, TRACE_WORD(TRACE_MUTEX_END, (unsigned)kind & 15, 0), id);
}

static uint64_t schedule_of(ompt_work_t kind)
{
    return kind == ompt_work_loop_static    ? TRACE_SCHEDULE_STATIC
           : kind == ompt_work_loop_dynamic ? TRACE_SCHEDULE_DYNAMIC
           : kind == ompt_work_loop_guided  ? TRACE_SCHEDULE_GUIDED
                                            : TRACE_SCHEDULE_OTHER;
}

static void work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *team, ompt_data_t *task, uint64_t count, const void *address)
{
    (void)team, (void)task, (void)count;
    struct recorder *recorder = recorder_get();
    if (!recorder || recorder->inside || kind == ompt_work_taskloop || kind == ompt_work_scope || kind == ompt_work_workshare)
        return;
    bool begins = endpoint != ompt_scope_end, single = kind == ompt_work_single_executor || kind == ompt_work_single_other;
    if (!begins && kind != ompt_work_single_other)
        recorder_put(recorder, TRACE_WORD(single ? TRACE_SINGLE_END : TRACE_LOOP_END, 0, 0), 0);
    if (!begins)
        return;
    recorder_state->header->unmatched++;
    uint32_t what = single ? TRACE_SINGLE : kind == ompt_work_sections ? TRACE_SECTIONS : kind == ompt_work_distribute ? TRACE_DISTRIBUTE : TRACE_LOOP;
    uint32_t construct = recorder_construct(recorder, NULL, address, what);
    if (single)
        recorder_put(recorder, TRACE_WORD(TRACE_SINGLE_BEGIN, 0, construct), kind == ompt_work_single_executor);
    else
        recorder_put(recorder, TRACE_WORD(TRACE_LOOP_BEGIN, 0, construct), schedule_of(kind));
}

static void dispatch(ompt_data_t *team, ompt_data_t *task, ompt_dispatch_t kind, ompt_data_t instance)
{
    (void)team, (void)task;
    struct recorder *recorder = recorder_get();
    if (!recorder || !instance.ptr)
        return;
    const ompt_dispatch_chunk_t *chunk = instance.ptr;
    if (kind == ompt_dispatch_taskloop_chunk)
        recorder_put(recorder, TRACE_WORD(TRACE_TASKLOOP_RANGE, 0, chunk->iterations < TRACE_EXTRA_MOST ? chunk->iterations : TRACE_EXTRA_MOST), chunk->start);
    else if (!recorder->inside && (kind == ompt_dispatch_ws_loop_chunk || kind == ompt_dispatch_distribute_chunk))
        recorder_put(recorder, TRACE_WORD(TRACE_RANGE_BEGIN, 0, chunk->iterations < TRACE_EXTRA_MOST ? chunk->iterations : TRACE_EXTRA_MOST), chunk->start);
    else if (!recorder->inside && kind == ompt_dispatch_section)
        recorder_put(recorder, TRACE_WORD(TRACE_RANGE_BEGIN, 0, 1), 0);
}

#define CALLBACK(event, function) {event, (ompt_callback_t)(function), 0}
#define WANTED(event, function, wanted) {event, (ompt_callback_t)(function), wanted}
static const struct { ompt_callbacks_t event; ompt_callback_t function; uint32_t wanted; } callbacks[] = {
    CALLBACK(ompt_callback_thread_begin, thread_begin),     CALLBACK(ompt_callback_thread_end, thread_end),
    CALLBACK(ompt_callback_parallel_begin, parallel_begin), CALLBACK(ompt_callback_parallel_end, parallel_end),
    CALLBACK(ompt_callback_implicit_task, implicit_task),   CALLBACK(ompt_callback_task_create, task_create),
    CALLBACK(ompt_callback_task_schedule, task_schedule),   CALLBACK(ompt_callback_sync_region, sync_region),
    CALLBACK(ompt_callback_work, work),                     CALLBACK(ompt_callback_dispatch, dispatch),
    WANTED(ompt_callback_mutex_acquire, mutex_acquire, TRACE_WANT_LOCKS),
    WANTED(ompt_callback_mutex_acquired, mutex_acquired, TRACE_WANT_LOCKS),
};

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
    (void)device, (void)data;
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    if (!set)
        return 0;
    set_callback = set;
    for (size_t i = 0; i < sizeof callbacks / sizeof *callbacks; i++)
        if (!callbacks[i].wanted || recorder_state->header->wanted & callbacks[i].wanted)
            set(callbacks[i].event, callbacks[i].function);
    void (*listen)(void);
    memcpy(&listen, &set, sizeof listen);
    if (recorder_state->header->wanted & TRACE_WANT_TASK_GRAPH)
        devices_listen(listen);
    recorder_state->header->tool_started = 1;
    return 1;
}

static void finalize(ompt_data_t *data)
{
    (void)data;
}

RECORDER_EXPORT ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime);
RECORDER_EXPORT ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    if (!recorder_state->active)
        return NULL;
    struct trace_header *header = recorder_state->header;
    header->runtime_version = version;
    if (runtime)
        strncpy(header->runtime, runtime, sizeof header->runtime - 1);
    return &result;
}
