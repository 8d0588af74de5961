/*
 * A pipeline of threads: each works through the same steps in the same order, and none begins a step before its
 * predecessor has done it. A thread that waits spins for some microseconds, which is all that it takes if each
 * thread has a processor, and then yields, since its predecessor may be waiting for the processor it spins on.
 */
#ifndef LU_PIPELINE_H
#define LU_PIPELINE_H

#include <sched.h>
#include <stdatomic.h>

enum { PIPELINE_SPINS = 100 };

/* How many steps a thread has done; a cache line of its own. */
struct progress {
    _Alignas(64) atomic_int steps;
};

static inline void pipeline_reset(struct progress *own)
{
    atomic_store_explicit(&own->steps, 0, memory_order_relaxed);
}

/* Lets the successor begin the step, and see what this thread wrote before. */
static inline void pipeline_done(struct progress *own, int step)
{
    atomic_store_explicit(&own->steps, step, memory_order_release);
}

static inline void pipeline_wait(struct progress *predecessor, int step)
{
    for (int spins = 0; atomic_load_explicit(&predecessor->steps, memory_order_acquire) < step; spins++) {
        if (spins < PIPELINE_SPINS) {
#if defined __x86_64__ || defined __i386__
            __builtin_ia32_pause();
#endif
        } else {
            sched_yield();
        }
    }
}

#endif
