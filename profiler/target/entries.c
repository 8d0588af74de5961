/* profiler/target/entries.c - the OpenMP runtime's functions that compiled programs call, with ours before them.
 *
 * It knows what the tool interface does not tell: an ident, bounds and chunks of loops, which sections, which taskloop. Calls that the runtime
 * makes of itself pass through.
 */
#include "profiler/target/recorder.h"

#include <dlfcn.h>

typedef struct recorder_ident ident;
#define CALLER __builtin_return_address(0)

#define ENTRIES(X)                                                                                                             \
    X(__kmpc_for_static_init_4) X(__kmpc_for_static_init_4u) X(__kmpc_for_static_init_8) X(__kmpc_for_static_init_8u)           \
    X(__kmpc_dist_for_static_init_4) X(__kmpc_dist_for_static_init_4u) X(__kmpc_dist_for_static_init_8)                         \
    X(__kmpc_dist_for_static_init_8u) X(__kmpc_for_static_fini)                                                                \
    X(__kmpc_dispatch_init_4) X(__kmpc_dispatch_init_4u) X(__kmpc_dispatch_init_8) X(__kmpc_dispatch_init_8u)                   \
    X(__kmpc_dist_dispatch_init_4) X(__kmpc_dist_dispatch_init_4u) X(__kmpc_dist_dispatch_init_8) X(__kmpc_dist_dispatch_init_8u)\
    X(__kmpc_dispatch_next_4) X(__kmpc_dispatch_next_4u) X(__kmpc_dispatch_next_8) X(__kmpc_dispatch_next_8u)                   \
    X(__kmpc_single) X(__kmpc_end_single) X(__kmpc_master) X(__kmpc_end_master) X(__kmpc_masked) X(__kmpc_end_masked)           \
    X(__kmpc_omp_task) X(__kmpc_omp_task_with_deps) X(__kmpc_omp_wait_deps) X(__kmpc_omp_taskwait_deps_51) X(__kmpc_omp_task_begin_if0) X(__kmpc_taskloop) X(__kmpc_taskloop_5)        \
    X(__kmpc_serialized_parallel)

#define NUMBER(name) NEXT_##name,
enum next_number { ENTRIES(NUMBER) NEXT_COUNT };
#define NAME(name) #name,
static const char *const next_names[] = {ENTRIES(NAME)};
static void (*next_functions[NEXT_COUNT])(void);

void (*recorder_next(const char *name))(void)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol) {              /* a runtime that was loaded for some library alone */
        void *runtime = dlopen("libomp.so.5", RTLD_LAZY | RTLD_NOLOAD);
        symbol = runtime ? dlsym(runtime, name) : NULL;
    }
    void (*function)(void);
    __builtin_memcpy(&function, &symbol, sizeof function);
    return function;
}

static inline void (*next_of(enum next_number number))(void)
{
    void (*function)(void) = __atomic_load_n(&next_functions[number], __ATOMIC_RELAXED);
    if (__builtin_expect(!function, 0)) {
        function = recorder_next(next_names[number]);
        __atomic_store_n(&next_functions[number], function, __ATOMIC_RELAXED);
    }
    return function;
}
#define NEXT(name) ((__typeof__(name) *)next_of(NEXT_##name))

/* This thread's recorder for a call of the program's; NULL: let it pass. */
static inline struct recorder *entry(const void *address)
{
    struct recorder *recorder = recorder_get();
    return !recorder || recorder_by_runtime(address) ? NULL : recorder;
}

/* ---- loops ------------------------------------------------------------------------------------------------------------------ */

enum { SCHEDULE_STATIC_CHUNKED = 33, SCHEDULE_STATIC = 34, SCHEDULE_DYNAMIC = 35, SCHEDULE_GUIDED = 36, SCHEDULE_ORDERED_DYNAMIC = 67,
       SCHEDULE_ORDERED_GUIDED = 68, SCHEDULE_DISTRIBUTE_CHUNKED = 91, SCHEDULE_DISTRIBUTE = 92, SCHEDULE_MODIFIERS = 0x60000000 };

static uint32_t loop_kind(const ident *where)
{
    return where && where->flags & RECORDER_IDENT_SECTIONS     ? TRACE_SECTIONS
           : where && where->flags & RECORDER_IDENT_DISTRIBUTE ? TRACE_DISTRIBUTE
                                                               : TRACE_LOOP;
}

