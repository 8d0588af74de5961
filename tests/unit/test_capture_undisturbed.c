/* tests/unit/test_capture_undisturbed.c - which invocations a stop disturbed, and what they would have taken, on runs made by hand. */
#include "capture-rt/tracer/undisturbed.h"

#include "unit.h"

#include <string.h>

#define MOST 400

struct fixture {
    struct capture_run run;
    struct capture_region region;
    struct capture_invocation list[MOST];
    uint64_t clock_ns;
};

static void fixture_init(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->run.regions = &fixture->region;
    fixture->run.region_count = 1;
    fixture->run.invocations = fixture->region.list = fixture->list;
    fixture->run.stopped = true;
}

/* One more invocation, 10 us after the one before, of so many us, with such words. */
static struct capture_invocation *add(struct fixture *fixture, uint64_t us, uint64_t words)
{
    struct capture_invocation *invocation = &fixture->list[fixture->region.list_count++];
    fixture->clock_ns += 10000;
    *invocation = (struct capture_invocation){.begin_ns = fixture->clock_ns, .end_ns = fixture->clock_ns + us * 1000, .words_hash = words,
                                              .number = fixture->region.list_count, .measured_cpu = true};
    fixture->clock_ns += us * 1000;
    fixture->region.time_ns += us * 1000;
    fixture->region.invocations++;
    fixture->run.invocation_count++;
    fixture->run.serial_ns += 10000;
    fixture->run.wall_ns += 10000 + us * 1000;
    return invocation;
}

static uint64_t us_of(const struct fixture *fixture, size_t number)
{
    return (fixture->list[number - 1].time_ns + 500) / 1000;
}

static void captured_gets_peers(void)
{
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 20; i++)
        add(&f, i == 9 ? 3000 : 1000 + (uint64_t)i, 7)->stopped = i == 9;
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT(us_of(&f, 10) > 1000 && us_of(&f, 10) < 1020);
    CU_ASSERT_EQUAL(us_of(&f, 9), 1008);                        /* before the stop: as measured */
    CU_ASSERT_EQUAL(f.run.uncertain_ns, 0);
    CU_ASSERT_EQUAL(f.run.serial_ns, 200000);
    CU_ASSERT_EQUAL(f.run.wall_ns, f.run.serial_ns + f.region.time_ns);     /* what is taken off a region is taken off the run */
}

/* A first one that sums up energies, which no other does: 5.0 ms in runs without stops; others take 1.7 to 3.4. */
static void first_is_like_no_other(void)
{
    for (int number = 1; number <= 2; number++) {
        struct fixture f;
        fixture_init(&f);
        for (int i = 0; i < 100; i++) {
            struct capture_invocation *invocation = add(&f, i == number - 1 ? 5200 : i < 40 ? 1700 + (uint64_t)(i * 10) : 3400, 7);
            invocation->stopped = i == number - 1;
            invocation->waited_ns = invocation->stopped ? 30000 : 0;
        }
        undisturbed_fill(&f.run, NULL, NULL);
        CU_ASSERT_EQUAL(us_of(&f, (size_t)number) > 4600 && us_of(&f, (size_t)number) < 5200, number == 1);
        CU_ASSERT_EQUAL(f.list[number - 1].vague_ns > 2000000, number == 1);     /* another run tells */
    }
}

static void disturbed_for_long(void)
{
    static const uint64_t slow[] = {3000, 1900, 1600, 1400, 1200, 1100};
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 100; i++)
        add(&f, i >= 40 && i < 46 ? slow[i - 40] : 1000, 7)->stopped = i == 40;
    add(&f, 1500, 7);                                            /* long after: its own affair */
    undisturbed_fill(&f.run, NULL, NULL);
    for (size_t number = 41; number <= 46; number++)
        CU_ASSERT_EQUAL(us_of(&f, number), 1000);
    CU_ASSERT_FALSE(f.list[46].near);
    CU_ASSERT_EQUAL(us_of(&f, 101), 1500);
}

static void words_tell_kinds_apart(void)
{
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 40; i++)
        add(&f, i % 2 ? 9000 : 1000, (uint64_t)(i % 2));
    add(&f, 3000, 0)->stopped = true;                            /* of the short kind */
    for (int i = 0; i < 3; i++)
        add(&f, 1000, 0);
    add(&f, 12000, 1);                                           /* the first with its words after the stop, not the first of its region */
    for (int i = 0; i < 10; i++)
        add(&f, i % 2 ? 9000 : 1000, (uint64_t)(i % 2));
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT_EQUAL(us_of(&f, 41), 1000);
    CU_ASSERT_EQUAL(us_of(&f, 45), 9000);
    CU_ASSERT_TRUE(f.list[44].near);
    CU_ASSERT_EQUAL(f.run.uncertain_ns, 0);
}

