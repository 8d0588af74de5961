/* replay-rt/target/speed.c - known work that is timed beside timed runs, and so tells when somebody else slows a processor down.
 *
 * Two processors of a machine may be two threads of one core, of which another guest of the host, that nobody sees here, has one. While it computes, this one does what fills all its units
 * at half the rate, what waits for its own results at nearly full rate, for some milliseconds up to seconds. So the work is additions that do not wait for each other, all threads of the
 * team at once: what they take beside each other by design is full speed.
 */
#include "include/pcere/line_ring.h"
#include "replay-rt/target/codelet.h"
#include "replay-rt/target/machine.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#define WORK_ROUNDS 8000u               /* some 5 us */
#define WORK_TRIES 2u                   /* the lesser counts: an interrupt takes as long as that */
#define LEARN_TRIES 8u
#define MILLION 1000000u
#define CHAIN_ROUNDS 1500u
#define CHAIN_TRIES 3u

enum { THREADS_MOST = 64, LOOKED_MOST = 8 };

static struct { _Alignas(128) uint64_t least_ns; } works[THREADS_MOST];
static struct codelet *watched;         /* NULL: nothing is timed */
static uint64_t before_ns;

static uint64_t work_least(uint32_t tries)
{
    uint64_t least_ns = UINT64_MAX, start_ns = pcere_clock_ns(CLOCK_MONOTONIC);
    for (uint32_t i = 0; i < tries; i++) {
        machine_work(WORK_ROUNDS);
        uint64_t end_ns = pcere_clock_ns(CLOCK_MONOTONIC);
        least_ns = end_ns - start_ns < least_ns ? end_ns - start_ns : least_ns;
        start_ns = end_ns;
    }
    return least_ns;
}

static void thread_work(void *context, uint32_t thread, uint32_t threads)
{
    (void)threads;
    if (thread < THREADS_MOST)
        works[thread].least_ns = work_least(*(const uint32_t *)context);
}

/* Of all threads the slowest. */
static uint64_t team_work(uint32_t tries)
{
    struct plan_result *result = &watched->plan->result;
    uint64_t slowest_ns = 0;
    for (uint32_t t = 0; t < result->threads; t++)
        works[t].least_ns = 0;
    pcere_team_run(thread_work, &tries);
    for (uint32_t t = 0; t < result->threads; t++) {
        uint64_t work_ns = works[t].least_ns;
        slowest_ns = work_ns > slowest_ns ? work_ns : slowest_ns;
        result->full_ns = work_ns && work_ns < result->full_ns ? work_ns : result->full_ns;
    }
    return slowest_ns;
}

/* ... before or after a timed run: how often processors are slow is seen by these, since waiting looks at them again and again. */
static uint64_t team_look(void)
{
    struct plan_result *result = &watched->plan->result;
    uint64_t work_ns = team_work(WORK_TRIES);
    result->looks++;
    result->slower_ppm += work_ns > result->full_ns ? (work_ns - result->full_ns) * MILLION / result->full_ns : 0;
    return work_ns;
}

static uint64_t chain_least(void)
{
    uint64_t least_ns = UINT64_MAX;
    for (uint32_t i = 0; i < CHAIN_TRIES; i++) {
        uint64_t start_ns = pcere_clock_ns(CLOCK_MONOTONIC);
        machine_chain(CHAIN_ROUNDS);
        uint64_t work_ns = pcere_clock_ns(CLOCK_MONOTONIC) - start_ns;
        least_ns = work_ns < least_ns ? work_ns : least_ns;
    }
    return least_ns;
}

static void thread_chain(void *context, uint32_t thread, uint32_t threads)
{
    (void)context;
    (void)threads;
    if (thread < THREADS_MOST)
        works[thread].least_ns = chain_least();
}

