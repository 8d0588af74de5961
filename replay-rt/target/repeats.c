/* replay-rt/target/repeats.c - when timed runs are enough for what disturbs them. The region that the process is for, and those that are timed before it, each have times of their own.
 *
 * Where threads share processors, one that is held up holds up the next one on its processor, and then all at the barrier: a few milliseconds of somebody else's work add as many to a run, or twice
 * as many, and nothing that the kernel counts tells such a run from another, since its own threads wait for each other all the time. Only other runs tell.
 */
#include "replay-rt/target/codelet.h"

#define AGREE_PARTS 33u                 /* two runs agree that differ by less than such a part */
#define CROWDED_AGREE_PARTS 8u          /* ... where threads share processors */
#define CROWDED_RUNS 4u                 /* timed at most for that */
#define WALK_PARTS 20u                  /* of all that is timed: a region that takes less is not asked */

bool pcere_times_agree(uint64_t one_ns, uint64_t other_ns)
{
    uint64_t least_ns = one_ns < other_ns ? one_ns : other_ns, greatest_ns = one_ns < other_ns ? other_ns : one_ns;
    return (greatest_ns - least_ns) * AGREE_PARTS <= least_ns;
}

bool pcere_steps_are_fast(const struct codelet *codelet)
{
    const struct plan_step *steps = PLAN_TABLE(codelet, steps, struct plan_step);
    bool all = true;
    for (uint64_t s = 0; s < codelet->plan->steps.count; s++) {
        const struct plan_step_samples *samples = &codelet->plan->result.steps[s];
        bool fast = !steps[s].timed || !samples->count || samples->count == PLAN_STEP_SAMPLES;
        for (uint64_t i = 0; i < samples->count; i++)
            fast |= !pcere_speed_is_slow(samples->works_ns[i]);
        all &= fast;
    }
    return all;
}

struct times { uint64_t least_ns, next_ns; };     /* UINT64_MAX: there is none */

static struct times times_of(const uint64_t *samples_ns, uint64_t count)
{
    struct times times = {UINT64_MAX, UINT64_MAX};
    for (uint64_t i = 0; i < count; i++) {
        if (samples_ns[i] < times.least_ns)
            times = (struct times){samples_ns[i], times.least_ns};
        else if (samples_ns[i] < times.next_ns)
            times.next_ns = samples_ns[i];
    }
    return times;
}

static bool times_settle(struct times times, uint64_t walk_ns)
{
    return times.least_ns == UINT64_MAX || times.least_ns < walk_ns / WALK_PARTS
           || (times.next_ns != UINT64_MAX && (times.next_ns - times.least_ns) <= times.least_ns / CROWDED_AGREE_PARTS);
}

bool pcere_crowd_settles(const struct codelet *codelet)
{
    const struct plan_result *result = &codelet->plan->result;
    const struct plan_step *steps = PLAN_TABLE(codelet, steps, struct plan_step);
    if (pcere_processors_suffice(result->threads) || result->sample_count >= CROWDED_RUNS)
        return true;
    struct times own = times_of(result->samples_ns, result->sample_count);
    uint64_t walk_ns = own.least_ns;
    for (uint64_t s = 0; s < codelet->plan->steps.count; s++)
        walk_ns += steps[s].timed && result->steps[s].count ? times_of(result->steps[s].samples_ns, result->steps[s].count).least_ns : 0;
    bool settles = times_settle(own, walk_ns);
    for (uint64_t s = 0; s < codelet->plan->steps.count; s++)
        settles &= !steps[s].timed || (result->steps[s].count && times_settle(times_of(result->steps[s].samples_ns, result->steps[s].count), walk_ns));
    return settles;
}
