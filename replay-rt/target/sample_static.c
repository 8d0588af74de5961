/* replay-rt/target/sample_static.c - loops with a static schedule of which blocks of iterations are run.
 *
 * Where such a loop ends (__kmpc_for_static_fini), control may go back to the return address of its beginning
 * (__kmpc_for_static_init): for the compiled code the call returns once more, with other bounds.
 *
 *   caller's frame     cfa |  return address, saved registers, locals, spills   | rsp  <- copied when the loop begins
 *                                                                                       put back before it begins again
 */
#include "replay-rt/target/sample_hooks.h"

#define WORK_SECTIONS 0x400               /* flags of a source location: it is no loop */

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
    if (((uint32_t)call->schedule & ~SAMPLE_MODIFIERS) != STATIC || (call->location && ((const struct location *)call->location)->flags & WORK_SECTIONS))
        return false;
    thread->iterations += iterations;
    struct sample_shape shape = pcere_sample_shot.shape;
    uint64_t frame = pcere_sample_shot.one_block ? 0 : pcere_sample_frame_bytes(call);
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
    uint32_t schedule = (uint32_t)call->schedule & ~SAMPLE_MODIFIERS;
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
