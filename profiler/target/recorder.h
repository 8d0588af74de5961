/* profiler/target/recorder.h - what the parts of the library inside the user's process know of each other.
 *
 * The state lies in pages that the kernel wipes in a forked child: there `active` reads 0 and nothing is recorded. Nothing here allocates from
 * the program's heap, prints, exits, or changes errno.
 */
#ifndef PCERE_PROFILER_TARGET_RECORDER_H
#define PCERE_PROFILER_TARGET_RECORDER_H

#include "profiler/answers.h"
#include "profiler/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORDER_EXPORT __attribute__((visibility("default")))
#define RECORDER_CACHE 256u     /* sites that a thread remembers; a power of two */

struct recorder_site { const void *ident, *address; uint32_t index, kind; };

#define RECORDER_GROUPS 2        /* of kernel counters */
#define RECORDER_IMAGES 64u      /* that count what they execute */

struct perf_event_mmap_page;

struct recorder_counters {      /* of one thread */
    uint32_t backends;          /* a bit for each that has events here */
    int groups[RECORDER_GROUPS];        /* descriptors of the leaders, or -1 */
    uint32_t sizes[RECORDER_GROUPS];
    int descriptors[RECORDER_GROUPS][TRACE_EVENTS_MOST];
    uint8_t places[RECORDER_GROUPS][TRACE_EVENTS_MOST];         /* of the group's n-th among all events */
    const struct perf_event_mmap_page *pages[TRACE_EVENTS_MOST];        /* of the processor's events, or NULL */
    bool direct;                /* all of them may be read without the kernel */
    uint32_t turn_count;        /* of the processor's events that take turns: each is a group alone */
    int turn_descriptors[TRACE_EVENTS_MOST];
    uint8_t turn_places[TRACE_EVENTS_MOST];
    struct counter_turn turns[TRACE_EVENTS_MOST];
    const uint64_t *vectors[RECORDER_IMAGES];   /* of this thread, in each image that counts */
    uint32_t vector_count, generation;
    uint64_t last[TRACE_EVENTS_MOST];
};

struct recorder_mapping {       /* what the call of the offloading runtime that is being made moves; the program's arrays */
    int32_t count;
    void *const *bases, *const *begins, *const *names;          /* names: NULL without -g */
    const int64_t *sizes;
};

struct recorder_depend { intptr_t address; size_t bytes; uint8_t flags; };      /* kmp_depend_info */
enum { RECORDER_DEPEND_IN = 1, RECORDER_DEPEND_OUT = 2, RECORDER_DEPEND_MUTEXINOUTSET = 4, RECORDER_DEPEND_INOUTSET = 8 };       /* flags; else all memory */

enum recorder_depends_state { RECORDER_DEPENDS_UNKNOWN, RECORDER_DEPENDS_KNOWN, RECORDER_DEPENDS_TOLD };

struct recorder_depends {       /* of the task that is being made: the call's own two lists */
    enum recorder_depends_state state;
    int32_t counts[2];
    const struct recorder_depend *lists[2];
};

struct recorder {               /* of one thread */
    struct trace_record *next;  /* room in its block */
    struct trace_record *limit; /* before it a record needs neither room nor counters, and the clock is the processor's; NULL: there is no such place */
    uint64_t base_ticks;
    struct trace_block *block;  /* NULL: nothing can be recorded any more */
    int64_t cpu_place;          /* from the thread's pointer to the number of the processor that it runs on */
    uint32_t cpu;               /* of its last record */
    uint64_t tasks, teams;      /* made by this thread */
    uint32_t thread;
    uint32_t pending;           /* construct of the call that is being made, for the tool event that it will cause */
    struct recorder_depends depends;
    uint32_t inside;            /* calls of the runtime that are known from their entry */
    uint32_t messages;          /* calls of MPI that it is in */
    struct recorder_mapping mapping;
    struct trace_record *end;   /* of its block */
    struct recorder_counters counters;
    struct recorder_site cache[RECORDER_CACHE];
};

struct recorder_state {
    uint32_t active;            /* 0: nothing is recorded */
    uint32_t event_count, count_slots;
    uint32_t clock;             /* enum trace_clock */
    int64_t cpu_place;          /* from any thread's pointer to where the kernel keeps the number of its processor, or to one that is none */
    struct trace_header *header;
    int file;
    uintptr_t runtime_low, runtime_high;        /* the OpenMP runtime's text: calls from there are its own */
};

extern struct recorder_state *recorder_state;
extern __thread struct recorder *recorder_self __attribute__((tls_model("initial-exec")));

/* ---- record.c --------------------------------------------------------------------------------------------------------------- */

uint64_t recorder_monotonic_ns(void);
struct trace_anchor recorder_anchor(void);
/* This thread's recorder, made at the first call; NULL: there is none. */
struct recorder *recorder_start(void);
void recorder_thread_end(void);
/* A new block of the file, mapped; NULL: no room. */
struct trace_block *recorder_block(uint16_t kind, uint16_t thread, uint32_t sequence);
/* A record with counts or another clock, where there is no room, the time does not fit, or the processor is another one. */
void recorder_put_slow(struct recorder *recorder, uint32_t word, uint64_t value);

