/* tests/unit/test_predictor_members.c - classes of invocations at another thread count. */
#include "predictor/members.h"

#include "unit.h"

#define COUNT 60

/* Around `time_ns`, 1 % to either side. */
static uint64_t about(uint64_t time_ns, size_t i)
{
    return time_ns + time_ns / 100 * (i % 3) - time_ns / 100;
}

static void one_class_stays_one(void)
{
    uint64_t times_ns[COUNT], mean_ns, like_ns;
    for (size_t i = 0; i < COUNT; i++)
        times_ns[i] = about(500000, i);
    CU_ASSERT_EQUAL_FATAL(members_judge(times_ns, COUNT, 7, 1, &mean_ns, &like_ns, NULL), PCERE_OK);
    CU_ASSERT_DOUBLE_EQUAL((double)mean_ns, 500000, 10);
    CU_ASSERT_EQUAL(mean_ns, like_ns);
    CU_ASSERT_DOUBLE_EQUAL(members_ratio((double)mean_ns, (double)like_ns, COUNT, COUNT), 1, 1e-12);
}

/* Every other one takes twice as long with more threads. */
static void a_class_falls_apart(void)
{
    uint64_t times_ns[COUNT], mean_ns, like_ns;
    for (size_t i = 0; i < COUNT; i++)
        times_ns[i] = about(i % 2 ? 1000000 : 500000, i / 2);
    CU_ASSERT_EQUAL_FATAL(members_judge(times_ns, COUNT, 8, 1, &mean_ns, &like_ns, NULL), PCERE_OK);
    CU_ASSERT_DOUBLE_EQUAL((double)mean_ns, 750000, 10);
    CU_ASSERT_DOUBLE_EQUAL((double)like_ns, 500000, 10);
    CU_ASSERT_DOUBLE_EQUAL(members_ratio((double)mean_ns, (double)like_ns, COUNT, COUNT), 1.5, 1e-3);
    CU_ASSERT_EQUAL_FATAL(members_judge(times_ns, COUNT, 9, 1, &mean_ns, &like_ns, NULL), PCERE_OK);
    CU_ASSERT_DOUBLE_EQUAL((double)like_ns, 1000000, 10);
}

static void members_that_differ_by_degree(void)
{
    CU_ASSERT_DOUBLE_EQUAL(members_ratio(550, 1000, 5.5, 10), 1, 1e-12);     /* as at the capture's threads */
    CU_ASSERT_DOUBLE_EQUAL(members_ratio(800, 1000, 5.5, 10), 0.8 / 0.55, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(members_ratio(104, 100, 10, 10), 1, 1e-12);        /* noise */
    CU_ASSERT_DOUBLE_EQUAL(members_ratio(0, 100, 10, 10), 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(members_ratio(100, 100, 0, 0), 1, 1e-12);
}

static const struct unit_test tests[] = {
    {"members that take the same at other threads stay one class", one_class_stays_one},
    {"members that fall into groups are compared with the representative's", a_class_falls_apart},
    {"members that differ by degree are compared with their weight", members_that_differ_by_degree},
};

UNIT_MAIN("predictor: members", tests)
