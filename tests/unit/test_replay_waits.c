/* tests/unit/test_replay_waits.c - how long threads waited for a processor: told where two share one, and not known where one of too many is not watched. */
#include "replay-rt/target/waits.c"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <sched.h>

int pcere_descriptor_raise(int descriptor) { return descriptor; }

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
    uint64_t waited_ns = 7;
    CU_ASSERT_FALSE(pcere_waits_so_far(&waited_ns));
    CU_ASSERT_EQUAL(waited_ns, 0);
}

/* Both on one processor, for as long as it takes. A kernel that does not count (CONFIG_SCHED_INFO) says so at once. */
static void sharing_a_processor_is_waiting(void)
{
    cpu_set_t all, one;
    pthread_t rival;
    uint64_t before_ns = 0, now_ns = 0;
    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof all, &all), 0);
    pcere_waits_watch_thread();
    if (!pcere_waits_so_far(&before_ns))
        return;
    CPU_ZERO(&one);
    for (size_t i = 0; !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof one, &one), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&rival, NULL, rival_run, NULL), 0);
    while (pcere_waits_so_far(&now_ns) && now_ns < before_ns + 1000000)
        continue;
    atomic_store(&over, 1);
    pthread_join(rival, NULL);
    sched_setaffinity(0, sizeof all, &all);
    CU_ASSERT(now_ns >= before_ns + 1000000);
}

static void with_more_threads_than_are_watched_nothing_is_known(void)
{
    uint64_t waited_ns = 0;
    for (unsigned i = 0; i < THREADS_MOST; i++)
        pcere_waits_watch_thread();
    CU_ASSERT_FALSE(pcere_waits_so_far(&waited_ns));
}

static const struct unit_test tests[] = {
    {"nothing is known before a thread is watched", nobody_is_watched_at_first},
    {"a thread that shares its processor waits for it", sharing_a_processor_is_waiting},
    {"more threads than are watched: nothing is known", with_more_threads_than_are_watched_nothing_is_known},
};

UNIT_MAIN("replay: waits", tests)