static void teams_tell_kinds_apart(void)
{
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 60; i++) {      /* by turns five of one thread and five of two, with words that are never the same */
        struct capture_invocation *invocation = add(&f, i == 27 ? 2600 : i / 5 % 2 ? 1700 : 60, 100 + (uint64_t)i);
        invocation->team = 1 + (uint32_t)(i / 5 % 2);
        invocation->stopped = i == 27;
        invocation->waited_ns = i == 27 ? 2600000 : 0;
    }
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT_EQUAL(us_of(&f, 28), 1700);
}

static void faults_out_of_place(void)
{
    struct fixture f;
    fixture_init(&f);
    add(&f, 1000, 7)->stopped = true;
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 5; i++)
            add(&f, 100, 7);
        struct capture_invocation *large = add(&f, round < 2 ? 38000 : 9000, 7);   /* the same words: nothing but the faults tells */
        large->faults = round < 2 ? 33000 : 0;
    }
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT_EQUAL(us_of(&f, 7), 9000);
    CU_ASSERT_EQUAL(us_of(&f, 13), 9000);
    CU_ASSERT_EQUAL(us_of(&f, 19), 9000);
    CU_ASSERT_EQUAL(f.list[6].faults, 0);                        /* none of them the program's own */
}

/* Grids, from coarse to fine: what 33,000 faults cost is not known well enough to tell the finest from the one before. Where it stands tells: both of the second round, of which
 * none was undisturbed, and the last of the third. */
static void place_tells_kinds_apart(void)
{
    static const uint64_t levels[] = {1, 12, 180, 2400, 18000};
    struct fixture f;
    fixture_init(&f);
    for (int round = 0; round < 5; round++)
        for (int i = 0; i < 5; i++) {
            bool fine = (round == 1 && i >= 3) || (round == 2 && i == 4);
            struct capture_invocation *one = add(&f, fine ? i == 4 ? 38700 : 5400 : levels[i], 7);
            one->faults = fine ? i == 4 ? 33500 : 4300 : 0;
            one->stopped = fine;
        }
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT_EQUAL(us_of(&f, 9), 2400);
    CU_ASSERT_EQUAL(us_of(&f, 10), 18000);
    CU_ASSERT_EQUAL(us_of(&f, 15), 18000);
    CU_ASSERT_EQUAL(us_of(&f, 14), 2400);
}

static void steady_change(void)
{
    struct fixture f;
    fixture_init(&f);
    uint64_t us = 40000;
    for (int i = 0; i < 100; i++, us = us * 24 / 25) {
        struct capture_invocation *one = add(&f, i % 9 == 4 ? 2 * us : us, 7);
        one->stopped = i % 9 == 4;
    }
    undisturbed_fill(&f.run, NULL, NULL);
    us = 40000;
    for (size_t i = 0; i < 100; i++, us = us * 24 / 25)
        CU_ASSERT(us_of(&f, i + 1) * 100 >= us * 93 && us_of(&f, i + 1) * 100 <= us * 107);
    CU_ASSERT_EQUAL(f.run.uncertain_ns, 0);
}

static void two_levels(void)
{
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 60; i++) {
        struct capture_invocation *one = add(&f, i == 31 ? 2900 : i % 6 == 1 ? 2000 : 1000, 7);
        one->stopped = i == 31;                                  /* of the longer kind */
    }
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT_EQUAL(us_of(&f, 32), 2000);
    CU_ASSERT_EQUAL(us_of(&f, 38), 2000);
    CU_ASSERT_EQUAL(us_of(&f, 33), 1000);
}

static uint64_t all_pages(const void *context, size_t region, uint64_t invocation)
{
    (void)region, (void)invocation;
    return *(const uint64_t *)context;
}

/* What others share counts as written at each stop: so many faults would have cost twice what it took. */
static void faults_that_cannot_be(void)
{
    struct fixture f;
    fixture_init(&f);
    uint64_t written = 2500;
    for (int i = 0; i < 60; i++) {
        struct capture_invocation *one = add(&f, i == 30 ? 1100 : i % 3 ? 2 : 400, 7);
        one->stopped = i == 30;
        one->measured_cpu = false;
    }
    undisturbed_fill(&f.run, all_pages, &written);
    CU_ASSERT_EQUAL(us_of(&f, 31), 400);
    CU_ASSERT_EQUAL(us_of(&f, 32), 2);
}

