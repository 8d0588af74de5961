/* predictor/replays.c - see replays.h. */
#include "predictor/replays.h"

#include "core/text.h"
#include "predictor/measured.h"
#include "predictor/members.h"
#include "predictor/statistics.h"

#include <math.h>
#include <string.h>

#define STRETCHED_MOST 1.25             /* by the machine or a stop; members that differ more do so by their work */
#define SHARED_RATIO 0.9                /* of a run's time: an entering thread that has less of it, undisturbed, shares its processor */

bool replays_sample_is(const struct store_sample *sample, const char *kind, const char *arch)
{
    return text_equal(sample->kind, kind) && sample->host_name && strcmp(sample->host_name, arch) == 0;
}

static bool sample_replays(const struct predict_request *request, const struct store_sample *sample, const char *region,
                           uint64_t representative, uint32_t threads)
{
    return replays_sample_is(sample, "replay", request->arch) && sample->representative == representative && sample->threads == threads &&
           text_equal(sample->region, region) && text_equal(sample->flags, request->flags) && text_equal(sample->settings, request->settings);
}

static bool is_whole(const struct store_sample *sample)
{
    return !(sample->sampled_ratio > 0);
}

/* Of two of which the later line comes second. Whole replays before samples, which extrapolate; then the newer. */
static bool outranks(const struct store_sample *later, const struct store_sample *sample)
{
    return is_whole(later) != is_whole(sample) ? is_whole(later) : later->when_s >= sample->when_s;
}

/* The newest decides which warm-up was asked for, and of those the first in rank the policy. */
void replays_choose(const struct predict_request *request, const char *region, uint64_t representative, uint32_t threads,
                    struct replays *replays)
{
    const struct store_sample *newest = NULL;
    for (size_t i = 0; i < request->sample_count; i++) {
        const struct store_sample *sample = &request->samples[i];
        if (sample_replays(request, sample, region, representative, threads) && (!newest || sample->when_s >= newest->when_s))
            newest = sample;
    }
    const struct store_sample *first = NULL;
    for (size_t i = 0; newest && i < request->sample_count; i++) {
        const struct store_sample *sample = &request->samples[i];
        if (sample_replays(request, sample, region, representative, threads) && text_equal(sample->warmup, newest->warmup) && (!first || outranks(sample, first)))
            first = sample;
    }
    replays->count = 0;
    for (size_t i = 0; first && i < request->sample_count; i++) {
        const struct store_sample *sample = &request->samples[i];
        if (sample_replays(request, sample, region, representative, threads) && text_equal(sample->warmup, first->warmup) &&
            text_equal(sample->warmup_policy, first->warmup_policy) && is_whole(sample) == is_whole(first))
            replays->samples[replays->count++] = sample;
    }
}

static const struct store_sample *newest_residual(const struct replays *replays)
{
    const struct store_sample *newest = NULL;
    for (size_t s = 0; s < replays->count; s++)
        if (replays->samples[s]->has_residual && (!newest || replays->samples[s]->when_s >= newest->when_s))
            newest = replays->samples[s];
    return newest;
}

bool replays_are_unseen(const struct predict_request *request, const char *region, uint64_t representative, const struct replays *replays)
{
    bool seen = replays->count == 0 || is_whole(replays->samples[0]);
    for (size_t i = 0; !seen && i < request->sample_count; i++) {
        const struct store_sample *sample = &request->samples[i];
        seen = sample->has_residual && text_equal(sample->kind, "replay") && sample->representative == representative && text_equal(sample->region, region);
    }
    return !seen;
}

double replays_residual(const struct replays *replays, bool unseen)
{
    const struct store_sample *newest = newest_residual(replays);
    return newest ? fmax(fmin(newest->residual_ratio, PREDICT_RESIDUAL_MOST), 1 / (1 + PREDICT_RESIDUAL_MOST) - 1) : unseen ? PREDICT_UNSEEN_RATIO : PREDICT_UNKNOWN_RATIO;
}

/* The first in rank of a class's replays that were compared with its time in vivo, or NULL. */
static const struct store_sample *first_compared(const struct predict_request *request, const char *region, const struct store_class *class)
{
    const struct store_sample *first = NULL;
    for (size_t i = 0; i < request->sample_count; i++) {
        const struct store_sample *sample = &request->samples[i];
        if (sample->has_residual && replays_sample_is(sample, "replay", request->arch) && sample->representative == class->representative &&
            text_equal(sample->region, region) && (!first || outranks(sample, first)))
            first = sample;
    }
    return first;
}

static double apart(double one, double other)
{
    return one > 0 && other > 0 ? fabs(log(one / other)) : INFINITY;
}

