/* replay-rt/target/sample_hooks.h - what the interposed calls have of each other: the runtime's own functions, the integers of compiled code, and what the
 * assembly hands to C. */
#ifndef PCERE_REPLAY_TARGET_SAMPLE_HOOKS_H
#define PCERE_REPLAY_TARGET_SAMPLE_HOOKS_H

#include "replay-rt/target/sample.h"

#include <string.h>

#define HOOK __attribute__((visibility("default")))
#define SAMPLE_NONMONOTONIC (1u << 30)
#define SAMPLE_MODIFIERS (3u << 29)       /* of a schedule: monotonic, nonmonotonic */

enum { STATIC_CHUNKED = 33, STATIC = 34, DYNAMIC = 35, GUIDED = 36, RUNTIME = 37, AUTO = 38, STEAL = 44 };

struct location { int32_t reserved1, flags, reserved2, reserved3; const char *text; };

typedef void static_init_fn(const struct location *, int32_t, int32_t, void *, void *, void *, void *, uint64_t, uint64_t);
typedef void static_fini_fn(const struct location *, int32_t);
typedef void barrier_fn(const struct location *, int32_t);
typedef int reduce_fn(const struct location *, int32_t, int32_t, size_t, void *, void (*)(void *, void *), void *);
typedef void reduce_end_fn(const struct location *, int32_t, void *);
typedef void copyprivate_fn(const struct location *, int32_t, size_t, void *, void (*)(void *, void *), int32_t);

/* ---- sample_hooks.c --------------------------------------------------------------------------------------------------------------- */

/* The OpenMP runtime's own. Read by assembly. */
struct pcere_sample_real {
    static_init_fn *static_init[4];
    static_fini_fn *static_fini;
    void (*fork)(void);
    barrier_fn *barrier;
    reduce_fn *reduce, *reduce_nowait;
    reduce_end_fn *reduce_end;
    copyprivate_fn *copyprivate;
};
extern struct pcere_sample_real pcere_sample_real;
extern unsigned char pcere_sample_active, pcere_sample_armed;       /* a shot runs; the next fork is the region's */
extern void *pcere_sample_task;           /* the region's function */
/* The next definition of a function behind the codelet's, into a pointer to it. NULL: there is none. */
void pcere_sample_find(void *slot, const char *name);
/* The region enters one inside itself. */
void pcere_sample_nested(void);

/* ---- sample_dispatch.c ------------------------------------------------------------------------------------------------------------ */

void pcere_sample_dispatch_find(void);
bool pcere_sample_dispatch_ready(void);

/* ---- sample_static.c, called by assembly ------------------------------------------------------------------------------------------ */

struct sample_call {                      /* as the assembly lays it out */
    uint64_t rbx, rbp, r12, r13, r14, r15, rsp, rip;
    uint64_t location, thread, schedule, last, lower, upper;
};
void pcere_sample_static_init(const struct sample_call *call, uint32_t kind);
const struct sample_jump *pcere_sample_static_fini(const struct location *location, int32_t number, uint64_t stack_pointer);

/* ---- sample_x86_64.c, sample_aarch64.c -------------------------------------------------------------------------------------------- */

/* Bytes from the caller's stack pointer to the end of its frame; 0: nobody knows. */
uint64_t pcere_sample_frame_bytes(const struct sample_call *call);

/* ---- integers of the compiled code ------------------------------------------------------------------------------------------------ */

static inline uint64_t value_get(const void *at, uint32_t kind)
{
    int32_t narrow;
    uint64_t wide;
    if (kind == SAMPLE_INT64 || kind == SAMPLE_UINT64)
        return memcpy(&wide, at, sizeof wide), wide;
    memcpy(&narrow, at, sizeof narrow);
    return kind == SAMPLE_INT32 ? (uint64_t)(int64_t)narrow : (uint32_t)narrow;
}

static inline void value_put(void *at, uint32_t kind, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;
    if (kind == SAMPLE_INT64 || kind == SAMPLE_UINT64)
        memcpy(at, &value, sizeof value);
    else
        memcpy(at, &narrow, sizeof narrow);
}

static inline uint64_t widened(uint64_t value, uint32_t kind)
{
    return kind == SAMPLE_INT32 ? (uint64_t)(int64_t)(int32_t)value : kind == SAMPLE_UINT32 ? (uint32_t)value : value;
}

/* Increments are signed, whatever the loop's variable is. */
static inline uint64_t increment_of(uint64_t value, uint32_t kind)
{
    return kind == SAMPLE_INT32 || kind == SAMPLE_UINT32 ? (uint64_t)(int64_t)(int32_t)value : value;
}

static inline uint64_t trip_count(uint64_t low, uint64_t high, uint64_t increment, uint32_t kind)
{
    bool is_signed = kind == SAMPLE_INT32 || kind == SAMPLE_INT64;
    bool down = (int64_t)increment < 0;
    uint64_t from = down ? high : low, to = down ? low : high, step = down ? -increment : increment;
    if (!step || (is_signed ? (int64_t)from > (int64_t)to : from > to) || to - from == UINT64_MAX)
        return 0;
    return (to - from) / step + 1;
}

/* Tells instances of loops apart, for the blocks that are chosen of them. By where the loop lies in its unit, not in the executable: else another version of this runtime would choose
 * other iterations of the same program. */
static inline uint64_t instance_key(struct sample_thread *thread, uint32_t site, uint64_t address)
{
    return pcere_sample_mix((address - pcere_sample_shot.origin) ^ ((uint64_t)thread->site_instances[site] << 48));
}

#endif