/* What a fault costs is the machine's: 33,000 faults of 0.9 us leave nothing of 500 ms that a pass of 34 ms explains, of 14 us they are all of the rest. */
static void faults_that_are_dear(void)
{
    for (int dear = 0; dear < 2; dear++) {
        struct fixture f;
        fixture_init(&f);
        uint64_t written = 33000;
        f.run.fault_ns = dear ? 14000 : 900;
        add(&f, 413000, 7)->fresh = true;
        for (int i = 0; i < 11; i++)
            add(&f, i == 3 ? 502000 : 34000, 7)->stopped = i == 3;
        f.list[4].faults = (uint32_t)written;
        undisturbed_fill(&f.run, all_pages, &written);
        CU_ASSERT_EQUAL(us_of(&f, 5) == 34000, dear == 1);
        CU_ASSERT_EQUAL(us_of(&f, 1), 413000);
        CU_ASSERT_EQUAL(us_of(&f, 6), 34000);
    }
}

/* Of 2 us by itself, and of a team that had no processor for a while behind the stop: the kernel tells that. */
static void waiting_for_processors(void)
{
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 60; i++)
        add(&f, i == 29 ? 4202 : i == 44 ? 4300 : i % 3 == 2 ? 5 : 2, 7)->stopped = i == 29 || i == 44;
    f.list[29].waited_ns = 4200000;
    f.list[29].gathered = f.list[44].gathered = true;
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT_EQUAL(us_of(&f, 30), 2);                          /* most are of that kind */
    CU_ASSERT_TRUE(us_of(&f, 45) >= 4000);                      /* nobody waited: that is its work */
}

/* Threads that were asleep are woken, one after the other. */
static void team_gathered_anew(void)
{
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 60; i++)
        add(&f, i == 0 || i == 29 || i == 44 ? 150 : 2, 7)->stopped = i == 0 || i == 29 || i == 44;
    f.list[0].gathered = f.list[29].gathered = true;
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT_EQUAL(us_of(&f, 30), 2);
    CU_ASSERT_EQUAL(us_of(&f, 1), 150);                         /* the first one takes longer by itself */
    CU_ASSERT_EQUAL(us_of(&f, 45), 150);                        /* one thread: nothing is gathered */
}

/* Nothing is like it: what a thread waited is taken off, and doubtful. */
static void waited_alone(void)
{
    struct fixture f;
    fixture_init(&f);
    add(&f, 100000, 7)->stopped = true;
    f.list[0].waited_ns = 10000000;
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT_EQUAL(us_of(&f, 1), 90000);
    CU_ASSERT_EQUAL(f.run.uncertain_ns, 3000000);
}

/* A dynamic loop of 2.1 ms, of which one of two threads had no processor for 4: the other one did nearly all. Recorded as 1.0, a quarter. */
static void waited_while_others_worked(void)
{
    struct fixture f;
    for (int shares = 0; shares < 2; shares++) {
        fixture_init(&f);
        f.region.shares = shares;
        struct capture_invocation *one = add(&f, 4100, 7);
        one->stopped = one->gathered = true;
        one->team = 2;
        one->waited_ns = 4000000;
        undisturbed_fill(&f.run, NULL, NULL);
        CU_ASSERT_EQUAL(us_of(&f, 1), shares ? 2100 : 1025);
        CU_ASSERT_EQUAL(f.run.uncertain_ns, shares ? 600000 : 922500);
        one->waited_ns = 9000000;                                /* some of it beside the invocation */
        undisturbed_fill(&f.run, NULL, NULL);
        CU_ASSERT_EQUAL(us_of(&f, 1), shares ? 2050 : 1025);
    }
}

/* Two that polled while the threads that they poll for were held: as long as their like, or what is left. */
static void polled_while_held(void)
{
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 20; i++)
        add(&f, i == 9 ? 1001500 : 1000 + (uint64_t)i, 7)->stopped = i == 9;
    f.list[9].held_ns = 1000000000;
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT(us_of(&f, 10) > 1000 && us_of(&f, 10) < 1020);
    CU_ASSERT_EQUAL(f.run.uncertain_ns, 0);
    fixture_init(&f);
    add(&f, 1001500, 7)->stopped = true;
    f.list[0].held_ns = 1000000000;
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT_EQUAL(us_of(&f, 1), 1500);
    CU_ASSERT(f.run.uncertain_ns > 1500000);
}

static void first_touch_stays(void)
{
    struct fixture f;
    fixture_init(&f);
    struct capture_invocation *first = add(&f, 80000, 7);
    first->near = first->fresh = true;
    first->faults = 33000;
    for (int i = 0; i < 20; i++)
        add(&f, 30000, 7);
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT_EQUAL(us_of(&f, 1), 80000);
    CU_ASSERT_EQUAL(f.list[0].faults, 33000);
    CU_ASSERT_EQUAL(f.run.uncertain_ns, 0);
}

