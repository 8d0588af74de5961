#include "capture-rt/tracer/undisturbed.h"

#include "capture-rt/protocol.h"
#include "capture-rt/tracer/nearby.h"
#include "core/text.h"
#include "core/workers.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SLOWER_MOST 3                   /* times what it takes, besides faults: caches that are cold, memory that others use, */
#define COLD_MOST_NS 20000000.0         /* ... but to fetch all that caches hold again takes no longer than this, */
#define SHARED_MOST_RATIO 0.5           /* ... and others that use the memory meanwhile cost this share of it at most */
#define CLOSE_MOST 2                    /* to either side: neighbours, which speak for one more where they agree, though times change steadily */
#define RESUMED_MOST_NS 200000.0        /* behind a stop of several threads the region's team is gathered anew: threads run again one after the other, some were asleep */
#define LEVEL_RATIO 1.03                /* within this of what its like take, an invocation is back from a stop */
#define LEVEL_LEAST 4                   /* to either side, to tell what its like take */
#define STEADY_LEAST 12                 /* to one side alone, */
#define STEADY_RATIO 1.05               /* and then what comes later takes no other time than what comes sooner */
#define STRETCHED_RATIO 1.2              /* times its like, and itself in another run */
#define UNLIKE_RATIO 0.5                 /* of what a kind takes: more than that is not explained by what disturbed an invocation */
#define FIRST_UNLIKE_RATIO 0.25           /* of a region's first one: no other need be like it */
#define AGREE_RATIO 1.5                  /* by which the middle half of its like may differ to tell what it should take */
#define PREEMPTED_RATIO 1.1             /* wall time over CPU time */
#define FAULT_NS 900u                   /* of the first write to a page that tracking has protected, where neither the run nor the machine tells it; seen: 800 to 1600 */
#define FAULT_LEAST_RATIO 0.67          /* of what the machine tells; caches are colder in the program, and others write beside it */
#define FAULT_MOST_RATIO 1.78
#define FAULT_DOUBT 0.3                 /* of that */
#define FAULT_MISFIT 0.25               /* of that, by which one that speaks for another may be off */
#define FAULTS_TELL 500u                /* so many tell what one costs */
#define FAULTS_MANY 64u                 /* more than an invocation's like have, and this share of its time at the least */
#define FAULTS_RATIO 0.05

struct estimate { uint64_t time_ns, uncertain_ns, vague_ns; };

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static uint64_t median_of(uint64_t *times, size_t count)
{
    nearby_sort(times, count);
    return times[count / 2];
}

/* What an invocation was disturbed by: faults that cost so much; that a thread waited for a processor, so long at most; that its team was gathered anew, likewise. */
struct disturbance { double cost_ns, waited_ns, resumed_ns; };

static struct disturbance disturbance_of(const struct capture_invocation *invocation, uint64_t faults, uint64_t fault_ns)
{
    bool gathered = invocation->gathered && invocation->number > 1;      /* the first one takes longer by itself */
    return (struct disturbance){(double)(faults * fault_ns), (double)(invocation->waited_ns + invocation->held_ns), gathered ? RESUMED_MOST_NS : 0};
}

/* What waiting cost an invocation. Where others do the work of a thread that waits for a processor, a team of n loses an n-th of that; and not of what a thread waited while it was made to stop. */
static double lost_ns(const struct capture_region *region, const struct capture_invocation *invocation, uint64_t own_ns)
{
    uint64_t team = invocation->team > 2 ? invocation->team : 2, shared_ns = invocation->waited_ns < own_ns ? invocation->waited_ns : own_ns;
    return (double)((region->shares ? shared_ns / team : invocation->waited_ns) + invocation->held_ns);
}

/* Could an invocation have taken own_ns that takes like_ns by itself, so disturbed? What a stop leaves is soon over: of an invocation of
 * 250 ms that only says that it is none of 120. */
static bool explains(uint64_t like_ns, uint64_t own_ns, struct disturbance disturbed)
{
    double more_ns = (double)own_ns - (double)like_ns - disturbed.waited_ns - disturbed.resumed_ns;
    double slower_ns = (SLOWER_MOST - 1) * (double)like_ns, soon_ns = COLD_MOST_NS + SHARED_MOST_RATIO * (double)like_ns;
    return (double)like_ns <= LEVEL_RATIO * (double)own_ns && more_ns <= (slower_ns < soon_ns ? slower_ns : soon_ns) + (1 + FAULT_MISFIT) * disturbed.cost_ns;
}

