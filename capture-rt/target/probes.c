/* capture-rt/target/probes.c - what an instrumented program calls around each parallel region.
 *
 * Only the initial thread's outermost regions are numbered, timed and captured; others are counted. A region left without its end
 * probe (longjmp, an exception, exit) is closed when a later probe comes from a frame that cannot lie inside it.
 */
#include "capture-rt/target/target.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define PCERE_RT_CALL(name, result, parameters) TARGET_EXPORT result name parameters;
#include "include/pcere/rt_abi.inc"
#undef PCERE_RT_CALL

#define COSTLY_NS 50000u                /* regions at least this long can bear system calls beside them */
#define REGION_NONE UINT32_MAX

uint64_t target_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- regions and sites --------------------------------------------------------------------------------------------------- */

static uint64_t text_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static void text_copy(char *to, const char *from, size_t bytes)
{
    size_t length = from ? strnlen(from, bytes - 1) : 0;
    memcpy(to, from, length);
    to[length] = '\0';
}

static uint32_t region_find_or_add(struct capture_log *log, const struct pcere_site *site)
{
    const char *name = site->region ? site->region : "";
    uint64_t hash = text_hash(name);
    uint32_t count = log->region_count;
    for (uint32_t i = 0; i < count; i++)
        if (log->regions[i].name_hash == hash && strncmp(log->regions[i].name, name, CAPTURE_NAME_BYTES - 1) == 0)
            return i;
    if (count >= CAPTURE_REGIONS_MAX) {
        log->regions_dropped++;
        return REGION_NONE;
    }
    struct capture_region_entry *entry = &log->regions[count];
    entry->name_hash = hash;
    entry->line = site->line;
    entry->outside = (uintptr_t)site < log->image_low || (uintptr_t)site >= log->image_high;
    text_copy(entry->name, name, sizeof entry->name);
    text_copy(entry->function, site->function, sizeof entry->function);
    text_copy(entry->file, site->file, sizeof entry->file);
    text_copy(entry->thread_sized, site->thread_sized, sizeof entry->thread_sized);
    entry->ready = 1;
    __atomic_store_n(&log->region_count, count + 1, __ATOMIC_RELEASE);
    return count;
}

/* The cookie of a site is its region's index plus one; UINTPTR_MAX: nothing to be done for it. */
static uint32_t site_enter(struct capture_log *log, struct pcere_site *site)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    uint32_t region = REGION_NONE;
    pthread_mutex_lock(&mutex);
    if (site->abi_version != PCERE_ABI_VERSION)
        log->abi_mismatch = site->abi_version ? site->abi_version : UINT32_MAX;
    else
        region = region_find_or_add(log, site);
    if (log->site_count < CAPTURE_SITES_MAX)
        log->sites[log->site_count++] = (uintptr_t)site;
    pthread_mutex_unlock(&mutex);
    uintptr_t cookie = region == REGION_NONE ? UINTPTR_MAX : (uintptr_t)region + 1;
    __atomic_store_n(&site->cookie, (void *)cookie, __ATOMIC_RELAXED);
    return region;
}

static uint32_t region_of(struct capture_log *log, struct pcere_site *site)
{
    uintptr_t cookie = (uintptr_t)__atomic_load_n(&site->cookie, __ATOMIC_RELAXED);
    if (__builtin_expect(cookie == 0, 0))
        return site_enter(log, site);
    return cookie <= CAPTURE_REGIONS_MAX ? (uint32_t)(cookie - 1) : REGION_NONE;
}

/* ---- open regions of the initial thread ------------------------------------------------------------------------------------ */

static void costs_read(uint64_t *ret_cpu_ns, uint64_t *ret_faults, uint64_t *ret_switches)
{
    struct rusage usage;
    struct timespec cpu;
    getrusage(RUSAGE_THREAD, &usage);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    *ret_cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
    *ret_faults = (uint64_t)usage.ru_minflt;
    *ret_switches = (uint64_t)usage.ru_nivcsw;
}

static void record_write(struct target_state *state, const struct capture_record *record)
{
    uint64_t index = state->log->record_count++;
    if (index < state->log->records_max)
        state->records[index] = *record;
}

static void outermost_abandon(struct target_state *state)
{
    struct capture_region_entry *region = &state->log->regions[state->open[0].region];
    region->unfinished++;
    state->current.end_ns = 0;
    record_write(state, &state->current);
    target_fresh_close();
}

static void open_truncate(struct target_state *state, uint32_t depth)
{
    if (depth == 0 && state->depth > 0)
        outermost_abandon(state);
    state->depth = depth;
    state->depth_beyond = 0;
}

/* Frames at or below the program's stack pointer are gone, save one at it of another site: a serialised region inlined into the
 * function that holds a nested one. */
static void open_drop_stale(struct target_state *state, const struct pcere_site *site, uintptr_t stack_pointer)
{
    uint32_t depth = state->depth;
    while (depth > 0) {
        const struct target_open *open = &state->open[depth - 1];
        if (open->stack_pointer > stack_pointer || (open->stack_pointer == stack_pointer && open->site != site))
            break;
        depth--;
    }
    if (depth != state->depth)
        open_truncate(state, depth);
}

