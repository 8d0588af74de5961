#include "capture-rt/tracer/nearby.h"

#include "capture-rt/protocol.h"

uint64_t nearby_measured_ns(const struct capture_invocation *invocation, uint64_t probe_ns)
{
    uint64_t time_ns = invocation->end_ns - invocation->begin_ns;
    return time_ns > probe_ns ? time_ns - probe_ns : 1;
}

bool nearby_is_disturbed(const struct capture_invocation *invocation)
{
    return invocation->stopped || invocation->near;
}

static bool is_undisturbed(const struct capture_invocation *one, const struct capture_invocation *other)
{
    return other->end_ns && !nearby_is_disturbed(other) && other->nested == one->nested;
}

static bool is_foretold(const struct capture_invocation *one, const struct capture_invocation *other, uint64_t probe_ns)
{
    if (!is_undisturbed(one, other))
        return false;
    uint32_t magnitude = capture_magnitude(nearby_measured_ns(other, probe_ns));
    return magnitude <= one->expected + CAPTURE_MAGNITUDE_NEAR && one->expected <= magnitude + CAPTURE_MAGNITUDE_NEAR;
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

/* The nearest first, to one side. Returns how many. It is the innermost of all that follows a run. */
static inline __attribute__((always_inline)) size_t places_walk(const struct capture_region *region, size_t at, bool after, uint64_t probe_ns, like_fn *is_like,
                                                                size_t most, size_t *places)
{
    size_t count = 0, reach = after ? region->list_count - 1 - at : at;
    for (size_t away = 1; away <= reach && away <= NEARBY_REACH && count < most; away++) {
        size_t other = after ? at + away : at - away;
        if (is_like(&region->list[at], &region->list[other], probe_ns))
            places[count++] = other;
    }
    return count;
}

static size_t places_find(const struct capture_region *region, size_t at, bool after, uint64_t probe_ns, enum nearby_like like, size_t most, size_t *places)
{
    if (like == NEARBY_SAME)
        return places_walk(region, at, after, probe_ns, is_same, most, places);
    return like == NEARBY_USUAL ? places_walk(region, at, after, probe_ns, is_usual, most, places)
                                : places_walk(region, at, after, probe_ns, is_foretold, most, places);
}

size_t nearby_side(const struct capture_region *region, size_t at, bool after, uint64_t probe_ns, enum nearby_like like, size_t most, uint64_t *times)
{
    size_t places[NEARBY_SIDE], count = places_find(region, at, after, probe_ns, like, most, places);
    for (size_t i = 0; i < count; i++)
        times[i] = nearby_measured_ns(&region->list[places[i]], probe_ns);
    return count;
}

bool nearby_is_about(uint64_t one_ns, uint64_t other_ns)
{
    return (double)one_ns <= NEARBY_KIND_RATIO * (double)other_ns && (double)other_ns <= NEARBY_KIND_RATIO * (double)one_ns;
}

/* How far away the nearest undisturbed one is to that side; 0: too far. */
static size_t neighbour_away(const struct capture_region *region, size_t at, bool after)
{
    size_t reach = after ? region->list_count - 1 - at : at;
    for (size_t away = 1; away <= reach && away <= NEARBY_PLACE_REACH; away++)
        if (is_undisturbed(&region->list[at], &region->list[after ? at + away : at - away]))
            return away;
    return 0;
}

/* Does the undisturbed neighbour so far away take about as long as the one so far from `other`? Also where no neighbour is asked for: away is 0. */
static bool neighbour_alike(const struct capture_region *region, size_t at, size_t other, bool after, size_t away, uint64_t probe_ns)
{
    const struct capture_invocation *list = region->list;
    if (!away)
        return true;
    if (after ? away >= region->list_count - other : away > other)
        return false;
    size_t one = after ? at + away : at - away, its = after ? other + away : other - away;
    return is_undisturbed(&list[at], &list[its]) && nearby_is_about(nearby_measured_ns(&list[one], probe_ns), nearby_measured_ns(&list[its], probe_ns));
}

size_t nearby_placed(const struct capture_region *region, size_t at, uint64_t probe_ns, enum nearby_like like, uint64_t times[NEARBY_MOST])
{
    size_t sooner = neighbour_away(region, at, false), later = neighbour_away(region, at, true), placed = 0, places[NEARBY_MOST];
    if (!sooner && !later)
        return 0;
    size_t count = places_find(region, at, false, probe_ns, like, NEARBY_SIDE, places);
    count += places_find(region, at, true, probe_ns, like, NEARBY_SIDE, places + count);
    for (size_t i = 0; i < count; i++)
        if (neighbour_alike(region, at, places[i], false, sooner, probe_ns) && neighbour_alike(region, at, places[i], true, later, probe_ns))
            times[placed++] = nearby_measured_ns(&region->list[places[i]], probe_ns);
    return placed;
}

/* A few dozen at most, and hundreds of thousands of times: Shell's sort, with Ciura's gaps. */
void nearby_sort(uint64_t *times, size_t count)
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

size_t nearby_both(const struct capture_region *region, size_t at, uint64_t probe_ns, enum nearby_like like, uint64_t times[NEARBY_MOST])
{
    size_t count = nearby_side(region, at, false, probe_ns, like, NEARBY_SIDE, times);
    count += nearby_side(region, at, true, probe_ns, like, NEARBY_SIDE, times + count);
    nearby_sort(times, count);
    return count;
}

static void kinds_make(struct nearby_kinds *kinds)
{
    uint64_t highest_ns = 0;
    kinds->count = 0;
    kinds->apart = false;
    for (size_t first = 0, end; first < kinds->time_count; first = end) {
        uint64_t least_ns = kinds->times[first].time_ns;
        for (end = first + 1; end < kinds->time_count; end++) {
            uint64_t time_ns = kinds->times[end].time_ns;
            if ((double)time_ns > NEARBY_STEP_RATIO * (double)kinds->times[end - 1].time_ns || (double)time_ns > NEARBY_KIND_RATIO * (double)least_ns)
                break;
        }
        if (end - first < NEARBY_LIKE_LEAST)
            continue;
        kinds->apart |= highest_ns && (double)least_ns > NEARBY_STEP_RATIO * (double)highest_ns;
        highest_ns = kinds->times[end - 1].time_ns;
        kinds->sizes[kinds->count] = end - first;
        kinds->medians[kinds->count++] = kinds->times[first + (end - first) / 2].time_ns;
    }
}

static void time_insert(struct nearby_kinds *kinds, uint64_t time_ns, size_t at)
{
    size_t place = kinds->time_count++;
    for (; place > 0 && kinds->times[place - 1].time_ns > time_ns; place--)
        kinds->times[place] = kinds->times[place - 1];
    kinds->times[place].time_ns = time_ns;
    kinds->times[place].at = at;
}

/* True: some left. */
static bool times_leave(struct nearby_kinds *kinds, size_t low, size_t high)
{
    size_t kept = 0, before = kinds->time_count;
    for (size_t i = 0; i < before; i++)
        if (kinds->times[i].at >= low && kinds->times[i].at <= high)
            kinds->times[kept++] = kinds->times[i];
    kinds->time_count = kept;
    return kept < before;
}

void nearby_kinds_find(const struct capture_region *region, size_t at, uint64_t probe_ns, enum nearby_like like, struct nearby_kinds *kinds)
{
    size_t places[NEARBY_MOST];
    const struct capture_invocation *one = &region->list[at];
    size_t sooner = places_find(region, at, false, probe_ns, like, NEARBY_SIDE, places);
    size_t count = sooner + places_find(region, at, true, probe_ns, like, NEARBY_SIDE, places + sooner);
    size_t low = sooner ? places[sooner - 1] : at, high = count > sooner ? places[count - 1] : at;
    bool other = kinds->words_hash != one->words_hash || kinds->nested != one->nested;
    bool changed = times_leave(kinds, other ? SIZE_MAX : low, high) || other, none = !kinds->time_count;
    for (size_t i = 0; i < count; i++)
        if (none || places[i] < kinds->low || places[i] > kinds->high) {
            time_insert(kinds, nearby_measured_ns(&region->list[places[i]], probe_ns), places[i]);
            changed = true;
        }
    kinds->low = low;
    kinds->high = high;
    kinds->words_hash = one->words_hash;
    kinds->nested = one->nested;
    if (changed)
        kinds_make(kinds);
}
