/* profiler/target/devices.c - target constructs: what is moved to devices and back, what runs on them, and what the program calls the data.
 *
 * The tool interface tells of regions, data operations and kernels; the calls of the compiled program before them (device_calls.c) have the source lines, and with -g the names of
 * what they map, by address.
 */
#include "profiler/target/recorder.h"
#include "profiler/target/tool_interface.h"

static unsigned known_device(int device)
{
    return device >= 0 && (unsigned)device < TRACE_EXTRA_MOST ? (unsigned)device : TRACE_EXTRA_MOST;
}

static void target(ompt_target_t kind, ompt_scope_endpoint_t endpoint, int device, ompt_data_t *task, ompt_data_t *target_task, ompt_data_t *data, const void *address)
{
    (void)task, (void)target_task;
    struct recorder *recorder = recorder_get();
    if (!recorder)
        return;
    if (data)
        data->value = known_device(device);
    uint32_t construct = recorder->pending;
    recorder->pending = 0;
    if (endpoint != ompt_scope_end)
        recorder_put(recorder, TRACE_WORD(TRACE_TARGET_BEGIN, (unsigned)kind & 15, construct ? construct : recorder_construct(recorder, NULL, address, TRACE_TARGET)), known_device(device));
    if (endpoint != ompt_scope_begin)
        recorder_put(recorder, TRACE_WORD(TRACE_TARGET_END, (unsigned)kind & 15, 0), known_device(device));
}

/* What the program calls the data at this address: of all that it maps now the part that holds it. */
static uint32_t variable_find(struct recorder *recorder, const void *address)
{
    const struct recorder_mapping *mapping = &recorder->mapping;
    uintptr_t place = (uintptr_t)address;
    for (int32_t i = 0; i < mapping->count && mapping->names; i++) {
        uintptr_t begin = (uintptr_t)mapping->begins[i];
        if (mapping->names[i] && place >= begin && (place == begin || place - begin < (uint64_t)mapping->sizes[i]))
            return recorder_construct(recorder, NULL, mapping->names[i], TRACE_VARIABLE);
    }
    return 0;
}

static enum trace_data operation_of(ompt_target_data_op_t type, int from, int to, int host)
{
    switch ((unsigned)type & 15) {
    case ompt_target_data_alloc: return TRACE_DATA_ALLOC;
    case ompt_target_data_transfer_to_device: return from != host && to != host ? TRACE_DATA_FORWARD : TRACE_DATA_SUBMIT;
    case ompt_target_data_transfer_from_device: return from != host && to != host ? TRACE_DATA_FORWARD : TRACE_DATA_RETRIEVE;
    case ompt_target_data_delete: return TRACE_DATA_DELETE;
    default: return 0;
    }
}

static int (*devices_count)(void);       /* omp_get_initial_device: the host's number */

static void data_operation(ompt_scope_endpoint_t endpoint, ompt_data_t *target_task, ompt_data_t *data, ompt_id_t *operation, ompt_target_data_op_t type, void *from, int from_device,
                           void *to, int to_device, size_t bytes, const void *address)
{
    (void)target_task, (void)data, (void)operation, (void)address;
    struct recorder *recorder = recorder_get();
    int host = devices_count ? devices_count() : -1;
    enum trace_data kind = operation_of(type, from_device, to_device, host);
    if (!recorder || !kind)
        return;
    if (endpoint != ompt_scope_end) {
        bool out = kind == TRACE_DATA_RETRIEVE;
        const void *here = out ? to : from;
        int device = kind == TRACE_DATA_SUBMIT || kind == TRACE_DATA_ALLOC || kind == TRACE_DATA_FORWARD ? to_device : from_device;
        recorder_put(recorder, TRACE_WORD(TRACE_DATA_BEGIN, kind, variable_find(recorder, here)), (uintptr_t)here);
        recorder_put(recorder, TRACE_WORD(TRACE_DATA_BYTES, 0, known_device(device)), bytes);
    }
    if (endpoint != ompt_scope_begin)
        recorder_put(recorder, TRACE_WORD(TRACE_DATA_END, kind, 0), kind == TRACE_DATA_ALLOC ? (uintptr_t)to : 0);
}

static void kernel(ompt_scope_endpoint_t endpoint, ompt_data_t *data, ompt_id_t *operation, unsigned teams)
{
    (void)operation, (void)teams;
    struct recorder *recorder = recorder_get();
    if (!recorder)
        return;
    if (endpoint != ompt_scope_end)
        recorder_put(recorder, TRACE_WORD(TRACE_KERNEL_BEGIN, 0, 0), data ? data->value : TRACE_EXTRA_MOST);
    if (endpoint != ompt_scope_begin)
        recorder_put(recorder, TRACE_WORD(TRACE_KERNEL_END, 0, 0), data ? data->value : TRACE_EXTRA_MOST);
}

void devices_listen(void (*set)(void))
{
    ompt_set_callback_t listen;
    void (*count)(void) = recorder_next("omp_get_initial_device");
    __builtin_memcpy(&devices_count, &count, sizeof devices_count);
    __builtin_memcpy(&listen, &set, sizeof listen);
    listen(ompt_callback_target_emi, (ompt_callback_t)target);
    listen(ompt_callback_target_data_op_emi, (ompt_callback_t)data_operation);
    listen(ompt_callback_target_submit_emi, (ompt_callback_t)kernel);
}
