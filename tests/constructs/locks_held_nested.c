/* locks_held_nested.c - locks that are held where a region starts, twice by the initial thread, or once by another; and where it ends. */
#include "check.h"
#include <omp.h>

static omp_nest_lock_t nested, of_another;
static omp_lock_t hinted, kept;
static int counts[3], tried[3], other_has_it;

int main(void)
{
    omp_init_nest_lock(&nested);
    omp_init_nest_lock(&of_another);
    omp_init_lock_with_hint(&hinted, omp_sync_hint_uncontended);
    omp_init_lock(&kept);
    omp_set_nest_lock(&nested);
    omp_set_nest_lock(&nested);
    omp_set_lock(&hinted);
    for (int step = 0; step < 3; step++) {
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num() == omp_get_num_threads() - 1)
                omp_set_nest_lock(&of_another);
#pragma omp barrier
#pragma omp master
            {
                counts[step] = omp_test_nest_lock(&nested);
                tried[step] = omp_test_lock(&hinted) * 10 + (step == 1 && omp_test_lock(&kept));
                other_has_it = omp_get_num_threads() > 1 && omp_test_nest_lock(&of_another);
            }
        }
    }
    CHECK(counts[0] == 3 && counts[1] == 4 && counts[2] == 5);
    CHECK(tried[0] == 0 && tried[1] == 1 && tried[2] == 0 && !other_has_it);
    return 0;
}
