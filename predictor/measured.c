/* predictor/measured.c - see measured.h. */
#include "predictor/measured.h"

#include <math.h>
#include <stdlib.h>

static bool is_interrupted(const struct store_sample *sample, size_t i)
{
    return sample->switches && sample->switches[i] > 0;
}

#define LACKED_FEW 0.75         /* of a run: what the team lacked of one processor, for which the others wait */
#define LACKED_MANY 1.0         /* ... one alone cannot have lacked more: it was all of them at the same time */

double measured_lost_ns(const struct store_sample *sample, size_t i)
{
    double wall_ns = (double)sample->samples_ns[i], lost_ns = sample->waits_ns ? (double)sample->waits_ns[i] : 0;
    if (!measured_is_crowded(sample) || wall_ns <= 0)
        return lost_ns;
    double together = fmin(fmax((lost_ns / wall_ns - LACKED_FEW) / (LACKED_MANY - LACKED_FEW), 0), 1);
    return lost_ns - together * (lost_ns - lost_ns / sample->processors);
}

/* What is left without what it lost to other work; with one thread no less than its CPU time, and that where nothing is known of waiting. */
static double undisturbed_ns(const struct store_sample *sample, size_t i)
{
    double wall_ns = (double)sample->samples_ns[i], lost_ns = measured_lost_ns(sample, i);
    if (sample->threads == 1) {
        double cpu_ns = sample->cpu_ns ? (double)sample->cpu_ns[i] : 0;
        return lost_ns > 0 && cpu_ns > 0 ? fmax(wall_ns - lost_ns, cpu_ns) : cpu_ns;
    }
    return lost_ns > 0 ? fmax(wall_ns - lost_ns, (1 - MEASURED_HELD_MOST) * wall_ns) : 0;
}

static double value_corrected(const struct store_sample *sample, size_t i, size_t *corrected)
{
    double wall_ns = (double)sample->samples_ns[i], own_ns = undisturbed_ns(sample, i);
    if (!is_interrupted(sample, i) || own_ns <= 0 || wall_ns <= MEASURED_PREEMPTED_RATIO * own_ns)
        return wall_ns;
    ++*corrected;
    return own_ns;
}

bool measured_is_crowded(const struct store_sample *sample)
{
    return sample->processors && sample->threads > sample->processors;
}

/* Interrupted repetitions do not count that took so long or longer; UINT64_MAX: all count. What was interrupted took no less for it: one that is clearly shorter than all others
 * tells that these were disturbed by something that the kernel does not see. With more threads than processors, who is interrupted when decides how long it takes. */
static uint64_t interrupted_most_ns(const struct store_sample *sample)
{
    size_t undisturbed = 0;
    uint64_t least_ns = UINT64_MAX;
    for (size_t i = 0; i < sample->sample_count; i++)
        if (!is_interrupted(sample, i)) {
            undisturbed++;
            least_ns = sample->samples_ns[i] < least_ns ? sample->samples_ns[i] : least_ns;
        }
    if (sample->threads == 1 || undisturbed < (sample->sample_count <= MEASURED_LEAST ? 1 : MEASURED_LEAST))
        return UINT64_MAX;
    return measured_is_crowded(sample) ? 0 : (uint64_t)((double)least_ns / MEASURED_PREEMPTED_RATIO);
}

static bool counts(const struct store_sample *sample, size_t i, uint64_t most_ns)
{
    return !is_interrupted(sample, i) || sample->samples_ns[i] < most_ns;
}

static size_t range_values(const struct store_sample *sample, size_t first, size_t end, uint64_t most_ns, double *values, size_t *corrected)
{
    size_t count = 0;
    for (size_t i = first; i < end; i++)
        if (counts(sample, i, most_ns))
            values[count++] = value_corrected(sample, i, corrected);
    return count;
}

double measured_typical_ns(const struct store_sample *sample, const double *sorted, size_t count)
{
    return sample->sampled_ratio > 0 || measured_is_crowded(sample) ? statistics_mean(sorted, count) : statistics_median(sorted, count);
}

double measured_held_ratio(const struct store_sample *sample)
{
    double sum = 0;
    size_t count = 0, corrected = 0;
    uint64_t most_ns = interrupted_most_ns(sample);
    bool several = sample->threads > 1;
    for (size_t i = 0; several && i < sample->sample_count; i++) {
        if (!counts(sample, i, most_ns) || !sample->samples_ns[i])
            continue;
        sum += 1 - value_corrected(sample, i, &corrected) / (double)sample->samples_ns[i];
        count++;
    }
    return count ? sum / (double)count : 0;
}