/* FT's compute_indexmap: two invocations that fill 64 MB, which are new for the first one and protected for the second: 10 ms by itself. */
static void first_touch_is_no_measure_of_faults(void)
{
    struct fixture f;
    fixture_init(&f);
    struct capture_invocation *first = add(&f, 25000, 7);
    first->fresh = first->all_fresh = true;
    first->faults = 16390;
    struct capture_invocation *second = add(&f, 25200, 7);
    second->faults = 16384;
    f.run.fault_ns = 900;
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT_EQUAL(us_of(&f, 1), 25000);
    CU_ASSERT(us_of(&f, 2) > 9000 && us_of(&f, 2) < 13000);
    CU_ASSERT(f.list[1].uncertain_ns > 3000000 && f.list[0].uncertain_ns == 0);
    /* Where half of the first one's faults were of pages that were there, it may have had them for the second one's reason. */
    fixture_init(&f);
    first = add(&f, 25000, 7);
    first->fresh = true;
    first->faults = 16390;
    add(&f, 25200, 7)->faults = 8000;
    f.run.fault_ns = 900;
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT_EQUAL(us_of(&f, 2), 25200);
}

static uint64_t pages(const void *context, size_t region, uint64_t invocation)
{
    (void)region;
    return invocation == 1 ? *(const uint64_t *)context : 0;
}

static void alone_is_uncertain(void)
{
    struct fixture f;
    fixture_init(&f);
    uint64_t written = 10000;
    struct capture_invocation *only = add(&f, 24000, 7);
    only->stopped = true;
    only->faults = 10000;
    undisturbed_fill(&f.run, pages, &written);
    CU_ASSERT(us_of(&f, 1) > 12000 && us_of(&f, 1) < 19000);     /* 0.6 to 1.2 us a fault */
    CU_ASSERT(f.run.uncertain_ns > 1000000 && f.run.uncertain_ns < 6000000);
    CU_ASSERT_EQUAL(f.run.uncertain_ns, f.list[0].uncertain_ns);
}

/* A loop over arrays of which one is new: 1.16 ms with 387 pages that it makes, and six that tracking had protected; then 0.56. */
static void first_touch_beside_few_faults(void)
{
    struct fixture f;
    for (uint64_t written = 6; written <= 393; written += 387) {
        fixture_init(&f);
        struct capture_invocation *first = add(&f, 1162, 7);
        first->stopped = true;
        first->faults = 393;
        for (int i = 0; i < 19; i++)
            add(&f, 560 + (uint64_t)i % 3, 7);
        undisturbed_fill(&f.run, pages, &written);
        if (written == 6) {
            CU_ASSERT(f.list[0].fresh && us_of(&f, 1) >= 1152 && us_of(&f, 1) <= 1162);
            CU_ASSERT_EQUAL(f.list[0].faults, 387);
        } else
            CU_ASSERT(!f.list[0].fresh && us_of(&f, 1) < 600);      /* all of them were tracking's */
        CU_ASSERT_EQUAL(us_of(&f, 3), 561);
    }
}

/* zero3 of MG, class W: the finest grid, whose words nothing undisturbed has, with 4292 faults, and coarser ones. These do not speak for it: what its faults cost is known
 * to 1.2 ms at best. */
static void faults_make_it_none_of_other_words(void)
{
    static const uint64_t levels[] = {3, 2, 5, 27, 171, 289};
    struct fixture f;
    fixture_init(&f);
    uint64_t written = 4296;
    struct capture_invocation *finest = add(&f, 5000, 9);
    finest->stopped = true;
    finest->faults = 4292;
    for (int cycle = 0; cycle < 5; cycle++)
        for (int i = 0; i < 6; i++)
            add(&f, levels[i], 7);
    undisturbed_fill(&f.run, pages, &written);
    CU_ASSERT(us_of(&f, 1) >= 1000 && us_of(&f, 1) < 2500);      /* undisturbed 1200 */
    CU_ASSERT(f.run.uncertain_ns > 500000 && f.run.uncertain_ns < 2000000);
}

/* A search tree of another size each time, with the same words: what a stop leaves does not make 120 ms 246. */
static void long_ones_differ_by_themselves(void)
{
    const uint64_t ms[] = {117, 124, 246, 120, 119, 37};
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++)
        add(&f, 1000 * ms[i], 7)->stopped = ms[i] == 246 || ms[i] == 124;
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT_EQUAL(us_of(&f, 3), 246000);
    CU_ASSERT(us_of(&f, 2) >= 117000 && us_of(&f, 2) <= 120000);         /* 4 ms it does */
}

