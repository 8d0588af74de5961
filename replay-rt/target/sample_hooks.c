/* replay-rt/target/sample_hooks.c - calls of the OpenMP runtime that a region makes, put in front of the runtime's own.
 *
 * Where a statically scheduled loop ends (__kmpc_for_static_fini), control may go back to the return address of its beginning
 * (__kmpc_for_static_init): for the compiled code the call returns once more, with other bounds.
 *
 *   caller's frame     cfa |  return address, saved registers, locals, spills   | rsp  <- copied when the loop begins
 *                                                                                       put back before it begins again
 */
#include "replay-rt/target/sample.h"

#include <dlfcn.h>
#include <string.h>
#include <ucontext.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#define HOOK __attribute__((visibility("default")))
#define MODIFIERS (3u << 29)              /* monotonic, nonmonotonic */
#define WORK_SECTIONS 0x400               /* flags of a source location: it is no loop */

enum { STATIC_CHUNKED = 33, STATIC = 34, DYNAMIC = 35, GUIDED = 36, RUNTIME = 37, AUTO = 38, STEAL = 44 };
enum { PIECES = 64 };                     /* blocks for each thread where a schedule has no chunks of its own */

struct location { int32_t reserved1, flags, reserved2, reserved3; const char *text; };

typedef void static_init_fn(const struct location *, int32_t, int32_t, void *, void *, void *, void *, uint64_t, uint64_t);
typedef void static_fini_fn(const struct location *, int32_t);
typedef void dispatch_init_fn(const struct location *, int32_t, int32_t, uint64_t, uint64_t, uint64_t, uint64_t);
typedef int dispatch_next_fn(const struct location *, int32_t, int32_t *, void *, void *, void *);
typedef void barrier_fn(const struct location *, int32_t);
typedef int reduce_fn(const struct location *, int32_t, int32_t, size_t, void *, void (*)(void *, void *), void *);
typedef void reduce_end_fn(const struct location *, int32_t, void *);
typedef void copyprivate_fn(const struct location *, int32_t, size_t, void *, void (*)(void *, void *), int32_t);
void omp_get_schedule(int *kind, int *chunk);
int omp_get_num_threads(void);

/* Read by the assembly below. */
struct pcere_sample_real {
    static_init_fn *static_init[4];
    static_fini_fn *static_fini;
    void (*fork)(void);
    dispatch_init_fn *dispatch_init[4];
    dispatch_next_fn *dispatch_next[4];
    barrier_fn *barrier;
    reduce_fn *reduce, *reduce_nowait;
    reduce_end_fn *reduce_end;
    copyprivate_fn *copyprivate;
};
extern struct pcere_sample_real pcere_sample_real;
extern unsigned char pcere_sample_active, pcere_sample_armed;
extern void *pcere_sample_task;
struct pcere_sample_real pcere_sample_real;
unsigned char pcere_sample_active, pcere_sample_armed;       /* a shot runs; the next fork is the region's */
void *pcere_sample_task;

static void find(void *slot, const char *name)
{
    void *address = dlsym(RTLD_NEXT, name);
    memcpy(slot, &address, sizeof address);
}

__attribute__((constructor)) static void real_find(void)
{
    static const char *const inits[] = {"__kmpc_for_static_init_4", "__kmpc_for_static_init_4u", "__kmpc_for_static_init_8", "__kmpc_for_static_init_8u"};
    static const char *const dispatches[] = {"__kmpc_dispatch_init_4", "__kmpc_dispatch_init_4u", "__kmpc_dispatch_init_8", "__kmpc_dispatch_init_8u"};
    static const char *const nexts[] = {"__kmpc_dispatch_next_4", "__kmpc_dispatch_next_4u", "__kmpc_dispatch_next_8", "__kmpc_dispatch_next_8u"};
    struct pcere_sample_real *real = &pcere_sample_real;
    for (int i = 0; i < 4; i++) {
        find(&real->static_init[i], inits[i]);
        find(&real->dispatch_init[i], dispatches[i]);
        find(&real->dispatch_next[i], nexts[i]);
    }
    find(&real->static_fini, "__kmpc_for_static_fini");
    find(&real->fork, "__kmpc_fork_call");
    find(&real->barrier, "__kmpc_barrier");
    find(&real->reduce, "__kmpc_reduce");
    find(&real->reduce_nowait, "__kmpc_reduce_nowait");
    find(&real->reduce_end, "__kmpc_end_reduce");
    find(&real->copyprivate, "__kmpc_copyprivate");
}

