/* locks_nested.c - a lock that its owner may take again. */
#include "check.h"
#include <omp.h>

static omp_nest_lock_t lock;
static int depth_sum;

static void descend(int depth)
{
    omp_set_nest_lock(&lock);
    depth_sum += depth;
    if (depth > 0)
        descend(depth - 1);
    omp_unset_nest_lock(&lock);
}

int main(void)
{
    omp_init_nest_lock(&lock);
#pragma omp parallel for
    for (int i = 0; i < 50; i++) {
        descend(4);
        int level = omp_test_nest_lock(&lock);
        if (level) {
            CHECK(level == 1);
            CHECK(omp_test_nest_lock(&lock) == 2);
            omp_unset_nest_lock(&lock);
            omp_unset_nest_lock(&lock);
        }
    }
    omp_destroy_nest_lock(&lock);
    CHECK(depth_sum == 50 * 10);
    return 0;
}
