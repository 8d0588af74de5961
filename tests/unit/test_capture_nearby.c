/* tests/unit/test_capture_nearby.c - kinds of an invocation's neighbours, followed from one to the next. */
#include "capture-rt/tracer/nearby.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define MANY 1500u

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* In stretches: with one kind of words or two, few disturbed ones or many, hardly any that is like another. */
static void list_fill(struct capture_invocation *list, uint64_t *state)
{
    uint64_t clock_ns = 1000;
    for (size_t i = 0; i < MANY; i++) {
        uint64_t stretch = i / 300, kind = next_random(state) % 3, time_ns = 1000 + 700 * kind + next_random(state) % 90;
        list[i] = (struct capture_invocation){.number = i + 1, .begin_ns = clock_ns, .end_ns = next_random(state) % 50 ? clock_ns + time_ns : 0,
                                              .words_hash = stretch % 2 ? next_random(state) % 2 : 7, .near = next_random(state) % 5 < stretch,
                                              .fresh = next_random(state) % 9 == 0, .nested = next_random(state) % 40 == 0};
        clock_ns += time_ns + 100;
    }
}

static bool are_equal(const struct nearby_kinds *a, const struct nearby_kinds *b)
{
    bool equal = a->time_count == b->time_count && a->count == b->count && a->apart == b->apart &&
                 memcmp(a->medians, b->medians, a->count * sizeof *a->medians) == 0;
    for (size_t i = 0; equal && i < a->time_count; i++)
        equal = a->times[i].time_ns == b->times[i].time_ns;
    return equal;
}

static void followed(void)
{
    static struct capture_invocation list[MANY];
    const struct capture_region region = {.list = list, .list_count = MANY};
    struct nearby_list near = {.capacity = 0};
    uint64_t state = 1;
    size_t differing = 0, asked = 0, found = 0;
    list_fill(list, &state);
    CU_ASSERT_TRUE_FATAL(nearby_list_fill(&near, &region, 20));
    for (enum nearby_like like = NEARBY_USUAL; like <= NEARBY_SAME; like++) {
        struct nearby_kinds kinds = {.count = 0};
        for (size_t i = 0; i < MANY; i++) {
            if (!list[i].near || next_random(&state) % 4 == 0)
                continue;
            struct nearby_kinds alone = {.count = 0};
            nearby_kinds_find(&near, i, like, &kinds);
            nearby_kinds_find(&near, i, like, &alone);
            differing += !are_equal(&kinds, &alone);
            found += alone.count;
            asked++;
        }
    }
    CU_ASSERT_TRUE(asked > MANY / 2 && found > asked);
    CU_ASSERT_EQUAL(differing, 0);
    nearby_list_done(&near);
}

static void both_sides(void)
{
    struct capture_invocation list[5];
    const struct capture_region region = {.list = list, .list_count = 5};
    struct nearby_list near = {.capacity = 0};
    uint64_t times[NEARBY_MOST];
    for (size_t i = 0; i < 5; i++)
        list[i] = (struct capture_invocation){.begin_ns = 100, .end_ns = 100 + (i == 4 ? 5 : 500 - 100 * i), .near = i == 2, .words_hash = i == 1};
    CU_ASSERT_TRUE_FATAL(nearby_list_fill(&near, &region, 10));
    CU_ASSERT_EQUAL(nearby_both(&near, 2, NEARBY_USUAL, times), 4);
    CU_ASSERT_TRUE(times[0] == 1 && times[1] == 190 && times[2] == 390 && times[3] == 490);
    CU_ASSERT_EQUAL(nearby_side(&near, 2, false, NEARBY_SAME, 2, times), 1);
    CU_ASSERT_EQUAL(times[0], 490);
    list[3].near = true;
    nearby_list_renew(&near, 3);
    CU_ASSERT_EQUAL(nearby_both(&near, 2, NEARBY_USUAL, times), 3);
    nearby_list_done(&near);
}

static const struct unit_test tests[] = {
    {"kinds that are followed from one invocation to the next are those of each by itself", followed},
    {"an invocation's like are found to both sides, by the clock less what reading it takes", both_sides},
};

UNIT_MAIN("capture_nearby", tests)