static bool plan_hit(struct capture_log *log, struct capture_region_entry *region)
{
    if (region->plan_next >= region->plan_count)
        return false;
    const uint32_t *plan = &log->plan[region->plan_first];
    while (region->plan_next < region->plan_count && plan[region->plan_next] < region->invocations)
        region->plan_next++;
    return region->plan_next < region->plan_count && plan[region->plan_next] == region->invocations;
}

static uint64_t words_hash(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static void nested_open(struct target_state *state, struct target_open open)
{
    __atomic_fetch_add(&state->log->regions[open.region].nested, 1, __ATOMIC_RELAXED);
    if (state->depth < TARGET_DEPTH_MAX)
        state->open[state->depth++] = open;
    else
        state->depth_beyond++;
}

TARGET_EXPORT void __pcere_region_begin(struct pcere_site *site, int32_t path, int32_t num_threads, int32_t proc_bind,
                                        int32_t argc, ...)
{
    struct target_state *state = target_state;
    if (!state->active)
        return;
    struct capture_log *log = state->log;
    uint32_t index = region_of(log, site);
    if (index == REGION_NONE)
        return;
    struct capture_region_entry *region = &log->regions[index];
    if (target_thread_pointer() != state->initial_thread) {
        __atomic_fetch_add(&region->foreign, 1, __ATOMIC_RELAXED);
        return;
    }
    /* The call pushed the return address, the prologue the frame pointer. */
    uintptr_t stack_pointer = (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(void *);
    if (state->depth > 0)
        open_drop_stale(state, site, stack_pointer);
    struct target_open open = {.site = site, .stack_pointer = stack_pointer, .region = index};
    if (state->depth > 0 || target_runtime_level() > 0) {
        if (state->depth > 0)
            nested_open(state, open);
        else
            __atomic_fetch_add(&region->nested, 1, __ATOMIC_RELAXED);
        return;
    }
    if (!state->runtime_started) {
        state->runtime_started = 1;
        target_runtime_start(num_threads, proc_bind);
    }

    region->invocations++;
    bool stop = state->socket >= 0 && plan_hit(log, region);
    uint32_t words = argc < 0 ? 0 : (uint32_t)argc;
    uint64_t hash = words;
    va_list arguments;
    va_start(arguments, argc);
    for (uint32_t i = 0; i < words; i++) {
        uint64_t word = va_arg(arguments, uint64_t);
        hash = words_hash(hash, word);
        if (stop && i < CAPTURE_WORDS_MAX)
            log->stop.words[i] = word;
    }
    va_end(arguments);

    state->open[0] = open;
    state->depth = 1;
    state->current = (struct capture_record){.invocation = region->invocations, .words_hash = hash, .region = index,
                                             .num_threads = num_threads, .path = (uint16_t)path};
    state->current_stopped = stop;
    if (stop) {
        state->current.flags |= CAPTURE_RECORD_STOPPED;
        struct capture_message message = {
            .type = CAPTURE_MESSAGE_BEGIN, .region = index, .invocation = region->invocations, .path = path,
            .num_threads = num_threads, .proc_bind = proc_bind, .word_count = words, .words_hash = hash,
            .unit_id = site->unit_id, .stack_pointer = stack_pointer, .thread_pointer = state->initial_thread};
        target_stop(state, &message);
        target_fresh_open();
    }
    if (region->invocations == 1 || region->last_ns >= COSTLY_NS) {
        state->current.flags |= CAPTURE_RECORD_CPU;
        costs_read(&state->cpu_before_ns, &state->faults_before, &state->switches_before);
    }
    state->current.begin_ns = target_clock_ns();
}

static void outermost_close(struct target_state *state)
{
    struct capture_record *record = &state->current;
    record->end_ns = target_clock_ns();
    if (record->flags & CAPTURE_RECORD_CPU) {
        uint64_t cpu_ns, faults, switches;
        costs_read(&cpu_ns, &faults, &switches);
        record->cpu_ns = cpu_ns - state->cpu_before_ns;
        record->faults = (uint32_t)(faults - state->faults_before);
        record->switches = (uint32_t)(switches - state->switches_before);
    }
    struct capture_region_entry *region = &state->log->regions[record->region];
    region->last_ns = record->end_ns - record->begin_ns;
    region->time_ns += region->last_ns;
    record_write(state, record);
    state->depth = 0;
    state->depth_beyond = 0;
}

TARGET_EXPORT void __pcere_region_end(struct pcere_site *site)
{
    struct target_state *state = target_state;
    if (!state->active || target_thread_pointer() != state->initial_thread || state->depth == 0)
        return;
    if (state->depth_beyond > 0) {
        state->depth_beyond--;
        return;
    }
    uint32_t depth = state->depth;
    while (depth > 0 && state->open[depth - 1].site != site)
        depth--;
    if (depth == 0) {
        state->log->mismatched_ends++;
        return;
    }
    if (depth > 1) {
        state->depth = depth - 1;
        return;
    }
    outermost_close(state);
    if (state->current_stopped && state->log->after && state->socket >= 0) {
        struct capture_message message = {
            .type = CAPTURE_MESSAGE_END, .region = state->current.region, .invocation = state->current.invocation,
            .stack_pointer = (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(void *),
            .thread_pointer = state->initial_thread};
        target_stop(state, &message);
    }
    if (state->current_stopped)
        target_fresh_close();
}