size_t measured_values(const struct store_sample *sample, double *values, size_t *ret_corrected, size_t *ret_left_out)
{
    size_t corrected = 0, count = range_values(sample, 0, sample->sample_count, interrupted_most_ns(sample), values, &corrected);
    if (ret_corrected)
        *ret_corrected = corrected;
    if (ret_left_out)
        *ret_left_out = sample->sample_count - count;
    return count;
}

size_t measured_groups(const struct store_sample *sample, double *values, struct statistics_group *groups, size_t *ret_count)
{
    uint64_t most_ns = interrupted_most_ns(sample);
    size_t processes = sample->process_counts ? sample->process_count : 1, first = 0, filled = 0, corrected = 0, group_count = 0;
    for (size_t p = 0; p < processes; p++) {
        size_t end = sample->process_counts ? first + sample->process_counts[p] : sample->sample_count;
        size_t count = range_values(sample, first, end, most_ns, values + filled, &corrected);
        if (count)
            groups[group_count++] = (struct statistics_group){.values = values + filled, .count = count};
        filled += count;
        first = end;
    }
    *ret_count = filled;
    return group_count;
}

double measured_precision_ratio(const struct store_sample *sample, double *values, struct statistics_group *groups, double *medians)
{
    size_t count, processes = measured_groups(sample, values, groups, &count);
    if (processes < 2)
        return INFINITY;
    for (size_t p = 0; p < processes; p++) {
        double *own = values + (groups[p].values - values);
        statistics_sort(own, groups[p].count);
        medians[p] = statistics_median(own, groups[p].count);
    }
    return statistics_student_quantile(processes - 1) * statistics_variation_ratio(medians, processes) / sqrt((double)processes);
}

bool measured_precision(const struct store_sample *sample, double *ret_ratio)
{
    double *values = calloc(sample->sample_count + 1, sizeof *values), *medians = calloc(sample->process_count + 1, sizeof *medians);
    struct statistics_group *groups = calloc(sample->process_count + 1, sizeof *groups);
    bool room = values && medians && groups;
    if (room)
        *ret_ratio = measured_precision_ratio(sample, values, groups, medians);
    free(values);
    free(medians);
    free(groups);
    return room;
}

static bool any_interrupted(const struct store_sample *sample)
{
    bool any = false;
    for (size_t i = 0; i < sample->sample_count && !any; i++)
        any = is_interrupted(sample, i);
    return any;
}

struct statistics_interval measured_interval(const struct store_sample *sample, const double *sorted, size_t count, size_t processes)
{
    double typical_ns = measured_typical_ns(sample, sorted, count), ratio = INFINITY;
    if (sample->sampled_ratio > 0)
        return statistics_shots_interval(sorted, count);
    if (processes >= MEASURED_PROCESSES_ENOUGH && measured_precision(sample, &ratio) && isfinite(ratio))
        return (struct statistics_interval){.low = fmax(typical_ns * (1 - ratio), 0), .high = typical_ns * (1 + ratio), .confidence = 0.95};
    return measured_is_crowded(sample) ? statistics_means_interval(sorted, count, processes) : statistics_repetitions_interval(sorted, count, processes, !any_interrupted(sample));
}

static bool may_be_light(const struct store_class *class)
{
    return class->captured && !class->nested;
}

/* The first of those that are equally heavy. NULL: the region has none. */
static const struct store_class *heaviest_class(const struct store_region *region)
{
    const struct store_class *heaviest = NULL;
    for (size_t i = 0; i < region->class_count; i++)
        if (may_be_light(&region->classes[i]) && (!heaviest || region->classes[i].time_ns > heaviest->time_ns))
            heaviest = &region->classes[i];
    return heaviest;
}

static bool is_cheap(const struct store_manifest *manifest, const struct store_class *class)
{
    return class->time_ns < MEASURED_CHEAP_NS && class->time_ns < manifest->wall_ns / MEASURED_CHEAP_PARTS;
}

static bool is_beside(const struct store_manifest *manifest, const struct store_class *class, const struct store_class *heaviest)
{
    return class != heaviest && class->time_ns < manifest->wall_ns / MEASURED_BESIDE_PARTS;
}

/* All that are no heavier than `class`; or of these, those that are spared (measured.h). *ret_spared: it is one of them. */
static uint64_t lighter_ns(const struct store_manifest *manifest, const struct store_class *class, bool spared, bool *ret_spared)
{
    uint64_t together_ns = 0;
    for (size_t i = 0; i < manifest->region_count; i++) {
        const struct store_region *region = &manifest->regions[i];
        const struct store_class *heaviest = spared ? heaviest_class(region) : NULL;
        for (size_t j = 0; j < region->class_count; j++) {
            const struct store_class *other = &region->classes[j];
            if (!may_be_light(other) || other->time_ns > class->time_ns || (spared && !is_cheap(manifest, other) && !is_beside(manifest, other, heaviest)))
                continue;
            together_ns += other->time_ns;
            *ret_spared |= other == class;
        }
    }
    return together_ns;
}