/* All processors of a team may be slow for as long as it works. */
static void *processors_look(void *context)
{
    struct plan_result *result = context;
    cpu_set_t all, one;
    pcere_processors_any();
    if (sched_getaffinity(0, sizeof all, &all))
        return NULL;
    for (unsigned i = 0, looked = 0; i < CPU_SETSIZE && looked < LOOKED_MOST; i++) {
        if (!CPU_ISSET(i, &all))
            continue;
        CPU_ZERO(&one);
        CPU_SET(i, &one);
        if (sched_setaffinity(0, sizeof one, &one))
            continue;
        uint64_t work_ns = work_least(LEARN_TRIES), chain_ns = chain_least();
        result->alone_ns = !looked || work_ns < result->alone_ns ? work_ns : result->alone_ns;
        result->alone_clock_ns = !looked || chain_ns < result->alone_clock_ns ? chain_ns : result->alone_clock_ns;
        looked++;
    }
    return NULL;
}

void pcere_speed_look(struct codelet *codelet)
{
    pthread_t other;
    if (codelet->plan->policy.watch_speed && codelet->plan->policy.looks && !pthread_create(&other, NULL, processors_look, &codelet->plan->result))
        pthread_join(other, NULL);
}

/* What a single thread showed, at the clock that the processors have now that all of them work. */
static uint64_t full_expected_ns(const struct plan_policy *policy, const struct plan_result *result)
{
    uint64_t alone_ns = policy->looks ? result->alone_ns : policy->alone_ns, clock_then_ns = policy->looks ? result->alone_clock_ns : policy->alone_clock_ns;
    uint64_t clock_now_ns = UINT64_MAX;
    if (!alone_ns || !clock_then_ns)
        return UINT64_MAX;
    pcere_team_run(thread_chain, NULL);
    for (uint32_t t = 0; t < result->threads; t++)
        clock_now_ns = works[t].least_ns && works[t].least_ns < clock_now_ns ? works[t].least_ns : clock_now_ns;
    return (uint64_t)((double)alone_ns * (double)clock_now_ns / (double)clock_then_ns);
}

static struct line_ring ring;

static void thread_pass(void *context, uint32_t thread, uint32_t threads)
{
    uint64_t hop_ns = threads > 1 ? line_ring_ns(&ring, thread, threads) : 0;
    if (!thread)
        ((struct plan_result *)context)->line_ns = hop_ns;
}

void pcere_speed_begin(struct codelet *codelet)
{
    const struct plan_policy *policy = &codelet->plan->policy;
    struct plan_result *result = &codelet->plan->result;
    watched = NULL;
    if (!policy->watch_speed || !result->threads || result->threads > THREADS_MOST || !pcere_processors_suffice(result->threads))
        return;
    watched = codelet;
    result->full_ns = policy->full_ns ? policy->full_ns : full_expected_ns(policy, result);
    team_work(policy->full_ns ? WORK_TRIES : LEARN_TRIES);
    atomic_store(&ring.turn, 0);
    pcere_team_run(thread_pass, result);
}

bool pcere_speed_is_slow(uint32_t work_ns)
{
    return watched && plan_is_slow(work_ns, watched->plan->result.full_ns);
}

bool pcere_speed_may_wait(void)
{
    return watched && watched->plan->result.awaited_ns < watched->plan->policy.await_ns;
}

void pcere_speed_await(void)
{
    if (!watched)
        return;
    uint64_t start_ns = pcere_clock_ns(CLOCK_MONOTONIC), earlier_ns = watched->plan->result.awaited_ns;
    before_ns = team_look();
    while (pcere_speed_is_slow((uint32_t)before_ns) && pcere_speed_may_wait()) {
        before_ns = team_work(WORK_TRIES);
        watched->plan->result.awaited_ns = earlier_ns + (pcere_clock_ns(CLOCK_MONOTONIC) - start_ns);
        pcere_plan_progress(watched);
    }
}

uint32_t pcere_speed_after(void)
{
    if (!watched)
        return 0;
    uint64_t now_ns = team_look();
    return (uint32_t)(now_ns > before_ns ? now_ns : before_ns);
}
