/* replay-rt/target/sample_static.c - loops with a static schedule of which blocks of iterations are run.
 *
 * Where such a loop ends (__kmpc_for_static_fini), control may go back to the return address of its beginning
 * (__kmpc_for_static_init): for the compiled code the call returns once more, with other bounds.
 *
 *   caller's frame     cfa |  return address, saved registers, locals, spills   | rsp  <- copied when the loop begins
 *                                                                                       put back before it begins again
 *
 * Of schedule(static, k) a thread has chunks that lie apart. They are numbered as if they followed each other, and a block that covers several of them is run
 * in pieces, with a way back from each to the next. What such a way takes is learnt by going it for nothing, and taken off.
 *
 *   iterations   |.0.|.1.|.2.|.0.|.1.|.2.|.0.|.1.|.2.|        thread 1 has    |.1.|.1.|.1.|
 */
#include "replay-rt/target/sample_hooks.h"

#define WORK_SECTIONS 0x400               /* flags of a source location: it is no loop */
#define SLIVER_RATIO 0.5                  /* of what blocks take, the ways back from chunk to chunk at most */

enum { PROBE_WAYS = 8, PROBE_ROUNDS = 3 };

struct bounds { uint64_t lower, upper; };     /* of the whole loop */

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

/* The part of the current step that lies in one chunk. Behind it the compiled code finds no further chunk. */
static void piece_begin(struct sample_loop *loop)
{
    const struct sample_block *block = &loop->steps[loop->step].block;
    uint64_t at = block->first + loop->done, offset = at % loop->chunk, count = block->count - loop->done;
    if (count > loop->chunk - offset)
        count = loop->chunk - offset;
    uint64_t lower = loop->first + (at / loop->chunk * loop->chunk_distance + offset) * loop->increment;
    bound_put(loop, loop->lower, lower);
    bound_put(loop, loop->upper, lower + (count - 1) * loop->increment);
    if (loop->stride)
        bound_put(loop, loop->stride, loop->behind - lower);
    loop->done += count;
}

/* The way back and no iteration behind it. */
static void nothing_begin(struct sample_loop *loop)
{
    bound_put(loop, loop->lower, loop->behind);
    bound_put(loop, loop->upper, loop->behind - loop->increment);
    bound_put(loop, loop->stride, loop->increment);
}

/* Where the calling thread's iterations lie, as the runtime told. */
static struct sample_loop loop_find(const struct sample_call *call, uint32_t kind, const struct bounds *whole)
{
    const uint64_t *stack = (const uint64_t *)call->rsp;      /* stride, increment, chunk */
    struct sample_loop loop = {.lower = (void *)call->lower, .upper = (void *)call->upper, .increment = increment_of(stack[1], kind), .kind = kind};
    loop.first = value_get(loop.lower, kind);
    loop.iterations = trip_count(loop.first, value_get(loop.upper, kind), loop.increment, kind);
    loop.chunk = loop.iterations;
    uint64_t total = trip_count(whole->lower, whole->upper, loop.increment, kind);
    bool chunked = ((uint32_t)call->schedule & ~SAMPLE_MODIFIERS) == STATIC_CHUNKED && (int64_t)loop.increment > 0;
    if (!chunked || loop.iterations >= total)
        return loop;
    uint64_t chunk = increment_of(stack[2], kind), stride = increment_of(value_get((const void *)stack[0], kind), kind);
    uint64_t before = (loop.first - whole->lower) / loop.increment;
    loop.chunk = (int64_t)chunk > 0 ? chunk : 1;
    loop.chunk_distance = stride / loop.increment;
    loop.stride = (void *)stack[0];
    loop.behind = whole->lower + total * loop.increment;
    if (before >= total || loop.chunk_distance < loop.chunk)
        loop.iterations = 0;
    else {
        uint64_t rest = (total - before) % loop.chunk_distance;
        loop.iterations = (total - before) / loop.chunk_distance * loop.chunk + (rest < loop.chunk ? rest : loop.chunk);
    }
    return loop;
}

/* All that the thread has of an instance, or nothing of it. */
static void static_whole(struct sample_thread *thread, const struct sample_loop *loop, uint32_t site, enum sample_instance instance, bool sections)
{
    thread->iterations += loop->iterations;
    thread->run += instance == SAMPLE_INSTANCE_TIMED ? loop->iterations : 0;
    thread->untimed += instance == SAMPLE_INSTANCE_WARM ? loop->iterations : 0;
    if (instance == SAMPLE_INSTANCE_SKIPPED && loop->iterations > (sections ? 0 : 1)) {
        value_put(loop->lower, loop->kind, loop->first + loop->increment);
        value_put(loop->upper, loop->kind, loop->first);
    }
    thread->loop = (struct sample_loop){.iterations = loop->iterations ? loop->iterations : 1, .kind = loop->kind, .site = site, .instance = instance};
}