static void nothing_stopped(void)
{
    struct fixture f;
    fixture_init(&f);
    f.run.stopped = false;
    for (int i = 0; i < 5; i++)
        add(&f, i == 2 ? 5000 : 1000, 7)->faults = i == 2 ? 4000 : 0;
    f.run.probe_ns = 30;
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT_EQUAL(f.list[2].time_ns, 5000000 - 30);
    CU_ASSERT_EQUAL(f.list[2].faults, 4000);
    CU_ASSERT_EQUAL(f.region.time_ns, 9000000 - 5 * 30);
}

static void other_run_mends(void)
{
    struct fixture one, two;
    fixture_init(&one);
    fixture_init(&two);
    uint64_t written = 10000;
    for (int i = 0; i < 3; i++) {
        struct capture_invocation *a = add(&one, i == 0 ? 24000 : (uint64_t)(2000 * i), (uint64_t)i), *b = add(&two, i == 0 ? 15000 : (uint64_t)(2100 * i), (uint64_t)i);
        a->stopped = i == 0;
        a->faults = i == 0 ? 10000 : 0;
        b->faults = 0;
    }
    undisturbed_fill(&one.run, pages, &written);
    two.run.stopped = false;
    undisturbed_fill(&two.run, NULL, NULL);
    two.run.serial_ns -= 5000;
    uint64_t second_ns = one.list[1].time_ns;
    CU_ASSERT(one.run.uncertain_ns > 0);
    one.run.as_run_ns = 50000;
    one.run.waited_ns = 10000;
    two.run.as_run_ns = 400000;
    two.run.waited_ns = 300000;
    undisturbed_take(&one.run, &two.run);
    CU_ASSERT_EQUAL(one.run.waited_ns, 300000);                  /* of the run that waited more */
    CU_ASSERT_EQUAL(one.run.as_run_ns, 400000);
    CU_ASSERT_EQUAL(us_of(&one, 1), 15000);
    CU_ASSERT_EQUAL(one.run.uncertain_ns, 0);
    CU_ASSERT(one.list[1].near || one.list[1].time_ns == second_ns);
    CU_ASSERT_EQUAL(one.run.serial_ns, 25000);                   /* the lesser of both */
    CU_ASSERT_EQUAL(one.run.wall_ns, one.run.serial_ns + one.region.time_ns);
}

static void other_run_of_another_course(void)
{
    struct fixture one, two;
    fixture_init(&one);
    fixture_init(&two);
    uint64_t written = 10000;
    struct capture_invocation *a = add(&one, 24000, 1);
    a->stopped = true;
    a->faults = 10000;
    add(&two, 500, 2);                                           /* not the same words: another invocation */
    undisturbed_fill(&one.run, pages, &written);
    two.run.stopped = false;
    undisturbed_fill(&two.run, NULL, NULL);
    uint64_t before_ns = one.list[0].time_ns;
    undisturbed_take(&one.run, &two.run);
    CU_ASSERT_EQUAL(one.list[0].time_ns, before_ns);
    CU_ASSERT(one.run.uncertain_ns > 0);
}

/* Two plain runs: what they take is what the machine made of them. */
static void plain_runs(struct fixture *one, struct fixture *two)
{
    fixture_init(one);
    fixture_init(two);
    one->run.stopped = two->run.stopped = false;
}

static void machine_stretched(void)
{
    struct fixture one, two;
    plain_runs(&one, &two);
    for (int i = 0; i < 20; i++) {
        add(&one, i == 9 ? 3000 : i == 14 ? 2500 : 1000, 7);     /* 10: only here. 15: in both runs. 12: only in the other */
        add(&two, i == 11 ? 3000 : i == 14 ? 2600 : 1010, 7);
    }
    undisturbed_fill(&one.run, NULL, NULL);
    undisturbed_fill(&two.run, NULL, NULL);
    undisturbed_take(&one.run, &two.run);
    CU_ASSERT_EQUAL(us_of(&one, 10), 1010);
    CU_ASSERT_EQUAL(us_of(&one, 12), 1000);
    CU_ASSERT_EQUAL(us_of(&one, 15), 2500);
    CU_ASSERT_EQUAL(us_of(&one, 1), 1000);                       /* what is usual stays as it was measured */
    CU_ASSERT_EQUAL(one.region.time_ns, 21510000);
    CU_ASSERT_EQUAL(one.run.wall_ns, one.run.serial_ns + one.region.time_ns);
}

