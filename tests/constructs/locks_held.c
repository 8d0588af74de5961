/* locks_held.c - a lock that the program holds across regions: inside them nobody gets it. */
#include "check.h"
#include <omp.h>

static omp_lock_t held;
static int refused, granted;

static void try_it(void)
{
#pragma omp parallel
    {
#pragma omp single
        {
            if (omp_test_lock(&held)) {
                granted++;
                omp_unset_lock(&held);
            } else {
                refused++;
            }
        }
    }
}

int main(void)
{
    omp_init_lock(&held);
    omp_set_lock(&held);
    try_it();
    try_it();
    omp_unset_lock(&held);
    try_it();
    omp_destroy_lock(&held);
    CHECK(refused == 2 && granted == 1);
    return 0;
}
