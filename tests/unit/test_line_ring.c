/* tests/unit/test_line_ring.c - what a cache line takes from one thread to the next, and threads that do not come. */
#include "include/pcere/line_ring.h"
#include "tests/unit/unit.h"

#include <pthread.h>

enum { THREADS = 3 };

struct member { struct line_ring *ring; uint32_t number; uint64_t line_ns; };

static void *member_pass(void *context)
{
    struct member *member = context;
    member->line_ns = line_ring_ns(member->ring, member->number, THREADS);
    return NULL;
}

/* However long threads wait for processors here: the first one knows a time, or all gave up. */
static void a_ring_is_gone_around(void)
{
    static struct line_ring ring;
    struct member members[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        members[i] = (struct member){&ring, i, 1};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, member_pass, &members[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    uint32_t hops = (LINE_RING_HOPS + THREADS - 1) / THREADS * THREADS;
    CU_ASSERT(!members[0].line_ns || atomic_load(&ring.turn) == LINE_RING_TRIES * hops);
    CU_ASSERT_EQUAL(members[1].line_ns, 0);
    CU_ASSERT_EQUAL(members[2].line_ns, 0);
}

static void nobody_is_waited_for_for_ever(void)
{
    static struct line_ring alone, late;
    CU_ASSERT_EQUAL(line_ring_ns(&alone, 0, 2), 0);
    CU_ASSERT_EQUAL(atomic_load(&alone.turn), LINE_RING_BROKEN);
    CU_ASSERT_EQUAL(line_ring_ns(&late, 1, 2), 0);
    CU_ASSERT_EQUAL(line_ring_ns(&late, 0, 2), 0);        /* the one before has given up */
}

static const struct unit_test tests[] = {
    {"a ring is gone around", a_ring_is_gone_around},
    {"nobody is waited for for ever", nobody_is_waited_for_for_ever},
};

UNIT_MAIN("line ring", tests)