/* Times go up and down by chance between 1 and 2 ms: one that was stopped, and took 2.2, could have been any of these; as one of two kinds far apart it is told. */
static void vague_where_times_scatter(void)
{
    struct fixture f, other;
    fixture_init(&f);
    fixture_init(&other);
    for (uint64_t i = 0; i < 40; i++) {
        add(&f, i == 20 ? 2200 : 1000 + i * 370 % 1000, 7)->stopped = i == 20;
        add(&other, i == 20 ? 1300 : i % 3 ? 1000 : 9000, 7)->stopped = i == 20;
    }
    undisturbed_fill(&f.run, NULL, NULL);
    undisturbed_fill(&other.run, NULL, NULL);
    CU_ASSERT(f.list[20].vague_ns > 200000 && f.list[20].vague_ns < 1000000);
    CU_ASSERT_EQUAL(f.list[19].vague_ns, 0);
    CU_ASSERT_EQUAL(us_of(&other, 21), 1000);
    CU_ASSERT_EQUAL(other.list[20].vague_ns, 0);
}

static uint64_t hundred_pages(const void *context, size_t region, uint64_t invocation)
{
    (void)context;
    (void)region;
    (void)invocation;
    return 100;
}

/* All others take 147 us, and 100 faults of 900 ns more would be 237: one that took 145 with them is another's like, which only another run can tell. */
static void vague_where_too_short(void)
{
    struct fixture f;
    fixture_init(&f);
    for (uint64_t i = 0; i < 40; i++) {
        struct capture_invocation *one = add(&f, i == 20 ? 145 : 147, 7);
        one->stopped = i == 20;
        one->faults = one->stopped ? 100 : 0;
    }
    undisturbed_fill(&f.run, hundred_pages, NULL);
    CU_ASSERT_EQUAL(us_of(&f, 21), 147);
    CU_ASSERT(f.list[20].vague_ns > 50000 && f.list[20].vague_ns < 100000);
}

/* The capture's own allocator kept what the program's may have mapped anew each time: 100 ms more, perhaps. */
static void large_blocks_are_uncertain(void)
{
    struct fixture f;
    fixture_init(&f);
    struct capture_invocation *one = add(&f, 20000, 7);
    one->stopped = true;
    one->large_pages = 100000;
    f.run.fault_ns = 1000;
    undisturbed_fill(&f.run, NULL, NULL);
    CU_ASSERT_EQUAL(us_of(&f, 1), 20000);
    CU_ASSERT(f.run.uncertain_ns >= 100000000 && f.run.uncertain_ns < 110000000);
}

/* Another run, which was not stopped there, knows. */
static void vague_no_more(void)
{
    struct fixture one, two;
    plain_runs(&one, &two);
    one.run.stopped = true;
    for (uint64_t i = 0; i < 40; i++) {
        add(&one, i == 20 ? 2200 : 1000 + i * 370 % 1000, 7)->stopped = i == 20;
        add(&two, i == 20 ? 1700 : 1000 + i * 370 % 1000, 7);
    }
    undisturbed_fill(&one.run, NULL, NULL);
    undisturbed_fill(&two.run, NULL, NULL);
    CU_ASSERT(one.list[20].vague_ns > 0);
    undisturbed_take(&one.run, &two.run);
    CU_ASSERT_EQUAL(us_of(&one, 21), 1700);
    CU_ASSERT_EQUAL(one.list[20].vague_ns, 0);
}

/* The machine stood still in one of many short ones: it weighs, so that the next run stops at it, and can tell what it takes but roughly. */
static void stood_still_where_the_next_run_stops(void)
{
    struct fixture one, two;
    plain_runs(&one, &two);
    two.run.stopped = true;
    for (int i = 0; i < 20; i++) {
        add(&one, i == 9 ? 400000 : i == 14 ? 20 : 2, 7);
        struct capture_invocation *b = add(&two, i == 9 || i == 14 ? 40 : 2, 7);
        b->stopped = i == 9 || i == 14;
        b->faults = b->stopped ? 10 : 0;
    }
    undisturbed_fill(&one.run, NULL, NULL);
    undisturbed_fill(&two.run, NULL, NULL);
    uint64_t uncertain_ns = two.list[9].uncertain_ns;
    CU_ASSERT(uncertain_ns > 0);
    undisturbed_take(&one.run, &two.run);
    CU_ASSERT(us_of(&one, 10) >= 10 && us_of(&one, 10) <= 40);
    CU_ASSERT_EQUAL(us_of(&one, 15), 20);                        /* not beyond what it may take there */
    CU_ASSERT_EQUAL(one.run.uncertain_ns, uncertain_ns);
    CU_ASSERT_EQUAL(one.run.wall_ns, one.run.serial_ns + one.region.time_ns);
}

