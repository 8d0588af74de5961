/* capture-rt/target/probes.c - what an instrumented program calls around each parallel region.
 *
 * Every invocation is numbered and timed, on whatever thread and however deep. A region left without its end probe (longjmp, an
 * exception, exit) is closed when a later probe of its thread comes from a frame that cannot lie inside it.
 */
#include "capture-rt/target/target.h"

#include <link.h>
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

struct object_search { uintptr_t address; char *to; bool first; };

static int object_name(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct object_search *search = context;
    bool executable = search->first;
    (void)bytes;
    search->first = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD || search->address < low || search->address - low >= header->p_memsz)
            continue;
        text_copy(search->to, executable ? "" : info->dlpi_name, CAPTURE_NAME_BYTES);
        return 1;
    }
    return 0;
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
    text_copy(entry->name, name, sizeof entry->name);
    text_copy(entry->function, site->function, sizeof entry->function);
    text_copy(entry->file, site->file, sizeof entry->file);
    text_copy(entry->thread_sized, site->thread_sized, sizeof entry->thread_sized);
    dl_iterate_phdr(object_name, &(struct object_search){(uintptr_t)site, entry->object, true});
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

/* ---- open regions of a thread ---------------------------------------------------------------------------------------------- */

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
    uint64_t index = __atomic_fetch_add(&state->log->record_count, 1, __ATOMIC_RELAXED);
    if (index < state->log->records_max)
        state->records[index] = *record;
}

static void depth_set(struct target_thread *thread, uint32_t depth)
{
    __atomic_store_n(&thread->depth, depth, __ATOMIC_RELEASE);
    thread->depth_beyond = 0;
}

/* The end of a captured invocation: `seen`, or it was left in some other way. */
static void capture_end(struct target_state *state, const struct target_open *open, uintptr_t stack_pointer, bool seen)
{
    const struct capture_record *record = &open->record;
    bool told = target_stop_enter(state, false), choosing = state->log->mode == CAPTURE_MODE_CHOOSING;
    bool forget = seen && choosing && state->log->after && !target_choice_keep(state, &open->choice, record->end_ns - record->begin_ns);
    if (told && (!seen || state->log->after)) {
        struct capture_message message = {
            .type = forget ? CAPTURE_MESSAGE_FORGET : seen ? CAPTURE_MESSAGE_END : CAPTURE_MESSAGE_LEFT, .region = record->region,
            .invocation = record->invocation, .stack_pointer = stack_pointer, .thread_pointer = target_thread_pointer()};
        target_stop(state, &message);
        if (choosing && seen && !forget)
            target_choice_paid(state, &open->choice, false);
    }
    target_fresh_close();
    state->captures_open -= state->captures_open > 0;
    if (told)
        target_stop_leave(state);
}

static void open_abandon(struct target_state *state, struct target_open *open)
{
    __atomic_fetch_add(&state->log->regions[open->record.region].unfinished, 1, __ATOMIC_RELAXED);
    open->record.end_ns = 0;
    record_write(state, &open->record);
    if (open->captured)
        capture_end(state, open, 0, false);
}

static void open_truncate(struct target_state *state, struct target_thread *thread, uint32_t depth)
{
    while (thread->depth > depth) {
        struct target_open *open = &thread->open[thread->depth - 1];
        depth_set(thread, thread->depth - 1);
        open_abandon(state, open);
    }
}

/* Frames at or below the program's stack pointer are gone, save one at it of another site: a serialised region inlined into the
 * function that holds a nested one. */
static void open_drop_stale(struct target_state *state, struct target_thread *thread, const struct pcere_site *site, uintptr_t stack_pointer)
{
    uint32_t depth = thread->depth;
    while (depth > 0) {
        const struct target_open *open = &thread->open[depth - 1];
        if (open->stack_pointer > stack_pointer || (open->stack_pointer == stack_pointer && open->site != site))
            break;
        depth--;
    }
    open_truncate(state, thread, depth);
}

static bool is_planned(const struct capture_log *log, const struct capture_region_entry *region, uint64_t invocation)
{
    const uint32_t *plan = &log->plan[region->plan_first];
    uint32_t low = 0, high = region->plan_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (plan[middle] < invocation)
            low = middle + 1;
        else
            high = middle;
    }
    return low < region->plan_count && plan[low] == invocation;
}

