/* settings.c - what the program told the runtime before the region holds inside it: schedule, levels, dynamic teams, a team's size; and what a region sets for inner ones. */
#include "check.h"
#include <omp.h>

static int inner_teams[2], wrong;

int main(void)
{
    omp_set_dynamic(0);
    omp_set_max_active_levels(2);
    for (int step = 0; step < 2; step++) {
        int chunk = 3 + step;
        omp_set_schedule(step ? omp_sched_guided : omp_sched_dynamic, chunk);
#pragma omp parallel
        {
            omp_sched_t kind;
            int given;
            omp_get_schedule(&kind, &given);
            if (kind != (step ? omp_sched_guided : omp_sched_dynamic) || given != chunk || omp_get_max_active_levels() != 2 || omp_get_dynamic() ||
                omp_get_thread_limit() < 1 || omp_get_level() != 1 || omp_in_final())
#pragma omp atomic
                wrong++;
#pragma omp single
            {
                omp_set_num_threads(2);
#pragma omp parallel
#pragma omp single
                inner_teams[step] = omp_get_num_threads();
            }
        }
    }
    CHECK(wrong == 0 && inner_teams[0] == 2 && inner_teams[1] == 2);
    return 0;
}