static void stretched_elsewhere(void)
{
    struct fixture one, two;
    uint64_t written = 100;
    plain_runs(&one, &two);
    one.run.stopped = true;
    for (int i = 0; i < 20; i++) {
        struct capture_invocation *a = add(&one, i == 9 ? 1300 : 1000, i == 9 ? 8 : 7);
        a->stopped = i == 9;
        add(&two, i == 9 ? 9000 : 1000, i == 9 ? 8 : 7);
    }
    undisturbed_fill(&one.run, pages, &written);
    uint64_t before_ns = one.list[9].time_ns;
    undisturbed_fill(&two.run, NULL, NULL);
    undisturbed_take(&one.run, &two.run);
    CU_ASSERT_EQUAL(one.list[9].time_ns, before_ns);             /* disturbed here, but far longer, and out of the ordinary, there */
}

/* Each takes another time: the usual one tells nothing of the longest, which the other run measured. */
static void times_of_all_sizes(void)
{
    static const uint64_t us[] = {10000, 3500, 20800, 9800, 11000, 4500, 4700, 3700, 500, 900, 1700, 700};
    struct fixture one, two, near;
    uint64_t written = 100;
    plain_runs(&one, &two);
    fixture_init(&near);
    one.run.stopped = true;
    for (size_t i = 0; i < sizeof us / sizeof *us; i++) {
        add(&one, i == 2 ? 21500 : us[i], 7)->stopped = i == 2;
        add(&two, us[i], 7);
        add(&near, us[i], 7)->near = i == 2;
    }
    undisturbed_fill(&one.run, pages, &written);
    CU_ASSERT(one.list[2].vague_ns > 5000000);                  /* one of 11 ms is like it at best */
    undisturbed_fill(&two.run, NULL, NULL);
    undisturbed_take(&one.run, &two.run);
    CU_ASSERT_EQUAL(us_of(&one, 3), 20800);
    CU_ASSERT_EQUAL(us_of(&one, 1), 10000);
    near.run.stopped = false;
    undisturbed_fill(&near.run, NULL, NULL);
    CU_ASSERT_EQUAL(us_of(&near, 3), 20800);                    /* that a stop was nearby does not halve it */
    CU_ASSERT(near.list[2].uncertain_ns > 0);
}

static void other_order(void)
{
    struct fixture one, two;
    plain_runs(&one, &two);
    for (int i = 0; i < 20; i++) {
        add(&one, i == 10 ? 4000 : i % 2 ? 2000 : 1000, (uint64_t)(i % 2));
        add(&two, i % 2 ? 1000 : 2000, (uint64_t)((i + 1) % 2)); /* two threads enter it in turn, the other one first */
    }
    undisturbed_fill(&one.run, NULL, NULL);
    undisturbed_fill(&two.run, NULL, NULL);
    undisturbed_take(&one.run, &two.run);
    CU_ASSERT_EQUAL(us_of(&one, 11), 1000);                      /* number 11 has other words, and takes 2000, in the other run */
    CU_ASSERT_EQUAL(us_of(&one, 12), 2000);
}

/* Where captured regions made blocks, what was one array's address in one run is the next one's in the other: the number tells. */
static void other_places(void)
{
    struct fixture one, two;
    plain_runs(&one, &two);
    one.run.blocks_moved = true;
    for (int i = 0; i < 20; i++) {
        add(&one, i == 10 ? 4000 : i % 2 ? 2000 : 1000, (uint64_t)(i % 2));
        add(&two, i % 2 ? 2000 : 1000, (uint64_t)(i % 2 + 1));
    }
    undisturbed_fill(&one.run, NULL, NULL);
    undisturbed_fill(&two.run, NULL, NULL);
    undisturbed_take(&one.run, &two.run);
    CU_ASSERT_EQUAL(us_of(&one, 11), 1000);
    CU_ASSERT_EQUAL(us_of(&one, 12), 2000);
}

/* But not where the program's own threads enter it: their numbers say nothing either. */
static void other_places_of_threads(void)
{
    struct fixture one, two;
    plain_runs(&one, &two);
    one.run.blocks_moved = true;
    one.region.foreign = two.region.foreign = 20;
    for (int i = 0; i < 20; i++) {
        add(&one, i == 10 ? 4000 : i % 2 ? 2000 : 1000, (uint64_t)(i % 2));
        add(&two, i % 2 ? 1000 : 2000, (uint64_t)((i + 1) % 2));
    }
    undisturbed_fill(&one.run, NULL, NULL);
    undisturbed_fill(&two.run, NULL, NULL);
    undisturbed_take(&one.run, &two.run);
    CU_ASSERT_EQUAL(us_of(&one, 11), 1000);
}

