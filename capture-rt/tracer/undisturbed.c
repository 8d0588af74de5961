#include "capture-rt/tracer/undisturbed.h"

#include "capture-rt/protocol.h"
#include "core/text.h"
#include "core/workers.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#define REACH 256                       /* how far away an invocation's like are looked for */
#define LIKE_MOST 40                    /* to either side */
#define TIMES_MOST (2 * LIKE_MOST)
#define LIKE_LEAST 2                    /* so many make a kind */
#define KIND_STEP_RATIO 1.25            /* from one time of a kind to the next, and from its least to its largest, at most */
#define KIND_RATIO 1.5
#define SLOWER_MOST 3                   /* times what it takes, besides faults: caches that are cold, memory that others use, */
#define COLD_MOST_NS 20000000.0         /* ... but to fetch all that caches hold again takes no longer than this, */
#define SHARED_MOST_RATIO 0.5           /* ... and others that use the memory meanwhile cost this share of it at most */
#define CLOSE_MOST 2                    /* to either side: neighbours, which speak for one more where they agree, though times change steadily */
#define LEVEL_RATIO 1.03                /* within this of what its like take, an invocation is back from a stop */
#define LEVEL_LEAST 4                   /* to either side, to tell what its like take */
#define STEADY_LEAST 12                 /* to one side alone, */
#define STEADY_RATIO 1.05               /* and then what comes later takes no other time than what comes sooner */
#define STRETCHED_RATIO 1.2              /* times its like, and itself in another run */
#define FAULT_NS 900u                   /* of the first write to a page that tracking has protected, where the run does not tell it; seen: 800 to 1600 */
#define FAULT_NS_LEAST 600u
#define FAULT_NS_MOST 1600u
#define FAULT_DOUBT 0.3                 /* of that */
#define FAULT_MISFIT 0.25               /* of that, by which one that speaks for another may be off */
#define FAULTS_TELL 500u                /* so many tell what one costs */
#define FAULTS_MANY 64u                 /* more than an invocation's like have, and this share of its time at the least */
#define FAULTS_RATIO 0.05

struct estimate { uint64_t time_ns, uncertain_ns; };

static uint64_t measured_ns(const struct capture_invocation *invocation, uint64_t probe_ns)
{
    uint64_t time_ns = invocation->end_ns - invocation->begin_ns;
    return time_ns > probe_ns ? time_ns - probe_ns : 1;
}

static bool is_disturbed(const struct capture_invocation *invocation)
{
    return invocation->stopped || invocation->near;
}

static bool is_undisturbed(const struct capture_invocation *one, const struct capture_invocation *other)
{
    return other->end_ns && !is_disturbed(other) && other->nested == one->nested;
}

static bool is_foretold(const struct capture_invocation *one, const struct capture_invocation *other, uint64_t probe_ns)
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

