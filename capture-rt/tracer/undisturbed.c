#include "capture-rt/tracer/undisturbed.h"

#include "capture-rt/protocol.h"

#include <stdlib.h>

#define REACH 256                       /* how far away an invocation's like are looked for */
#define LIKE_MOST 4                     /* to either side */
#define REACH_BELOW 64                  /* where nothing was expected */
#define SLOWER_MOST 3
#define GROUP_RATIO 1.25
#define LIKE_LEAST 2
#define FAULT_NS 700u                   /* of the first write to a page that tracking has protected */

static uint64_t measured_ns(const struct capture_invocation *invocation, uint64_t probe_ns)
{
    uint64_t time_ns = invocation->end_ns - invocation->begin_ns;
    return time_ns > probe_ns ? time_ns - probe_ns : 1;
}

static bool is_undisturbed(const struct capture_invocation *one, const struct capture_invocation *other)
{
    return other->end_ns && !other->stopped && !other->near && other->nested == one->nested;
}

static bool is_like(const struct capture_invocation *one, const struct capture_invocation *other, uint64_t probe_ns)
{
    if (!is_undisturbed(one, other))
        return false;
    uint32_t magnitude = capture_magnitude(measured_ns(other, probe_ns));
    return magnitude <= one->expected + CAPTURE_MAGNITUDE_NEAR && one->expected <= magnitude + CAPTURE_MAGNITUDE_NEAR;
}

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The median of those nearby that took about as long as was expected of this one, or 0. */
static uint64_t expected_ns(const struct capture_region *region, size_t at, uint64_t probe_ns)
{
    const struct capture_invocation *list = region->list;
    uint64_t times[2 * LIKE_MOST];
    size_t count = 0;
    for (size_t i = at, found = 0; i-- > 0 && at - i <= REACH && found < LIKE_MOST;)
        if (is_like(&list[at], &list[i], probe_ns))
            times[count++] = measured_ns(&list[i], probe_ns), found++;
    for (size_t i = at + 1, found = 0; i < region->list_count && i - at <= REACH && found < LIKE_MOST; i++)
        if (is_like(&list[at], &list[i], probe_ns))
            times[count++] = measured_ns(&list[i], probe_ns), found++;
    qsort(times, count, sizeof *times, compare);
    return count ? times[count / 2] : 0;
}

/* What is disturbed takes longer, up to three times as long: the median of the slowest group nearby that is not slower, or 0. */
static uint64_t below_ns(const struct capture_region *region, size_t at, uint64_t own_ns, uint64_t probe_ns)
{
    const struct capture_invocation *list = region->list;
    uint64_t times[2 * REACH_BELOW + 1];
    size_t count = 0, first = at > REACH_BELOW ? at - REACH_BELOW : 0;
    for (size_t i = first; i < region->list_count && i <= at + REACH_BELOW; i++) {
        uint64_t time_ns = is_undisturbed(&list[at], &list[i]) ? measured_ns(&list[i], probe_ns) : 0;
        if (time_ns >= own_ns / SLOWER_MOST && time_ns <= own_ns)
            times[count++] = time_ns;
    }
    qsort(times, count, sizeof *times, compare);
    size_t low = count;
    while (low > 0 && (double)times[low - 1] * GROUP_RATIO >= (double)times[count - 1])
        low--;
    return count - low >= LIKE_LEAST ? times[low + (count - low) / 2] : 0;
}

/* Minor faults that the region's invocations have at least; UINT32_MAX: not measured. */
static uint32_t faults_least(const struct capture_region *region)
{
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < region->list_count; i++)
        if (region->list[i].measured_cpu && region->list[i].end_ns && region->list[i].faults < least)
            least = region->list[i].faults;
    return least;
}

static uint64_t undisturbed_ns(const struct capture_region *region, size_t at, uint64_t probe_ns, uint64_t faults)
{
    const struct capture_invocation *invocation = &region->list[at];
    uint64_t own_ns = measured_ns(invocation, probe_ns), like_ns = invocation->expected ? expected_ns(region, at, probe_ns) : 0;
    if (like_ns > own_ns && !invocation->stopped)
        return own_ns;
    if (!like_ns && invocation->number > 1)     /* the very first one touches memory first */
        like_ns = below_ns(region, at, own_ns, probe_ns);
    if (like_ns)
        return like_ns;
    return faults * FAULT_NS < own_ns / 2 ? own_ns - faults * FAULT_NS : own_ns / 2;
}

void undisturbed_fill(struct capture_run *run, undisturbed_pages_fn *pages, const void *context)
{
    for (size_t i = 0; i < run->region_count; i++) {
        struct capture_region *region = &run->regions[i];
        uint32_t least = run->stopped ? faults_least(region) : 0;
        for (size_t j = 0; j < region->list_count; j++) {
            struct capture_invocation *invocation = &region->list[j];
            if (!invocation->end_ns)
                continue;
            bool disturbed = invocation->stopped || invocation->near;
            uint64_t raw_ns = invocation->end_ns - invocation->begin_ns;
            uint64_t faults = invocation->stopped && pages ? pages(context, i, invocation->number) : 0;
            if (disturbed && invocation->measured_cpu && invocation->number > 1 && least != UINT32_MAX)
                faults = invocation->faults - least;
            invocation->time_ns = disturbed ? undisturbed_ns(region, j, run->probe_ns, faults) : measured_ns(invocation, run->probe_ns);
            invocation->faults -= invocation->faults < faults ? invocation->faults : (uint32_t)faults;
            uint64_t *total_ns = invocation->nested ? &region->nested_ns : &region->time_ns;
            uint64_t right_ns = *total_ns + invocation->time_ns > raw_ns ? *total_ns + invocation->time_ns - raw_ns : 0;
            if (!invocation->nested)
                run->wall_ns = run->wall_ns + right_ns > *total_ns ? run->wall_ns + right_ns - *total_ns : run->wall_ns;
            *total_ns = right_ns;
        }
    }
}