static inline struct recorder *recorder_get(void)
{
    if (__builtin_expect(!recorder_state->active, 0))
        return NULL;
    struct recorder *recorder = recorder_self;
    return __builtin_expect(recorder != NULL, 1) ? recorder : recorder_start();
}

static inline uint64_t recorder_ticks(void)
{
    return __builtin_expect(recorder_state->clock == TRACE_CLOCK_TSC, 1) ? __builtin_ia32_rdtsc() : recorder_monotonic_ns();
}

/* rseq(2), which the C library registers for each thread. */
static inline uint32_t recorder_cpu(const struct recorder *recorder)
{
    uint32_t cpu;
    __asm__ volatile("movl %%fs:(%1), %0" : "=r"(cpu) : "r"(recorder->cpu_place));
    return cpu;
}

/* What the block holds counts from now on: a killed program leaves whole records. */
static inline void recorder_publish(struct recorder *recorder, struct trace_record *next)
{
    const struct trace_record *first = (const struct trace_record *)(const void *)(recorder->block + 1);
    recorder->next = next;
    __atomic_store_n(&recorder->block->used, (uint32_t)(next - first), __ATOMIC_RELEASE);
}

/* Callers do nothing after it, so that the way without a call saves no registers. */
static inline void recorder_put(struct recorder *recorder, uint32_t word, uint64_t value)
{
    struct trace_record *record = recorder->next;
    if (__builtin_expect(record >= recorder->limit, 0)) {
        recorder_put_slow(recorder, word, value);
        return;
    }
    uint64_t passed = __builtin_ia32_rdtsc() - recorder->base_ticks;
    if (__builtin_expect(passed >> 32 || recorder_cpu(recorder) != recorder->cpu, 0)) {
        recorder_put_slow(recorder, word, value);
        return;
    }
    record->time = (uint32_t)passed;
    record->word = word;
    record->value = value;
    recorder_publish(recorder, record + 1);
}

/* One more of the same moment as the record just put: the clock is not read. */
static inline void recorder_put_also(struct recorder *recorder, uint32_t word, uint64_t value)
{
    struct trace_record *record = recorder->next;
    if (__builtin_expect(record >= recorder->limit || record == (struct trace_record *)(void *)(recorder->block + 1), 0)) {
        recorder_put_slow(recorder, word, value);
        return;
    }
    record->time = record[-1].time;
    record->word = word;
    record->value = value;
    recorder_publish(recorder, record + 1);
}

static inline uint64_t recorder_task_new(struct recorder *recorder)
{
    return (uint64_t)recorder->thread << TRACE_ID_THREAD_SHIFT | ++recorder->tasks;
}

static inline uint64_t recorder_team_new(struct recorder *recorder)
{
    return (uint64_t)recorder->thread << TRACE_ID_THREAD_SHIFT | ++recorder->teams;
}

/* ---- constructs.c ----------------------------------------------------------------------------------------------------------- */

struct recorder_ident { int32_t reserved_1, flags, reserved_2, reserved_3; const char *source; };
enum { RECORDER_IDENT_SECTIONS = 0x400, RECORDER_IDENT_DISTRIBUTE = 0x800 };      /* flags */

uint32_t recorder_construct_slow(struct recorder *recorder, const struct recorder_ident *ident, const void *address, uint32_t kind);
void recorder_thread_entry(uint32_t thread, uint32_t kernel_id, uint64_t type);

/* Number of the construct whose call with this ident returns to `address`; 0: the table is full. */
static inline uint32_t recorder_construct(struct recorder *recorder, const struct recorder_ident *ident, const void *address, uint32_t kind)
{
    uintptr_t mixed = ((uintptr_t)ident >> 4) * 31 + ((uintptr_t)address ^ (uintptr_t)address >> 7) + kind;
    const struct recorder_site *site = &recorder->cache[mixed % RECORDER_CACHE];
    if (__builtin_expect(site->ident == ident && site->address == address && site->kind == kind && site->index, 1))
        return site->index;
    return recorder_construct_slow(recorder, ident, address, kind);
}

/* ---- counters.c ------------------------------------------------------------------------------------------------------------- */

/* Open this thread's counters as the header wants them, and take them as they stand. */
void counters_open(struct recorder_counters *counters);
void counters_close(struct recorder_counters *counters);
/* The differences since the last call. */
void counters_read(struct recorder_counters *counters, uint64_t *differences);

/* ---- devices.c -------------------------------------------------------------------------------------------------------------- */

/* Ask the tool interface (an ompt_set_callback_t) for what devices do. */
void devices_listen(void (*set)(void));

/* ---- entries.c -------------------------------------------------------------------------------------------------------------- */

/* The function that stands behind ours, by its name. */
void (*recorder_next(const char *name))(void);
/* The same, looked for once. */
static inline void (*recorder_next_once(void (**known)(void), const char *name))(void)
{
    void (*function)(void) = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (!function) {
        function = recorder_next(name);
        __atomic_store_n(known, function, __ATOMIC_RELAXED);
    }
    return function;
}

/* Was this call made by the OpenMP runtime itself? */
static inline bool recorder_by_runtime(const void *address)
{
    uintptr_t place = (uintptr_t)address;
    return place >= recorder_state->runtime_low && place < recorder_state->runtime_high;
}

#endif
