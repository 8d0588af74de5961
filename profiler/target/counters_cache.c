/* profiler/target/counters_cache.c - what the program's accesses to memory would do to a thread's caches, where it was compiled to tell them
 * (include/pcere/counts.h): one model for each thread, from its first access on.
 */
#include "include/pcere/counts.h"
#include "profiler/target/cache_model.h"
#include "profiler/target/counters.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

enum { MODEL_NONE, MODEL_READY, MODEL_CLOSED };

struct cache_self { uint64_t counts[CACHE_COUNTS]; struct cache_model model; uint64_t *storage; uint32_t state; };

static __thread struct cache_self self;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static bool told, key_made;
static uint32_t failed_errno;

static bool cache_owns(const struct trace_event *event)
{
    return event->backend == TRACE_BACKEND_CACHE;
}

/* ENODATA until something tells of its accesses. */
static void source_tell(struct trace_header *header)
{
    for (uint32_t i = 0; i < header->event_count; i++)
        if (cache_owns(&header->events[i])) {
            header->events[i].source = told ? TRACE_SOURCE_PROGRAM : TRACE_SOURCE_NONE;
            header->events[i].failed_errno = told ? failed_errno : ENODATA;
        }
}

static bool wanted(const struct trace_header *header)
{
    for (uint32_t i = 0; i < header->event_count; i++)
        if (cache_owns(&header->events[i]))
            return trace_caches_sound(header->caches);
    return false;
}

static void model_free(void)
{
    self.state = MODEL_CLOSED;
    if (self.storage)
        munmap(self.storage, cache_model_bytes(recorder_state->header->caches));
    self.storage = NULL;
}

/* At the end of a thread that may never have met the OpenMP runtime. */
static void thread_end(void *unused)
{
    (void)unused;
    model_free();
}

/* The thread's first access; false: it is not modelled, or not yet. */
static bool model_start(void)
{
    struct trace_header *header = recorder_state->header;
    if (self.state == MODEL_CLOSED || !recorder_state->active)
        return false;
    int errnum = errno;
    self.state = MODEL_CLOSED;
    if (wanted(header)) {
        void *storage = mmap(NULL, cache_model_bytes(header->caches), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_mutex_lock(&lock);
        told = true;
        if (storage == MAP_FAILED)
            failed_errno = (uint32_t)errno;
        key_made = key_made || pthread_key_create(&key, thread_end) == 0;
        source_tell(header);
        pthread_mutex_unlock(&lock);
        if (storage != MAP_FAILED) {
            self.storage = storage;
            cache_model_init(&self.model, header->caches, storage);
            self.state = MODEL_READY;
            if (key_made)
                pthread_setspecific(key, &self);
        }
    }
    errno = errnum;
    return self.state == MODEL_READY;
}

RECORDER_EXPORT void __pcere_cache_access(uint64_t address, uint64_t bytes, uint32_t what)
{
    if (__builtin_expect(self.state != MODEL_READY, 0) && !model_start())
        return;
    cache_model_access(&self.model, address, bytes, what, self.counts);
}

static void cache_open(struct recorder_counters *counters, struct trace_header *header)
{
    (void)counters;
    pthread_mutex_lock(&lock);
    source_tell(header);
    pthread_mutex_unlock(&lock);
}

static void cache_read(struct recorder_counters *counters, const struct trace_header *header, uint64_t *values)
{
    (void)counters;
    for (uint32_t i = 0; i < header->event_count; i++)
        if (cache_owns(&header->events[i]))
            values[i] = self.counts[header->events[i].config % CACHE_COUNTS];
}

/* What the thread does after its last record is in no XU; its counts stay as they are. */
static void cache_close(struct recorder_counters *counters)
{
    (void)counters;
    model_free();
}

const struct counter_backend counters_cache = {cache_owns, cache_open, cache_read, cache_close};