static void long_range_put(struct recorder *recorder, uint64_t first, uint64_t length)
{
    recorder_put(recorder, TRACE_WORD(TRACE_RANGE_BEGIN, 0, TRACE_EXTRA_MOST), first);
    recorder_put_also(recorder, TRACE_WORD(TRACE_LENGTH, 0, 0), length);
}

struct loop_bounds { int64_t lower, upper, last, stride, step; };     /* this thread's first chunk; of the whole loop: last */

static inline uint64_t iterations(int64_t lower, int64_t upper, int64_t step)
{
    if (__builtin_expect(step == 1 && lower <= upper, 1))       /* clang's loops; a division costs as much as half a record */
        return (uint64_t)upper - (uint64_t)lower + 1;
    if (step == 0 || (step > 0 ? lower > upper : lower < upper))
        return 0;
    return step > 0 ? ((uint64_t)upper - (uint64_t)lower) / (uint64_t)step + 1 : ((uint64_t)lower - (uint64_t)upper) / (0 - (uint64_t)step) + 1;
}

/* All iterations that a static schedule gives to this thread are one range; with chunks their number is summed up. */
static uint64_t static_length(const struct loop_bounds *loop, bool chunked)
{
    uint64_t first = iterations(loop->lower, loop->upper, loop->step);
    if (!chunked || !first || !loop->stride)
        return first;
    uint64_t until_last = iterations(loop->lower, loop->last, loop->step);
    uint64_t distance = (uint64_t)(loop->stride / loop->step);
    if (!distance || !until_last)
        return first;
    uint64_t whole = (until_last - 1) / distance, rest = until_last - whole * distance;
    return whole * first + (rest < first ? rest : first);
}

enum { LOOP_OF_LEAGUE = 1 };     /* flags of TRACE_LOOP_BEGIN */

static void static_put(struct recorder *recorder, const ident *where, const void *address, int32_t schedule, int64_t chunk, unsigned flags,
                       const struct loop_bounds *loop)
{
    int32_t plain = schedule & ~SCHEDULE_MODIFIERS;
    bool chunked = plain == SCHEDULE_STATIC_CHUNKED || plain == SCHEDULE_DISTRIBUTE_CHUNKED;
    uint32_t kind = chunked ? TRACE_SCHEDULE_STATIC_CHUNKED : TRACE_SCHEDULE_STATIC;
    recorder_put(recorder, TRACE_WORD(TRACE_LOOP_BEGIN, flags, recorder_construct(recorder, where, address, loop_kind(where))),
                 kind | (chunked ? (uint64_t)chunk << 8 : 0));
    uint64_t length = static_length(loop, chunked);
    if (length)
        recorder_put_also(recorder, TRACE_WORD(TRACE_RANGE_BEGIN, 0, length < TRACE_EXTRA_MOST ? length : TRACE_EXTRA_MOST), (uint64_t)loop->lower);
    if (length >= TRACE_EXTRA_MOST)
        recorder_put_also(recorder, TRACE_WORD(TRACE_LENGTH, 0, 0), length);
}

