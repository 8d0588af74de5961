/* profiler/target/device_calls.c - the offloading runtime's functions that compiled programs call, with ours before them: source lines, and names of what is mapped.
 *
 * The offloading runtime is a shared library: statically linked programs are without it, and without this.
 */
#include "profiler/target/recorder.h"

typedef struct recorder_ident ident;

struct kernel_arguments { uint32_t version, count; void **bases, **begins; int64_t *sizes, *types; void **names; };     /* and more behind */

static struct recorder *call_begin(const ident *where, const void *address, int32_t count, void *const *bases, void *const *begins, const int64_t *sizes, void *const *names)
{
    struct recorder *recorder = recorder_get();
    if (!recorder)
        return NULL;
    recorder->pending = recorder_construct(recorder, where, address, TRACE_TARGET);
    recorder->mapping = (struct recorder_mapping){count, bases, begins, names, sizes};
    return recorder;
}

static void call_end(void)
{
    struct recorder *recorder = recorder_get();
    if (recorder) {
        recorder->mapping = (struct recorder_mapping){0};
        recorder->pending = 0;
    }
}

#define CALLER __builtin_return_address(0)

#define KERNEL(name, more_types, more_parameters, more_arguments)                                                              \
    RECORDER_EXPORT int name(ident *, int64_t, int32_t, int32_t, void *, struct kernel_arguments * more_types);                 \
    RECORDER_EXPORT int name(ident *where, int64_t device, int32_t teams, int32_t threads, void *function, struct kernel_arguments *arguments more_parameters)     \
    {                                                                                                                          \
        static void (*known)(void);                                                                                            \
        call_begin(where, CALLER, (int32_t)arguments->count, arguments->bases, arguments->begins, arguments->sizes, arguments->names);          \
        int status = ((__typeof__(name) *)recorder_next_once(&known, #name))(where, device, teams, threads, function, arguments more_arguments);           \
        call_end();                                                                                                            \
        return status;                                                                                                         \
    }
#define NO_MORE
#define AND ,
KERNEL(__tgt_target_kernel, NO_MORE, NO_MORE, NO_MORE)
KERNEL(__tgt_target_kernel_nowait, AND int32_t AND void * AND int32_t AND void *, AND int32_t count AND void *list AND int32_t plain_count AND void *plain_list,
       AND count AND list AND plain_count AND plain_list)

#define DATA(name, more_types, more_parameters, more_arguments)                                                                \
    RECORDER_EXPORT void name(ident *, int64_t, int32_t, void **, void **, int64_t *, int64_t *, void **, void ** more_types);   \
    RECORDER_EXPORT void name(ident *where, int64_t device, int32_t mapped, void **bases, void **begins, int64_t *sizes, int64_t *types, void **names,              \
                              void **mappers more_parameters)                                                                  \
    {                                                                                                                          \
        static void (*known)(void);                                                                                            \
        call_begin(where, CALLER, mapped, bases, begins, sizes, names);                                                         \
        ((__typeof__(name) *)recorder_next_once(&known, #name))(where, device, mapped, bases, begins, sizes, types, names, mappers more_arguments);        \
        call_end();                                                                                                            \
    }
#define DATA_BOTH(what)                                                                                                        \
    DATA(__tgt_target_data_##what##_mapper, NO_MORE, NO_MORE, NO_MORE)                                                         \
    DATA(__tgt_target_data_##what##_nowait_mapper, AND int32_t AND void * AND int32_t AND void *,                               \
         AND int32_t count AND void *list AND int32_t plain_count AND void *plain_list, AND count AND list AND plain_count AND plain_list)
DATA_BOTH(begin)
DATA_BOTH(end)
DATA_BOTH(update)