bool measured_is_light(const struct store_manifest *manifest, const struct store_class *class)
{
    bool listed = false, spared = false;
    if (!may_be_light(class))
        return false;
    if (class->time_ns < manifest->wall_ns / MEASURED_LIGHT_PARTS
        && lighter_ns(manifest, class, false, &listed) <= manifest->wall_ns / MEASURED_LIGHT_TOGETHER_PARTS)
        return true;
    uint64_t together_ns = lighter_ns(manifest, class, true, &spared);
    return spared && together_ns <= manifest->wall_ns / MEASURED_SPARED_TOGETHER_PARTS;
}

/* It has a part of memory, or a place at a barrier, for each thread of the capture: with others, it is to be refused, not left out. */
static bool is_held(const struct store_manifest *manifest, const struct store_class *class, uint32_t threads)
{
    for (size_t i = 0; i < manifest->region_count; i++) {
        const struct store_region *region = &manifest->regions[i];
        if (region->class_count && region->classes <= class && class < region->classes + region->class_count)
            return !store_region_may_have(region, manifest->threads, threads);
    }
    return false;
}

static bool may_be_known(const struct store_class *class, double most_ns)
{
    return may_be_light(class) && class->members <= MEASURED_KNOWN_MEMBERS && (double)class->time_ns < most_ns;
}

/* Does one of its invocations take about what one of the region's other class does, but for the pages that it touches first? */
static bool first_is_explained(const struct store_class *class, const struct store_class *heaviest)
{
    double own_ns = (double)class->time_ns / (double)class->members, usual_ns = (double)heaviest->time_ns / (double)heaviest->members;
    return own_ns * MEASURED_FIRST_ALIKE_RATIO >= usual_ns && own_ns <= MEASURED_FIRST_ALIKE_RATIO * usual_ns + (double)class->made_pages * MEASURED_FIRST_PAGE_NS;
}

/* Its region's heaviest class, of more invocations, tells how it scales. */
static bool may_be_first(const struct store_manifest *manifest, const struct store_class *class, const struct store_class *heaviest)
{
    return may_be_known(class, (double)manifest->wall_ns / MEASURED_FIRST_PARTS) && heaviest && class != heaviest && heaviest->members > MEASURED_KNOWN_MEMBERS
           && class->members && first_is_explained(class, heaviest);
}

static bool is_first(const struct store_manifest *manifest, const struct store_class *class)
{
    uint64_t together_ns = 0;
    bool listed = false;
    for (size_t i = 0; i < manifest->region_count; i++) {
        const struct store_region *region = &manifest->regions[i];
        const struct store_class *heaviest = heaviest_class(region);
        for (size_t j = 0; j < region->class_count; j++) {
            const struct store_class *other = &region->classes[j];
            if (!may_be_first(manifest, other, heaviest) || other->time_ns > class->time_ns)
                continue;
            together_ns += other->time_ns;
            listed |= other == class;
        }
    }
    return listed && together_ns <= manifest->wall_ns / MEASURED_FIRST_TOGETHER_PARTS;
}

bool measured_is_known(const struct store_manifest *manifest, const struct store_class *class, uint32_t threads)
{
    bool own = threads == manifest->threads;
    double wall_ns = (double)manifest->wall_ns, together_ns = 0, captured = manifest->threads ? manifest->threads : 1;
    double times = own ? 1 : threads > captured ? threads / captured : captured / fmax(threads, 1);
    double most_ns = wall_ns / times / (own ? MEASURED_KNOWN_PARTS : MEASURED_UNSCALED_PARTS);
    if (is_held(manifest, class, threads))
        return false;
    if (is_first(manifest, class))
        return true;
    if (!may_be_known(class, most_ns))
        return false;
    for (size_t i = 0; i < manifest->region_count; i++)
        for (size_t j = 0; j < manifest->regions[i].class_count; j++) {
            const struct store_class *other = &manifest->regions[i].classes[j];
            if (may_be_known(other, most_ns) && other->time_ns <= class->time_ns)
                together_ns += (double)other->time_ns;
        }
    return together_ns <= wall_ns / times / (own ? MEASURED_KNOWN_TOGETHER_PARTS : MEASURED_UNSCALED_TOGETHER_PARTS);
}
