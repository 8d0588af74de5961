/* replay-rt/target/sample_dispatch.c - loops that ask for chunks, of which some are run: in place of the loop's chunks the runtime hands out numbers.
 *
 * Where chunks are short, what a thread finds in its caches is what the chunk before left there, and so it is here: numbers stand for blocks of chunks that
 * follow each other, and in each block a thread's first ones are not timed.
 *
 *   the loop's chunks   |.|.|.|u|t|t|t|t|.|.|.|.|.|.|u|t|t|t|t|.|.|.|       u: untimed, t: timed, of one thread
 *   numbers                    0 1 2 3 4             5 6 7 8 9
 *
 * The runtime hands them out as it does the loop's own chunks, to whoever asks, one for each chunk: what that costs is in the time, and so is waiting for others who ask.
 * With one thread it gives all at once, as it would give all chunks, and a block's chunks are one.
 */
#include "replay-rt/target/sample_hooks.h"

enum { PIECES = 512,                      /* blocks for each thread where a schedule has no chunks of its own */
       BUNDLE_LEAST = 4 };                /* chunks of a block that are timed, if more were wanted */

typedef void dispatch_init_fn(const struct location *, int32_t, int32_t, uint64_t, uint64_t, uint64_t, uint64_t);
typedef int dispatch_next_fn(const struct location *, int32_t, int32_t *, void *, void *, void *);
void omp_get_schedule(int *kind, int *chunk);
int omp_get_thread_num(void);
int omp_get_num_threads(void);

static struct { dispatch_init_fn *init[4]; dispatch_next_fn *next[4]; } real;

void pcere_sample_dispatch_find(void)
{
    static const char *const inits[] = {"__kmpc_dispatch_init_4", "__kmpc_dispatch_init_4u", "__kmpc_dispatch_init_8", "__kmpc_dispatch_init_8u"};
    static const char *const nexts[] = {"__kmpc_dispatch_next_4", "__kmpc_dispatch_next_4u", "__kmpc_dispatch_next_8", "__kmpc_dispatch_next_8u"};
    for (int i = 0; i < 4; i++) {
        pcere_sample_find(&real.init[i], inits[i]);
        pcere_sample_find(&real.next[i], nexts[i]);
    }
}

bool pcere_sample_dispatch_ready(void)
{
    bool ready = true;
    for (int i = 0; i < 4; i++)
        ready = ready && real.init[i] && real.next[i];
    return ready;
}

/* How a loop is divided: its kind (enum above), what goes with it (SAMPLE_MODIFIERS), and the iterations of one chunk. */
struct division { uint32_t schedule, modifiers; uint64_t chunk; };

/* What the runtime's settings make of the schedule; false: such loops are run whole. */
static bool division_choose(struct division *division, uint64_t iterations)
{
    uint32_t *schedule = &division->schedule;
    uint64_t *chunk = &division->chunk;
    if (*schedule == RUNTIME || *schedule == AUTO) {
        static const uint32_t known[] = {0, STATIC, DYNAMIC, GUIDED, STATIC};
        int kind = 0, given = 0;
        omp_get_schedule(&kind, &given);
        uint32_t plain = *schedule == AUTO ? 4 : (uint32_t)kind & 0x7fffffffu;
        if (plain < 1 || plain > 4)
            return false;
        *schedule = known[plain] == STATIC && given > 0 && plain == 1 ? STATIC_CHUNKED : known[plain];
        *chunk = given > 0 ? (uint64_t)given : 1;
        division->modifiers = 0;
    }
    uint64_t pieces = (uint64_t)omp_get_num_threads() * PIECES, piece = iterations / pieces;
    *chunk = (int64_t)*chunk > 0 ? *chunk : 1;
    if (*schedule == GUIDED || *schedule == STEAL) {
        *schedule = DYNAMIC;
        division->modifiers = SAMPLE_NONMONOTONIC;         /* a thread's pieces follow each other, as in its large chunks */
        *chunk = *chunk > piece ? *chunk : piece;
    } else if (*schedule == STATIC) {
        *chunk = piece;
    } else if (*schedule != DYNAMIC && *schedule != STATIC_CHUNKED)
        return false;
    *chunk = *chunk ? *chunk : 1;
    return true;
}