/* The neighbours with the same words, if they agree and explain what it took; else 0. */
static uint64_t close_ns(const struct nearby_list *list, size_t at, uint64_t own_ns, struct disturbance disturbed)
{
    uint64_t times[2 * CLOSE_MOST], sum_ns = 0;
    size_t count = nearby_side(list, at, false, NEARBY_SAME, CLOSE_MOST, times);
    count += nearby_side(list, at, true, NEARBY_SAME, CLOSE_MOST, times + count);
    if (count < NEARBY_LIKE_LEAST)
        return 0;
    nearby_sort(times, count);
    for (size_t i = 0; i < count; i++)
        sum_ns += times[i];
    bool agree = (double)times[count - 1] <= NEARBY_STEP_RATIO * (double)times[0];
    return agree && explains(sum_ns / count, own_ns, disturbed) ? sum_ns / count : 0;
}

/* The median of those nearby that took about as long as was expected of this one, or 0. */
static uint64_t foretold_ns(const struct nearby_list *list, size_t at)
{
    uint64_t times[NEARBY_MOST];
    size_t count = list->region->list[at].expected ? nearby_both(list, at, NEARBY_FORETOLD, times) : 0;
    return count ? times[count / 2] : 0;
}

/* How far what an invocation took is from what one of that kind would have taken. Faults that would cost more than it took altogether were not all its own, and
 * tell nothing. */
static double off_by(uint64_t kind_ns, uint64_t own_ns, struct disturbance disturbed)
{
    double cost_ns = disturbed.cost_ns > (double)own_ns ? 0 : disturbed.cost_ns, more_ns = (double)own_ns - (double)kind_ns - cost_ns;
    return more_ns <= 0 ? -more_ns : more_ns > disturbed.waited_ns ? more_ns - disturbed.waited_ns : 0;
}

/* Of the kinds that it can be one of, that which explains best what it took; of those that do so as well, the one that most are of; 0: none. *ret_many: it
 * could be of more than one. Of kinds with other words (`like`), those that take less than is not known of what its faults cost tell nothing, whatever they explain: zeroing
 * 17 MB, 8.4 ms with 4292 faults, counted as zeroing 2 MB, 0.3 ms. */
static uint64_t kind_pick(const struct nearby_kinds *kinds, uint64_t own_ns, struct disturbance disturbed, enum nearby_like like, bool *ret_many)
{
    double least = 0, told_ns = like == NEARBY_SAME ? 0 : FAULT_DOUBT * disturbed.cost_ns;
    uint64_t best_ns = 0;
    size_t best_size = 0, explaining = 0;
    for (size_t i = 0; i < kinds->count; i++) {
        uint64_t kind_ns = kinds->medians[i];
        double off = off_by(kind_ns, own_ns, disturbed);
        if (!explains(kind_ns, own_ns, disturbed))
            continue;
        explaining++;
        if ((double)kind_ns < told_ns)
            continue;
        if (best_ns && (off > least || (off >= least && kinds->sizes[i] <= best_size)))
            continue;
        best_ns = kind_ns;
        best_size = kinds->sizes[i];
        least = off;
    }
    *ret_many = explaining > 1;
    return best_ns;
}

/* How far an invocation that counts as one of like_ns is from those of all kinds that it could be one of, in the mean over these. */
static uint64_t vague_of(const struct nearby_kinds *kinds, uint64_t own_ns, struct disturbance disturbed, uint64_t like_ns)
{
    double off_ns = 0, count = 0;
    for (size_t i = 0; i < kinds->count; i++) {
        if (!explains(kinds->medians[i], own_ns, disturbed))
            continue;
        off_ns += (double)kinds->sizes[i] * fabs((double)kinds->medians[i] - (double)like_ns);
        count += (double)kinds->sizes[i];
    }
    return count > 0 ? (uint64_t)(off_ns / count) : 0;
}