/* A few dozen at most, and hundreds of thousands of times: Shell's sort, with Ciura's gaps. */
static void few_sort(uint64_t *times, size_t count)
{
    static const size_t gaps[] = {23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (size_t gap = gaps[g], i = gap; i < count; i++) {
            uint64_t time = times[i];
            size_t at = i;
            for (; at >= gap && times[at - gap] > time; at -= gap)
                times[at] = times[at - gap];
            times[at] = time;
        }
}

/* One that touches memory first is like no other. */
static bool is_usual(const struct capture_invocation *one, const struct capture_invocation *other, uint64_t probe_ns)
{
    (void)probe_ns;
    return is_undisturbed(one, other) && !other->fresh;
}

static bool is_same(const struct capture_invocation *one, const struct capture_invocation *other, uint64_t probe_ns)
{
    return is_usual(one, other, probe_ns) && other->words_hash == one->words_hash;
}

typedef bool like_fn(const struct capture_invocation *one, const struct capture_invocation *other, uint64_t probe_ns);

/* Times of those that are alike, the nearest first, to one side. Returns how many. */
static size_t side_find(const struct capture_region *region, size_t at, bool after, uint64_t probe_ns, like_fn *is_like, size_t most, uint64_t *times)
{
    size_t count = 0, reach = after ? region->list_count - 1 - at : at;
    for (size_t away = 1; away <= reach && away <= REACH && count < most; away++) {
        const struct capture_invocation *other = &region->list[after ? at + away : at - away];
        if (is_like(&region->list[at], other, probe_ns))
            times[count++] = measured_ns(other, probe_ns);
    }
    return count;
}

/* To both, ascending. */
static size_t like_find(const struct capture_region *region, size_t at, uint64_t probe_ns, like_fn *is_like, uint64_t times[TIMES_MOST])
{
    size_t count = side_find(region, at, false, probe_ns, is_like, LIKE_MOST, times);
    count += side_find(region, at, true, probe_ns, is_like, LIKE_MOST, times + count);
    few_sort(times, count);
    return count;
}

static uint64_t median_of(uint64_t *times, size_t count)
{
    few_sort(times, count);
    return times[count / 2];
}

/* Could an invocation have taken own_ns that takes like_ns by itself, with faults that cost so much? What a stop leaves is soon over: of an invocation of
 * 250 ms that only says that it is none of 120. */
static bool explains(uint64_t like_ns, uint64_t own_ns, double cost_ns)
{
    double more_ns = (double)own_ns - (double)like_ns;
    double slower_ns = (SLOWER_MOST - 1) * (double)like_ns, soon_ns = COLD_MOST_NS + SHARED_MOST_RATIO * (double)like_ns;
    return (double)like_ns <= LEVEL_RATIO * (double)own_ns && more_ns <= (slower_ns < soon_ns ? slower_ns : soon_ns) + (1 + FAULT_MISFIT) * cost_ns;
}

/* The neighbours with the same words, if they agree and explain what it took; else 0. */
static uint64_t close_ns(const struct capture_region *region, size_t at, uint64_t own_ns, uint64_t probe_ns, double cost_ns)
{
    uint64_t times[2 * CLOSE_MOST], sum_ns = 0;
    size_t count = side_find(region, at, false, probe_ns, is_same, CLOSE_MOST, times);
    count += side_find(region, at, true, probe_ns, is_same, CLOSE_MOST, times + count);
    if (count < LIKE_LEAST)
        return 0;
    few_sort(times, count);
    for (size_t i = 0; i < count; i++)
        sum_ns += times[i];
    bool agree = (double)times[count - 1] <= KIND_STEP_RATIO * (double)times[0];
    return agree && explains(sum_ns / count, own_ns, cost_ns) ? sum_ns / count : 0;
}

/* The median of those nearby that took about as long as was expected of this one, or 0. */
static uint64_t foretold_ns(const struct capture_region *region, size_t at, uint64_t probe_ns)
{
    uint64_t times[TIMES_MOST];
    size_t count = region->list[at].expected ? like_find(region, at, probe_ns, is_foretold, times) : 0;
    return count ? times[count / 2] : 0;
}

/* Kinds among those nearby, by what they take: medians, ascending. Returns how many. *ret_apart: nothing lies between some of them; else times
 * change steadily, or all are of one kind. */
static size_t kinds_find(const struct capture_region *region, size_t at, uint64_t probe_ns, like_fn *is_like, uint64_t kinds[TIMES_MOST], bool *ret_apart)
{
    uint64_t times[TIMES_MOST], highest = 0;
    size_t count = like_find(region, at, probe_ns, is_like, times), found = 0;
    *ret_apart = false;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count; end++)
            if ((double)times[end] > KIND_STEP_RATIO * (double)times[end - 1] || (double)times[end] > KIND_RATIO * (double)times[first])
                break;
        if (end - first < LIKE_LEAST)
            continue;
        *ret_apart |= highest && (double)times[first] > KIND_STEP_RATIO * (double)highest;
        highest = times[end - 1];
        kinds[found++] = times[first + (end - first) / 2];
    }
    return found;
}

/* Of the kinds that it can be one of, that which explains best what it took, with faults of tracking that cost so much; 0: none. Faults that would cost more than
 * it took altogether were not all its own, and tell nothing: the slowest kind then. *ret_many: it could be of more than one. */