/* Of a static schedule that was found at run time, each thread runs some of its own chunks, in the way that `schedule`, without a chunk's size or with one, gives them. */
static void own_find(struct sample_dispatch *dispatch, uint32_t schedule, uint64_t threads)
{
    uint64_t number = (uint64_t)omp_get_thread_num();
    dispatch->fixed = true;
    if (schedule == STATIC_CHUNKED) {
        dispatch->own = number < dispatch->chunks ? (dispatch->chunks - 1 - number) / threads + 1 : 0;
        dispatch->own_first = number;
        dispatch->own_distance = threads;
    } else {
        dispatch->own_first = dispatch->chunks * number / threads;
        dispatch->own = dispatch->chunks * (number + 1) / threads - dispatch->own_first;
        dispatch->own_distance = 1;
    }
    bool last = dispatch->own && dispatch->own_first + (dispatch->own - 1) * dispatch->own_distance == dispatch->chunks - 1;
    dispatch->own_iterations = dispatch->own * dispatch->chunk - (last ? dispatch->chunks * dispatch->chunk - dispatch->iterations : 0);
}

/* How many blocks of the loop's chunks are run, and how long they are, where threads share `sharers` to a block. False: it is run whole. */
static bool blocks_choose(struct sample_dispatch *dispatch, const struct sample_bundle *bundle, uint64_t chunks, uint64_t blocks_least, uint64_t sharers)
{
    uint64_t wanted = (uint64_t)((double)chunks * pcere_sample_shot.shape.fraction) + 1, timed = bundle->timed ? bundle->timed : 1;
    if (timed > BUNDLE_LEAST && timed * blocks_least > wanted)
        timed = wanted / blocks_least > BUNDLE_LEAST ? wanted / blocks_least : BUNDLE_LEAST;
    dispatch->untimed = bundle->untimed;
    dispatch->block_chunks = (timed + dispatch->untimed) * sharers;
    uint64_t blocks = wanted / (timed * sharers);
    dispatch->blocks = blocks < blocks_least ? blocks_least : blocks;         /* at least one each */
    dispatch->count = dispatch->blocks * dispatch->block_chunks;
    dispatch->block_begin = UINT64_MAX / 2;       /* in none yet */
    return dispatch->count * 2 <= chunks && (!pcere_sample_shot.once || dispatch->count * 2 * pcere_sample_shot.shape.shots <= chunks);
}

static bool dispatch_begin(struct sample_thread *thread, struct division *division, uint64_t low, uint64_t high, uint64_t increment, uint32_t kind, uint64_t address)
{
    if (pcere_sample_shot.tasks)
        return false;
    uint64_t iterations = trip_count(low, high, increment, kind);
    uint32_t site = pcere_sample_site(address);
    enum sample_instance instance = pcere_sample_instance(thread, site);
    thread->site_instances[site]++;
    if (instance != SAMPLE_INSTANCE_ITERATIONS) {
        thread->dispatch = (struct sample_dispatch){.active = true, .iterations = iterations, .site = site, .instance = instance};
        return true;
    }
    if (!iterations || pcere_sample_shot.tiny[site] || thread->shared_count == SAMPLE_DISPATCHES_MOST || !division_choose(division, iterations)) {
        if (thread->shared_count == SAMPLE_DISPATCHES_MOST)
            pcere_sample_shot.overflow = true;
        return false;
    }
    uint64_t chunks = (iterations - 1) / division->chunk + 1, threads = (uint64_t)omp_get_num_threads();
    struct sample_dispatch dispatch = {.first = low, .increment = increment, .iterations = iterations, .chunk = division->chunk, .chunks = chunks,
                                       .key = instance_key(thread, site, address), .site = site};
    const struct sample_bundle *bundle = &pcere_sample_shot.bundles[site];
    if (division->schedule == STATIC || division->schedule == STATIC_CHUNKED) {
        own_find(&dispatch, division->schedule, threads);
        if (!blocks_choose(&dispatch, bundle, chunks / threads, 1, 1))
            return false;
        dispatch.next = 0;
        dispatch.end = dispatch.count < dispatch.own ? dispatch.count : dispatch.own;
    } else {
        /* Where the compiler leaves it free to, the runtime gives each thread the chunks of a part of the loop, one after the other, until others are left with more. */
        bool parts = division->modifiers & SAMPLE_NONMONOTONIC || !bundle->untimed;
        if (!blocks_choose(&dispatch, bundle, chunks, parts ? threads : 1, parts ? 1 : threads))
            return false;
    }
    dispatch.active = true;
    thread->dispatch = dispatch;
    return true;
}