/* One that waited for a processor, one that slept (its CPU time is no clue), one that was interrupted for no time that matters. */
static void interrupted_by_others(void)
{
    struct fixture f;
    fixture_init(&f);
    f.run.threads = 1;
    f.run.stopped = false;
    for (int i = 0; i < 20; i++)
        add(&f, i == 4 ? 5000 : i == 9 ? 41000 : 1000, 7)->switches = i == 4 || i == 9 || i == 12;
    f.list[4].cpu_ns = 1010000;
    f.list[12].cpu_ns = 950000;
    undisturbed_fill(&f.run, NULL, NULL);
    for (int again = 0; again < 2; again++) {
        undisturbed_uninterrupt(&f.run);
        CU_ASSERT_EQUAL(us_of(&f, 5), 1010);
        CU_ASSERT_EQUAL(f.list[4].switches, 0);
        CU_ASSERT_EQUAL(us_of(&f, 10), 41000);
        CU_ASSERT_EQUAL(f.list[9].switches, 1);
        CU_ASSERT_EQUAL(us_of(&f, 13), 1000);
        CU_ASSERT_EQUAL(f.region.time_ns, (18 * 1000 + 1010 + 41000) * 1000);
        CU_ASSERT_EQUAL(f.run.wall_ns, f.run.serial_ns + f.region.time_ns);
    }
    fixture_init(&f);
    f.run.threads = 2;
    for (int i = 0; i < 3; i++)
        add(&f, 5000, 7)->cpu_ns = 1000000;
    f.list[1].switches = 1;
    undisturbed_fill(&f.run, NULL, NULL);
    undisturbed_uninterrupt(&f.run);
    CU_ASSERT_EQUAL(us_of(&f, 2), 5000);
}

static const struct unit_test tests[] = {
    {"a captured invocation gets the time of those with the same words", captured_gets_peers},
    {"a first invocation that takes far longer is like no other, whatever it was disturbed by", first_is_like_no_other},
    {"those after a stop are disturbed until they take what their like take", disturbed_for_long},
    {"the first one with its words after a stop is disturbed, wherever it comes", words_tell_kinds_apart},
    {"faults of tracking far from a stop are found and taken off", faults_out_of_place},
    {"where kinds cannot be told apart by what faults cost, an invocation's place in the region's order tells", place_tells_kinds_apart},
    {"where times change steadily, neighbours speak for a captured invocation, and those after it stay", steady_change},
    {"invocations of another team are of no kind with it, whatever explains its time", teams_tell_kinds_apart},
    {"of two kinds with the same words, the one is taken that explains the time", two_levels},
    {"what threads waited for processors behind a stop is none of a captured invocation's time", waiting_for_processors},
    {"nor is what it takes to gather its team anew", team_gathered_anew},
    {"where nothing is like it, waits are taken off and leave a doubt", waited_alone},
    {"where threads take what is left to do, the team loses its share of what one waited", waited_while_others_worked},
    {"one that polled while other threads were held takes what its like take, or what is left", polled_while_held},
    {"faults that would cost more than an invocation took make it none of a fast kind", faults_that_cannot_be},
    {"what a fault costs is the machine's", faults_that_are_dear},
    {"memory that is touched for the first time costs what it costs", first_touch_stays},
    {"and tells nothing of what the next one's faults are", first_touch_is_no_measure_of_faults},
    {"a first invocation's faults of pages that had not been there are its own", first_touch_beside_few_faults},
    {"where nothing else tells, faults are taken off, and the time is uncertain", alone_is_uncertain},
    {"kinds with other words that take less than what faults may cost do not speak for an invocation", faults_make_it_none_of_other_words},
    {"a long invocation of a region whose work differs keeps what it took", long_ones_differ_by_themselves},
    {"a run without stops is as it was measured", nothing_stopped},
    {"what was disturbed in one run is taken from another", other_run_mends},
    {"an invocation of another course of the program mends nothing", other_run_of_another_course},
    {"what stands out from its like in one run alone takes what it takes in the other", machine_stretched},
    {"what stands out in the other run mends nothing", stretched_elsewhere},
    {"among times of all sizes nothing stands out", times_of_all_sizes},
    {"an invocation in which the machine stood still is told by the next run, though that stopped at it", stood_still_where_the_next_run_stops},
    {"where times scatter, what a stopped invocation takes is not known", vague_where_times_scatter},
    {"nor where it took less than its like and its faults together", vague_where_too_short},
    {"another run that was not stopped there tells", vague_no_more},
    {"nor is it of one that allocates large blocks again and again", large_blocks_are_uncertain},
    {"with one thread, what waited for a processor counts with its CPU time, in its region and the run, too; what slept keeps its time", interrupted_by_others},
    {"where threads take turns in another order, argument words tell which is which", other_order},
    {"where blocks lie elsewhere, numbers tell which is which", other_places},
    {"where blocks lie elsewhere and threads take turns, argument words still do", other_places_of_threads},
};

UNIT_MAIN("capture_undisturbed", tests)