bool pcere_sample_hooks_ready(void)
{
    const struct pcere_sample_real *real = &pcere_sample_real;
    bool ready = real->static_fini && real->fork && real->barrier && real->reduce && real->reduce_nowait && real->reduce_end && real->copyprivate;
    for (int i = 0; i < 4; i++)
        ready = ready && real->static_init[i] && real->dispatch_init[i] && real->dispatch_next[i];
    return ready;
}

void pcere_sample_hooks_arm(bool serial)
{
    pcere_sample_armed = !serial;
    pcere_sample_active = 1;
}

void pcere_sample_hooks_disarm(void)
{
    pcere_sample_active = pcere_sample_armed = 0;
}

static struct sample_thread *watched(void)
{
    return pcere_sample_active ? pcere_sample_own : NULL;
}

/* ---- integers of the compiled code ---------------------------------------------------------------------------------------------- */

static uint64_t value_get(const void *at, uint32_t kind)
{
    int32_t narrow;
    uint64_t wide;
    if (kind == SAMPLE_INT64 || kind == SAMPLE_UINT64)
        return memcpy(&wide, at, sizeof wide), wide;
    memcpy(&narrow, at, sizeof narrow);
    return kind == SAMPLE_INT32 ? (uint64_t)(int64_t)narrow : (uint32_t)narrow;
}

static void value_put(void *at, uint32_t kind, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;
    if (kind == SAMPLE_INT64 || kind == SAMPLE_UINT64)
        memcpy(at, &value, sizeof value);
    else
        memcpy(at, &narrow, sizeof narrow);
}

static uint64_t widened(uint64_t value, uint32_t kind)
{
    return kind == SAMPLE_INT32 ? (uint64_t)(int64_t)(int32_t)value : kind == SAMPLE_UINT32 ? (uint32_t)value : value;
}

/* Increments are signed, whatever the loop's variable is. */
static uint64_t increment_of(uint64_t value, uint32_t kind)
{
    return kind == SAMPLE_INT32 || kind == SAMPLE_UINT32 ? (uint64_t)(int64_t)(int32_t)value : value;
}

static uint64_t trip_count(uint64_t low, uint64_t high, uint64_t increment, uint32_t kind)
{
    bool is_signed = kind == SAMPLE_INT32 || kind == SAMPLE_INT64;
    bool down = (int64_t)increment < 0;
    uint64_t from = down ? high : low, to = down ? low : high, step = down ? -increment : increment;
    if (!step || (is_signed ? (int64_t)from > (int64_t)to : from > to) || to - from == UINT64_MAX)
        return 0;
    return (to - from) / step + 1;
}

/* ---- loops with a static schedule ----------------------------------------------------------------------------------------------- */

struct sample_call {                      /* as the assembly lays it out */
    uint64_t rbx, rbp, r12, r13, r14, r15, rsp, rip;
    uint64_t location, thread, schedule, last, lower, upper;
};
void pcere_sample_static_init(const struct sample_call *call, uint32_t kind);
const struct sample_jump *pcere_sample_static_fini(const struct location *location, int32_t number, uint64_t stack_pointer);

/* Bytes from the caller's stack pointer to the end of its frame; 0: nobody knows. */
static uint64_t frame_bytes(const struct sample_call *call)
{
    ucontext_t context = {0};
    greg_t *registers = context.uc_mcontext.gregs;
    unw_cursor_t cursor;
    unw_word_t end = 0;
    registers[REG_RBX] = (greg_t)call->rbx;
    registers[REG_RBP] = (greg_t)call->rbp;
    registers[REG_R12] = (greg_t)call->r12;
    registers[REG_R13] = (greg_t)call->r13;
    registers[REG_R14] = (greg_t)call->r14;
    registers[REG_R15] = (greg_t)call->r15;
    registers[REG_RSP] = (greg_t)call->rsp;
    registers[REG_RIP] = (greg_t)call->rip;
    if (unw_init_local(&cursor, (unw_context_t *)&context) || unw_step(&cursor) <= 0 || unw_get_reg(&cursor, UNW_X86_64_RSP, &end)
        || end <= call->rsp || end - call->rsp > SAMPLE_FRAME_MOST)
        return 0;
    return end - call->rsp;
}

