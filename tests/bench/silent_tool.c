/* tests/bench/silent_tool.c - an OpenMP tool that is called for what 'pcere trace' is called for, and does nothing: what the runtime itself takes for that. Run by scripts/bench-profiles.
 */
#include <omp-tools.h>

static void nothing(void) {}

static int start(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
    static const ompt_callbacks_t events[] = {
        ompt_callback_thread_begin, ompt_callback_thread_end,    ompt_callback_parallel_begin, ompt_callback_parallel_end, ompt_callback_implicit_task,
        ompt_callback_task_create,  ompt_callback_task_schedule, ompt_callback_sync_region,    ompt_callback_work,         ompt_callback_dispatch,
        ompt_callback_mutex_acquire, ompt_callback_mutex_acquired,
    };
    (void)device, (void)data;
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    for (unsigned i = 0; set && i < sizeof events / sizeof *events; i++)
        set(events[i], (ompt_callback_t)nothing);
    return set != 0;
}

static void stop(ompt_data_t *data)
{
    (void)data;
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime);
ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    static ompt_start_tool_result_t result = {start, stop, {0}};
    (void)version, (void)runtime;
    return &result;
}
