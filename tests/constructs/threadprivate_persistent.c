/* threadprivate_persistent.c - copies live on from one region to the next, in the same threads. */
#include "check.h"
#include <omp.h>

static int steps_seen = 7;
static double history[20];
#pragma omp threadprivate(steps_seen, history)
static int team, checked;

int main(void)
{
    omp_set_dynamic(0);
    for (int step = 0; step < 4; step++) {
#pragma omp parallel
        {
            /* a replay with more threads than were captured meets threads that were not there before */
            if (omp_get_thread_num() == 0)
                CHECK(steps_seen == 7 + step && (step == 0 || history[step - 1] == step - 1));
            history[step] = step;
            steps_seen++;
#pragma omp single
            {
                team = omp_get_num_threads();
                checked++;
            }
        }
    }
#pragma omp parallel
    {
        if (omp_get_num_threads() == team && omp_get_thread_num() == 0)
            CHECK(steps_seen == 11 && history[3] == 3);
    }
    CHECK(checked == 4 && steps_seen == 11);
    return 0;
}