/* The bounds of the whole loop are in *upper before the call, this thread's after it. */
#define STATIC_INIT(suffix, type, difference)                                                                                  \
    RECORDER_EXPORT void __kmpc_for_static_init_##suffix(ident *, int32_t, int32_t, int32_t *, type *, type *, difference *, difference, difference); \
    RECORDER_EXPORT void __kmpc_for_static_init_##suffix(ident *where, int32_t thread, int32_t schedule, int32_t *last, type *lower, type *upper,      \
                                                         difference *stride, difference step, difference chunk)                \
    {                                                                                                                          \
        struct recorder *recorder = entry(CALLER);                                                                             \
        struct loop_bounds loop = {.last = (int64_t)*upper, .step = step};                                                     \
        if (recorder)                                                                                                          \
            recorder->inside++;                                                                                                \
        NEXT(__kmpc_for_static_init_##suffix)(where, thread, schedule, last, lower, upper, stride, step, chunk);                \
        if (!recorder)                                                                                                         \
            return;                                                                                                            \
        recorder->inside--;                                                                                                    \
        loop.lower = (int64_t)*lower;                                                                                          \
        loop.upper = (int64_t)*upper;                                                                                          \
        loop.stride = *stride;                                                                                                 \
        static_put(recorder, where, CALLER, schedule, chunk, 0, &loop);                                                        \
    }                                                                                                                          \
    RECORDER_EXPORT void __kmpc_dist_for_static_init_##suffix(ident *, int32_t, int32_t, int32_t *, type *, type *, type *, difference *, difference, \
                                                              difference);                                                     \
    RECORDER_EXPORT void __kmpc_dist_for_static_init_##suffix(ident *where, int32_t thread, int32_t schedule, int32_t *last, type *lower, type *upper, \
                                                              type *upper_league, difference *stride, difference step, difference chunk)               \
    {                                                                                                                          \
        struct recorder *recorder = entry(CALLER);                                                                             \
        if (recorder)                                                                                                          \
            recorder->inside++;                                                                                                \
        NEXT(__kmpc_dist_for_static_init_##suffix)(where, thread, schedule, last, lower, upper, upper_league, stride, step, chunk);     \
        if (!recorder)                                                                                                         \
            return;                                                                                                            \
        recorder->inside--;                                                                                                    \
        struct loop_bounds loop = {(int64_t)*lower, (int64_t)*upper, (int64_t)*upper_league, *stride, step};                    \
        static_put(recorder, where, CALLER, schedule, chunk, LOOP_OF_LEAGUE, &loop);                                           \
    }
STATIC_INIT(4, int32_t, int32_t)
STATIC_INIT(4u, uint32_t, int32_t)
STATIC_INIT(8, int64_t, int64_t)
STATIC_INIT(8u, uint64_t, int64_t)

RECORDER_EXPORT void __kmpc_for_static_fini(ident *, int32_t);
RECORDER_EXPORT void __kmpc_for_static_fini(ident *where, int32_t thread)
{
    struct recorder *recorder = entry(CALLER);
    if (recorder) {
        recorder_put(recorder, TRACE_WORD(TRACE_LOOP_END, 0, 0), 0);
        recorder->inside++;
    }
    NEXT(__kmpc_for_static_fini)(where, thread);
    if (recorder)
        recorder->inside--;
}

static void dynamic_put(struct recorder *recorder, const ident *where, const void *address, int32_t schedule, int64_t chunk)
{
    int32_t plain = schedule & ~SCHEDULE_MODIFIERS;
    uint64_t kind = plain == SCHEDULE_DYNAMIC || plain == SCHEDULE_ORDERED_DYNAMIC ? TRACE_SCHEDULE_DYNAMIC
                    : plain == SCHEDULE_GUIDED || plain == SCHEDULE_ORDERED_GUIDED ? TRACE_SCHEDULE_GUIDED
                                                                                   : TRACE_SCHEDULE_OTHER;
    recorder_put(recorder, TRACE_WORD(TRACE_LOOP_BEGIN, 0, recorder_construct(recorder, where, address, loop_kind(where))),
                 kind | (uint64_t)chunk << 8);
}

#define DISPATCH(suffix, type, difference)                                                                                     \
    RECORDER_EXPORT void __kmpc_dispatch_init_##suffix(ident *, int32_t, int32_t, type, type, difference, difference);          \
    RECORDER_EXPORT void __kmpc_dispatch_init_##suffix(ident *where, int32_t thread, int32_t schedule, type lower, type upper, difference step, \
                                                       difference chunk)                                                       \
    {                                                                                                                          \
        struct recorder *recorder = entry(CALLER);                                                                             \
        if (recorder) {                                                                                                        \
            dynamic_put(recorder, where, CALLER, schedule, chunk);                                                             \
            recorder->inside++;                                                                                                \
        }                                                                                                                      \
        NEXT(__kmpc_dispatch_init_##suffix)(where, thread, schedule, lower, upper, step, chunk);                                \
        if (recorder)                                                                                                          \
            recorder->inside--;                                                                                                \
    }                                                                                                                          \
    RECORDER_EXPORT void __kmpc_dist_dispatch_init_##suffix(ident *, int32_t, int32_t, int32_t *, type, type, difference, difference);          \
    RECORDER_EXPORT void __kmpc_dist_dispatch_init_##suffix(ident *where, int32_t thread, int32_t schedule, int32_t *last, type lower, type upper,\
                                                            difference step, difference chunk)                                 \
    {                                                                                                                          \
        struct recorder *recorder = entry(CALLER);                                                                             \
        if (recorder) {                                                                                                        \
            dynamic_put(recorder, where, CALLER, schedule, chunk);                                                             \
            recorder->inside++;                                                                                                \
        }                                                                                                                      \
        NEXT(__kmpc_dist_dispatch_init_##suffix)(where, thread, schedule, last, lower, upper, step, chunk);                     \
        if (recorder)                                                                                                          \
            recorder->inside--;                                                                                                \
    }                                                                                                                          \
    RECORDER_EXPORT int __kmpc_dispatch_next_##suffix(ident *, int32_t, int32_t *, type *, type *, difference *);               \
    RECORDER_EXPORT int __kmpc_dispatch_next_##suffix(ident *where, int32_t thread, int32_t *last, type *lower, type *upper, difference *step)  \
    {                                                                                                                          \
        struct recorder *recorder = entry(CALLER);                                                                             \
        if (recorder)                                                                                                          \
            recorder->inside++;                                                                                                \
        int more = NEXT(__kmpc_dispatch_next_##suffix)(where, thread, last, lower, upper, step);                                \
        if (!recorder)                                                                                                         \
            return more;                                                                                                       \
        recorder->inside--;                                                                                                    \
        uint64_t length = more ? iterations((int64_t)*lower, (int64_t)*upper, *step) : 0;                                      \
        if (__builtin_expect(length >= TRACE_EXTRA_MOST, 0))                                                                   \
            long_range_put(recorder, (uint64_t)*lower, length);                                                                \
        else if (more)                                                                                                         \
            recorder_put(recorder, TRACE_WORD(TRACE_RANGE_BEGIN, 0, length), (uint64_t)*lower);                                \
        else                                                                                                                   \
            recorder_put(recorder, TRACE_WORD(TRACE_LOOP_END, 0, 0), 0);                                                       \
        return more;                                                                                                           \
    }
DISPATCH(4, int32_t, int32_t)
DISPATCH(4u, uint32_t, int32_t)
DISPATCH(8, int64_t, int64_t)
DISPATCH(8u, uint64_t, int64_t)

/* ---- single, masked --------------------------------------------------------------------------------------------------------- */

RECORDER_EXPORT int32_t __kmpc_single(ident *, int32_t);
RECORDER_EXPORT int32_t __kmpc_single(ident *where, int32_t thread)
{
    struct recorder *recorder = entry(CALLER);
    if (recorder)
        recorder->inside++;
    int32_t ours = NEXT(__kmpc_single)(where, thread);
    if (recorder) {
        recorder->inside--;
        recorder_put(recorder, TRACE_WORD(TRACE_SINGLE_BEGIN, 0, recorder_construct(recorder, where, CALLER, TRACE_SINGLE)), ours != 0);
    }
    return ours;
}

/* One that was entered, and left again: by its begin and end. */
static int32_t masked_enter(struct recorder *recorder, const ident *where, const void *address, int32_t ours)
{
    if (recorder) {
        recorder->inside--;
        if (ours)
            recorder_put(recorder, TRACE_WORD(TRACE_MASKED_BEGIN, 0, recorder_construct(recorder, where, address, TRACE_MASKED)), 0);
    }
    return ours;
}

RECORDER_EXPORT int32_t __kmpc_master(ident *, int32_t);
RECORDER_EXPORT int32_t __kmpc_master(ident *where, int32_t thread)
{
    struct recorder *recorder = entry(CALLER);
    if (recorder)
        recorder->inside++;
    return masked_enter(recorder, where, CALLER, NEXT(__kmpc_master)(where, thread));
}

RECORDER_EXPORT int32_t __kmpc_masked(ident *, int32_t, int32_t);
RECORDER_EXPORT int32_t __kmpc_masked(ident *where, int32_t thread, int32_t filter)
{
    struct recorder *recorder = entry(CALLER);
    if (recorder)
        recorder->inside++;
    return masked_enter(recorder, where, CALLER, NEXT(__kmpc_masked)(where, thread, filter));
}

#define LEFT(name, type)                                                                                                       \
    RECORDER_EXPORT void name(ident *, int32_t);                                                                               \
    RECORDER_EXPORT void name(ident *where, int32_t thread)                                                                    \
    {                                                                                                                          \
        struct recorder *recorder = entry(CALLER);                                                                             \
        if (recorder) {                                                                                                        \
            recorder_put(recorder, TRACE_WORD(type, 0, 0), 0);                                                                 \
            recorder->inside++;                                                                                                \
        }                                                                                                                      \
        NEXT(name)(where, thread);                                                                                             \
        if (recorder)                                                                                                          \
            recorder->inside--;                                                                                                \
    }
LEFT(__kmpc_end_single, TRACE_SINGLE_END)
LEFT(__kmpc_end_master, TRACE_MASKED_END)
LEFT(__kmpc_end_masked, TRACE_MASKED_END)

/* ---- tasks ------------------------------------------------------------------------------------------------------------------ */

/* The tool event that follows finds its construct in `pending`; where the task runs at once, its own events find none of it. */
RECORDER_EXPORT int32_t __kmpc_omp_task(ident *, int32_t, void *);
RECORDER_EXPORT int32_t __kmpc_omp_task(ident *where, int32_t thread, void *task)
{
    struct recorder *recorder = entry(CALLER);
    if (recorder)
        recorder->pending = recorder_construct(recorder, where, CALLER, TRACE_TASK);
    int32_t answer = NEXT(__kmpc_omp_task)(where, thread, task);
    if (recorder)
        recorder->pending = 0;                   /* an untied task that goes on is not made again */
    return answer;
}

/* The tool event for dependences would have the runtime make a list of them, which costs as much as all records of a task. Calls by the runtime itself are gcc's code. */
static inline struct recorder *depends_note(int32_t count, void *list, int32_t plain_count, void *plain_list)
{
    struct recorder *recorder = recorder_get();
    if (recorder)
        recorder->depends = (struct recorder_depends){RECORDER_DEPENDS_KNOWN, {count, plain_count}, {list, plain_list}};
    return recorder;
}

RECORDER_EXPORT int32_t __kmpc_omp_task_with_deps(ident *, int32_t, void *, int32_t, void *, int32_t, void *);
RECORDER_EXPORT int32_t __kmpc_omp_task_with_deps(ident *where, int32_t thread, void *task, int32_t count, void *list, int32_t plain_count, void *plain_list)
{
    struct recorder *recorder = depends_note(count, list, plain_count, plain_list);
    if (recorder && !recorder_by_runtime(CALLER))
        recorder->pending = recorder_construct(recorder, where, CALLER, TRACE_TASK);
    return NEXT(__kmpc_omp_task_with_deps)(where, thread, task, count, list, plain_count, plain_list);
}

/* taskwait with dependences, and tasks with if(0) and some: where there is nothing to wait for, no event takes the list. */
RECORDER_EXPORT void __kmpc_omp_wait_deps(ident *, int32_t, int32_t, void *, int32_t, void *);
RECORDER_EXPORT void __kmpc_omp_wait_deps(ident *where, int32_t thread, int32_t count, void *list, int32_t plain_count, void *plain_list)
{
    struct recorder *recorder = depends_note(count, list, plain_count, plain_list);
    NEXT(__kmpc_omp_wait_deps)(where, thread, count, list, plain_count, plain_list);
    if (recorder)
        recorder->depends.state = RECORDER_DEPENDS_UNKNOWN;
}

RECORDER_EXPORT void __kmpc_omp_taskwait_deps_51(ident *, int32_t, int32_t, void *, int32_t, void *, int32_t);
RECORDER_EXPORT void __kmpc_omp_taskwait_deps_51(ident *where, int32_t thread, int32_t count, void *list, int32_t plain_count, void *plain_list, int32_t nowait)
{
    struct recorder *recorder = depends_note(count, list, plain_count, plain_list);
    NEXT(__kmpc_omp_taskwait_deps_51)(where, thread, count, list, plain_count, plain_list, nowait);
    if (recorder)
        recorder->depends.state = RECORDER_DEPENDS_UNKNOWN;
}

RECORDER_EXPORT void __kmpc_omp_task_begin_if0(ident *, int32_t, void *);
RECORDER_EXPORT void __kmpc_omp_task_begin_if0(ident *where, int32_t thread, void *task)
{
    struct recorder *recorder = entry(CALLER);
    if (recorder)
        recorder->pending = recorder_construct(recorder, where, CALLER, TRACE_TASK);
    NEXT(__kmpc_omp_task_begin_if0)(where, thread, task);
}

static void taskloop_put(struct recorder *recorder, const ident *where, const void *address)
{
    if (!recorder)
        return;
    recorder->pending = 0;
    recorder_put(recorder, TRACE_WORD(TRACE_TASKLOOP_BEGIN, 0, recorder_construct(recorder, where, address, TRACE_TASKLOOP)), 0);
}

static void taskloop_end(const void *address)
{
    struct recorder *recorder = entry(address);       /* an untied task may have moved to another thread meanwhile */
    if (recorder)
        recorder_put(recorder, TRACE_WORD(TRACE_TASKLOOP_END, 0, 0), 0);
}

RECORDER_EXPORT void __kmpc_taskloop(ident *, int32_t, void *, int32_t, uint64_t *, uint64_t *, int64_t, int32_t, int32_t, uint64_t, void *);
RECORDER_EXPORT void __kmpc_taskloop(ident *where, int32_t thread, void *task, int32_t deferred, uint64_t *lower, uint64_t *upper, int64_t step,
                                     int32_t without_group, int32_t schedule, uint64_t size, void *copy)
{
    taskloop_put(entry(CALLER), where, CALLER);
    NEXT(__kmpc_taskloop)(where, thread, task, deferred, lower, upper, step, without_group, schedule, size, copy);
    taskloop_end(CALLER);
}

RECORDER_EXPORT void __kmpc_taskloop_5(ident *, int32_t, void *, int32_t, uint64_t *, uint64_t *, int64_t, int32_t, int32_t, uint64_t, int32_t, void *);
RECORDER_EXPORT void __kmpc_taskloop_5(ident *where, int32_t thread, void *task, int32_t deferred, uint64_t *lower, uint64_t *upper, int64_t step,
                                       int32_t without_group, int32_t schedule, uint64_t size, int32_t strict, void *copy)
{
    taskloop_put(entry(CALLER), where, CALLER);
    NEXT(__kmpc_taskloop_5)(where, thread, task, deferred, lower, upper, step, without_group, schedule, size, strict, copy);
    taskloop_end(CALLER);
}

/* ---- parallel, teams -------------------------------------------------------------------------------------------------------- */

static void parallel_note(const ident *where, const void *address, uint32_t kind)
{
    struct recorder *recorder = entry(address);
    if (recorder)
        recorder->pending = recorder_construct(recorder, where, address, kind);
}

RECORDER_EXPORT void __kmpc_serialized_parallel(ident *, int32_t);
RECORDER_EXPORT void __kmpc_serialized_parallel(ident *where, int32_t thread)
{
    parallel_note(where, CALLER, TRACE_PARALLEL);
    NEXT(__kmpc_serialized_parallel)(where, thread);
}

enum fork { FORK_CALL, FORK_CALL_IF, FORK_TEAMS, FORKS };

/* Called by those below, which take any number of arguments and therefore only look and jump on: whoever stands behind sees the program's call. */
void (*recorder_fork_note(const ident *where, const void *address, enum fork fork))(void) __attribute__((visibility("hidden"), used));
void (*recorder_fork_note(const ident *where, const void *address, enum fork fork))(void)
{
    static const struct { const char *name; uint32_t kind; } forks[FORKS] = {{"__kmpc_fork_call", TRACE_PARALLEL}, {"__kmpc_fork_call_if", TRACE_PARALLEL},
                                                                            {"__kmpc_fork_teams", TRACE_TEAMS}};
    static void (*functions[FORKS])(void);
    parallel_note(where, address, forks[fork].kind);
    return recorder_next_once(&functions[fork], forks[fork].name);
}

#define FORK(name, number)                                                                                                     \
    __asm__(".pushsection .text\n.globl " name "\n.type " name ",@function\n.balign 16\n" name ":\n"                           \
            ".cfi_startproc\n"                                                                                                 \
            "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6, -16\nmov %rsp, %rbp\n.cfi_def_cfa_register 6\n"                  \
            "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %rax\npush %rax\n"                            \
            "mov 8(%rbp), %rsi\nmov $" number ", %edx\ncall recorder_fork_note\nmov %rax, %r11\n"                                \
            "pop %rax\npop %rax\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"                                    \
            "pop %rbp\n.cfi_def_cfa 7, 8\njmp *%r11\n.cfi_endproc\n.size " name ", .-" name "\n.popsection\n")
FORK("__kmpc_fork_call", "0");
FORK("__kmpc_fork_call_if", "1");
FORK("__kmpc_fork_teams", "2");
_Static_assert(FORK_CALL == 0 && FORK_CALL_IF == 1 && FORK_TEAMS == 2, "the numbers in the assembly above");
