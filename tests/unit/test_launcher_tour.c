/* tests/unit/test_launcher_tour.c - which stretch of a program is worth a tour. */
#include "replay-rt/launcher/predecessors.h"
#include "replay-rt/launcher/tour.h"

#include "tests/unit/unit.h"

#define MS 1000000u

enum { A, B, C, D, CLASSES };

static struct tour_event event(size_t class, uint64_t time_ns)
{
    return (struct tour_event){.class = class, .candidate = class == D ? TOUR_NOBODY : class, .time_ns = time_ns, .lay_ns = 2 * MS};
}

struct choice { size_t first, count; bool closed, worth; };

static struct choice chosen(const struct tour_event *events, size_t count, const uint64_t *alone_ns, size_t most)
{
    struct choice choice = {0};
    choice.worth = tour_choose(events, count, alone_ns, CLASSES, most, &choice.first, &choice.count, &choice.closed);
    return choice;
}

static const uint64_t alone_ns[CLASSES] = {50 * MS, 50 * MS, 50 * MS, 0};

static void a_time_step_is_one_closed_round(void)
{
    const struct tour_event events[] = {event(D, 9 * MS), event(A, MS), event(B, MS), event(C, MS), event(A, MS), event(B, MS), event(C, MS), event(A, MS)};
    struct choice choice = chosen(events, sizeof events / sizeof *events, alone_ns, 16);
    CU_ASSERT(choice.worth && choice.closed);
    CU_ASSERT_EQUAL(choice.count, 3);
    CU_ASSERT(choice.first > 1);
}

/* Nothing comes before the first of an open stretch that comes before it in the program: it is only run. */
static void of_an_open_stretch_the_first_does_not_count(void)
{
    const struct tour_event events[] = {event(A, MS), event(B, MS), event(C, MS)};
    struct choice choice = chosen(events, 3, alone_ns, 16);
    CU_ASSERT(choice.worth && !choice.closed);
    CU_ASSERT_EQUAL(choice.first, 0);
    CU_ASSERT_EQUAL(choice.count, 3);
    CU_ASSERT_FALSE(chosen(events, 2, alone_ns, 16).worth);
}

static void what_lies_between_must_not_cost_more_than_it_saves(void)
{
    const struct tour_event events[] = {event(A, MS), event(B, MS), event(D, 90 * MS), event(C, MS)};
    struct choice choice = chosen(events, 4, alone_ns, 16);
    CU_ASSERT_FALSE(choice.worth);
    const struct tour_event cheap[] = {event(A, MS), event(B, MS), event(D, MS), event(C, MS)};
    CU_ASSERT_EQUAL(chosen(cheap, 4, alone_ns, 16).count, 4);
}

static void a_region_alone_is_no_tour(void)
{
    const struct tour_event events[] = {event(A, MS), event(A, MS), event(A, MS), event(A, MS)};
    CU_ASSERT_FALSE(chosen(events, 4, alone_ns, 16).worth);
}

static void other_invocations_memory_is_laid_down_at_its_cost(void)
{
    struct tour_event events[] = {event(D, MS), event(A, 10 * MS), event(B, 10 * MS), event(A, 10 * MS), event(B, 10 * MS)};
    const uint64_t alone[CLASSES] = {40 * MS, 40 * MS, 0, 0};
    CU_ASSERT(chosen(events, 5, alone, 16).worth);
    for (size_t i = 1; i < 5; i += 2)
        events[i].shift = 3;          /* A has another iteration's memory: twice a round 2 ms, in three rounds */
    CU_ASSERT_FALSE(chosen(events, 5, alone, 16).worth);
}

static void no_stretch_is_longer_than_a_plan_holds(void)
{
    const struct tour_event events[] = {event(C, MS), event(A, MS), event(B, MS), event(C, MS), event(A, MS)};
    CU_ASSERT(chosen(events, 5, alone_ns, 3).count <= 3);
    CU_ASSERT_FALSE(chosen(events, 5, alone_ns, 1).worth);
    CU_ASSERT_FALSE(chosen(events, 0, alone_ns, 16).worth);
}

/* An LU factorisation: each invocation a little shorter than the one before, classes of a factor two. */
static void what_changes_steadily_runs_behind_itself(void)
{
    struct store_class classes[] = {{.representative_ns = 400}, {.representative_ns = 200}};
    const struct store_region update = {.classes = classes}, other = {.classes = classes};
    const struct replay_target target = {.region = &update, .class = &classes[1]};
    const struct predecessor same = {.region = &update, .class = &classes[1], .time_ns = 900}, longer = {.region = &update, .class = &classes[0], .time_ns = 290},
                             grid = {.region = &update, .class = &classes[0], .time_ns = 1600}, shorter = {.region = &update, .class = &classes[0], .time_ns = 99},
                             another = {.region = &other, .class = &classes[0], .time_ns = 200};
    CU_ASSERT_TRUE(predecessor_repeats(&same, &target));
    CU_ASSERT_TRUE(predecessor_repeats(&longer, &target));
    CU_ASSERT_FALSE(predecessor_repeats(&grid, &target));        /* another level of a multigrid */
    CU_ASSERT_FALSE(predecessor_repeats(&shorter, &target));
    CU_ASSERT_FALSE(predecessor_repeats(&another, &target));
}

static const struct unit_test tests[] = {
    {"a time step is one closed round", a_time_step_is_one_closed_round},
    {"of an open stretch the first one does not count", of_an_open_stretch_the_first_does_not_count},
    {"what lies between must not cost more than it saves", what_lies_between_must_not_cost_more_than_it_saves},
    {"a region alone is no tour", a_region_alone_is_no_tour},
    {"laying down another invocation's memory has its cost", other_invocations_memory_is_laid_down_at_its_cost},
    {"no stretch is longer than a plan holds", no_stretch_is_longer_than_a_plan_holds},
    {"work that changes steadily runs behind itself, whatever its class", what_changes_steadily_runs_behind_itself},
};

UNIT_MAIN("launcher: tours", tests)