static void steps_make(struct sample_loop *loop, const struct sample_block *blocks, uint32_t count, bool again)
{
    loop->step = loop->step_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t before = i ? blocks[i - 1].first + blocks[i - 1].count : 0;
        if (again && blocks[i].first > before)    /* the iteration in front warms what neighbours share */
            loop->steps[loop->step_count++] = (struct sample_step){{blocks[i].first - 1, 1}, false};
        loop->steps[loop->step_count++] = (struct sample_step){blocks[i], true};
    }
}

/* Where the compiled code will read a bound: in the copy of its frame, which is about to be put back, or in memory. */
static void bound_put(struct sample_loop *loop, void *at, uint64_t value)
{
    uint64_t offset = (uint64_t)at - loop->jump.rsp;
    value_put(offset < loop->jump.frame_bytes ? loop->jump.frame + offset : at, loop->kind, value);
}

static void step_begin(struct sample_loop *loop)
{
    const struct sample_block *block = &loop->steps[loop->step].block;
    bound_put(loop, loop->lower, loop->first + block->first * loop->increment);
    bound_put(loop, loop->upper, loop->first + (block->first + block->count - 1) * loop->increment);
}

static uint64_t instance_key(struct sample_thread *thread, uint32_t site, uint64_t address)
{
    return pcere_sample_mix(address ^ ((uint64_t)thread->site_instances[site] << 48));
}

/* All that the thread has of an instance, or nothing of it. */
static bool static_whole(struct sample_thread *thread, const struct sample_call *call, uint32_t kind, uint32_t site, enum sample_instance instance)
{
    const uint64_t *stack = (const uint64_t *)call->rsp;
    void *lower = (void *)call->lower, *upper = (void *)call->upper;
    uint64_t first = value_get(lower, kind), increment = increment_of(stack[1], kind);
    uint64_t iterations = trip_count(first, value_get(upper, kind), increment, kind);
    thread->iterations += iterations;
    thread->run += instance == SAMPLE_INSTANCE_TIMED ? iterations : 0;
    if (instance == SAMPLE_INSTANCE_SKIPPED && iterations > 1) {
        value_put(lower, kind, first + increment);
        value_put(upper, kind, first);
    }
    thread->loop = (struct sample_loop){.iterations = iterations ? iterations : 1, .kind = kind, .site = site, .instance = instance};
    return true;
}

static bool static_begin(struct sample_thread *thread, const struct sample_call *call, uint32_t kind)
{
    struct sample_loop *loop = &thread->loop;
    const uint64_t *stack = (const uint64_t *)call->rsp;      /* stride, increment, chunk */
    struct sample_block blocks[SAMPLE_BLOCKS_MOST];
    void *lower = (void *)call->lower, *upper = (void *)call->upper;
    uint64_t first = value_get(lower, kind), increment = increment_of(stack[1], kind);
    uint64_t iterations = trip_count(first, value_get(upper, kind), increment, kind);
    uint32_t site = pcere_sample_site(call->rip), count = 0;
    enum sample_instance instance = pcere_sample_instance(thread, site);
    thread->site_instances[site]++;
    if (instance != SAMPLE_INSTANCE_ITERATIONS)
        return static_whole(thread, call, kind, site, instance);
    if (((uint32_t)call->schedule & ~MODIFIERS) != STATIC || (call->location && ((const struct location *)call->location)->flags & WORK_SECTIONS))
        return false;
    thread->iterations += iterations;
    struct sample_shape shape = pcere_sample_shot.shape;
    uint64_t frame = pcere_sample_shot.one_block ? 0 : frame_bytes(call);
    if (!frame)
        shape.blocks = 1;
    if (!pcere_sample_shot.tiny[site])
        count = pcere_sample_place(&shape, pcere_sample_shot.number, instance_key(thread, site, call->rip), iterations, blocks);
    if (!count) {
        thread->run += iterations;
        return false;
    }
    *loop = (struct sample_loop){.lower = lower, .upper = upper, .first = first, .increment = increment, .iterations = iterations, .kind = kind, .site = site};
    loop->jump = (struct sample_jump){call->rbx, call->rbp, call->r12, call->r13, call->r14, call->r15, call->rsp, call->rip, thread->frame, 0};
    steps_make(loop, blocks, count, frame > 0);
    step_begin(loop);
    loop->jump.frame_bytes = frame;
    memcpy(thread->frame, (const void *)call->rsp, frame);
    return true;
}