static bool static_begin(struct sample_thread *thread, const struct sample_call *call, uint32_t kind, const struct bounds *whole)
{
    if (pcere_sample_shot.tasks)
        return false;
    struct sample_loop *loop = &thread->loop, found = loop_find(call, kind, whole);
    struct sample_block blocks[SAMPLE_BLOCKS_MOST];
    uint32_t site = pcere_sample_site(call->rip), count = 0;
    enum sample_instance instance = pcere_sample_instance(thread, site);
    thread->site_instances[site]++;
    bool sections = call->location && ((const struct location *)call->location)->flags & WORK_SECTIONS;
    if (instance != SAMPLE_INSTANCE_ITERATIONS) {
        static_whole(thread, &found, site, instance, sections);
        return true;
    }
    if (sections)
        return false;
    thread->iterations += found.iterations;
    struct sample_shape shape = pcere_sample_shot.shape;
    uint64_t frame = pcere_sample_shot.one_block ? 0 : pcere_sample_frame_bytes(call);
    if (!frame)
        shape.blocks = 1;
    const struct sample_share share = {.total = trip_count(whole->lower, whole->upper, found.increment, kind), .before = (found.first - whole->lower) / found.increment,
                                       .iterations = found.iterations, .parts = frame && !found.stride ? pcere_sample_shot.parts : 0};
    if (!pcere_sample_shot.tiny[site] && (frame || !found.stride))
        count = pcere_sample_place_parts(&shape, pcere_sample_shot.number, instance_key(thread, site, call->rip), &share, blocks);
    if (!count) {
        thread->run += found.iterations;
        return false;
    }
    *loop = found;
    loop->site = site;
    loop->jump = (struct sample_jump){call->rbx, call->rbp, call->r12, call->r13, call->r14, call->r15, call->rsp, call->rip, thread->frame, 0};
    steps_make(loop, blocks, count, frame > 0);
    loop->probes = loop->stride ? PROBE_WAYS * PROBE_ROUNDS + 1 : 0;
    if (loop->probes)
        nothing_begin(loop);
    else
        piece_begin(loop);
    loop->jump.frame_bytes = frame;
    memcpy(thread->frame, (const void *)call->rsp, frame);
    return true;
}

void pcere_sample_static_init(const struct sample_call *call, uint32_t kind)
{
    const uint64_t *stack = (const uint64_t *)call->rsp;
    struct sample_thread *thread = pcere_sample_own;
    const struct location *location = (const struct location *)call->location;
    uint32_t schedule = (uint32_t)call->schedule & ~SAMPLE_MODIFIERS;
    struct bounds whole = {value_get((const void *)call->lower, kind), value_get((const void *)call->upper, kind)};
    bool inside = thread && (thread->loop.iterations || thread->dispatch.active);
    if (thread && !inside)
        pcere_sample_other(thread);
    pcere_sample_real.static_init[kind](location, (int32_t)call->thread, (int32_t)call->schedule, (void *)call->last, (void *)call->lower,
                                        (void *)call->upper, (void *)stack[0], stack[1], stack[2]);
    if (!thread)
        return;
    if (inside)
        thread->nested++;
    else if ((schedule == STATIC || schedule == STATIC_CHUNKED) && static_begin(thread, call, kind, &whole))
        thread->mark_ns = pcere_sample_clock_ns(&thread->clock);
}

static void static_end(struct sample_thread *thread)
{
    struct sample_loop *loop = &thread->loop;
    double elapsed_ns = (double)loop->elapsed_ns, ways_ns = (double)loop->pieces * loop->probe_ns;
    if (ways_ns > SLIVER_RATIO * elapsed_ns)
        pcere_sample_shot.slivers = true;
    else
        elapsed_ns -= ways_ns;
    double scaled_ns = elapsed_ns * ((double)loop->iterations / (double)loop->run);
    thread->phases[thread->phase].work_ns += scaled_ns;
    thread->site_ns[loop->site] += scaled_ns;
    thread->run += loop->run;
    loop->iterations = 0;
}

/* Back for nothing once more; the last time on to the first block. */
static void probe_end(struct sample_thread *thread, uint64_t now_ns)
{
    struct sample_loop *loop = &thread->loop;
    if (--loop->probes % PROBE_WAYS == 0) {
        double way_ns = (double)(now_ns - thread->mark_ns) / (double)PROBE_WAYS;
        if (loop->probes < PROBE_WAYS * PROBE_ROUNDS && (!(loop->probe_ns > 0) || way_ns < loop->probe_ns))
            loop->probe_ns = way_ns;
        thread->mark_ns = now_ns;
    }
    if (loop->probes)
        nothing_begin(loop);
    else
        piece_begin(loop);
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
    const struct sample_step *step = &loop->steps[loop->step];
    if (!loop->probes && loop->stride && loop->done < step->block.count) {
        loop->pieces += step->timed;
        piece_begin(loop);
        return &loop->jump;
    }
    uint64_t now_ns = loop->probes && (loop->probes - 1) % PROBE_WAYS ? 0 : pcere_sample_clock_ns(&thread->clock);
    if (loop->probes) {
        probe_end(thread, now_ns);
        if (!loop->probes)
            thread->mark_ns = pcere_sample_clock_ns(&thread->clock);
        return &loop->jump;
    }
    if (loop->instance != SAMPLE_INSTANCE_ITERATIONS) {
        pcere_sample_instance_end(thread, loop->site, loop->instance, now_ns - thread->mark_ns);
        loop->iterations = 0;
        thread->mark_ns = pcere_sample_clock_ns(&thread->clock);
        return NULL;
    }
    if (step->timed) {
        loop->elapsed_ns += now_ns - thread->mark_ns;
        loop->run += step->block.count;
    } else
        thread->untimed += step->block.count;
    loop->done = 0;
    if (++loop->step < loop->step_count) {
        piece_begin(loop);
        thread->mark_ns = pcere_sample_clock_ns(&thread->clock);
        return &loop->jump;
    }
    static_end(thread);
    thread->mark_ns = pcere_sample_clock_ns(&thread->clock);
    return NULL;
}
