/* tests/unit/test_launcher_speed.c - which repetitions count where processors were slow, what is known of full speed, and how long it is waited for. */
#include "replay-rt/launcher/speed.h"
#include "tests/unit/unit.h"

enum { FULL_NS = 4900 };

static void slow_ones_do_not_count_beside_others(void)
{
    const uint32_t works_ns[] = {4900, 9800, 5500, 7000};    /* 5500: an eighth more is 5512 */
    const uint64_t times_ns[] = {100, 150, 110, 99};
    bool keep[4];
    CU_ASSERT_EQUAL(speed_choose(times_ns, works_ns, 4, FULL_NS, keep), 0);
    CU_ASSERT_TRUE(keep[0] && !keep[1] && keep[2] && keep[3]);      /* the last one was slow, and yet faster than the others */
}

static void all_count_where_all_are_slow(void)
{
    const uint32_t works_ns[] = {9800, 7350};
    const uint64_t times_ns[] = {100, 150};
    bool keep[2];
    CU_ASSERT_DOUBLE_EQUAL(speed_choose(times_ns, works_ns, 2, FULL_NS, keep), 0.75, 1e-9);
    CU_ASSERT_TRUE(keep[0] && keep[1]);
    CU_ASSERT_EQUAL(speed_choose(times_ns, works_ns, 0, FULL_NS, keep), 0);
}

static void nothing_is_slow_where_nothing_was_timed(void)
{
    const uint32_t works_ns[] = {0, 0}, slow_ns[] = {9800, 7350};
    const uint64_t times_ns[] = {100, 150};
    bool keep[2] = {false, false};
    CU_ASSERT_EQUAL(speed_choose(times_ns, works_ns, 2, FULL_NS, keep), 0);
    CU_ASSERT_TRUE(keep[0] && keep[1]);
    CU_ASSERT_EQUAL(speed_choose(times_ns, slow_ns, 2, 0, keep), 0);
    CU_ASSERT_TRUE(keep[0] && keep[1]);
}

/* A process found this out. */
static void learn(struct speed_known *known, uint32_t threads, uint64_t full_ns, uint64_t alone_ns, uint64_t awaited_ns)
{
    static struct plan_result result;
    result.full_ns = full_ns;
    result.alone_ns = alone_ns;
    result.alone_clock_ns = alone_ns ? 5500 : 0;
    result.awaited_ns = awaited_ns;
    speed_learn(known, threads, &result);
}

static void the_least_counts_for_each_number_of_threads(void)
{
    struct speed_known known = {.program_ns = 6400000000};
    struct plan_policy policy = {.await_ns = 1};
    speed_tell(&known, 1, 2, &policy);
    CU_ASSERT_TRUE(policy.looks && !policy.full_ns && !policy.alone_ns);
    learn(&known, 1, 5000, 4900, 0);
    learn(&known, 2, 5200, 0, 0);
    learn(&known, 2, 5100, 0, 0);
    learn(&known, 2, 5300, 1, 0);
    learn(&known, 2, 0, 0, 0);
    CU_ASSERT_EQUAL(speed_full_ns(&known, 1), 5000);
    CU_ASSERT_EQUAL(speed_full_ns(&known, 2), 5100);
    CU_ASSERT_EQUAL(speed_full_ns(&known, 4), 0);
    speed_tell(&known, 2, 2, &policy);
    CU_ASSERT_TRUE(!policy.looks && policy.full_ns == 5100 && policy.alone_ns == 4900 && policy.alone_clock_ns == 5500);
    speed_tell(&known, 4, 2, &policy);        /* they share cores: a thread alone is no measure */
    CU_ASSERT_TRUE(!policy.looks && !policy.full_ns && !policy.alone_ns && !policy.alone_clock_ns);
    for (uint32_t threads = 3; threads < 100; threads++)      /* more than there is room for */
        learn(&known, threads, threads, 0, 0);
    CU_ASSERT_EQUAL(speed_full_ns(&known, 99), 0);
}

static void waiting_has_an_end(void)
{
    struct speed_known known = {.program_ns = 6400000000};
    struct plan_policy policy = {.await_ns = speed_await_ns(0)};
    CU_ASSERT_EQUAL(policy.await_ns, SPEED_AWAIT_MOST_NS);
    CU_ASSERT_EQUAL(speed_await_ns(1000), 1000 / SPEED_AWAIT_PARTS);
    speed_tell(&known, 2, 2, &policy);        /* 50 ms for two threads */
    CU_ASSERT_EQUAL(policy.await_ns, 50000000);
    learn(&known, 2, FULL_NS, 0, 30000000);
    policy.await_ns = speed_await_ns(0);
    speed_tell(&known, 2, 2, &policy);
    CU_ASSERT_EQUAL(policy.await_ns, 20000000);
    learn(&known, 2, FULL_NS, 0, 30000000);
    speed_tell(&known, 2, 2, &policy);
    CU_ASSERT_EQUAL(policy.await_ns, 0);
    policy.await_ns = speed_await_ns(0);
    speed_tell(&known, 1, 2, &policy);        /* those with one thread have their own */
    CU_ASSERT_EQUAL(policy.await_ns, SPEED_AWAIT_MOST_NS);
}

static const struct unit_test tests[] = {
    {"repetitions on slow processors do not count beside others", slow_ones_do_not_count_beside_others},
    {"where all were slow all count, and by how much is said", all_count_where_all_are_slow},
    {"where nothing was timed, nothing is slow", nothing_is_slow_where_nothing_was_timed},
    {"full speed is the least for each number of threads", the_least_counts_for_each_number_of_threads},
    {"slow processors are waited for a part of what the program takes", waiting_has_an_end},
};

UNIT_MAIN("launcher: speed", tests)
