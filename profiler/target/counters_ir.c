/* profiler/target/counters_ir.c - what the program counts itself, where it was compiled to (include/pcere/counts.h): the sum over its images. */
#include "include/pcere/counts.h"
#include "profiler/target/counters.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pcere_counts_fn *images[RECORDER_IMAGES];
static uint32_t image_count, generation;

static bool ir_owns(const struct trace_event *event)
{
    return event->backend == TRACE_BACKEND_IR;
}

/* ENODATA until there is an image that counts. */
static void source_tell(struct trace_header *header)
{
    for (uint32_t i = 0; i < header->event_count; i++)
        if (ir_owns(&header->events[i])) {
            header->events[i].source = image_count ? TRACE_SOURCE_PROGRAM : TRACE_SOURCE_NONE;
            header->events[i].failed_errno = image_count ? 0 : ENODATA;
        }
}

RECORDER_EXPORT void __pcere_counts_register(pcere_counts_fn *here)
{
    pthread_mutex_lock(&lock);
    bool known = false;
    for (uint32_t i = 0; i < image_count; i++)
        known = known || images[i] == here;
    if (!known && image_count == RECORDER_IMAGES && recorder_state->header)
        __atomic_fetch_add(&recorder_state->header->counters_lost, 1, __ATOMIC_RELAXED);
    if (!known && image_count < RECORDER_IMAGES) {
        images[image_count++] = here;
        __atomic_fetch_add(&generation, 1, __ATOMIC_RELEASE);
    }
    if (recorder_state->active)
        source_tell(recorder_state->header);
    pthread_mutex_unlock(&lock);
}

static bool is_executable(pcere_counts_fn *here)
{
    Dl_info whose, executable;
    return dladdr((const void *)(uintptr_t)here, &whose) && dladdr((const void *)getauxval(AT_PHDR), &executable) && whose.dli_fbase == executable.dli_fbase;
}

RECORDER_EXPORT void __pcere_counts_forget(pcere_counts_fn *here)
{
    if (is_executable(here))
        return;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < image_count; i++)
        if (images[i] == here) {
            images[i] = images[--image_count];
            __atomic_fetch_add(&generation, 1, __ATOMIC_RELEASE);
            break;
        }
    pthread_mutex_unlock(&lock);
}

/* Where this thread's vectors lie. Finding one of a library may take the dynamic linker's memory, and its lock, under which images register. */
static void vectors_find(struct recorder_counters *counters)
{
    pcere_counts_fn *known[RECORDER_IMAGES];
    int errnum = errno;
    pthread_mutex_lock(&lock);
    counters->generation = generation;
    counters->vector_count = image_count;
    memcpy(known, images, sizeof known);
    pthread_mutex_unlock(&lock);
    for (uint32_t i = 0; i < counters->vector_count; i++)
        counters->vectors[i] = known[i]();
    errno = errnum;
}

static void ir_open(struct recorder_counters *counters, struct trace_header *header)
{
    source_tell(header);
    vectors_find(counters);
}

static void ir_read(struct recorder_counters *counters, const struct trace_header *header, uint64_t *values)
{
    if (__builtin_expect(counters->generation != __atomic_load_n(&generation, __ATOMIC_ACQUIRE), 0))
        vectors_find(counters);
    for (uint32_t i = 0; i < header->event_count; i++) {
        const struct trace_event *event = &header->events[i];
        if (!ir_owns(event))
            continue;
        values[i] = 0;
        for (uint32_t image = 0; image < counters->vector_count; image++)
            values[i] += counters->vectors[image][event->config % PCERE_COUNTS_SLOTS];
    }
}

static void ir_close(struct recorder_counters *counters)
{
    counters->vector_count = 0;
}

const struct counter_backend counters_ir = {ir_owns, ir_open, ir_read, ir_close};
