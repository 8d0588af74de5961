#include "capture-rt/tracer/nearby.h"

#include "capture-rt/protocol.h"
#include "core/text.h"

#include <stdlib.h>

uint64_t nearby_measured_ns(const struct capture_invocation *invocation, uint64_t probe_ns)
{
    uint64_t time_ns = invocation->end_ns - invocation->begin_ns;
    return time_ns > probe_ns ? time_ns - probe_ns : 1;
}

bool nearby_is_disturbed(const struct capture_invocation *invocation)
{
    return invocation->stopped || invocation->near;
}

/* ---- what is looked at ----------------------------------------------------------------------------------------------------- */

enum { UNDISTURBED = 1, NESTED = 2, FRESH = 4, TEAM_SHIFT = 8 };     /* behind them, the team */
#define KIND (~(uint64_t)(UNDISTURBED | FRESH))

static uint64_t state_of(const struct capture_invocation *invocation)
{
    return (invocation->end_ns && !nearby_is_disturbed(invocation) ? UNDISTURBED : 0u) | (invocation->nested ? NESTED : 0u) | (invocation->fresh ? FRESH : 0u) |
           (uint64_t)invocation->team << TEAM_SHIFT;
}

bool nearby_list_fill(struct nearby_list *list, const struct capture_region *region, uint64_t probe_ns)
{
    if (!array_reserve(&list->ones, &list->capacity, region->list_count, sizeof *list->ones))
        return false;
    list->region = region;
    list->probe_ns = probe_ns;
    for (size_t i = 0; i < region->list_count; i++)
        list->ones[i] = (struct nearby_one){region->list[i].words_hash, nearby_measured_ns(&region->list[i], probe_ns), state_of(&region->list[i])};
    return true;
}

void nearby_list_renew(struct nearby_list *list, size_t at)
{
    list->ones[at].state = state_of(&list->region->list[at]);
}

void nearby_list_done(struct nearby_list *list)
{
    free(list->ones);
    *list = (struct nearby_list){.capacity = 0};
}

static bool is_undisturbed(const struct nearby_one *one, const struct nearby_one *other)
{
    return (other->state & ~(uint64_t)FRESH) == (UNDISTURBED | (one->state & KIND));
}

/* One that touches memory first is like no other. */
static bool is_usual(const struct nearby_one *one, const struct nearby_one *other)
{
    return other->state == (UNDISTURBED | (one->state & KIND));
}

static bool is_same(const struct nearby_one *one, const struct nearby_one *other)
{
    return is_usual(one, other) && other->words_hash == one->words_hash;
}

/* ---- who is like it -------------------------------------------------------------------------------------------------------- */

static bool is_foretold(const struct nearby_one *other, uint32_t expected)
{
    uint32_t magnitude = capture_magnitude(other->time_ns);
    return magnitude <= expected + CAPTURE_MAGNITUDE_NEAR && expected <= magnitude + CAPTURE_MAGNITUDE_NEAR;
}

/* The nearest first, to one side. Returns how many. It is the innermost of all that follows a run. */
static inline __attribute__((always_inline)) size_t places_walk(const struct nearby_list *list, size_t at, bool after, enum nearby_like like, size_t most, size_t *places)
{
    const struct nearby_one *one = &list->ones[at];
    uint32_t expected = like == NEARBY_FORETOLD ? list->region->list[at].expected : 0;
    size_t count = 0, reach = after ? list->region->list_count - 1 - at : at;
    for (size_t away = 1; away <= reach && away <= NEARBY_REACH && count < most; away++) {
        const struct nearby_one *other = after ? one + away : one - away;
        if (like == NEARBY_SAME ? is_same(one, other) : like == NEARBY_USUAL ? is_usual(one, other) : is_undisturbed(one, other) && is_foretold(other, expected))
            places[count++] = (size_t)(other - list->ones);
    }
    return count;
}

static size_t places_find(const struct nearby_list *list, size_t at, bool after, enum nearby_like like, size_t most, size_t *places)
{
    if (like == NEARBY_SAME)
        return places_walk(list, at, after, NEARBY_SAME, most, places);
    return like == NEARBY_USUAL ? places_walk(list, at, after, NEARBY_USUAL, most, places) : places_walk(list, at, after, NEARBY_FORETOLD, most, places);
}

