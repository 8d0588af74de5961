/* capture-rt/target/probes.c - what an instrumented program calls around each parallel region.
 *
 * Every invocation is numbered and timed, on whatever thread and however deep. A region left without its end probe (longjmp, an
 * exception, exit) is closed when a later probe of its thread comes from a frame that cannot lie inside it.
 */
#include "capture-rt/target/target.h"
#include "include/pcere/bisect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PCERE_RT_CALL(name, result, parameters) TARGET_EXPORT result name parameters;
#include "include/pcere/rt_abi.inc"
#undef PCERE_RT_CALL

#define COSTLY_NS 100000u               /* regions at least this long can bear system calls beside them */
#define EARLY_MOST 8u                   /* invocations of a region that bear them however short the one before was: how long they take is not known yet */

uint64_t target_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- open regions of a thread ---------------------------------------------------------------------------------------------- */

/* Of all threads: what one waits for while others of the program have its processor is no interruption. */
static uint64_t process_cpu_ns(void)
{
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
}

/* But for the CPU time. */
static struct target_costs costs_read(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (struct target_costs){.faults = (uint64_t)usage.ru_minflt, .switches = (uint64_t)usage.ru_nivcsw,
                                 .sleeps = (uint64_t)usage.ru_nvcsw, .resident_most_bytes = (uint64_t)usage.ru_maxrss * 1024};
}

#define RESIDENT_COSTLY_NS 200000u      /* likewise, for a file of /proc: 3 us */

