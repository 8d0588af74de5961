/* replay-rt/launcher/doubt.c - see doubt.h. */
#include "replay-rt/launcher/doubt.h"

#include "predictor/measured.h"
#include "replay-rt/launcher/policy.h"

#include <math.h>
#include <string.h>

static double mean_ns(const struct store_sample *sample, size_t first, size_t count)
{
    double sum_ns = 0;
    for (size_t i = first; i < first + count; i++)
        sum_ns += (double)sample->samples_ns[i];
    return count ? sum_ns / (double)count : 0;
}

double doubt_most_ns(uint64_t in_vivo_ns, uint32_t captured, uint32_t threads)
{
    captured = captured ? captured : 1;
    if (threads > captured)
        return (double)in_vivo_ns;
    return (double)in_vivo_ns * captured / (threads ? threads : 1) * DOUBT_RATIO;
}

bool doubt_found(const struct store_sample *sample, double most_ns)
{
    bool repeated = !(sample->sampled_ratio > 0) && sample->sample_count > 1;
    if (!sample->sample_count)
        return false;
    uint64_t least_ns = UINT64_MAX, greatest_ns = 0;
    for (size_t i = 0; i < sample->sample_count; i++) {
        least_ns = sample->samples_ns[i] < least_ns ? sample->samples_ns[i] : least_ns;
        greatest_ns = sample->samples_ns[i] > greatest_ns ? sample->samples_ns[i] : greatest_ns;
    }
    if (repeated)
        return most_ns > 0 && (double)least_ns > most_ns;
    return (double)greatest_ns > DOUBT_RATIO * (double)least_ns || (most_ns > 0 && mean_ns(sample, 0, sample->sample_count) > most_ns);
}

uint64_t doubt_least_ns(uint64_t in_vivo_ns, uint32_t captured, uint32_t threads)
{
    captured = captured ? captured : 1;
    return threads > captured ? in_vivo_ns / threads * captured : in_vivo_ns;
}

const char *doubt_of_shots(const struct store_sample *sample, uint64_t reference_ns, uint64_t least_ns, double share_ratio)
{
    double values[PLAN_SAMPLES];
    size_t count = sample->sample_count < PLAN_SAMPLES ? sample->sample_count : PLAN_SAMPLES;
    if (!(sample->sampled_ratio > 0) || !count)
        return NULL;
    for (size_t i = 0; i < count; i++)
        values[i] = (double)sample->samples_ns[i];
    double mean = mean_ns(sample, 0, count), half_most = share_ratio > 0 ? DOUBT_PROGRAM_RATIO / share_ratio : DOUBT_SHOTS_MOST_RATIO;
    half_most = fmax(fmin(half_most, DOUBT_SHOTS_MOST_RATIO), DOUBT_SHOTS_RATIO);
    if (count > 1 && statistics_shots_half(values, count) > half_most * mean)
        return "parts of it lie too far apart";
    if (reference_ns && fabs(mean / (double)reference_ns - 1) > DOUBT_SHOTS_RATIO)
        return "parts of it do not take what they take in the program";
    return mean * DOUBT_FASTER_RATIO < (double)least_ns ? "parts of it take less than so many threads can make of its time in the program" : NULL;
}

bool doubt_is_far(const struct store_sample *sample, uint64_t reference_ns, uint64_t least_ns)
{
    double mean = mean_ns(sample, 0, sample->sample_count), reference = (double)reference_ns;
    return sample->sampled_ratio > 0 && ((reference > 0 && mean > DOUBT_FAR_RATIO * reference) || fmax(reference, (double)least_ns) > DOUBT_FAR_RATIO * mean);
}

static bool is_about(double shots_ns, double whole_ns)
{
    return fabs(log(shots_ns / whole_ns)) <= DOUBT_SIBLING_RATIO;
}

bool doubt_whole_agrees(const struct store_sample *shots, double whole_ns, double share_ratio)
{
    return whole_ns > 0 && shots->sample_count && !doubt_of_shots(shots, 0, 0, share_ratio) && is_about(mean_ns(shots, 0, shots->sample_count), whole_ns);
}

bool doubt_sibling_agrees(const struct replay_whole *wholes, size_t count, const struct replay_target *target, uint32_t threads, double shots_ns)
{
    for (size_t i = 0; i < count; i++)
        if (wholes[i].target->region == target->region && wholes[i].target->class != target->class && wholes[i].threads == threads
            && is_about(shots_ns, wholes[i].time_ns))
            return true;
    return false;
}

bool doubt_pays(uint64_t class_ns, uint64_t in_vivo_ns, uint64_t changed_pages, uint64_t page_ns, uint64_t program_ns)
{
    uint64_t most_ns = class_ns / DOUBT_WHOLE_PARTS;
    if (policy_is_short(program_ns) && most_ns < DOUBT_SHORT_NS)
        most_ns = DOUBT_SHORT_NS;
    return in_vivo_ns <= UINT64_MAX / DOUBT_WHOLE_RUNS / 2 && changed_pages <= UINT64_MAX / page_ns / 2
           && DOUBT_WHOLE_RUNS * in_vivo_ns + page_ns * changed_pages <= most_ns;
}

bool doubt_settle(struct store_sample *sample)
{
    if (sample->process_count != 2 || !sample->process_counts[0] || !sample->process_counts[1])
        return false;
    size_t first = sample->process_counts[0], second = sample->process_counts[1];
    bool later = mean_ns(sample, first, second) < mean_ns(sample, 0, first);
    if (later) {
        memmove(sample->samples_ns, sample->samples_ns + first, second * sizeof *sample->samples_ns);
        if (sample->cpu_ns)
            memmove(sample->cpu_ns, sample->cpu_ns + first, second * sizeof *sample->cpu_ns);
        if (sample->switches)
            memmove(sample->switches, sample->switches + first, second * sizeof *sample->switches);
        if (sample->waits_ns)
            memmove(sample->waits_ns, sample->waits_ns + first, second * sizeof *sample->waits_ns);
        sample->process_counts[0] = second;
    }
    sample->process_count = 1;
    sample->sample_count = sample->process_counts[0];
    return later;
}
