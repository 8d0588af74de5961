/* replay-rt/target/repeats.c - whether something disturbed a timed run, and when timed runs are enough for that. The region that the process is for, and those that are timed before it, each have
 * times of their own.
 *
 * With more threads than processors those of the team wait for each other all the time, so that neither context switches nor waits tell when somebody else had a processor. The time that the
 * team had does: threads that wait for others look for work without pause, so that undisturbed they use all of their processors. (Where they sleep instead, every run looks disturbed, and the
 * launcher takes none for such a one.) Threads look for work for 0.2 s and sleep then; in a long run each thread's own waiting tells, which the kernel counts to some milliseconds.
 */
#include "replay-rt/target/codelet.h"

#include <string.h>

#define FALLING_RUNS 3u                 /* the last ones, each of which took */
#define FALLING_RATIO 0.95              /* ... at most this of the one before: the next one would take less again */
#define LATE_RUNS 3u                    /* the second half has so many at least, for its median to tell that */
#define BEGIN_RATIO 1.25                /* ... a run took so much longer, as did all before it: caches were not full yet */
#define LOST_PARTS 25u                  /* of the processors' time: more than such a part is a disturbance */
#define LONG_NS 100000000u              /* what the kernel counts of a thread's waiting lags by some milliseconds */
#define AGREE_PARTS 33u                 /* two runs agree that differ by less than such a part: what disturbed them cost neither anything that counts */
#define SETTLED_RUNS 3u                 /* so many where all of fewer were disturbed and do not agree */
#define HELD_PARTS 20u                  /* of a run: what threads waited for a processor, if that is less, is no reason for another */
#define WALK_PARTS 20u                  /* of all that is timed: a region that takes less is not asked */