void pcere_sample_static_init(const struct sample_call *call, uint32_t kind)
{
    const uint64_t *stack = (const uint64_t *)call->rsp;
    struct sample_thread *thread = pcere_sample_own;
    const struct location *location = (const struct location *)call->location;
    uint32_t schedule = (uint32_t)call->schedule & ~MODIFIERS;
    bool inside = thread && (thread->loop.iterations || thread->dispatch.active);
    if (thread && !inside)
        pcere_sample_other(thread);
    pcere_sample_real.static_init[kind](location, (int32_t)call->thread, (int32_t)call->schedule, (void *)call->last, (void *)call->lower,
                                        (void *)call->upper, (void *)stack[0], stack[1], stack[2]);
    if (!thread)
        return;
    if (inside)
        thread->nested++;
    else if ((schedule == STATIC || schedule == STATIC_CHUNKED) && static_begin(thread, call, kind))
        thread->mark_ns = pcere_sample_clock_ns(&thread->clock);
}

static void static_end(struct sample_thread *thread)
{
    struct sample_loop *loop = &thread->loop;
    double scaled_ns = (double)loop->elapsed_ns * ((double)loop->iterations / (double)loop->run);
    thread->phases[thread->phase].work_ns += scaled_ns;
    thread->site_ns[loop->site] += scaled_ns;
    thread->run += loop->run;
    loop->iterations = 0;
}

const struct sample_jump *pcere_sample_static_fini(const struct location *location, int32_t number, uint64_t stack_pointer)
{
    (void)location;
    (void)number;
    (void)stack_pointer;
    struct sample_thread *thread = pcere_sample_own;
    if (!thread)
        return NULL;
    if (thread->nested) {
        thread->nested--;
        return NULL;
    }
    struct sample_loop *loop = &thread->loop;
    if (!loop->iterations)
        return NULL;
    uint64_t now_ns = pcere_sample_clock_ns(&thread->clock);
    if (loop->instance != SAMPLE_INSTANCE_ITERATIONS) {
        pcere_sample_instance_end(thread, loop->site, loop->instance, now_ns - thread->mark_ns);
        loop->iterations = 0;
        thread->mark_ns = pcere_sample_clock_ns(&thread->clock);
        return NULL;
    }
    if (loop->steps[loop->step].timed) {
        loop->elapsed_ns += now_ns - thread->mark_ns;
        loop->run += loop->steps[loop->step].block.count;
    }
    if (++loop->step < loop->step_count) {
        step_begin(loop);
        thread->mark_ns = pcere_sample_clock_ns(&thread->clock);
        return &loop->jump;
    }
    static_end(thread);
    thread->mark_ns = pcere_sample_clock_ns(&thread->clock);
    return NULL;
}

/* ---- loops that ask for chunks ---------------------------------------------------------------------------------------------------- */

/* What the runtime's settings make of the schedule, and the iterations of one chunk; false: such loops are run whole. */
static bool chunk_choose(uint32_t *schedule, uint64_t *chunk, uint64_t iterations)
{
    if (*schedule == RUNTIME || *schedule == AUTO) {
        static const uint32_t known[] = {0, STATIC, DYNAMIC, GUIDED, STATIC};
        int kind = 0, given = 0;
        omp_get_schedule(&kind, &given);
        uint32_t plain = *schedule == AUTO ? 4 : (uint32_t)kind & 0x7fffffffu;
        if (plain < 1 || plain > 4)
            return false;
        *schedule = known[plain] == STATIC && given > 0 && plain == 1 ? STATIC_CHUNKED : known[plain];
        *chunk = given > 0 ? (uint64_t)given : 1;
    }
    uint64_t pieces = (uint64_t)omp_get_num_threads() * PIECES, piece = iterations / pieces;
    *chunk = (int64_t)*chunk > 0 ? *chunk : 1;
    if (*schedule == GUIDED || *schedule == STEAL) {
        *schedule = DYNAMIC;
        *chunk = *chunk > piece ? *chunk : piece;
    } else if (*schedule == STATIC) {
        *chunk = piece;
    } else if (*schedule != DYNAMIC && *schedule != STATIC_CHUNKED)
        return false;
    *chunk = *chunk ? *chunk : 1;
    return true;
}

