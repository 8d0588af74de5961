/* tests/unit/test_replay_speed.c - how a codelet's process meets slow processors: with a clock that shows what the test says that the known work takes. */
#include <stdint.h>
#include <time.h>

static int told_time(clockid_t clock, struct timespec *ret_now);
#define clock_gettime told_time
#include "replay-rt/target/speed.c"
#undef clock_gettime
#include "tests/unit/unit.h"

#include <string.h>

enum { FULL_NS = 4900, SLOW_NS = 9800, ALWAYS = 1000000 };

static uint64_t now_ns, reads, slow_reads;      /* the clock; how often it was read; as long as it says slow */
static uint32_t team, slow_thread, at_thread;

/* Each reading is one piece of work later. */
static int told_time(clockid_t clock, struct timespec *ret_now)
{
    (void)clock;
    now_ns += at_thread == slow_thread && reads < slow_reads ? SLOW_NS : FULL_NS;
    reads++;
    *ret_now = (struct timespec){(time_t)(now_ns / 1000000000), (long)(now_ns % 1000000000)};
    return 0;
}

void pcere_team_run(team_fn *run, void *context)
{
    for (at_thread = 0; at_thread < team; at_thread++)
        run(context, at_thread, team);
    at_thread = 0;
}

bool pcere_processors_suffice(uint32_t threads) { return threads <= 4; }
void pcere_processors_any(void) {}
void pcere_plan_progress(struct codelet *codelet) { (void)codelet; }

/* A process of `threads` threads, of which one is slow while the clock is read `slow` times. */
static void process_begin(struct codelet *codelet, uint32_t threads, uint32_t thread, uint64_t slow, uint64_t full_ns, uint64_t await_ns)
{
    static struct replay_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.policy.watch_speed = 1;
    plan.policy.full_ns = full_ns;
    plan.policy.await_ns = await_ns;
    plan.result.threads = team = threads;
    *codelet = (struct codelet){.plan = &plan};
    watched = NULL;
    slow_thread = thread;
    reads = 0;
    slow_reads = slow;
    pcere_speed_begin(codelet);
}

static void full_speed_is_not_waited_for(void)
{
    struct codelet codelet;
    process_begin(&codelet, 2, 0, 0, 0, ALWAYS);
    pcere_speed_await();
    CU_ASSERT_EQUAL(codelet.plan->result.full_ns, FULL_NS);
    CU_ASSERT_EQUAL(codelet.plan->result.awaited_ns, 0);
    CU_ASSERT_EQUAL(pcere_speed_after(), FULL_NS);
    CU_ASSERT_FALSE(pcere_speed_is_slow(pcere_speed_after()));
}

static void one_slow_processor_makes_the_team_slow(void)
{
    struct codelet codelet;
    process_begin(&codelet, 2, 1, UINT64_MAX, 0, 0);
    pcere_speed_await();
    CU_ASSERT_EQUAL(codelet.plan->result.full_ns, FULL_NS);       /* the other one tells */
    CU_ASSERT_EQUAL(pcere_speed_after(), SLOW_NS);
    CU_ASSERT_TRUE(pcere_speed_is_slow(SLOW_NS));
    CU_ASSERT_TRUE(codelet.plan->result.looks == 2 && codelet.plan->result.slower_ppm == 2000000);
    CU_ASSERT_FALSE(pcere_speed_may_wait());
}

static void waiting_ends_when_it_is_over(void)
{
    struct codelet codelet;
    process_begin(&codelet, 2, 1, 100, FULL_NS, ALWAYS);
    pcere_speed_await();
    CU_ASSERT(codelet.plan->result.awaited_ns > 0 && codelet.plan->result.awaited_ns < ALWAYS);
    CU_ASSERT_TRUE(pcere_speed_may_wait());
    CU_ASSERT_FALSE(pcere_speed_is_slow(pcere_speed_after()));
}

static void waiting_ends_when_it_is_enough(void)
{
    struct codelet codelet;
    process_begin(&codelet, 1, 0, UINT64_MAX, FULL_NS, ALWAYS);
    pcere_speed_await();
    CU_ASSERT(codelet.plan->result.awaited_ns >= ALWAYS && codelet.plan->result.awaited_ns < 2 * ALWAYS);
    CU_ASSERT_FALSE(pcere_speed_may_wait());
    uint64_t read = reads;
    pcere_speed_await();                        /* it looks once, and waits no more */
    CU_ASSERT(reads - read < 20);
    CU_ASSERT_TRUE(pcere_speed_is_slow(pcere_speed_after()));
}

static void a_thread_alone_is_the_measure(void)
{
    struct codelet codelet;
    process_begin(&codelet, 2, 0, 0, FULL_NS, 0);
    codelet.plan->policy.alone_ns = FULL_NS / 2;         /* twice the clock then: */
    codelet.plan->policy.alone_clock_ns = FULL_NS / 2;
    CU_ASSERT_EQUAL(full_expected_ns(&codelet.plan->policy, &codelet.plan->result), FULL_NS);
    codelet.plan->policy.alone_clock_ns = FULL_NS;       /* the same clock: both are slow */
    CU_ASSERT_EQUAL(full_expected_ns(&codelet.plan->policy, &codelet.plan->result), FULL_NS / 2);
}

static void nothing_is_timed_where_it_would_say_nothing(void)
{
    struct codelet codelet;
    process_begin(&codelet, 5, 0, 0, 0, ALWAYS);         /* more threads than processors */
    pcere_speed_await();
    CU_ASSERT_EQUAL(pcere_speed_after(), 0);
    CU_ASSERT_FALSE(pcere_speed_is_slow(0));
    CU_ASSERT_FALSE(pcere_speed_may_wait());
    CU_ASSERT_EQUAL(codelet.plan->result.full_ns, 0);
}

static const struct unit_test tests[] = {
    {"full speed is not waited for", full_speed_is_not_waited_for},
    {"one slow processor makes the team slow", one_slow_processor_makes_the_team_slow},
    {"waiting ends when the processor is at full speed again", waiting_ends_when_it_is_over},
    {"waiting ends when it took what it may", waiting_ends_when_it_is_enough},
    {"what a thread alone showed is the measure, at the clock of now", a_thread_alone_is_the_measure},
    {"with more threads than processors nothing is timed", nothing_is_timed_where_it_would_say_nothing},
};

UNIT_MAIN("replay: speed", tests)