static void dispatch_init(const struct location *location, int32_t number, int32_t schedule, uint64_t low, uint64_t high, uint64_t increment,
                          uint64_t chunk, uint32_t kind, uint64_t address)
{
    struct sample_thread *thread = pcere_sample_own;
    bool once = thread && pcere_sample_shot.once;
    struct division division = {(uint32_t)schedule & ~SAMPLE_MODIFIERS, (uint32_t)schedule & SAMPLE_MODIFIERS, increment_of(chunk, kind)};
    if (!thread || thread->loop.iterations || thread->dispatch.active
        || !dispatch_begin(thread, &division, widened(low, kind), widened(high, kind), increment_of(increment, kind), kind, address)) {
        pcere_sample_shot.twice |= once;      /* whole, in this shot and in others */
        real.init[kind](location, number, schedule, low, high, increment, chunk);
        return;
    }
    pcere_sample_shot.twice |= once && thread->dispatch.instance != SAMPLE_INSTANCE_ITERATIONS;
    if (thread->dispatch.instance == SAMPLE_INSTANCE_SKIPPED || thread->dispatch.fixed)
        real.init[kind](location, number, schedule, 1, 0, 1, chunk);       /* no iteration */
    else if (thread->dispatch.instance != SAMPLE_INSTANCE_ITERATIONS)
        real.init[kind](location, number, schedule, low, high, increment, chunk);
    else
        real.init[kind](location, number, (int32_t)(division.schedule | division.modifiers), 0, thread->dispatch.count - 1, 1, 1);
    pcere_sample_other(thread);
    thread->dispatch.start_ns = thread->mark_ns;
}

/* ---- chunk after chunk --------------------------------------------------------------------------------------------------------------- */

static void timing_begin(struct sample_thread *thread)
{
    thread->dispatch.timing = true;
    thread->dispatch.timing_ns = pcere_sample_clock_ns(&thread->clock);
}

static void timing_end(struct sample_thread *thread)
{
    struct sample_dispatch *dispatch = &thread->dispatch;
    if (dispatch->timing)
        dispatch->timed_ns += pcere_sample_clock_ns(&thread->clock) - dispatch->timing_ns;
    dispatch->timing = false;
}

static void fixed_end(struct sample_thread *thread)
{
    struct sample_dispatch *dispatch = &thread->dispatch;
    double loop_ns = dispatch->run ? (double)dispatch->timed_ns * ((double)dispatch->own_iterations / (double)dispatch->run) : 0;
    thread->phases[thread->phase].work_ns += loop_ns;
    thread->site_ns[dispatch->site] += loop_ns;
    thread->iterations += dispatch->own_iterations;
    thread->run += dispatch->run;
    thread->mark_ns = pcere_sample_clock_ns(&thread->clock);
    dispatch->active = false;
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
    timing_end(thread);
    thread->site_chunks[dispatch->site] += (double)dispatch->run / (double)dispatch->chunk;
    thread->site_chunks_ns[dispatch->site] += dispatch->timed_ns;
    if (dispatch->fixed) {
        fixed_end(thread);
        return;
    }
    pcere_sample_other(thread);               /* what was run counts as it is; shared_spread adds the rest */
    thread->shared[thread->shared_count++] = (struct sample_shared){.phase = thread->phase, .site = dispatch->site, .loop_ns = thread->mark_ns - dispatch->start_ns,
                                                                    .timed_ns = dispatch->timed_ns, .run = dispatch->run, .iterations = dispatch->iterations};
    dispatch->active = false;
}

static void block_enter(struct sample_thread *thread, uint64_t number)
{
    struct sample_dispatch *dispatch = &thread->dispatch;
    if (dispatch->untimed)
        timing_end(thread);
    uint64_t block = number / dispatch->block_chunks;
    dispatch->block_begin = block * dispatch->block_chunks;
    dispatch->block_first = pcere_sample_stratum(pcere_sample_shot.shape.shots, pcere_sample_shot.number, dispatch->key, block, dispatch->blocks,
                                                 dispatch->fixed ? dispatch->own : dispatch->chunks, dispatch->block_chunks);
    dispatch->left = dispatch->untimed;
    if (!dispatch->untimed && !dispatch->timing)
        timing_begin(thread);
}