/* Of the kinds that it can be one of, the only one of which others stand where it stands in the region's order; else 0. What faults cost is known to a third, which of
 * 33,000 is as much as what tells kinds apart. */
static uint64_t kind_placed(const struct nearby_kinds *kinds, const struct nearby_list *list, size_t at, enum nearby_like like, struct disturbance disturbed)
{
    uint64_t times[NEARBY_MOST], own_ns = list->ones[at].time_ns, found_ns = 0;
    size_t count = nearby_placed(list, at, like, times);
    for (size_t i = 0; count && i < kinds->count; i++) {
        bool placed = false;
        for (size_t k = 0; k < count && !placed; k++)
            placed = nearby_is_about(kinds->medians[i], times[k]);
        if (!placed || !explains(kinds->medians[i], own_ns, disturbed))
            continue;
        if (found_ns)
            return 0;
        found_ns = kinds->medians[i];
    }
    return found_ns;
}

/* Minor faults that the region's invocations have at least, but for those of pages that had not been there; UINT32_MAX: not measured. */
static uint32_t faults_least(const struct capture_region *region)
{
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < region->list_count; i++) {
        const struct capture_invocation *invocation = &region->list[i];
        if (!invocation->measured_cpu || !invocation->end_ns || (invocation->fresh && !invocation->all_fresh))
            continue;
        uint32_t faults = invocation->all_fresh ? invocation->faults / CAPTURE_FRESH_REST : invocation->faults;
        least = faults < least ? faults : least;
    }
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

/* What its like take, or 0: there are none, or they take so different times that the one in the middle tells nothing of another. */
static double usual_ns_of(const struct nearby_list *list, size_t at)
{
    uint64_t times[NEARBY_MOST];
    size_t count = nearby_both(list, at, NEARBY_SAME, times);
    if (count < NEARBY_LIKE_LEAST)
        count = nearby_both(list, at, NEARBY_USUAL, times);
    bool agree = count >= NEARBY_LIKE_LEAST && (double)times[count - 1 - count / 4] <= AGREE_RATIO * (double)times[count / 4];
    return agree ? (double)times[count / 2] : 0;
}

/* Of the last invocation that was estimated: by those with the same words, and by all. */
struct nearby { struct nearby_kinds same, usual; };

static struct estimate estimate(const struct nearby_list *list, size_t at, uint64_t faults, uint64_t fault_ns, struct nearby *nearby)
{
    const struct capture_invocation *invocation = &list->region->list[at];
    uint64_t own_ns = list->ones[at].time_ns, like_ns = 0, vague_ns = 0;
    struct disturbance disturbed = disturbance_of(invocation, faults, fault_ns);
    bool many;
    if (!invocation->fresh) {
        nearby_kinds_find(list, at, NEARBY_SAME, &nearby->same);
        like_ns = nearby->same.apart ? 0 : close_ns(list, at, own_ns, disturbed);
        if (!like_ns) {
            like_ns = kind_pick(&nearby->same, own_ns, disturbed, NEARBY_SAME, &many);
            uint64_t placed = many ? kind_placed(&nearby->same, list, at, NEARBY_SAME, disturbed) : 0;
            uint64_t foretold = (!like_ns || many) && !placed ? foretold_ns(list, at) : 0;
            like_ns = placed ? placed : foretold && explains(foretold, own_ns, disturbed) ? foretold : like_ns;
            vague_ns = like_ns && many && !placed ? vague_of(&nearby->same, own_ns, disturbed, like_ns) : 0;
        }
        if (!like_ns) {
            nearby_kinds_find(list, at, NEARBY_USUAL, &nearby->usual);
            like_ns = kind_pick(&nearby->usual, own_ns, disturbed, NEARBY_USUAL, &many);
            uint64_t placed = many ? kind_placed(&nearby->usual, list, at, NEARBY_USUAL, disturbed) : 0;
            like_ns = placed ? placed : like_ns;
            vague_ns = like_ns && many && !placed ? vague_of(&nearby->usual, own_ns, disturbed, like_ns) : 0;
        }
    }
    double unlike = like_ns ? off_by(like_ns, own_ns, disturbed) : 0;
    bool first = invocation->number == 1 && unlike > RESUMED_MOST_NS + (FAULT_MOST_RATIO - 1) * disturbed.cost_ns && unlike > FIRST_UNLIKE_RATIO * (double)like_ns;
    bool itself = first || (unlike > UNLIKE_RATIO * (double)like_ns && usual_ns_of(list, at) <= 0);
    if (itself) {                         /* a first one does what no other does (sums that are printed); and where all of them differ, it may as well be one by itself */
        if (!invocation->stopped)
            return (struct estimate){own_ns, (uint64_t)(FAULT_DOUBT * unlike), 0};
        vague_ns = unlike > (double)vague_ns ? (uint64_t)unlike : vague_ns;
    }
    if (like_ns && !first) {
        double short_ns = (double)like_ns + (1 - FAULT_DOUBT) * disturbed.cost_ns - (double)own_ns;
        vague_ns = short_ns > (double)vague_ns ? (uint64_t)short_ns : vague_ns;
        return (struct estimate){like_ns < own_ns || invocation->stopped ? like_ns : own_ns, 0, invocation->stopped ? vague_ns : 0};
    }
    bool alone = first || (!invocation->fresh && !nearby->same.count && !nearby->usual.count);      /* else it takes no longer than its like, whoever waited */
    double off = disturbed.cost_ns + (alone ? lost_ns(list->region, invocation, own_ns) : 0);
    uint64_t most_ns = invocation->held_ns ? own_ns - 1 : own_ns - own_ns / 4, off_ns = off < (double)most_ns ? (uint64_t)off : most_ns;
    bool known = invocation->measured_cpu || invocation->stopped;
    uint64_t doubt_ns = known ? (uint64_t)(FAULT_DOUBT * (double)off_ns) : own_ns / 2;
    return (struct estimate){own_ns - off_ns, doubt_ns + invocation->large_pages * fault_ns, itself ? vague_ns : 0};
}