static uint64_t kind_pick(const uint64_t *kinds, size_t count, uint64_t own_ns, double cost_ns, bool *ret_many)
{
    double least = 0;
    uint64_t best_ns = 0;
    *ret_many = false;
    for (size_t i = 0; i < count; i++) {
        double off = cost_ns > (double)own_ns ? (double)own_ns - (double)kinds[i] : fabs((double)own_ns - (double)kinds[i] - cost_ns);
        if (!explains(kinds[i], own_ns, cost_ns))
            continue;
        *ret_many = best_ns != 0;
        if (best_ns && off >= least)
            continue;
        best_ns = kinds[i];
        least = off;
    }
    return best_ns;
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

/* Of an invocation that was disturbed: faults that tracking cost it, as far as is known. `pages`: that it wrote and that were protected. */
static uint64_t tracking_faults(const struct capture_invocation *invocation, uint32_t least, uint64_t pages)
{
    uint64_t more = invocation->measured_cpu && least != UINT32_MAX ? invocation->faults - least : 0;
    if (!invocation->stopped || !pages)
        return invocation->fresh || invocation->number == 1 ? 0 : more;
    return invocation->measured_cpu && invocation->faults < pages ? invocation->faults : pages;
}

static struct estimate estimate(const struct capture_region *region, size_t at, uint64_t probe_ns, uint64_t faults, uint64_t fault_ns)
{
    const struct capture_invocation *invocation = &region->list[at];
    uint64_t own_ns = measured_ns(invocation, probe_ns), kinds[TIMES_MOST], like_ns = 0;
    double cost_ns = (double)(faults * fault_ns);
    bool many, apart;
    if (!invocation->fresh) {
        size_t count = kinds_find(region, at, probe_ns, is_same, kinds, &apart);
        like_ns = apart ? 0 : close_ns(region, at, own_ns, probe_ns, cost_ns);
        if (!like_ns) {
            like_ns = kind_pick(kinds, count, own_ns, cost_ns, &many);
            uint64_t foretold = !like_ns || many ? foretold_ns(region, at, probe_ns) : 0;
            like_ns = foretold && explains(foretold, own_ns, cost_ns) ? foretold : like_ns;
        }
        if (!like_ns)
            like_ns = kind_pick(kinds, kinds_find(region, at, probe_ns, is_usual, kinds, &apart), own_ns, cost_ns, &many);
    }
    if (like_ns)
        return (struct estimate){like_ns < own_ns || invocation->stopped ? like_ns : own_ns, 0};
    uint64_t most_ns = own_ns - own_ns / 4, off_ns = cost_ns < (double)most_ns ? (uint64_t)cost_ns : most_ns;
    bool known = invocation->measured_cpu || invocation->stopped;
    return (struct estimate){own_ns - off_ns, known ? (uint64_t)(FAULT_DOUBT * (double)off_ns) : own_ns / 2};
}

/* What a fault of tracking costs on this machine, from invocations that had some and others with the same words that had none. */
static uint64_t fault_cost_ns(const struct capture_run *run)
{
    uint64_t faults = 0, time_ns = 0;
    for (size_t i = 0; i < run->region_count; i++) {
        const struct capture_region *region = &run->regions[i];
        uint32_t least = faults_least(region);
        for (size_t j = 0; j < region->list_count && least != UINT32_MAX; j++) {
            const struct capture_invocation *invocation = &region->list[j];
            if (!invocation->end_ns || !is_disturbed(invocation) || !invocation->measured_cpu || invocation->fresh || invocation->faults == least)
                continue;
            uint64_t kinds[TIMES_MOST], own_ns = measured_ns(invocation, run->probe_ns);
            bool apart;
            if (kinds_find(region, j, run->probe_ns, is_same, kinds, &apart) != 1)
                continue;
            faults += invocation->faults - least;
            time_ns += own_ns > kinds[0] ? own_ns - kinds[0] : 0;
        }
    }
    uint64_t cost_ns = faults >= FAULTS_TELL ? time_ns / faults : FAULT_NS;
    return cost_ns < FAULT_NS_LEAST ? FAULT_NS_LEAST : cost_ns > FAULT_NS_MOST ? FAULT_NS_MOST : cost_ns;
}

/* ---- beside a stop --------------------------------------------------------------------------------------------------------- */

/* When the program was stopped, ascending. */
struct stops { uint64_t *begin_ns; size_t count; };

static bool stops_find(const struct capture_run *run, struct stops *ret_stops)
{
    size_t count = 0, next = 0;
    for (size_t i = 0; i < run->invocation_count; i++)
        count += run->invocations[i].stopped;
    uint64_t *begin_ns = calloc(count + 1, sizeof *begin_ns);
    if (!begin_ns)
        return false;
    for (size_t i = 0; i < run->invocation_count; i++)
        if (run->invocations[i].stopped)
            begin_ns[next++] = run->invocations[i].begin_ns;
    qsort(begin_ns, count, sizeof *begin_ns, compare);
    *ret_stops = (struct stops){begin_ns, count};
    return true;
}

/* Was there one from `low_ns` on, before `high_ns`? */
static bool stops_between(const struct stops *stops, uint64_t low_ns, uint64_t high_ns)
{
    size_t at = array_lower_bound(stops->begin_ns, stops->count, low_ns);
    return at < stops->count && stops->begin_ns[at] < high_ns;
}

/* The last one before it with the same words; else the last one; else `at`: it is the first. */
static size_t before_find(const struct capture_region *region, size_t at)
{
    for (size_t i = at; i-- > 0 && at - i <= REACH;)
        if (region->list[i].words_hash == region->list[at].words_hash)
            return i;
    return at ? at - 1 : 0;
}

/* Which of these are of the same kind as one that took own_ns, perhaps too long. Returns how many, in order. */
static size_t kindred_keep(uint64_t own_ns, uint64_t *times, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (times[i] >= own_ns / SLOWER_MOST && (double)times[i] <= KIND_STEP_RATIO * (double)own_ns)
            times[kept++] = times[i];
    return kept;
}

/* What its like take: as many of those before as of those after, so that steady change does not count; at the run's beginning, of those after it
 * the later ones, if they do not change; else 0: it cannot be told. */
static uint64_t level_ns(const struct capture_region *region, size_t at, uint64_t own_ns, uint64_t probe_ns)
{
    uint64_t before[LIKE_MOST], both[TIMES_MOST], *after = both;
    size_t sooner = kindred_keep(own_ns, before, side_find(region, at, false, probe_ns, is_same, LIKE_MOST, before));
    size_t later = kindred_keep(own_ns, after, side_find(region, at, true, probe_ns, is_same, LIKE_MOST, after));
    size_t third = later / 3, equal = sooner < later ? sooner : later;
    if (equal >= LEVEL_LEAST) {
        for (size_t i = 0; i < equal; i++)
            both[equal + i] = before[i];
        return median_of(both, 2 * equal);
    }
    if (later < STEADY_LEAST)
        return 0;
    uint64_t middle_ns = median_of(after + third, third), last_ns = median_of(after + 2 * third, third);
    double ratio = (double)(middle_ns > last_ns ? middle_ns : last_ns) / (double)(middle_ns < last_ns ? middle_ns : last_ns);
    return ratio <= STEADY_RATIO ? last_ns : 0;
}

/* The first one with its words after a stop finds what it uses as the stop left it, wherever in the region's order it comes. Those that
 * follow are disturbed as well, until one takes what its like take. And so are those that had faults for no reason of their own, at whatever distance. */
static void near_mark(struct capture_region *region, const struct stops *stops, uint64_t probe_ns)
{
    uint32_t least = faults_least(region);
    for (size_t i = 0; i < region->list_count; i++) {
        struct capture_invocation *invocation = &region->list[i];
        uint64_t more = invocation->measured_cpu && !invocation->fresh && invocation->number > 1 && least != UINT32_MAX ? invocation->faults - least : 0;
        invocation->near |= stops_between(stops, region->list[before_find(region, i)].begin_ns, invocation->begin_ns) ||
                            (more >= FAULTS_MANY && (double)(more * FAULT_NS) > FAULTS_RATIO * (double)measured_ns(invocation, probe_ns));
    }
    for (size_t i = 1; i < region->list_count; i++) {
        struct capture_invocation *invocation = &region->list[i];
        const struct capture_invocation *before = &region->list[before_find(region, i)];
        if (is_disturbed(invocation) || !is_disturbed(before) || !invocation->end_ns || before->words_hash != invocation->words_hash)
            continue;
        uint64_t own_ns = measured_ns(invocation, probe_ns), usual_ns = level_ns(region, i, own_ns, probe_ns);
        invocation->near = usual_ns && (double)own_ns > LEVEL_RATIO * (double)usual_ns;
    }
}

/* ---- a run ----------------------------------------------------------------------------------------------------------------- */

/* An invocation takes `time_ns` now, and its region and the run with it. */
static void time_set(struct capture_run *run, struct capture_region *region, struct capture_invocation *invocation, uint64_t before_ns, uint64_t time_ns)
{
    invocation->time_ns = time_ns;
    uint64_t *total_ns = invocation->nested ? &region->nested_ns : &region->time_ns;
    uint64_t right_ns = *total_ns + time_ns > before_ns ? *total_ns + time_ns - before_ns : 0;
    if (!invocation->nested)
        run->wall_ns = run->wall_ns + right_ns > *total_ns ? run->wall_ns + right_ns - *total_ns : run->wall_ns;
    *total_ns = right_ns;
}

/* What is worked out for each region by itself: by as many threads as there are processors. */
struct work {
    struct capture_run *run;
    struct stops stops;
    bool marked;                 /* the first pass is over: what each invocation takes by itself is to be told */
    uint64_t fault_ns;
    undisturbed_pages_fn *pages;
    const void *context;
    atomic_size_t next;
};

static void region_fill(const struct work *work, size_t index)
{
    const struct capture_run *run = work->run;
    struct capture_region *region = &run->regions[index];
    uint32_t least = run->stopped ? faults_least(region) : 0;
    for (size_t j = 0; j < region->list_count; j++) {
        struct capture_invocation *invocation = &region->list[j];
        if (!invocation->end_ns)
            continue;
        struct estimate found = {measured_ns(invocation, run->probe_ns), 0};
        uint64_t faults = 0;
        if (is_disturbed(invocation)) {
            faults = tracking_faults(invocation, least, invocation->stopped && work->pages ? work->pages(work->context, index, invocation->number) : 0);
            found = estimate(region, j, run->probe_ns, faults, work->fault_ns);
        }
        invocation->time_ns = found.time_ns;
        invocation->uncertain_ns = found.uncertain_ns;
        invocation->faults -= invocation->faults < faults ? invocation->faults : (uint32_t)faults;
    }
}

static void *regions_take(void *context)
{
    struct work *work = context;
    for (size_t i; (i = atomic_fetch_add(&work->next, 1)) < work->run->region_count;)
        if (work->marked)
            region_fill(work, i);
        else
            near_mark(&work->run->regions[i], &work->stops, work->run->probe_ns);
    return NULL;
}

void undisturbed_fill(struct capture_run *run, undisturbed_pages_fn *pages, const void *context)
{
    struct work work = {.run = run, .fault_ns = FAULT_NS, .pages = pages, .context = context};
    if (run->stopped && stops_find(run, &work.stops)) {
        workers_run(regions_take, &work, run->region_count);
        free(work.stops.begin_ns);
        work.fault_ns = fault_cost_ns(run);
    }
    work.marked = true;
    atomic_store(&work.next, 0);
    workers_run(regions_take, &work, run->region_count);
    run->uncertain_ns = 0;
    for (size_t i = 0; i < run->region_count; i++) {
        struct capture_region *region = &run->regions[i];
        for (size_t j = 0; j < region->list_count; j++) {
            struct capture_invocation *invocation = &region->list[j];
            if (!invocation->end_ns)
                continue;
            run->uncertain_ns += invocation->nested ? 0 : invocation->uncertain_ns;
            time_set(run, region, invocation, invocation->end_ns - invocation->begin_ns, invocation->time_ns);
        }
    }
}

/* An invocation by its argument words: the n-th that has them is the n-th that has them in another run, though threads that enter a region
 * at the same time are numbered in another order there. */
struct worded { uint64_t words_hash; size_t at; };

static int compare_worded(const void *left, const void *right)
{
    const struct worded *a = left, *b = right;
    return a->words_hash != b->words_hash ? (a->words_hash > b->words_hash) - (a->words_hash < b->words_hash) : (a->at > b->at) - (a->at < b->at);
}

static struct worded *worded_sort(const struct capture_region *region)
{
    struct worded *worded = malloc((region->list_count + 1) * sizeof *worded);
    for (size_t i = 0; worded && i < region->list_count; i++)
        worded[i] = (struct worded){region->list[i].words_hash, i};
    if (worded)
        qsort(worded, region->list_count, sizeof *worded, compare_worded);
    return worded;
}

/* ret_same[i]: where invocation i is in the other run's list, or SIZE_MAX. */
static bool same_find(const struct capture_region *region, const struct capture_region *other, size_t *ret_same)
{
    struct worded *here = worded_sort(region), *there = worded_sort(other);
    bool enough = here && there;
    for (size_t i = 0, j = 0; enough && i < region->list_count; i++) {
        while (j < other->list_count && there[j].words_hash < here[i].words_hash)
            j++;
        bool found = j < other->list_count && there[j].words_hash == here[i].words_hash;
        const struct capture_invocation *one = &region->list[here[i].at], *two = found ? &other->list[there[j].at] : NULL;
        ret_same[here[i].at] = two && two->nested == one->nested && two->end_ns && one->end_ns ? there[j].at : SIZE_MAX;
        j += found;
    }
    free(here);
    free(there);
    return enough;
}

static void time_take(struct capture_run *run, struct capture_region *region, struct capture_invocation *invocation, const struct capture_invocation *same)
{
    time_set(run, region, invocation, invocation->time_ns, same->time_ns);
    invocation->cpu_ns = same->cpu_ns;
    invocation->faults = same->faults;
    invocation->switches = same->switches;
    invocation->measured_cpu = same->measured_cpu;
    invocation->uncertain_ns = same->uncertain_ns;
}

/* What its like take, or 0. */
static double like_ns(const struct capture_run *run, const struct capture_region *region, size_t at)
{
    uint64_t times[TIMES_MOST];
    size_t count = like_find(region, at, run->probe_ns, is_same, times);
    if (count < LIKE_LEAST)
        count = like_find(region, at, run->probe_ns, is_usual, times);
    return count < LIKE_LEAST ? 0 : (double)times[count / 2];
}

/* Does it stand out from its like here, and from what it takes in the other run? Then it was the machine that stretched it. */
static bool is_stretched(const struct capture_run *run, const struct capture_region *region, size_t at, const struct capture_invocation *same)
{
    double own_ns = (double)region->list[at].time_ns, usual_ns = own_ns < STRETCHED_RATIO * (double)same->time_ns ? 0 : like_ns(run, region, at);
    return usual_ns > 0 && own_ns >= STRETCHED_RATIO * usual_ns;
}

/* Is what the other run says of an invocation nearer to what it takes? */
static bool is_better(const struct capture_run *run, size_t region, size_t at, const struct capture_run *other, size_t other_at)
{
    const struct capture_region *here = &run->regions[region], *there = &other->regions[region];
    const struct capture_invocation *one = &here->list[at], *two = &there->list[other_at];
    if (!is_disturbed(one))
        return !two->uncertain_ns && is_stretched(run, here, at, two);
    if (is_disturbed(two))
        return two->uncertain_ns < one->uncertain_ns && two->time_ns < one->time_ns;
    return !is_stretched(other, there, other_at, one);
}

static void region_join(struct capture_run *run, size_t region, const struct capture_run *other, const size_t *same)
{
    struct capture_region *here = &run->regions[region];
    for (size_t i = 0; i < here->list_count; i++)
        if (same[i] != SIZE_MAX && is_better(run, region, i, other, same[i]))
            time_take(run, here, &here->list[i], &other->regions[region].list[same[i]]);
}

void undisturbed_take(struct capture_run *run, const struct capture_run *other)
{
    run->uncertain_ns = 0;
    for (size_t i = 0; i < run->region_count; i++) {
        struct capture_region *region = &run->regions[i];
        size_t *same = i < other->region_count ? malloc((region->list_count + 1) * sizeof *same) : NULL;
        if (same && same_find(region, &other->regions[i], same))
            region_join(run, i, other, same);
        free(same);
        for (size_t j = 0; j < region->list_count; j++)
            run->uncertain_ns += region->list[j].nested ? 0 : region->list[j].uncertain_ns;
    }
    if (other->serial_ns < run->serial_ns) {
        run->wall_ns -= run->serial_ns - other->serial_ns;
        run->serial_ns = other->serial_ns;
    }
}