size_t nearby_side(const struct nearby_list *list, size_t at, bool after, enum nearby_like like, size_t most, uint64_t *times)
{
    size_t places[NEARBY_SIDE], count = places_find(list, at, after, like, most, places);
    for (size_t i = 0; i < count; i++)
        times[i] = list->ones[places[i]].time_ns;
    return count;
}

bool nearby_is_about(uint64_t one_ns, uint64_t other_ns)
{
    return (double)one_ns <= NEARBY_KIND_RATIO * (double)other_ns && (double)other_ns <= NEARBY_KIND_RATIO * (double)one_ns;
}

/* How far away the nearest undisturbed one is to that side; 0: too far. */
static size_t neighbour_away(const struct nearby_list *list, size_t at, bool after)
{
    const struct nearby_one *one = &list->ones[at];
    size_t reach = after ? list->region->list_count - 1 - at : at;
    for (size_t away = 1; away <= reach && away <= NEARBY_PLACE_REACH; away++)
        if (is_undisturbed(one, after ? one + away : one - away))
            return away;
    return 0;
}

/* Does the undisturbed neighbour so far away take about as long as the one so far from `other`? Also where no neighbour is asked for: away is 0. */
static bool neighbour_alike(const struct nearby_list *list, size_t at, size_t other, bool after, size_t away)
{
    const struct nearby_one *ones = list->ones;
    if (!away)
        return true;
    if (after ? away >= list->region->list_count - other : away > other)
        return false;
    const struct nearby_one *its = after ? &ones[other + away] : &ones[other - away];
    return is_undisturbed(&ones[at], its) && nearby_is_about(ones[after ? at + away : at - away].time_ns, its->time_ns);
}

size_t nearby_placed(const struct nearby_list *list, size_t at, enum nearby_like like, uint64_t times[NEARBY_MOST])
{
    size_t sooner = neighbour_away(list, at, false), later = neighbour_away(list, at, true), placed = 0, places[NEARBY_MOST];
    if (!sooner && !later)
        return 0;
    size_t count = places_find(list, at, false, like, NEARBY_SIDE, places);
    count += places_find(list, at, true, like, NEARBY_SIDE, places + count);
    for (size_t i = 0; i < count; i++)
        if (neighbour_alike(list, at, places[i], false, sooner) && neighbour_alike(list, at, places[i], true, later))
            times[placed++] = list->ones[places[i]].time_ns;
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

size_t nearby_both(const struct nearby_list *list, size_t at, enum nearby_like like, uint64_t times[NEARBY_MOST])
{
    size_t count = nearby_side(list, at, false, like, NEARBY_SIDE, times);
    count += nearby_side(list, at, true, like, NEARBY_SIDE, times + count);
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

void nearby_kinds_find(const struct nearby_list *list, size_t at, enum nearby_like like, struct nearby_kinds *kinds)
{
    size_t places[NEARBY_MOST];
    const struct capture_invocation *one = &list->region->list[at];
    size_t sooner = places_find(list, at, false, like, NEARBY_SIDE, places);
    size_t count = sooner + places_find(list, at, true, like, NEARBY_SIDE, places + sooner);
    size_t low = sooner ? places[sooner - 1] : at, high = count > sooner ? places[count - 1] : at;
    bool other = kinds->words_hash != one->words_hash || kinds->nested != one->nested || kinds->team != one->team;
    bool changed = times_leave(kinds, other ? SIZE_MAX : low, high) || other, none = !kinds->time_count;
    for (size_t i = 0; i < count; i++)
        if (none || places[i] < kinds->low || places[i] > kinds->high) {
            time_insert(kinds, list->ones[places[i]].time_ns, places[i]);
            changed = true;
        }
    kinds->low = low;
    kinds->high = high;
    kinds->words_hash = one->words_hash;
    kinds->nested = one->nested;
    kinds->team = one->team;
    if (changed)
        kinds_make(kinds);
}