static bool dispatch_begin(struct sample_thread *thread, uint32_t *schedule, uint64_t low, uint64_t high, uint64_t increment, uint64_t chunk, uint32_t kind,
                           uint64_t address)
{
    uint64_t iterations = trip_count(low, high, increment, kind);
    uint32_t site = pcere_sample_site(address);
    enum sample_instance instance = pcere_sample_instance(thread, site);
    thread->site_instances[site]++;
    if (instance != SAMPLE_INSTANCE_ITERATIONS) {
        thread->dispatch = (struct sample_dispatch){.active = true, .iterations = iterations, .site = site, .instance = instance};
        return true;
    }
    if (!iterations || pcere_sample_shot.tiny[site] || thread->shared_count == SAMPLE_DISPATCHES_MOST || !chunk_choose(schedule, &chunk, iterations)) {
        if (thread->shared_count == SAMPLE_DISPATCHES_MOST)
            pcere_sample_shot.overflow = true;
        return false;
    }
    uint64_t chunks = (iterations - 1) / chunk + 1, threads = (uint64_t)omp_get_num_threads();
    uint64_t count = (uint64_t)((double)chunks * pcere_sample_shot.shape.fraction) + 1;
    count = count < threads ? threads : count;            /* at least one each */
    if (count * 2 > chunks)
        return false;
    thread->dispatch = (struct sample_dispatch){.active = true, .first = low, .increment = increment, .iterations = iterations, .chunk = chunk, .chunks = chunks,
                                                .count = count, .key = instance_key(thread, site, address), .site = site};
    return true;
}

static void dispatch_init(const struct location *location, int32_t number, int32_t schedule, uint64_t low, uint64_t high, uint64_t increment,
                          uint64_t chunk, uint32_t kind, uint64_t address)
{
    struct sample_thread *thread = pcere_sample_own;
    uint32_t plain = (uint32_t)schedule & ~MODIFIERS;
    if (!thread || thread->loop.iterations || thread->dispatch.active
        || !dispatch_begin(thread, &plain, widened(low, kind), widened(high, kind), increment_of(increment, kind), increment_of(chunk, kind), kind, address)) {
        pcere_sample_real.dispatch_init[kind](location, number, schedule, low, high, increment, chunk);
        return;
    }
    if (thread->dispatch.instance == SAMPLE_INSTANCE_SKIPPED)
        pcere_sample_real.dispatch_init[kind](location, number, schedule, 1, 0, 1, chunk);       /* no iteration */
    else if (thread->dispatch.instance != SAMPLE_INSTANCE_ITERATIONS)
        pcere_sample_real.dispatch_init[kind](location, number, schedule, low, high, increment, chunk);
    else
        pcere_sample_real.dispatch_init[kind](location, number, (int32_t)plain, 0, thread->dispatch.count - 1, 1, 1);
    pcere_sample_other(thread);
    thread->dispatch.start_ns = thread->mark_ns;
}

static void dispatch_end(struct sample_thread *thread)
{
    struct sample_dispatch *dispatch = &thread->dispatch;
    if (dispatch->instance != SAMPLE_INSTANCE_ITERATIONS) {
        thread->mark_ns = pcere_sample_clock_ns(&thread->clock);
        pcere_sample_instance_end(thread, dispatch->site, dispatch->instance, thread->mark_ns - dispatch->start_ns);
        dispatch->active = false;
        return;
    }
    pcere_sample_other(thread);               /* what was run counts as it is; shared_spread adds the rest */
    thread->shared[thread->shared_count++] = (struct sample_shared){
        .phase = thread->phase, .site = dispatch->site, .loop_ns = thread->mark_ns - dispatch->start_ns, .run = dispatch->run, .iterations = dispatch->iterations};
    dispatch->active = false;
}

