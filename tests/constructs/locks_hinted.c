/* locks_hinted.c - locks with a hint about how they will be used. */
#include "check.h"
#include <omp.h>

static omp_lock_t contended, speculative;
static omp_nest_lock_t nested;
static int counts[3];

int main(void)
{
    omp_init_lock_with_hint(&contended, omp_sync_hint_contended);
    omp_init_lock_with_hint(&speculative, omp_sync_hint_uncontended | omp_sync_hint_speculative);
    omp_init_nest_lock_with_hint(&nested, omp_sync_hint_contended);
#pragma omp parallel for
    for (int i = 0; i < 300; i++) {
        omp_set_lock(&contended);
        counts[0]++;
        omp_unset_lock(&contended);
        omp_set_lock(&speculative);
        counts[1]++;
        omp_unset_lock(&speculative);
        omp_set_nest_lock(&nested);
        counts[2]++;
        omp_unset_nest_lock(&nested);
    }
    CHECK(counts[0] == 300 && counts[1] == 300 && counts[2] == 300);
    return 0;
}
