/* tests/unit/test_replay_waits.c - how long threads waited for a processor: told where two share one, and not known where one of too many is not watched. */
#include "replay-rt/target/waits.c"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <sched.h>

int pcere_descriptor_raise(int descriptor) { return descriptor; }

uint32_t pcere_processors_of(uint32_t wanted) { return wanted < 2 ? wanted : 2; }

static _Atomic int over;

static void *rival_run(void *context)
{
    (void)context;
    while (!atomic_load(&over))
        continue;
    return NULL;
}

static void nobody_is_watched_at_first(void)
{
    struct team_waits waits = {.count = 7};
    uint64_t foreign_ns, longest_ns;
    CU_ASSERT_FALSE(pcere_waits_so_far(&waits));
    CU_ASSERT_EQUAL(waits.count, 0);
    CU_ASSERT_FALSE(pcere_waits_for_others(&waits, &foreign_ns, &longest_ns));
}

/* Both on one processor, for as long as it takes. A kernel that does not count (CONFIG_SCHED_INFO) says so at once. */
static void sharing_a_processor_is_waiting(void)
{
    cpu_set_t all, one;
    pthread_t rival;
    struct team_waits before, now;
    uint64_t waited_ns = 0, foreign_ns = 0, longest_ns = 0;
    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof all, &all), 0);
    pcere_waits_watch_thread();
    if (!pcere_waits_so_far(&before))
        return;
    CPU_ZERO(&one);
    for (size_t i = 0; !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof one, &one), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&rival, NULL, rival_run, NULL), 0);
    while (waited_ns < 1000000 && pcere_waits_so_far(&now))
        waited_ns = pcere_waits_between(&before, &now);
    bool known = pcere_waits_for_others(&before, &foreign_ns, &longest_ns);          /* the rival is not watched */
    atomic_store(&over, 1);
    pthread_join(rival, NULL);
    sched_setaffinity(0, sizeof all, &all);
    CU_ASSERT(waited_ns >= 1000000);
    CU_ASSERT_TRUE(known);
    CU_ASSERT(foreign_ns >= waited_ns && longest_ns == foreign_ns);
    CU_ASSERT(CPU_COUNT(&all) == 1 || !pcere_waits_for_others(&before, &foreign_ns, &longest_ns));     /* it may use several now */
}

/* Threads 0 and 1 on processor 5, 2 and 3 on 3, all at work for as long. */
static void who_waited_for_more_than_its_team_waited_for_others(void)
{
    static const int processors[] = {5, 5, 3, 3};
    const struct team_waits before = {.count = 4, .ran_ns = {10, 20, 30, 40}, .waited_ns = {1, 2, 3, 4}};
    uint64_t longest_ns;
    struct team_waits after = {.count = 4, .ran_ns = {110, 120, 130, 140}, .waited_ns = {101, 102, 103, 104}};
    CU_ASSERT_EQUAL(pcere_waits_between(&before, &after), 400);
    CU_ASSERT_EQUAL(pcere_waits_foreign_ns(&before, &after, processors, &longest_ns), 0);
    after.ran_ns[3] = 60;                       /* it sleeps: the other waits less */
    after.waited_ns[2] = 25;
    CU_ASSERT_EQUAL(pcere_waits_foreign_ns(&before, &after, processors, &longest_ns), 2 + 0);
    after.waited_ns[2] = 23;
    CU_ASSERT_EQUAL(pcere_waits_foreign_ns(&before, &after, processors, &longest_ns), 0);
    after.waited_ns[0] = 151, after.waited_ns[1] = 152;      /* both wait for a third for 50 */
    CU_ASSERT_EQUAL(pcere_waits_foreign_ns(&before, &after, processors, &longest_ns), 50);
    after.waited_ns[2] = 33;
    CU_ASSERT_EQUAL(pcere_waits_foreign_ns(&before, &after, processors, &longest_ns), 60);
    CU_ASSERT_EQUAL(longest_ns, 50);            /* of one processor */
}

static void with_more_threads_than_are_watched_nothing_is_known(void)
{
    struct team_waits waits;
    for (unsigned i = 0; i < WATCHED_MOST; i++)
        pcere_waits_watch_thread();
    CU_ASSERT_FALSE(pcere_waits_so_far(&waits));
}

/* Two threads, a run of 1000 ns. */
static uint64_t lost_ns(uint64_t first_ns, uint64_t second_ns)
{
    struct team_waits before = {.count = 2, .waited_ns = {5, 7}}, after = {.count = 2, .waited_ns = {5 + first_ns, 7 + second_ns}};
    return pcere_waits_lost(&before, &after, 1000);
}

static void who_waits_at_the_same_time_loses_it_once(void)
{
    CU_ASSERT_EQUAL(lost_ns(100, 150), 250);        /* in turn */
    CU_ASSERT_EQUAL(lost_ns(500, 480), 500);        /* at once */
    CU_ASSERT_EQUAL(lost_ns(250, 250), 375);        /* half of each */
    CU_ASSERT_EQUAL(lost_ns(900, 0), 900);          /* alone */
}

/* Two processors. */
static void what_the_process_used_itself_nobody_else_had(void)
{
    CU_ASSERT_EQUAL(pcere_waits_foreign_most(300, 1000, 1700), 300);
    CU_ASSERT_EQUAL(pcere_waits_foreign_most(300, 1000, 1900), 100);
    CU_ASSERT_EQUAL(pcere_waits_foreign_most(900, 1000, 2000), 0);       /* four threads of its own took turns */
    CU_ASSERT_EQUAL(pcere_waits_foreign_most(900, 1000, 2100), 0);
}

/* Two processors, two threads that share out 1,240 ns of work and each have a third of a processor: 2,066 ns, of which 620 are left. */
static void what_others_do_meanwhile_is_lost_by_their_number(void)
{
    struct team_waits before = {.count = 2, .waited_ns = {3, 4}}, after = {.count = 2, .waited_ns = {3 + 1500, 4 + 1392}};
    CU_ASSERT_EQUAL(pcere_waits_shared(&before, &after, 2, 2066, 1240), 1446);
    CU_ASSERT_EQUAL(pcere_waits_shared(&before, &after, 2, 2066, 2000), 1066);      /* no more than nobody used */
    CU_ASSERT_EQUAL(pcere_waits_shared(&before, &before, 2, 2066, 1240), 0);
    CU_ASSERT_EQUAL(pcere_waits_shared(&before, &after, 0, 2066, 1240), 2892);
}

static const struct unit_test tests[] = {
    {"nothing is known before a thread is watched", nobody_is_watched_at_first},
    {"a thread that shares its processor waits for it", sharing_a_processor_is_waiting},
    {"a thread that waited for longer than others of its team ran waited for somebody else", who_waited_for_more_than_its_team_waited_for_others},
    {"more threads than are watched: nothing is known", with_more_threads_than_are_watched_nothing_is_known},
    {"who waits at the same time loses it once", who_waits_at_the_same_time_loses_it_once},
    {"what the process used itself nobody else had", what_the_process_used_itself_nobody_else_had},
    {"threads that share out their work lose what one waits by their number", what_others_do_meanwhile_is_lost_by_their_number},
};

UNIT_MAIN("replay: waits", tests)
