/* locks.c - one lock for each bucket, in an array, initialised before the region; one made and unmade inside. */
#include "check.h"
#include <omp.h>

enum { BUCKETS = 16, COUNT = 1000 };
static omp_lock_t locks[BUCKETS];
static int sizes[BUCKETS];

int main(void)
{
    for (int i = 0; i < BUCKETS; i++)
        omp_init_lock(&locks[i]);
    for (int step = 0; step < 2; step++) {
#pragma omp parallel
        {
            omp_lock_t own;
            omp_init_lock(&own);
            omp_set_lock(&own);
#pragma omp for
            for (int i = 0; i < COUNT; i++) {
                omp_set_lock(&locks[i % BUCKETS]);
                sizes[i % BUCKETS]++;
                omp_unset_lock(&locks[i % BUCKETS]);
            }
            omp_unset_lock(&own);
            omp_destroy_lock(&own);
        }
    }
    int sum = 0;
    for (int i = 0; i < BUCKETS; i++) {
        sum += sizes[i];
        omp_destroy_lock(&locks[i]);
    }
    CHECK(sum == 2 * COUNT && sizes[0] == 2 * 63);
    return 0;
}