static uint64_t words_hash(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static bool is_wanted(struct target_state *state, struct target_open *open)
{
    const struct capture_log *log = state->log;
    struct capture_record *record = &open->record;
    if (log->mode == CAPTURE_MODE_CHOOSING)
        return target_choice_begin(state, &open->choice, record, open->stack_pointer);
    return is_planned(log, &log->regions[record->region], record->invocation);
}

/* Read the words; where the program is to stop, tell the tracer of them. */
static bool capture_begin(struct target_state *state, const struct pcere_site *site, struct target_open *open, int32_t proc_bind,
                          uint32_t words, va_list arguments)
{
    struct capture_log *log = state->log;
    struct capture_record *record = &open->record;
    va_list again;
    va_copy(again, arguments);
    uint64_t hash = words;
    for (uint32_t i = 0; i < words; i++)
        hash = words_hash(hash, va_arg(arguments, uint64_t));
    record->words_hash = hash;
    bool stop = state->socket >= 0 && target_runtime_level() <= (int)CAPTURE_LEVELS_MAX && is_wanted(state, open) &&
                target_stop_enter(state, true);
    for (uint32_t i = 0; stop && i < words && i < CAPTURE_WORDS_MAX; i++)
        log->stop.words[i] = va_arg(again, uint64_t);
    va_end(again);
    if (!stop)
        return false;
    struct capture_message message = {
        .type = CAPTURE_MESSAGE_BEGIN, .region = record->region, .invocation = record->invocation, .path = record->path,
        .num_threads = record->num_threads, .proc_bind = proc_bind, .word_count = words, .words_hash = hash,
        .unit_id = site->unit_id, .stack_pointer = open->stack_pointer, .thread_pointer = target_thread_pointer()};
    target_stop(state, &message);
    if (log->mode == CAPTURE_MODE_CHOOSING)
        target_choice_paid(state, &open->choice, true);
    state->captures_open++;
    target_fresh_open();
    target_stop_leave(state);
    return true;
}

TARGET_EXPORT void __pcere_region_begin(struct pcere_site *site, int32_t path, int32_t num_threads, int32_t proc_bind,
                                        int32_t argc, ...)
{
    struct target_state *state = target_state;
    if (!state->active)
        return;
    struct capture_log *log = state->log;
    uint32_t index = region_of(log, site);
    struct target_thread *thread = index == REGION_NONE ? NULL : target_thread_own(state);
    if (!thread)
        return;
    struct capture_region_entry *region = &log->regions[index];
    /* The call pushed the return address, the prologue the frame pointer. */
    uintptr_t stack_pointer = (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(void *);
    if (thread->depth > 0)
        open_drop_stale(state, thread, site, stack_pointer);
    uint32_t levels;
    uint64_t team, place = target_nesting_place(&levels, &team);
    uint64_t invocation = __atomic_add_fetch(&region->invocations, 1, __ATOMIC_RELAXED);
    bool nested = thread->depth > 0 || levels > 0;
    if (nested)
        __atomic_fetch_add(&region->nested, 1, __ATOMIC_RELAXED);
    else if (thread->thread_pointer != state->initial_thread)
        __atomic_fetch_add(&region->foreign, 1, __ATOMIC_RELAXED);
    if (!nested && !__atomic_exchange_n(&state->runtime_started, 1, __ATOMIC_RELAXED))
        target_runtime_start(num_threads, proc_bind);
    if (thread->depth >= TARGET_DEPTH_MAX) {
        thread->depth_beyond++;
        return;
    }

    struct target_open *open = &thread->open[thread->depth];
    *open = (struct target_open){
        .site = site, .stack_pointer = stack_pointer, .place = place, .nested = nested,
        .record = {.invocation = invocation, .region = index, .num_threads = num_threads, .path = (uint8_t)path,
                   .parent = target_nesting_parent(state, thread, levels, team)}};
    va_list arguments;
    va_start(arguments, argc);
    open->captured = capture_begin(state, site, open, proc_bind, argc < 0 ? 0 : (uint32_t)argc, arguments);
    va_end(arguments);
    if (open->captured)
        open->record.flags |= CAPTURE_RECORD_STOPPED;
    if (invocation == 1 || region->last_ns >= COSTLY_NS) {
        open->record.flags |= CAPTURE_RECORD_CPU;
        costs_read(&open->cpu_before_ns, &open->faults_before, &open->switches_before);
    }
    open->stall_before_ns = __atomic_load_n(&log->stall_ns, __ATOMIC_RELAXED);
    depth_set(thread, thread->depth + 1);
    open->record.begin_ns = target_clock_ns();
}

static void open_close(struct target_state *state, struct target_open *open)
{
    struct capture_record *record = &open->record;
    record->end_ns = target_clock_ns();
    uint64_t stall_ns = __atomic_load_n(&state->log->stall_ns, __ATOMIC_RELAXED) - open->stall_before_ns;
    record->end_ns -= stall_ns < record->end_ns - record->begin_ns ? stall_ns : record->end_ns - record->begin_ns;
    if (record->flags & CAPTURE_RECORD_CPU) {
        uint64_t cpu_ns, faults, switches;
        costs_read(&cpu_ns, &faults, &switches);
        record->cpu_ns = cpu_ns - open->cpu_before_ns;
        record->faults = (uint32_t)(faults - open->faults_before);
        record->switches = (uint32_t)(switches - open->switches_before);
    }
    struct capture_region_entry *region = &state->log->regions[record->region];
    uint64_t time_ns = record->end_ns - record->begin_ns;
    __atomic_store_n(&region->last_ns, time_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(open->nested ? &region->nested_ns : &region->time_ns, time_ns, __ATOMIC_RELAXED);
    if (state->socket >= 0 && state->log->mode == CAPTURE_MODE_CHOOSING)
        target_choice_end(state, &open->choice, record, open->captured);
    record_write(state, record);
}

TARGET_EXPORT void __pcere_region_end(struct pcere_site *site)
{
    struct target_state *state = target_state;
    struct target_thread *thread = state->active ? target_thread_own(state) : NULL;
    if (!thread || thread->depth == 0)
        return;
    if (thread->depth_beyond > 0) {
        thread->depth_beyond--;
        return;
    }
    uint32_t depth = thread->depth;
    while (depth > 0 && thread->open[depth - 1].site != site)
        depth--;
    if (depth == 0) {
        __atomic_fetch_add(&state->log->mismatched_ends, 1, __ATOMIC_RELAXED);
        return;
    }
    open_truncate(state, thread, depth);
    struct target_open *open = &thread->open[depth - 1];
    open_close(state, open);
    depth_set(thread, depth - 1);
    if (open->captured)
        capture_end(state, open, (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(void *), true);
}