bool pcere_crowd_is_disturbed(uint32_t threads, uint64_t wall_ns, uint64_t cpu_ns, const struct team_waits *waits, uint64_t *ret_lost_ns, bool *ret_tells)
{
    uint64_t processors_ns = wall_ns * pcere_processors_of(threads), lacked_ns = cpu_ns < processors_ns ? processors_ns - cpu_ns : 0;
    uint64_t foreign_ns = lacked_ns, longest_ns = 0;
    bool few = lacked_ns <= processors_ns / LOST_PARTS, told = !few && waits && wall_ns >= LONG_NS && pcere_waits_for_others(waits, &foreign_ns, &longest_ns);
    foreign_ns = foreign_ns < lacked_ns ? foreign_ns : lacked_ns;
    longest_ns = longest_ns < foreign_ns ? longest_ns : foreign_ns;
    *ret_tells = few || told;
    *ret_lost_ns = told ? pcere_waits_at_once(foreign_ns, longest_ns, wall_ns) : lacked_ns;
    return foreign_ns > processors_ns / LOST_PARTS;
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

/* Of one region. */
struct runs { const uint64_t *times_ns, *waits_ns; const uint32_t *switches, *works_ns; uint64_t count; };

static uint64_t runs_least_ns(const struct runs *runs)
{
    uint64_t least_ns = UINT64_MAX;
    for (uint64_t i = 0; i < runs->count; i++)
        least_ns = runs->times_ns[i] < least_ns ? runs->times_ns[i] : least_ns;
    return runs->count ? least_ns : 0;
}

static bool times_agree(uint64_t one_ns, uint64_t other_ns)
{
    uint64_t least_ns = one_ns < other_ns ? one_ns : other_ns, greatest_ns = one_ns < other_ns ? other_ns : one_ns;
    return (greatest_ns - least_ns) * AGREE_PARTS <= least_ns;
}

static bool runs_settle(const struct runs *runs, uint64_t walk_ns)
{
    bool settle = runs->count && (runs->count >= SETTLED_RUNS || runs_least_ns(runs) < walk_ns / WALK_PARTS);
    for (uint64_t i = 0; !settle && i < runs->count; i++) {
        bool held = runs->switches[i] && (!runs->waits_ns[i] || runs->waits_ns[i] > runs->times_ns[i] / HELD_PARTS);
        settle = !held && !pcere_speed_is_slow(runs->works_ns[i]);
        for (uint64_t j = 0; j < i; j++)
            settle |= times_agree(runs->times_ns[i], runs->times_ns[j]);
    }
    return settle;
}

static struct runs step_runs(const struct codelet *codelet, uint64_t step)
{
    const struct plan_step_samples *samples = &codelet->plan->result.steps[step];
    bool timed = PLAN_TABLE(codelet, steps, struct plan_step)[step].timed;
    return (struct runs){samples->samples_ns, samples->waits_ns, samples->switches, samples->works_ns, timed ? samples->count : 0};
}

bool pcere_repeats_settle(const struct codelet *codelet)
{
    const struct plan_result *result = &codelet->plan->result;
    const struct plan_step *steps = PLAN_TABLE(codelet, steps, struct plan_step);
    struct runs own = {result->samples_ns, result->waits_ns, result->switches, result->works_ns, result->sample_count};
    uint64_t walk_ns = runs_least_ns(&own), step_count = codelet->plan->steps.count;
    if (result->threads < 2 || own.count > SETTLED_RUNS)
        return true;
    for (uint64_t s = 0; s < step_count; s++) {
        struct runs runs = step_runs(codelet, s);
        walk_ns += runs_least_ns(&runs);
    }
    bool settle = runs_settle(&own, walk_ns);
    for (uint64_t s = 0; settle && s < step_count; s++) {
        struct runs runs = step_runs(codelet, s);
        settle = !steps[s].timed || runs_settle(&runs, walk_ns);
    }
    return settle;
}

/* What the walk by that number timed, as far as the first walk timed it, too. */
static uint64_t walk_sum_ns(const struct codelet *codelet, uint64_t walk)
{
    const struct plan_result *result = &codelet->plan->result;
    uint64_t sum_ns = result->samples_ns[walk];
    for (uint64_t s = 0; s < codelet->plan->steps.count; s++) {
        struct runs runs = step_runs(codelet, s);
        sum_ns += runs.count == result->sample_count ? runs.times_ns[walk] : 0;
    }
    return sum_ns;
}

#define FIRST_DROP(items, count) memmove(items, (items) + 1, ((count) - 1) * sizeof *(items))
/* Of the region's own samples, or a step's. */
#define SAMPLES_FIRST_DROP(samples, count) \
    (FIRST_DROP((samples)->samples_ns, count), FIRST_DROP((samples)->cpu_ns, count), FIRST_DROP((samples)->switches, count), FIRST_DROP((samples)->works_ns, count), \
     FIRST_DROP((samples)->waits_ns, count))

/* It was a warm-up. */
static void first_drop(struct codelet *codelet)
{
    struct plan_result *result = &codelet->plan->result;
    uint64_t count = result->sample_count;
    for (uint64_t s = 0; s < codelet->plan->steps.count; s++) {
        struct plan_step_samples *samples = &result->steps[s];
        if (step_runs(codelet, s).count != count)
            continue;
        SAMPLES_FIRST_DROP(samples, count);
        samples->count--;
    }
    SAMPLES_FIRST_DROP(result, count);
    result->sample_count--;
    result->warmups++;
}

bool pcere_walk_first_drop(struct codelet *codelet)
{
    uint64_t count = codelet->plan->result.sample_count, least_ns = UINT64_MAX;
    for (uint64_t i = 1; i < count; i++) {
        uint64_t now_ns = walk_sum_ns(codelet, i);
        least_ns = now_ns < least_ns ? now_ns : least_ns;
    }
    if (count < 2 || walk_sum_ns(codelet, 0) <= least_ns + least_ns / AGREE_PARTS)
        return false;
    first_drop(codelet);
    return true;
}

/* Of the second half. */
static uint64_t late_median_ns(const struct codelet *codelet)
{
    uint64_t sorted_ns[PLAN_SAMPLES], count = 0;
    for (uint64_t i = codelet->plan->result.sample_count / 2; i < codelet->plan->result.sample_count; i++) {
        uint64_t now_ns = walk_sum_ns(codelet, i), at = count++;
        for (; at && sorted_ns[at - 1] > now_ns; at--)
            sorted_ns[at] = sorted_ns[at - 1];
        sorted_ns[at] = now_ns;
    }
    return count ? sorted_ns[count / 2] : 0;
}

void pcere_slow_begin_drop(struct codelet *codelet)
{
    const struct plan_result *result = &codelet->plan->result;
    uint64_t keep = result->sample_count / 2, late_ns = late_median_ns(codelet);
    while (result->sample_count > keep && keep >= LATE_RUNS && (double)walk_sum_ns(codelet, 0) > BEGIN_RATIO * (double)late_ns)
        first_drop(codelet);
}

bool pcere_repeats_fall(const uint64_t *times_ns, uint64_t count)
{
    bool fall = count >= FALLING_RUNS;
    for (uint64_t i = fall ? count - FALLING_RUNS + 1 : 0; fall && i < count; i++)
        fall = (double)times_ns[i] <= FALLING_RATIO * (double)times_ns[i - 1];
    return fall;
}

bool pcere_walk_is_fast(const struct codelet *codelet)
{
    const struct plan_policy *policy = &codelet->plan->policy;
    const struct plan_result *result = &codelet->plan->result;
    uint64_t walk_ns = result->samples_ns[0], most_ns = policy->walk_ns;
    for (uint64_t s = 0; s < codelet->plan->steps.count; s++) {
        struct runs runs = step_runs(codelet, s);
        walk_ns += runs_least_ns(&runs);
        if (!s && !runs.count)
            most_ns -= policy->walk_first_ns;
    }
    return walk_ns <= most_ns;
}