static int dispatch_next(const struct location *location, int32_t number, int32_t *last, void *lower, void *upper, void *stride, uint32_t kind)
{
    struct sample_thread *thread = pcere_sample_own;
    struct sample_dispatch *dispatch = thread ? &thread->dispatch : NULL;
    if (!thread || !dispatch->active)
        return pcere_sample_real.dispatch_next[kind](location, number, last, lower, upper, stride);
    if (dispatch->instance != SAMPLE_INSTANCE_ITERATIONS) {
        int more = pcere_sample_real.dispatch_next[kind](location, number, last, lower, upper, stride);
        if (!more)
            dispatch_end(thread);
        return more;
    }
    if (dispatch->next == dispatch->end) {
        uint64_t low = 0, high = 0, step = 0;
        if (!pcere_sample_real.dispatch_next[kind](location, number, last, &low, &high, &step)) {
            dispatch_end(thread);
            return 0;
        }
        dispatch->next = widened(low, kind);
        dispatch->end = widened(high, kind) + 1;
    }
    uint64_t chunk = pcere_sample_stratum(pcere_sample_shot.number, dispatch->key, dispatch->next++, dispatch->count, dispatch->chunks);
    uint64_t first = chunk * dispatch->chunk;
    uint64_t count = dispatch->iterations - first < dispatch->chunk ? dispatch->iterations - first : dispatch->chunk;
    dispatch->run += count;
    value_put(lower, kind, dispatch->first + first * dispatch->increment);
    value_put(upper, kind, dispatch->first + (first + count - 1) * dispatch->increment);
    value_put(stride, kind, dispatch->increment);
    if (last)
        *last = first + count == dispatch->iterations;
    return 1;
}

#define DISPATCH(suffix, type, kind)                                                                                                                      \
    HOOK void __kmpc_dispatch_init_##suffix(const struct location *location, int32_t number, int32_t schedule, type low, type high, type increment,       \
                                            type chunk);                                                                                                 \
    HOOK void __kmpc_dispatch_init_##suffix(const struct location *location, int32_t number, int32_t schedule, type low, type high, type increment,       \
                                            type chunk)                                                                                                  \
    {                                                                                                                                                     \
        if (!pcere_sample_active)                                                                                                                         \
            pcere_sample_real.dispatch_init[kind](location, number, schedule, (uint64_t)low, (uint64_t)high, (uint64_t)increment, (uint64_t)chunk);       \
        else                                                                                                                                              \
            dispatch_init(location, number, schedule, (uint64_t)low, (uint64_t)high, (uint64_t)increment, (uint64_t)chunk, kind,                          \
                          (uint64_t)__builtin_return_address(0));                                                                                         \
    }                                                                                                                                                     \
    HOOK int __kmpc_dispatch_next_##suffix(const struct location *location, int32_t number, int32_t *last, void *low, void *high, void *stride);          \
    HOOK int __kmpc_dispatch_next_##suffix(const struct location *location, int32_t number, int32_t *last, void *low, void *high, void *stride)           \
    {                                                                                                                                                     \
        if (!pcere_sample_active)                                                                                                                         \
            return pcere_sample_real.dispatch_next[kind](location, number, last, low, high, stride);                                                      \
        return dispatch_next(location, number, last, low, high, stride, kind);                                                                            \
    }

DISPATCH(4, int32_t, SAMPLE_INT32)
DISPATCH(4u, uint32_t, SAMPLE_UINT32)
DISPATCH(8, int64_t, SAMPLE_INT64)
DISPATCH(8u, uint64_t, SAMPLE_UINT64)

/* ---- where threads wait for each other ------------------------------------------------------------------------------------------- */

static void wait_begin(struct sample_thread *thread)
{
    if (thread)
        pcere_sample_wait_begin(thread);
}

static void wait_end(struct sample_thread *thread)
{
    if (thread)
        pcere_sample_wait_end(thread);
}

HOOK void __kmpc_barrier(const struct location *location, int32_t number);
HOOK void __kmpc_barrier(const struct location *location, int32_t number)
{
    struct sample_thread *thread = watched();
    wait_begin(thread);
    pcere_sample_real.barrier(location, number);
    wait_end(thread);
}

/* Whether threads wait here depends on the method that the runtime chooses; where they do not, nearly nothing lies between this and the next barrier. */
HOOK int __kmpc_reduce(const struct location *location, int32_t number, int32_t count, size_t bytes, void *data, void (*combine)(void *, void *), void *lock);
HOOK int __kmpc_reduce(const struct location *location, int32_t number, int32_t count, size_t bytes, void *data, void (*combine)(void *, void *), void *lock)
{
    struct sample_thread *thread = watched();
    wait_begin(thread);
    int result = pcere_sample_real.reduce(location, number, count, bytes, data, combine, lock);
    wait_end(thread);
    return result;
}

HOOK int __kmpc_reduce_nowait(const struct location *location, int32_t number, int32_t count, size_t bytes, void *data, void (*combine)(void *, void *),
                              void *lock);