/* What faults of tracking cost, from invocations that had some and others with the same words that had none. */
static void faults_add(const struct nearby_list *list, atomic_uint_fast64_t *faults, atomic_uint_fast64_t *time_ns)
{
    const struct capture_region *region = list->region;
    uint32_t least = faults_least(region);
    struct nearby_kinds kinds = {.time_count = 0};
    for (size_t i = 0; i < region->list_count && least != UINT32_MAX; i++) {
        const struct capture_invocation *invocation = &region->list[i];
        if (!invocation->end_ns || !nearby_is_disturbed(invocation) || !invocation->measured_cpu || invocation->fresh || invocation->faults == least)
            continue;
        uint64_t own_ns = list->ones[i].time_ns;
        nearby_kinds_find(list, i, NEARBY_SAME, &kinds);
        if (kinds.count != 1)
            continue;
        atomic_fetch_add(faults, invocation->faults - least);
        atomic_fetch_add(time_ns, own_ns > kinds.medians[0] ? own_ns - kinds.medians[0] : 0);
    }
}

/* Of one, on this machine. */
static uint64_t fault_cost_ns(uint64_t usual_ns, uint64_t faults, uint64_t time_ns)
{
    uint64_t cost_ns = faults >= FAULTS_TELL ? time_ns / faults : usual_ns;
    uint64_t least_ns = (uint64_t)(FAULT_LEAST_RATIO * (double)usual_ns), most_ns = (uint64_t)(FAULT_MOST_RATIO * (double)usual_ns);
    return cost_ns < least_ns ? least_ns : cost_ns > most_ns ? most_ns : cost_ns;
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
static size_t before_find(const struct nearby_list *list, size_t at)
{
    for (size_t i = at; i-- > 0 && at - i <= NEARBY_REACH;)
        if (list->ones[i].words_hash == list->ones[at].words_hash)
            return i;
    return at ? at - 1 : 0;
}

/* Which of these are of the same kind as one that took own_ns, perhaps too long. Returns how many, in order. */
static size_t kindred_keep(uint64_t own_ns, uint64_t *times, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (times[i] >= own_ns / SLOWER_MOST && (double)times[i] <= NEARBY_STEP_RATIO * (double)own_ns)
            times[kept++] = times[i];
    return kept;
}

/* Is own_ns more than what LEVEL_RATIO times the median is? Which one the median is need not be known. */
static bool is_above_median(uint64_t own_ns, const uint64_t *times, size_t count)
{
    size_t below = 0;
    for (size_t i = 0; i < count; i++)
        below += (double)own_ns > LEVEL_RATIO * (double)times[i];
    return below > count / 2;
}

/* Does it take more than its like: as many of those before as of those after, so that steady change does not count; at the run's beginning, of those after it
 * the later ones, if they do not change? Else that cannot be told. */
static bool is_above_level(const struct nearby_list *list, size_t at)
{
    uint64_t before[NEARBY_SIDE], both[NEARBY_MOST], *after = both, own_ns = list->ones[at].time_ns;
    size_t sooner = kindred_keep(own_ns, before, nearby_side(list, at, false, NEARBY_SAME, NEARBY_SIDE, before));
    size_t later = kindred_keep(own_ns, after, nearby_side(list, at, true, NEARBY_SAME, NEARBY_SIDE, after));
    size_t third = later / 3, equal = sooner < later ? sooner : later;
    if (equal >= LEVEL_LEAST) {
        memcpy(both + equal, before, equal * sizeof *both);
        return is_above_median(own_ns, both, 2 * equal);
    }
    if (later < STEADY_LEAST)
        return false;
    uint64_t middle_ns = median_of(after + third, third), last_ns = median_of(after + 2 * third, third);
    double ratio = (double)(middle_ns > last_ns ? middle_ns : last_ns) / (double)(middle_ns < last_ns ? middle_ns : last_ns);
    return ratio <= STEADY_RATIO && (double)own_ns > LEVEL_RATIO * (double)last_ns;
}

/* The program's own peak does not tell that a first invocation touches fresh memory: it may have been larger before (the process that became the program is counted). Where it was stopped at, what it
 * wrote of pages that tracking had protected is known; its other faults were of pages that had not been there, and are its own. */
static void fresh_mark(struct capture_invocation *invocation, uint64_t own_ns, uint64_t pages, uint64_t fault_ns)
{
    uint64_t own = pages && invocation->faults > pages ? invocation->faults - pages : 0;
    if (invocation->number != 1 || !invocation->stopped || !invocation->measured_cpu || own < FAULTS_MANY || (double)(own * fault_ns) <= FAULTS_RATIO * (double)own_ns)
        return;
    invocation->fresh = true;
    invocation->all_fresh |= own >= invocation->faults - invocation->faults / CAPTURE_FRESH_REST;
}

/* The first one with its words after a stop finds what it uses as the stop left it, wherever in the region's order it comes. Those that
 * follow are disturbed as well, until one takes what its like take. And so are those that had faults for no reason of their own, at whatever distance. */
static void near_mark(struct capture_region *region, struct nearby_list *list, const struct stops *stops, uint64_t first_pages, uint64_t fault_ns)
{
    uint32_t least = faults_least(region);
    for (size_t i = 0; i < region->list_count; i++) {
        struct capture_invocation *invocation = &region->list[i];
        fresh_mark(invocation, list->ones[i].time_ns, first_pages, fault_ns);
        uint64_t more = invocation->measured_cpu && !invocation->fresh && invocation->number > 1 && least != UINT32_MAX ? invocation->faults - least : 0;
        invocation->near |= stops_between(stops, region->list[before_find(list, i)].begin_ns, invocation->begin_ns) ||
                            (more >= FAULTS_MANY && (double)(more * fault_ns) > FAULTS_RATIO * (double)list->ones[i].time_ns);
        nearby_list_renew(list, i);
    }
    for (size_t i = 1; i < region->list_count; i++) {
        struct capture_invocation *invocation = &region->list[i];
        const struct capture_invocation *before = &region->list[before_find(list, i)];
        if (nearby_is_disturbed(invocation) || !nearby_is_disturbed(before) || !invocation->end_ns || before->words_hash != invocation->words_hash)
            continue;
        invocation->near = is_above_level(list, i);
        nearby_list_renew(list, i);
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

enum work_kind { WORK_MARK, WORK_FAULTS, WORK_FILL };     /* one after the other: who is disturbed; what a fault costs; what each takes by itself */

/* What is worked out for each region by itself: by as many threads as there are processors. */
struct work {
    struct capture_run *run;
    struct stops stops;
    enum work_kind kind;
    uint64_t fault_ns;
    atomic_uint_fast64_t faults, faults_ns;
    undisturbed_pages_fn *pages;
    const void *context;
    atomic_size_t next;
};

/* `list` NULL: no memory, and times are what was measured. */
static void region_fill(const struct work *work, size_t index, const struct nearby_list *list)
{
    const struct capture_run *run = work->run;
    struct capture_region *region = &run->regions[index];
    uint32_t least = run->stopped ? faults_least(region) : 0;
    struct nearby nearby = {.same.time_count = 0};
    for (size_t j = 0; j < region->list_count; j++) {
        struct capture_invocation *invocation = &region->list[j];
        if (!invocation->end_ns)
            continue;
        struct estimate found = {.time_ns = nearby_measured_ns(invocation, run->probe_ns)};
        uint64_t faults = 0;
        if (list && nearby_is_disturbed(invocation)) {
            faults = tracking_faults(invocation, least, invocation->stopped && work->pages ? work->pages(work->context, index, invocation->number) : 0);
            found = estimate(list, j, faults, work->fault_ns, &nearby);
        }
        invocation->time_ns = found.time_ns;
        invocation->uncertain_ns = found.uncertain_ns;
        invocation->vague_ns = found.vague_ns;
        invocation->faults -= invocation->faults < faults ? invocation->faults : (uint32_t)faults;
    }
}

static void *regions_take(void *context)
{
    struct work *work = context;
    struct nearby_list list = {.capacity = 0};
    for (size_t i; (i = atomic_fetch_add(&work->next, 1)) < work->run->region_count;) {
        struct capture_region *region = &work->run->regions[i];
        bool known = nearby_list_fill(&list, region, work->run->probe_ns);
        if (work->kind == WORK_FILL)
            region_fill(work, i, known ? &list : NULL);
        else if (known && work->kind == WORK_MARK)
            near_mark(region, &list, &work->stops, work->pages ? work->pages(work->context, i, 1) : 0, work->fault_ns);
        else if (known)
            faults_add(&list, &work->faults, &work->faults_ns);
    }
    nearby_list_done(&list);
    return NULL;
}

static void work_do(struct work *work, enum work_kind kind)
{
    work->kind = kind;
    atomic_store(&work->next, 0);
    workers_run(regions_take, work, work->run->region_count);
}

void undisturbed_fill(struct capture_run *run, undisturbed_pages_fn *pages, const void *context)
{
    struct work work = {.run = run, .fault_ns = run->fault_ns ? run->fault_ns : FAULT_NS, .pages = pages, .context = context};
    if (run->stopped && stops_find(run, &work.stops)) {
        work_do(&work, WORK_MARK);
        free(work.stops.begin_ns);
        work_do(&work, WORK_FAULTS);
        work.fault_ns = fault_cost_ns(work.fault_ns, work.faults, work.faults_ns);
    }
    work_do(&work, WORK_FILL);
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

/* Do addresses, and so argument words, say nothing of which invocation is which, while numbers do? */
static bool is_numbered(const struct capture_run *run, const struct capture_run *other, size_t region)
{
    const struct capture_region *one = &run->regions[region], *two = &other->regions[region];
    return (run->blocks_moved || other->blocks_moved) && capture_region_is_ordered(one) && capture_region_is_ordered(two) &&
           one->list_count == two->list_count;
}

static void same_by_number(const struct capture_region *region, const struct capture_region *other, size_t *ret_same)
{
    for (size_t i = 0; i < region->list_count; i++) {
        const struct capture_invocation *one = &region->list[i], *two = &other->list[i];
        ret_same[i] = two->number == one->number && two->end_ns && one->end_ns ? i : SIZE_MAX;
    }
}

static bool same_by_words(const struct capture_region *region, const struct capture_region *other, size_t *ret_same)
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

/* ret_same[i]: where invocation i of a region is in the other run's list, or SIZE_MAX. */
static bool same_find(const struct capture_run *run, const struct capture_run *other, size_t region, size_t *ret_same)
{
    if (!is_numbered(run, other, region))
        return same_by_words(&run->regions[region], &other->regions[region], ret_same);
    same_by_number(&run->regions[region], &other->regions[region], ret_same);
    return true;
}

static void time_take(struct capture_run *run, struct capture_region *region, struct capture_invocation *invocation, const struct capture_invocation *same)
{
    time_set(run, region, invocation, invocation->time_ns, same->time_ns);
    invocation->cpu_ns = same->cpu_ns;
    invocation->faults = same->faults;
    invocation->switches = same->switches;
    invocation->measured_cpu = same->measured_cpu;
    invocation->uncertain_ns = same->uncertain_ns;
    invocation->vague_ns = same->vague_ns;
}

/* Does it stand out from its like here, and from the most that it may take in the other run? Then it was the machine that stretched it. */
static bool is_stretched(const struct nearby_list *list, size_t at, const struct capture_invocation *same)
{
    double own_ns = (double)list->region->list[at].time_ns, most_ns = (double)same->time_ns + (double)same->uncertain_ns;
    double usual_ns = own_ns < STRETCHED_RATIO * most_ns ? 0 : usual_ns_of(list, at);
    return usual_ns > 0 && own_ns >= STRETCHED_RATIO * usual_ns;
}

/* Is what the other run says of an invocation nearer to what it takes? */
static bool is_better(const struct nearby_list *list, size_t at, const struct nearby_list *other, size_t other_at)
{
    const struct capture_invocation *one = &list->region->list[at], *two = &other->region->list[other_at];
    if (!nearby_is_disturbed(one))
        return is_stretched(list, at, two);
    if (nearby_is_disturbed(two))
        return two->uncertain_ns < one->uncertain_ns && two->time_ns < one->time_ns;
    return !is_stretched(other, other_at, one);
}

static void region_join(struct capture_run *run, struct capture_region *region, const struct nearby_list *list, const struct nearby_list *other, const size_t *same)
{
    for (size_t i = 0; i < region->list_count; i++)
        if (same[i] != SIZE_MAX && is_better(list, i, other, same[i]))
            time_take(run, region, &region->list[i], &other->region->list[same[i]]);
}

void undisturbed_take(struct capture_run *run, const struct capture_run *other)
{
    struct nearby_list here = {.capacity = 0}, there = {.capacity = 0};
    run->uncertain_ns = 0;
    for (size_t i = 0; i < run->region_count; i++) {
        struct capture_region *region = &run->regions[i];
        const struct capture_region *its = i < other->region_count ? &other->regions[i] : NULL;
        size_t *same = its ? malloc((region->list_count + 1) * sizeof *same) : NULL;
        if (same && nearby_list_fill(&here, region, run->probe_ns) && nearby_list_fill(&there, its, other->probe_ns) && same_find(run, other, i, same))
            region_join(run, region, &here, &there, same);
        free(same);
        for (size_t j = 0; j < region->list_count; j++)
            run->uncertain_ns += region->list[j].nested ? 0 : region->list[j].uncertain_ns;
    }
    nearby_list_done(&here);
    nearby_list_done(&there);
    if (other->serial_ns < run->serial_ns) {
        run->wall_ns -= run->serial_ns - other->serial_ns;
        run->serial_ns = other->serial_ns;
    }
    if ((double)other->waited_ns * (double)run->as_run_ns > (double)run->waited_ns * (double)other->as_run_ns) {
        run->waited_ns = other->waited_ns;
        run->as_run_ns = other->as_run_ns;
    }
}

/* ---- by other processes ------------------------------------------------------------------------------------------------------ */

static bool is_interrupted(const struct capture_invocation *invocation)
{
    return invocation->end_ns && invocation->switches > 0 && invocation->cpu_ns > 0 &&
           (double)invocation->time_ns > PREEMPTED_RATIO * (double)invocation->cpu_ns;
}

void undisturbed_uninterrupt(struct capture_run *run)
{
    for (size_t i = 0; run->threads == 1 && i < run->region_count; i++) {
        struct capture_region *region = &run->regions[i];
        for (size_t j = 0; j < region->list_count; j++) {
            struct capture_invocation *invocation = &region->list[j];
            if (!is_interrupted(invocation))
                continue;
            time_set(run, region, invocation, invocation->time_ns, invocation->cpu_ns);
            invocation->switches = 0;
        }
    }
}