/* Bytes that are in memory now; 0: unknown. Not while a captured region runs: what is read then is the region's. */
static uint64_t resident_bytes(void)
{
    if (target_fresh_is_open())
        return 0;
    int error = errno, descriptor = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/statm", O_RDONLY | O_CLOEXEC);
    char text[64] = "", *next;
    if (descriptor >= 0) {
        if (syscall(SYS_read, descriptor, text, sizeof text - 1) < 0)
            text[0] = '\0';
        syscall(SYS_close, descriptor);
    }
    errno = error;
    strtoull(text, &next, 10);
    return strtoull(next, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

#define FAULTS_MANY 256u                /* fewer are beneath what the kernel counts exactly */

/* Pages that tracking had protected were there before; of others there is more in memory than there was before the region, or ever. */
static uint8_t fresh_flags(uint32_t faults, uint64_t grown_bytes)
{
    uint64_t fresh = grown_bytes / (uint64_t)sysconf(_SC_PAGESIZE);
    if (faults < FAULTS_MANY || fresh < faults / 2)
        return 0;
    return CAPTURE_RECORD_FRESH | (fresh >= faults - faults / CAPTURE_FRESH_REST ? CAPTURE_RECORD_ALL_FRESH : 0);
}

#define RECORDS_AHEAD 4096u             /* whole pages, whatever their size: 256 KiB */

/* Pages of the log by dozens, which the tracer has made by now, if it came to it: each would cost a fault of its own. A kernel that cannot (before 5.14) gives them one by
 * one. The tracer is woken for those behind them; it does not look by itself, since that would interrupt the program. */
static void records_prepare(const struct target_state *state, uint64_t index)
{
    int error = errno;
    struct capture_log *log = state->log;
    uint64_t left = log->records_max - index, count = left < RECORDS_AHEAD ? left : RECORDS_AHEAD;
    madvise(state->records + index, count * sizeof *state->records, MADV_POPULATE_WRITE);
    if (index % CAPTURE_RECORDS_TURN == 0) {
        __atomic_fetch_add(&log->records_turn, 1, __ATOMIC_RELEASE);
        syscall(SYS_futex, &log->records_turn, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
    errno = error;
}

static void record_write(struct target_state *state, const struct capture_record *record)
{
    uint64_t index = __atomic_fetch_add(&state->log->record_count, 1, __ATOMIC_RELAXED);
    if (index % RECORDS_AHEAD == 0 && index < state->log->records_max)
        records_prepare(state, index);
    if (index < state->log->records_max)
        state->records[index] = *record;
}

static void depth_set(struct target_thread *thread, uint32_t depth)
{
    __atomic_store_n(&thread->depth, depth, __ATOMIC_RELEASE);
    thread->depth_beyond = 0;
}

/* A captured invocation has ended: what a handler wrote in it is none of the region's work, and others may be without. True: it is given up. */
static bool alarm_look(const struct target_state *state, struct target_open *open)
{
    struct capture_history *history = &state->log->histories[open->record.region];
    open->alarmed = target_timers_ran(&open->alarms, &open->alarmed_rarely);
    if (state->log->mode != CAPTURE_MODE_CHOOSING || !open->alarmed || !open->alarmed_rarely || history->alarmed >= CAPTURE_ALARMED_MOST)
        return false;
    history->alarmed++;
    return true;
}

/* The end of a captured invocation: `seen`, or it was left in some other way. */
static void capture_end(struct target_state *state, const struct target_open *open, uintptr_t stack_pointer, bool seen)
{
    const struct capture_record *record = &open->record;
    bool told = target_stop_enter(state, false), forget = seen && state->log->after && open->forgotten;
    if (told && (!seen || state->log->after)) {
        target_frame_tell(state, open);
        struct capture_message message = {
            .type = forget ? CAPTURE_MESSAGE_FORGET : seen ? CAPTURE_MESSAGE_END : CAPTURE_MESSAGE_LEFT, .region = record->region,
            .invocation = open->captured_as, .stack_pointer = stack_pointer, .thread_pointer = target_thread_pointer(),
            .alarmed = seen ? open->alarmed : 0, .alarmed_rarely = seen && open->alarmed_rarely};
        target_stop(state, &message);
        if (state->log->mode == CAPTURE_MODE_CHOOSING && seen && !forget)
            target_choice_paid(state, &open->choice, false);
    }
    if (target_fresh_close())
        __atomic_store_n(&state->log->blocks_moved, 1, __ATOMIC_RELAXED);
    state->captures_open -= state->captures_open > 0;
    if (!state->captures_open)
        target_timers_resume(&state->timers);
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

/* The first of the region's planned invocations that is not below that number, or the end of its plan. */
static struct capture_planned *planned_at(struct capture_log *log, const struct capture_region_entry *region, uint64_t invocation)
{
    struct capture_planned *plan = &log->plan[region->plan_first];
    BISECT(low, 0, region->plan_count, i, plan[i].invocation < invocation);
    return plan + low;
}

static bool planned_become(struct capture_planned *planned, uint32_t before, uint32_t now)
{
    return __atomic_compare_exchange_n(&planned->state, &before, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Did any invocation of the region have them in the run that planned? Seldom true of others. */
static bool words_were_seen(const struct capture_region_entry *region, uint64_t words_hash)
{
    bool seen = true;
    for (unsigned which = 0; which < 2; which++) {
        uint32_t bit = capture_words_bit(words_hash, which);
        seen = seen && region->words_seen[bit / 64] >> bit % 64 & 1;
    }
    return seen;
}

/* The planned invocation that this one is, or stands for, or NULL. Where several threads enter a region, another run hands out its numbers in another order:
 * their words tell them apart then. Words that none had there tell nothing: what they point to lies elsewhere in this run. Nor do any where blocks have moved,
 * since another's address may have become this one's; then the number tells, where it can. */
static const struct capture_planned *planned_take(struct capture_log *log, const struct capture_record *record)
{
    struct capture_region_entry *region = &log->regions[record->region];
    struct capture_planned *end = &log->plan[region->plan_first] + region->plan_count, *planned = planned_at(log, region, record->invocation);
    if (planned < end && planned->invocation == record->invocation) {
        bool numbered = capture_is_numbered(log, record->region);
        bool same = numbered || !planned->words_hash || planned->words_hash == record->words_hash || !words_were_seen(region, record->words_hash);
        if (planned_become(planned, CAPTURE_PLANNED_WAITS, same ? CAPTURE_PLANNED_TAKEN : CAPTURE_PLANNED_MOVED)) {
            if (same)
                return planned;
            __atomic_fetch_add(&region->plan_moved, 1, __ATOMIC_RELAXED);
        }
    }
    if (!__atomic_load_n(&region->plan_moved, __ATOMIC_RELAXED))
        return NULL;
    for (planned = &log->plan[region->plan_first]; planned < end && planned->invocation < record->invocation; planned++)
        if (planned->words_hash == record->words_hash && planned_become(planned, CAPTURE_PLANNED_MOVED, CAPTURE_PLANNED_TAKEN)) {
            __atomic_fetch_sub(&region->plan_moved, 1, __ATOMIC_RELAXED);
            return planned;
        }
    return NULL;
}

static uint64_t words_hash(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static bool is_wanted(struct target_state *state, struct target_open *open)
{
    struct capture_log *log = state->log;
    struct capture_record *record = &open->record;
    open->captured_as = record->invocation;
    if (log->mode == CAPTURE_MODE_CHOOSING)
        return target_choice_begin(state, &open->choice, record, open->stack_pointer);
    const struct capture_planned *planned = planned_take(log, record);
    if (planned)
        open->captured_as = planned->invocation;
    return planned != NULL;
}

/* Read the words; where the program is to stop, tell the tracer of them. */
static bool capture_begin(struct target_state *state, const struct pcere_site *site, struct target_open *open, int32_t num_threads, int32_t proc_bind,
                          uint32_t words, va_list arguments, const void *called_from)
{
    struct capture_log *log = state->log;
    struct capture_record *record = &open->record;
    va_list again;
    va_copy(again, arguments);
    record->team = (uint32_t)(num_threads ? abs(num_threads) : target_runtime_asked());
    uint64_t hash = words_hash(words, record->team);     /* with another team it takes another time, */
    hash = words_hash(hash, (uint64_t)(uintptr_t)called_from);      /* ... and in another copy of a function that was inlined, whose arguments lie in the same places of one stack */
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
        .type = CAPTURE_MESSAGE_BEGIN, .region = record->region, .invocation = open->captured_as, .path = record->path,
        .num_threads = num_threads, .proc_bind = proc_bind, .word_count = words, .words_hash = hash,
        .unit_id = site->unit_id, .stack_pointer = open->stack_pointer, .thread_pointer = target_thread_pointer()};
    target_frame_tell(state, NULL);
    bool captured = target_stop(state, &message);
    record->flags |= CAPTURE_RECORD_STOPPED;
    if (log->mode == CAPTURE_MODE_CHOOSING)
        target_choice_paid(state, &open->choice, true);
    open->alarms = state->timers.alarms;
    if (captured) {
        state->captures_open++;
        target_fresh_open();
    } else if (!state->captures_open) {
        target_timers_resume(&state->timers);
    }
    target_stop_leave(state);
    return captured;
}

/* The next of the thread's open regions, filled as far as it is known before it begins; NULL: there are too many. */
static struct target_open *open_new(struct target_state *state, struct target_thread *thread, uint32_t index, const struct pcere_site *site,
                                    uintptr_t stack_pointer)
{
    struct capture_counts *region = &state->log->counts[index];
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
    if (thread->depth >= TARGET_DEPTH_MAX) {
        thread->depth_beyond++;
        return NULL;
    }
    struct target_open *open = &thread->open[thread->depth];
    open->site = site;
    open->stack_pointer = stack_pointer;
    open->place = place;
    open->nested = nested;
    open->captured = open->forgotten = open->probed = open->sampled = open->choice.made = open->choice.light = false;        /* all else is set before it is asked for */
    open->record = (struct capture_record){.invocation = invocation, .region = index, .parent = target_nesting_parent(state, thread, levels, team)};
    return open;
}

/* `stops_before`: of all stops, before it was captured itself. */
static void open_start(const struct target_state *state, struct target_thread *thread, struct target_open *open, uint64_t stops_before)
{
    const struct capture_counts *region = &state->log->counts[open->record.region];
    if (__atomic_load_n(&region->stops_seen, __ATOMIC_RELAXED) != stops_before)
        open->record.flags |= CAPTURE_RECORD_NEAR;
    bool near = open->record.flags & CAPTURE_RECORD_NEAR;
    if (open->record.invocation <= EARLY_MOST || near || region->last_ns >= COSTLY_NS) {
        open->record.flags |= CAPTURE_RECORD_CPU;
        open->before = costs_read();
        /* The most that was ever in memory does not tell of a first one: it is that of the process that became the program, too. */
        if (open->record.invocation == 1 || (region->faulted && region->last_ns >= RESIDENT_COSTLY_NS))
            open->before.resident_bytes = resident_bytes();
        open->before.cpu_ns = process_cpu_ns();
    }
    open->stops_before = __atomic_load_n(&state->log->stops, __ATOMIC_RELAXED);
    open->stall_before_ns = __atomic_load_n(&state->log->stall_ns, __ATOMIC_RELAXED);
    depth_set(thread, thread->depth + 1);
    open->record.begin_ns = target_clock_ns();
}

#define SAMPLED_ONE_IN 64u
#define SAMPLED_MOST_NS 2000u           /* what takes longer was interrupted, or captured */

/* What a probe takes outside regions: it asks for faults, and in a run that is captured for call paths, 10 to 30 us where regions take long. Short ones ask for
 * nothing; reading the clock twice more would weigh beside them, so that one of many is timed for all. */
struct probing {
    uint64_t begin_ns, stall_ns;    /* 0: not timed */
    bool sampled;
};

/* The time now, if the invocation that comes next seems to be one whose probes are timed, else 0: what a probe waits for before it has the invocation's number is its own. */
static uint64_t probing_enter(const struct capture_counts *region)
{
    uint64_t before = __atomic_load_n(&region->invocations, __ATOMIC_RELAXED);
    return before && ((before + 1) % SAMPLED_ONE_IN == 0 || region->last_ns >= COSTLY_NS) ? target_clock_ns() : 0;
}

static struct probing probing_begin(const struct target_state *state, const struct target_open *open, uint64_t now_ns)
{
    if (!open->probed && !open->sampled)
        return (struct probing){0};
    return (struct probing){now_ns ? now_ns : target_clock_ns(), __atomic_load_n(&state->log->stall_ns, __ATOMIC_RELAXED), open->sampled};
}

/* Inside other regions it is part of their times: noted with them. `depth`: open ones of this thread around it. */
static void probed_note(struct capture_log *log, const struct target_thread *thread, uint32_t depth, uint32_t parent, uint64_t took_ns)
{
    if (parent && parent != CAPTURE_PARENT_UNKNOWN)
        __atomic_fetch_add(&log->regions[parent - 1].probed_ns, took_ns, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < depth; i++)
        __atomic_fetch_add(&log->regions[thread->open[i].record.region].probed_own_ns, took_ns, __ATOMIC_RELAXED);
}

static void probing_end(struct target_state *state, const struct probing *probing, const struct target_thread *thread, const struct target_open *open, uint64_t now_ns)
{
    if (!probing->begin_ns)
        return;
    uint64_t stall_ns = __atomic_load_n(&state->log->stall_ns, __ATOMIC_RELAXED) - probing->stall_ns;
    uint64_t took_ns = (now_ns ? now_ns : target_clock_ns()) - probing->begin_ns;
    if (probing->sampled)
        took_ns = took_ns <= SAMPLED_MOST_NS ? SAMPLED_ONE_IN * took_ns : 0;
    if (open->nested)
        probed_note(state->log, thread, (uint32_t)(open - thread->open), open->record.parent, took_ns);
    else
        __atomic_fetch_add(&state->log->probing_ns, took_ns > stall_ns ? took_ns - stall_ns : 0, __ATOMIC_RELAXED);
}

/* Nothing else is known of what another version's site and arguments are: its region is one without probes. */
static bool is_of_another_version(const struct pcere_site *site)
{
    if (__builtin_expect(site->abi_version == PCERE_ABI_VERSION, 1))
        return false;
    target_fork_due = 0;
    target_fork_version = site->abi_version ? site->abi_version : UINT32_MAX;
    return true;
}

TARGET_EXPORT void __pcere_region_begin(struct pcere_site *site, int32_t path, int32_t num_threads, int32_t proc_bind,
                                        int32_t argc, ...)
{
    struct target_state *state = target_state;
    if (__builtin_expect(is_of_another_version(site), 0))
        return;
    target_fork_due = path != PCERE_PATH_SERIALIZED ? TARGET_FORK_DUE : 0;
    if (!state->active) {
        target_inactive_note();
        return;
    }
    target_runtime_attach(__builtin_return_address(0));
    uint32_t index = target_site_region(state->log, site);
    struct target_thread *thread = index == TARGET_REGION_NONE ? NULL : target_thread_own(state);
    if (!thread)
        return;
    const struct capture_counts *region = &state->log->counts[index];
    uint64_t entered_ns = probing_enter(region);
    /* The call pushed the return address, the prologue the frame pointer. */
    uintptr_t stack_pointer = (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(void *);
    struct target_open *open = open_new(state, thread, index, site, stack_pointer);
    if (!(open ? open->nested : thread->depth > 0) && !__atomic_load_n(&state->runtime_started, __ATOMIC_RELAXED) &&
        !__atomic_exchange_n(&state->runtime_started, 1, __ATOMIC_RELAXED)) {
        target_runtime_start(state, abs(num_threads), proc_bind);
        entered_ns = 0;             /* starting the runtime is the program's */
    }
    if (!open)
        return;
    bool outermost = !open->nested && thread->thread_pointer == state->initial_thread;
    open->probed = outermost && (open->record.invocation == 1 || region->last_ns >= COSTLY_NS);
    open->sampled = (outermost || open->nested) && !open->probed && open->record.invocation % SAMPLED_ONE_IN == 0;
    struct probing probing = probing_begin(state, open, entered_ns);
    open->record.path = (uint8_t)path;
    va_list arguments;
    va_start(arguments, argc);
    uint64_t stops_before = __atomic_load_n(&state->log->stops, __ATOMIC_RELAXED);
    open->captured = capture_begin(state, site, open, num_threads, proc_bind, argc < 0 ? 0 : (uint32_t)argc, arguments, __builtin_return_address(0));
    va_end(arguments);
    if (open->captured)
        target_frame_keep(state, open);
    open_start(state, thread, open, stops_before);
    probing_end(state, &probing, thread, open, open->record.begin_ns);
}

bool target_plain_begin(struct target_state *state, struct pcere_site *site, uintptr_t stack_pointer)
{
    uint32_t index = target_site_region(state->log, site);
    struct target_thread *thread = index == TARGET_REGION_NONE ? NULL : target_thread_own(state);
    struct target_open *open = thread ? open_new(state, thread, index, site, stack_pointer) : NULL;
    if (!open)
        return thread != NULL;
    /* Never stopped at, since it is not wanted; learnt of like others. */
    if (state->socket >= 0 && state->log->mode == CAPTURE_MODE_CHOOSING)
        target_choice_begin(state, &open->choice, &open->record, stack_pointer);
    open_start(state, thread, open, __atomic_load_n(&state->log->stops, __ATOMIC_RELAXED));
    return true;
}

#define LOOK_NS 1000000u                 /* from one look to the next: half a microsecond */
#define LOOK_MOST_NS (2 * LOOK_NS)      /* before an invocation began: later looks tell of it */
#define LOST_LEAST_NS 500000u           /* slices of the scheduler that others get are no shorter */

static uint16_t switches_counted(uint64_t switches)
{
    return switches < UINT16_MAX ? (uint16_t)switches : UINT16_MAX;
}

/* Of a region too short to ask before it began: did others have the thread's processor for most of this invocation? */
static void lost_find(const struct target_look *before, const struct target_look *now, uint64_t usual_ns, struct capture_record *record)
{
    uint64_t time_ns = record->end_ns - record->begin_ns, cpu_ns = now->cpu_ns - before->cpu_ns;
    if (before->at_ns + LOOK_MOST_NS < record->begin_ns || before->stops != now->stops || before->sleeps != now->sleeps || before->switches == now->switches)
        return;
    uint64_t between_ns = record->begin_ns > before->at_ns ? record->begin_ns - before->at_ns : 0, waited_ns = now->at_ns - before->at_ns - cpu_ns;
    if (cpu_ns >= now->at_ns - before->at_ns || waited_ns < time_ns / 2 || waited_ns < between_ns)
        return;
    record->switches = switches_counted(now->switches - before->switches);
    record->cpu_ns = waited_ns < time_ns ? time_ns - waited_ns : 1;
    record->cpu_ns = record->cpu_ns < usual_ns && usual_ns < time_ns ? usual_ns : record->cpu_ns;
}

static void look(const struct target_state *state, struct target_thread *thread, uint64_t usual_ns, struct capture_record *record)
{
    if (record->end_ns < thread->look.at_ns + LOOK_NS)
        return;
    struct target_costs costs = costs_read();
    struct target_look now = {.at_ns = target_clock_ns(), .cpu_ns = process_cpu_ns(), .switches = costs.switches, .sleeps = costs.sleeps,
                              .stops = __atomic_load_n(&state->log->stops, __ATOMIC_RELAXED)};
    if (!(record->flags & CAPTURE_RECORD_CPU) && thread->look.at_ns && record->end_ns - record->begin_ns >= LOST_LEAST_NS)
        lost_find(&thread->look, &now, usual_ns, record);
    thread->look = now;
}

static void open_close(struct target_state *state, struct target_thread *thread, struct target_open *open, uint64_t end_ns)
{
    struct capture_record *record = &open->record;
    struct capture_counts *region = &state->log->counts[record->region];
    record->end_ns = end_ns;
    uint64_t stall_ns = __atomic_load_n(&state->log->stall_ns, __ATOMIC_RELAXED) - open->stall_before_ns;
    record->end_ns -= stall_ns < record->end_ns - record->begin_ns ? stall_ns : record->end_ns - record->begin_ns;
    if (record->flags & CAPTURE_RECORD_CPU) {
        struct target_costs after = costs_read();
        record->faults = (uint32_t)(after.faults - open->before.faults);
        record->switches = switches_counted(after.switches - open->before.switches);
        if (record->switches && after.sleeps == open->before.sleeps)
            record->cpu_ns = process_cpu_ns() - open->before.cpu_ns;
        bool many = record->faults >= FAULTS_MANY;
        uint64_t now_bytes = many && open->before.resident_bytes ? resident_bytes() : 0;
        uint64_t grown_bytes = now_bytes > open->before.resident_bytes ? now_bytes - open->before.resident_bytes : 0;
        record->flags |= fresh_flags(record->faults, after.resident_most_bytes - open->before.resident_most_bytes) | fresh_flags(record->faults, grown_bytes);
        if (many)
            __atomic_store_n(&region->faulted, 1, __ATOMIC_RELAXED);
    }
    look(state, thread, region->last_ns, record);
    bool given_up = open->captured && alarm_look(state, open), choosing = state->log->mode == CAPTURE_MODE_CHOOSING;
    uint64_t time_ns = record->end_ns - record->begin_ns, stops = __atomic_load_n(&state->log->stops, __ATOMIC_RELAXED);
    if (stops != open->stops_before)
        record->flags |= CAPTURE_RECORD_NEAR;
    __atomic_store_n(&region->stops_seen, stops, __ATOMIC_RELAXED);
    __atomic_store_n(&region->last_ns, time_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(open->nested ? &region->nested_ns : &region->time_ns, time_ns, __ATOMIC_RELAXED);
    /* Known before it counts as one that its region has: else no other would be captured in its place. */
    open->forgotten = given_up || (open->captured && choosing && state->log->after && !target_choice_keep(state, &open->choice, time_ns));
    if (state->socket >= 0 && choosing)
        target_choice_end(state, &open->choice, record, open->captured && !given_up, !open->forgotten);
    record_write(state, record);
}

TARGET_EXPORT void __pcere_region_end(struct pcere_site *site)
{
    struct target_state *state = target_state;
    if (!state->active || site->abi_version != PCERE_ABI_VERSION)
        return;
    uint64_t end_ns = target_clock_ns();        /* before all else: short regions take no longer than what follows */
    struct target_thread *thread = target_thread_own(state);
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
    struct probing probing = probing_begin(state, open, end_ns);
    open_close(state, thread, open, end_ns);
    depth_set(thread, depth - 1);
    if (open->captured)
        capture_end(state, open, (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(void *), true);
    probing_end(state, &probing, thread, open, 0);
}