HOOK int __kmpc_reduce_nowait(const struct location *location, int32_t number, int32_t count, size_t bytes, void *data, void (*combine)(void *, void *),
                              void *lock)
{
    struct sample_thread *thread = watched();
    wait_begin(thread);
    int result = pcere_sample_real.reduce_nowait(location, number, count, bytes, data, combine, lock);
    wait_end(thread);
    return result;
}

HOOK void __kmpc_end_reduce(const struct location *location, int32_t number, void *lock);
HOOK void __kmpc_end_reduce(const struct location *location, int32_t number, void *lock)
{
    struct sample_thread *thread = watched();
    wait_begin(thread);
    pcere_sample_real.reduce_end(location, number, lock);
    wait_end(thread);
}

HOOK void __kmpc_copyprivate(const struct location *location, int32_t number, size_t bytes, void *data, void (*copy)(void *, void *), int32_t did);
HOOK void __kmpc_copyprivate(const struct location *location, int32_t number, size_t bytes, void *data, void (*copy)(void *, void *), int32_t did)
{
    struct sample_thread *thread = watched();
    wait_begin(thread);
    pcere_sample_real.copyprivate(location, number, bytes, data, copy, did);
    wait_end(thread);
}

/* ---- assembly: where registers matter -------------------------------------------------------------------------------------------- */

void pcere_sample_nested(void);
void pcere_sample_nested(void)
{
    if (pcere_sample_own)
        pcere_sample_shot.nested_region = true;
}

#define STATIC_INIT(name, kind)                                        \
    ".globl " name "\n"                                                \
    ".type " name ", @function\n" name ":\n"                           \
    "    .cfi_startproc\n"                                             \
    "    cmpb $0, pcere_sample_active(%rip)\n"                         \
    "    jne 1f\n"                                                     \
    "    jmp *pcere_sample_real+8*" kind "(%rip)\n"                    \
    "1:  pushq %rbp\n"                                                 \
    "    .cfi_def_cfa_offset 16\n"                                     \
    "    .cfi_offset %rbp, -16\n"                                      \
    "    movq %rsp, %rbp\n"                                            \
    "    .cfi_def_cfa_register %rbp\n"                                 \
    "    subq $112, %rsp\n"                                            \
    "    movq %rbx, (%rsp)\n"                                          \
    "    movq (%rbp), %rax\n"                                          \
    "    movq %rax, 8(%rsp)\n"                                         \
    "    movq %r12, 16(%rsp)\n"                                        \
    "    movq %r13, 24(%rsp)\n"                                        \
    "    movq %r14, 32(%rsp)\n"                                        \
    "    movq %r15, 40(%rsp)\n"                                        \
    "    leaq 16(%rbp), %rax\n"                                        \
    "    movq %rax, 48(%rsp)\n"                                        \
    "    movq 8(%rbp), %rax\n"                                         \
    "    movq %rax, 56(%rsp)\n"                                        \
    "    movq %rdi, 64(%rsp)\n"                                        \
    "    movq %rsi, 72(%rsp)\n"                                        \
    "    movq %rdx, 80(%rsp)\n"                                        \
    "    movq %rcx, 88(%rsp)\n"                                        \
    "    movq %r8, 96(%rsp)\n"                                         \
    "    movq %r9, 104(%rsp)\n"                                        \
    "    movq %rsp, %rdi\n"                                            \
    "    movl $" kind ", %esi\n"                                       \
    "    callq pcere_sample_static_init\n"                             \
    "    leave\n"                                                      \
    "    .cfi_def_cfa %rsp, 8\n"                                       \
    "    retq\n"                                                       \
    "    .cfi_endproc\n"                                               \
    ".size " name ", .-" name "\n"

__asm__(".text\n"
        ".hidden pcere_sample_active, pcere_sample_armed, pcere_sample_task, pcere_sample_real\n"
        ".hidden pcere_sample_static_init, pcere_sample_static_fini, pcere_sample_enter, pcere_sample_leave, pcere_sample_nested\n");
__asm__(".text\n" STATIC_INIT("__kmpc_for_static_init_4", "0"));
__asm__(".text\n" STATIC_INIT("__kmpc_for_static_init_4u", "1"));
__asm__(".text\n" STATIC_INIT("__kmpc_for_static_init_8", "2"));
__asm__(".text\n" STATIC_INIT("__kmpc_for_static_init_8u", "3"));