uint64_t replays_reference_ns(const struct predict_request *request, const char *region, const struct store_class *class)
{
    uint64_t mean_ns = class->members ? class->time_ns / class->members : 0, own_ns = class->representative_ns;
    const struct store_sample *compared = first_compared(request, region, class);
    if (!compared || apart((double)mean_ns, (double)own_ns) > log(STRETCHED_MOST))
        return own_ns;
    double vitro_ns = (1 + compared->residual_ratio) * (double)own_ns;       /* classes that count by their own times are compared with their representative */
    bool scaled = fabs(amdahl_class_weight(class->members, class->time_ns, own_ns) - (double)class->members) > 0;
    return scaled && apart(vitro_ns, (double)mean_ns) < apart(vitro_ns, (double)own_ns) ? mean_ns : own_ns;
}

double replays_alien_ratio(const struct predict_request *request, const char *region, const struct store_class *class, bool slow)
{
    const struct store_sample *compared = first_compared(request, region, class);
    double ratio = compared ? 1 + compared->residual_ratio : 1;
    bool itself = slow && class->members == 1 && !class->io;         /* nothing makes a region faster than it is, and a stop may have stretched it in vivo */
    return ratio >= PREDICT_ALIEN_FACTOR || (ratio <= 1 / PREDICT_ALIEN_FACTOR && !itself) ? ratio - 1 : 0;
}

double replays_slow_ratio(const struct replays *replays)
{
    double sum = 0, count = 0;
    for (size_t s = 0; s < replays->count; s++) {
        sum += replays->samples[s]->slow_ratio * (double)replays->samples[s]->sample_count;
        count += (double)replays->samples[s]->sample_count;
    }
    return count > 0 ? sum / count : 0;
}

double replays_held_ratio(const struct replays *replays)
{
    double sum = 0, count = 0;
    for (size_t s = 0; s < replays->count; s++) {
        sum += measured_held_ratio(replays->samples[s]) * (double)replays->samples[s]->sample_count;
        count += (double)replays->samples[s]->sample_count;
    }
    return count > 0 ? sum / count : 0;
}

double replays_loud_ratio(const struct predict_request *request, uint32_t threads)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < request->sample_count; i++) {
        const struct store_sample *sample = &request->samples[i];
        if (!replays_sample_is(sample, "replay", request->arch) || sample->threads != threads)
            continue;
        sum += sample->loud_ratio;
        count++;
    }
    return count ? sum / (double)count : 0;
}

void replays_lines(const struct predict_request *request, uint32_t threads, uint64_t *ret_low_ns, uint64_t *ret_high_ns)
{
    *ret_low_ns = *ret_high_ns = 0;
    for (size_t i = 0; i < request->sample_count; i++) {
        const struct store_sample *sample = &request->samples[i];
        bool counts = replays_sample_is(sample, "replay", request->arch) || replays_sample_is(sample, "run", request->arch);
        if (!counts || sample->threads != threads || !sample->line_ns)
            continue;
        *ret_low_ns = !*ret_low_ns || sample->line_ns < *ret_low_ns ? sample->line_ns : *ret_low_ns;
        *ret_high_ns = sample->line_ns > *ret_high_ns ? sample->line_ns : *ret_high_ns;
    }
}

static bool tells_preempted(const struct predict_request *request, const struct store_sample *sample, uint32_t threads)
{
    return replays_sample_is(sample, "replay", request->arch) && sample->threads == threads && text_equal(sample->flags, request->flags) &&
           text_equal(sample->settings, request->settings) && !(sample->sampled_ratio > 0) && sample->switches && sample->cpu_ns;
}

/* Of the processor that it runs on, what an entering thread has where nothing disturbs it: all, unless threads share processors. */
static double undisturbed_share(const struct predict_request *request, uint32_t threads)
{
    double wall_ns = 0, cpu_ns = 0;
    for (size_t i = 0; i < request->sample_count; i++) {
        const struct store_sample *sample = &request->samples[i];
        for (size_t j = 0; tells_preempted(request, sample, threads) && j < sample->sample_count; j++)
            if (!sample->switches[j] && sample->cpu_ns[j]) {
                wall_ns += (double)sample->samples_ns[j];
                cpu_ns += (double)sample->cpu_ns[j];
            }
    }
    return cpu_ns > 0 && cpu_ns < SHARED_RATIO * wall_ns ? cpu_ns / wall_ns : 1;
}

/* What one repetition lost. With one thread, no longer than it waited for a processor: it may have slept, too. With more threads than processors, what its waits tell: its processor's other threads
 * are its own team's. */
static double preempted_ns(const struct store_sample *sample, size_t i, double share)
{
    if (measured_is_crowded(sample))
        return fmin(measured_lost_ns(sample, i), (double)sample->samples_ns[i]);
    double most_ns = fmax((double)sample->samples_ns[i] - (double)sample->cpu_ns[i] / share, 0);
    return sample->threads == 1 && sample->waits_ns && sample->waits_ns[i] ? fmin(most_ns, (double)sample->waits_ns[i]) : most_ns;
}

