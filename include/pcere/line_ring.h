/* include/pcere/line_ring.h - how far the processors of a team lie apart: what a cache line takes from one of its threads to the next.
 *
 * Where a virtual machine's processors are moved between the host's, that is no constant: two that share a last cache pass a line in a sixth of the time that two take
 * which do not, and so do the data that threads hand to each other. Neither the clock nor known work tells.
 */
#ifndef PCERE_LINE_RING_H
#define PCERE_LINE_RING_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

enum { LINE_RING_TRIES = 6, LINE_RING_HOPS = 64 };      /* at least so many hops a try; the least try counts */
#define LINE_RING_PATIENCE 4000000u           /* looks at the line: some milliseconds. A thread that is not there is not waited for longer */
#define LINE_RING_BROKEN UINT32_MAX

struct line_ring { _Alignas(128) _Atomic uint32_t turn; _Alignas(128) char behind; };     /* all 0 at first */

/* False: some thread did not come. */
static inline int line_ring_wait(struct line_ring *ring, uint32_t turn)
{
    uint32_t now;
    for (uint32_t looks = 0; (now = atomic_load_explicit(&ring->turn, memory_order_acquire)) != turn; looks++)
        if (now == LINE_RING_BROKEN || looks == LINE_RING_PATIENCE) {
            atomic_store_explicit(&ring->turn, LINE_RING_BROKEN, memory_order_relaxed);
            return 0;
        }
    return 1;
}

static inline uint64_t line_ring_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* On each of `threads` threads, 2 at least, at once, each with a processor; numbered from 0. Thread 0 gets the time of one hop in ns, the mean around the ring; 0: not known. Others get 0. */
static inline uint64_t line_ring_ns(struct line_ring *ring, uint32_t thread, uint32_t threads)
{
    uint32_t laps = (LINE_RING_HOPS + threads - 1) / threads, turn = thread;
    uint64_t least_ns = UINT64_MAX;
    for (unsigned i = 0; i < LINE_RING_TRIES; i++) {
        uint64_t start_ns = line_ring_clock_ns();
        for (uint32_t lap = 0; lap < laps; lap++, turn += threads) {
            if (!line_ring_wait(ring, turn))
                return 0;
            atomic_store_explicit(&ring->turn, turn + 1, memory_order_release);
        }
        if (!thread && !line_ring_wait(ring, turn))
            return 0;
        uint64_t time_ns = line_ring_clock_ns() - start_ns;
        least_ns = time_ns < least_ns ? time_ns : least_ns;
    }
    return thread ? 0 : least_ns / (laps * threads) + 1;
}

#endif