/* The numbers that the thread has next, as chunks that follow each other in one block and are timed, or not, together: so many of them, from *ret_chunk. */
static uint64_t piece_take(struct sample_thread *thread, uint64_t *ret_chunk)
{
    struct sample_dispatch *dispatch = &thread->dispatch;
    if (dispatch->next - dispatch->block_begin >= dispatch->block_chunks)
        block_enter(thread, dispatch->next);
    uint64_t offset = dispatch->next - dispatch->block_begin, most = dispatch->block_chunks - offset, count = dispatch->end - dispatch->next;
    if (count > most)
        count = most;
    if (dispatch->own_distance > 1)
        count = 1;                    /* of fixed chunks that lie apart */
    if (dispatch->left && count > dispatch->left)
        count = dispatch->left;
    *ret_chunk = dispatch->block_first + offset;
    dispatch->next += count;
    return count;
}

static int dispatch_next(const struct location *location, int32_t number, int32_t *last, void *lower, void *upper, void *stride, uint32_t kind)
{
    struct sample_thread *thread = pcere_sample_own;
    struct sample_dispatch *dispatch = thread ? &thread->dispatch : NULL;
    if (!thread || !dispatch->active)
        return real.next[kind](location, number, last, lower, upper, stride);
    if (dispatch->instance != SAMPLE_INSTANCE_ITERATIONS) {
        int more = real.next[kind](location, number, last, lower, upper, stride);
        if (!more)
            dispatch_end(thread);
        return more;
    }
    if (dispatch->next == dispatch->end) {
        uint64_t low = 0, high = 0, step = 0;
        if (!real.next[kind](location, number, last, &low, &high, &step)) {
            dispatch_end(thread);
            return 0;
        }
        dispatch->next = widened(low, kind);
        dispatch->end = widened(high, kind) + 1;
    }
    uint64_t chunk, chunks = piece_take(thread, &chunk);
    if (dispatch->fixed)
        chunk = dispatch->own_first + chunk * dispatch->own_distance;
    uint64_t first = chunk * dispatch->chunk, count = chunks * dispatch->chunk;
    if (count > dispatch->iterations - first)
        count = dispatch->iterations - first;
    value_put(lower, kind, dispatch->first + first * dispatch->increment);
    value_put(upper, kind, dispatch->first + (first + count - 1) * dispatch->increment);
    value_put(stride, kind, dispatch->increment);
    if (last)
        *last = first + count == dispatch->iterations;
    if (dispatch->left) {
        dispatch->left -= chunks;
        thread->untimed += count;
    } else {
        dispatch->run += count;
        if (!dispatch->timing)
            timing_begin(thread);
    }
    return 1;
}

#define DISPATCH(suffix, type, kind)                                                                                                                  \
    HOOK void __kmpc_dispatch_init_##suffix(const struct location *location, int32_t number, int32_t schedule, type low, type high, type increment,   \
                                            type chunk);                                                                                              \
    HOOK void __kmpc_dispatch_init_##suffix(const struct location *location, int32_t number, int32_t schedule, type low, type high, type increment,   \
                                            type chunk)                                                                                               \
    {                                                                                                                                                 \
        if (!pcere_sample_active)                                                                                                                     \
            real.init[kind](location, number, schedule, (uint64_t)low, (uint64_t)high, (uint64_t)increment, (uint64_t)chunk);                         \
        else                                                                                                                                          \
            dispatch_init(location, number, schedule, (uint64_t)low, (uint64_t)high, (uint64_t)increment, (uint64_t)chunk, kind,                      \
                          (uint64_t)__builtin_return_address(0));                                                                                     \
    }                                                                                                                                                 \
    HOOK int __kmpc_dispatch_next_##suffix(const struct location *location, int32_t number, int32_t *last, void *low, void *high, void *stride);      \
    HOOK int __kmpc_dispatch_next_##suffix(const struct location *location, int32_t number, int32_t *last, void *low, void *high, void *stride)       \
    {                                                                                                                                                 \
        if (!pcere_sample_active)                                                                                                                     \
            return real.next[kind](location, number, last, low, high, stride);                                                                        \
        return dispatch_next(location, number, last, low, high, stride, kind);                                                                        \
    }

DISPATCH(4, int32_t, SAMPLE_INT32)
DISPATCH(4u, uint32_t, SAMPLE_UINT32)
DISPATCH(8, int64_t, SAMPLE_INT64)
DISPATCH(8u, uint64_t, SAMPLE_UINT64)