double replays_preempted_ratio(const struct predict_request *request, uint32_t threads)
{
    double lost_ns = 0, wall_ns = 0, share = undisturbed_share(request, threads);
    for (size_t i = 0; i < request->sample_count; i++) {
        const struct store_sample *sample = &request->samples[i];
        for (size_t j = 0; tells_preempted(request, sample, threads) && j < sample->sample_count; j++) {
            wall_ns += (double)sample->samples_ns[j];
            if (sample->switches[j] && sample->cpu_ns[j])
                lost_ns += preempted_ns(sample, j, share);
        }
    }
    return wall_ns > 0 ? lost_ns / wall_ns : 0;
}

double replays_vitro_ns(const struct replays *replays, double *values, size_t count)
{
    statistics_sort(values, count);
    return measured_typical_ns(replays->samples[replays->count - 1], values, count);
}

double replays_scaling(const struct predict_request *request, const struct store_region *only, uint32_t threads, const struct amdahl_forks *forks,
                       struct replays *replays, double *values)
{
    const struct store_manifest *manifest = request->manifest;
    double vitro_ns = 0, vivo_ns = 0;
    for (size_t r = 0; r < manifest->region_count; r++) {
        const struct store_region *region = &manifest->regions[r];
        for (size_t c = 0; (!only || only == region) && text_equal(region->status, "captured") && c < region->class_count; c++) {
            const struct store_class *class = &region->classes[c];
            if (!class->captured || class->nested)
                continue;
            replays_choose(request, region->name, class->representative, threads, replays);
            size_t filled = 0;
            if (!replays->count || fabs(replays_alien_ratio(request, region->name, class, false)) > 0)
                continue;
            for (size_t s = 0; s < replays->count; s++)
                filled += measured_values(replays->samples[s], values + filled, NULL, NULL);
            if (!filled)
                continue;
            vitro_ns += amdahl_class_time(class->members, class->time_ns, replays_reference_ns(request, region->name, class), replays_vitro_ns(replays, values, filled), forks);
            vivo_ns += (double)class->time_ns;
        }
    }
    return vivo_ns > 0 ? vitro_ns / vivo_ns : 0;
}

double replays_fork_ns(const struct predict_request *request, uint32_t threads, double *values)
{
    size_t count = 0;
    for (size_t i = 0; i < request->sample_count; i++) {
        const struct store_sample *sample = &request->samples[i];
        if (replays_sample_is(sample, "replay", request->arch) && sample->threads == threads && sample->fork_ns)
            values[count++] = (double)sample->fork_ns;
    }
    statistics_sort(values, count);
    return count ? statistics_median(values, count) : 0;
}

struct amdahl_forks replays_forks(const struct predict_request *request, uint32_t threads, double *values)
{
    uint32_t captured = request->manifest->threads;
    double vivo_ns = replays_fork_ns(request, captured, values), vitro_ns = replays_fork_ns(request, threads, values);
    bool known = vitro_ns > 0 && (vivo_ns > 0 || captured == 1);      /* with one thread it is next to nothing */
    return (struct amdahl_forks){known ? vivo_ns : 0, known ? vitro_ns : 0};
}

size_t replays_starts(const struct predict_request *request, uint32_t threads, double *values)
{
    size_t count = 0;
    for (size_t i = 0; i < request->sample_count; i++) {
        const struct store_sample *sample = &request->samples[i];
        if (replays_sample_is(sample, "replay", request->arch) && sample->threads == threads && sample->start_ns)
            values[count++] = (double)sample->start_ns;
    }
    statistics_sort(values, count);
    return count;
}

static bool run_is_busy(const struct store_sample *run)
{
    return run->waits_ns && (double)run->waits_ns[0] >= PREDICT_BUSY_RATIO * (double)run->wall_ns;
}

double replays_members(const struct predict_request *request, const char *region, const struct store_class *class, uint32_t threads, double *values)
{
    size_t count = 0;
    bool busy = false;                  /* the run to which members that follow belong */
    double weight = amdahl_class_weight(class->members, class->time_ns, replays_reference_ns(request, region, class));
    for (size_t i = 0; i < request->sample_count; i++) {
        const struct store_sample *sample = &request->samples[i];
        if (replays_sample_is(sample, "run", request->arch) && !sample->region && sample->threads == threads)
            busy = run_is_busy(sample);
        if (!busy && replays_sample_is(sample, "members", request->arch) && sample->threads == threads && sample->representative == class->representative &&
            text_equal(sample->region, region) && sample->sample_count == 2)
            values[count++] = members_ratio((double)sample->samples_ns[0], (double)sample->samples_ns[1], weight, class->members);
    }
    statistics_sort(values, count);
    return count ? statistics_median(values, count) : 0;
}
