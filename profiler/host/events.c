/* profiler/host/events.c - the tables of events of the kernel and of programs that count, and the processor's by libpfm4. */
#include "profiler/host/events.h"
#include "include/pcere/counts.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef PCERE_LIBPFM
#include <perfmon/pfmlib_perf_event.h>
#endif

static const struct { const char *name; uint32_t backend; uint64_t config; } table[] = {
    {"page-faults", TRACE_BACKEND_SW, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", TRACE_BACKEND_SW, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", TRACE_BACKEND_SW, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", TRACE_BACKEND_SW, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", TRACE_BACKEND_SW, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"task-clock", TRACE_BACKEND_SW, PERF_COUNT_SW_TASK_CLOCK},
#define PCERE_COUNT(number, name, text, unit, words) {text, TRACE_BACKEND_IR, number},
#include "include/pcere/counts.inc"
#undef PCERE_COUNT
#define PCERE_CACHE_COUNT(number, name, text, words) {text, TRACE_BACKEND_CACHE, number},
#include "include/pcere/cache_counts.inc"
#undef PCERE_CACHE_COUNT
};
enum { TABLE_EVENTS = sizeof table / sizeof *table };

const char *const *event_names(void)
{
    static const char *names[TABLE_EVENTS + 1];
    for (size_t i = 0; i < TABLE_EVENTS; i++)
        names[i] = table[i].name;
    return names;
}

static void event_fill(size_t number, struct trace_event *event)
{
    *event = (struct trace_event){.backend = table[number].backend, .type = table[number].backend == TRACE_BACKEND_SW ? PERF_TYPE_SOFTWARE : 0, .config = table[number].config};
    snprintf(event->name, sizeof event->name, "%s", table[number].name);
}

size_t event_group(const char *backend, struct trace_event *ret_events, size_t most)
{
    uint32_t wanted = strcmp(backend, "sw") == 0 ? TRACE_BACKEND_SW : strcmp(backend, "ir") == 0 ? TRACE_BACKEND_IR : strcmp(backend, "cache") == 0 ? TRACE_BACKEND_CACHE : 0;
    size_t count = 0;
    for (size_t i = 0; i < TABLE_EVENTS; i++)
        if (table[i].backend == wanted && count < most)
            event_fill(i, &ret_events[count++]);
    return count;
}

enum pcere_status event_hardware_probe(struct pcere_error *error)
{
    struct perf_event_attr attributes = {.size = sizeof attributes, .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES, .exclude_kernel = 1,
                                         .exclude_hv = 1, .disabled = 1};
    int descriptor = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor >= 0) {
        close(descriptor);
        return PCERE_OK;
    }
    int errnum = errno;
    const char *hint;
    const char *reason = event_refusal(errnum, &hint);
    return pcere_fail(error, PCERE_REFUSED, errnum, hint, "this machine does not count events of its processor: %s", reason);
}

#ifdef PCERE_LIBPFM
static enum pcere_status hardware_find(const char *name, struct trace_event *ret_event, struct pcere_error *error)
{
    struct perf_event_attr attributes = {.size = sizeof attributes};
    pfm_perf_encode_arg_t encoded = {.attr = &attributes, .size = sizeof encoded};
    int known = pfm_initialize();
    if (known == PFM_SUCCESS)
        known = pfm_get_os_event_encoding(name, PFM_PLM3, PFM_OS_PERF_EVENT, &encoded);
    if (known != PFM_SUCCESS)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "there is no event '%.60s': %s", name, pfm_strerror(known));
    if (strlen(name) >= TRACE_EVENT_NAME_BYTES)
        return pcere_fail(error, PCERE_USAGE, 0, NULL, "the name of the event '%.60s' is too long", name);
    *ret_event = (struct trace_event){.backend = TRACE_BACKEND_PMU, .type = attributes.type, .config = attributes.config, .config1 = attributes.config1,
                                      .config2 = attributes.config2};
    snprintf(ret_event->name, sizeof ret_event->name, "%s", name);
    return PCERE_OK;
}
#else
static enum pcere_status hardware_find(const char *name, struct trace_event *ret_event, struct pcere_error *error)
{
    (void)ret_event;
    return pcere_fail(error, PCERE_USAGE, 0, NULL, "there is no event '%.60s' (PCERE was built without libpfm4, which knows those of processors)", name);
}
#endif

enum pcere_status event_find(const char *name, struct trace_event *ret_event, struct pcere_error *error)
{
    for (size_t i = 0; i < TABLE_EVENTS; i++)
        if (strcmp(table[i].name, name) == 0) {
            event_fill(i, ret_event);
            return PCERE_OK;
        }
    return hardware_find(name, ret_event, error);
}