__asm__(".text\n"
        ".globl __kmpc_for_static_fini\n"
        ".type __kmpc_for_static_fini, @function\n"
        "__kmpc_for_static_fini:\n"
        "    .cfi_startproc\n"
        "    cmpb $0, pcere_sample_active(%rip)\n"
        "    jne 1f\n"
        "    jmp *pcere_sample_real+32(%rip)\n"
        "1:  leaq 8(%rsp), %rdx\n"
        "    pushq %rdi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    pushq %rsi\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    callq pcere_sample_static_fini\n"
        "    testq %rax, %rax\n"
        "    jne 2f\n"
        "    addq $8, %rsp\n"
        "    popq %rsi\n"
        "    popq %rdi\n"
        "    .cfi_def_cfa_offset 8\n"
        "    jmp *pcere_sample_real+32(%rip)\n"
        "2:  movq 48(%rax), %rdi\n"
        "    leaq -256(%rdi), %rsp\n"
        "    movq 64(%rax), %rsi\n"
        "    movq 72(%rax), %rcx\n"
        "    rep movsb\n"
        "    movq (%rax), %rbx\n"
        "    movq 8(%rax), %rbp\n"
        "    movq 16(%rax), %r12\n"
        "    movq 24(%rax), %r13\n"
        "    movq 32(%rax), %r14\n"
        "    movq 40(%rax), %r15\n"
        "    movq 48(%rax), %rsp\n"
        "    jmpq *56(%rax)\n"
        "    .cfi_endproc\n"
        ".size __kmpc_for_static_fini, .-__kmpc_for_static_fini\n"

        /* The region's own fork gets pcere_sample_microtask in place of the region's function. */
        ".globl __kmpc_fork_call\n"
        ".type __kmpc_fork_call, @function\n"
        "__kmpc_fork_call:\n"
        "    .cfi_startproc\n"
        "    cmpb $0, pcere_sample_active(%rip)\n"
        "    jne 1f\n"
        "2:  jmp *pcere_sample_real+40(%rip)\n"
        "1:  cmpb $0, pcere_sample_armed(%rip)\n"
        "    je 3f\n"
        "    movb $0, pcere_sample_armed(%rip)\n"
        "    movq %rdx, pcere_sample_task(%rip)\n"
        "    leaq pcere_sample_microtask(%rip), %rdx\n"
        "    jmp 2b\n"
        "3:  pushq %rdi\n"
        "    pushq %rsi\n"
        "    pushq %rdx\n"
        "    pushq %rcx\n"
        "    pushq %r8\n"
        "    pushq %r9\n"
        "    pushq %rax\n"
        "    .cfi_adjust_cfa_offset 56\n"
        "    callq pcere_sample_nested\n"
        "    popq %rax\n"
        "    popq %r9\n"
        "    popq %r8\n"
        "    popq %rcx\n"
        "    popq %rdx\n"
        "    popq %rsi\n"
        "    popq %rdi\n"
        "    .cfi_adjust_cfa_offset -56\n"
        "    jmp 2b\n"
        "    .cfi_endproc\n"
        ".size __kmpc_fork_call, .-__kmpc_fork_call\n"

        /* Arguments beyond the sixth lie on the stack, where the region's function must find them: so its return address takes the place of ours, which
         * is kept elsewhere. */
        ".hidden pcere_sample_microtask\n"
        ".type pcere_sample_microtask, @function\n"
        "pcere_sample_microtask:\n"
        "    pushq %rdi\n"
        "    pushq %rsi\n"
        "    pushq %rdx\n"
        "    pushq %rcx\n"
        "    pushq %r8\n"
        "    pushq %r9\n"
        "    subq $8, %rsp\n"
        "    movq 56(%rsp), %rdi\n"
        "    callq pcere_sample_enter\n"
        "    addq $8, %rsp\n"
        "    popq %r9\n"
        "    popq %r8\n"
        "    popq %rcx\n"
        "    popq %rdx\n"
        "    popq %rsi\n"
        "    popq %rdi\n"
        "    addq $8, %rsp\n"
        "    callq *pcere_sample_task(%rip)\n"
        "    callq pcere_sample_leave\n"
        "    jmpq *%rax\n"
        ".size pcere_sample_microtask, .-pcere_sample_microtask\n");
