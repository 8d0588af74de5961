/* A region that keeps what the OpenMP runtime was told: in a replay it must be told the same. */
#include <omp.h>
#include <stdio.h>

void kmp_set_defaults(const char *);
int kmp_get_blocktime(void);

static int kept[10];

int main(void)
{
    for (int step = 0; step < 3; step++) {
#pragma omp parallel
#pragma omp master
        {
            omp_sched_t kind;
            kept[0] = omp_get_proc_bind();
            kept[1] = omp_get_dynamic();
            kept[2] = omp_get_thread_limit();
            kept[3] = omp_get_cancellation();
            kept[4] = omp_get_max_active_levels();
            kept[5] = kmp_get_blocktime();
            kept[6] = omp_get_num_places();
            omp_get_schedule(&kind, &kept[7]);
            kept[8] = (int)kind;
            kept[9] = omp_get_max_threads();
        }
    }
    for (int i = 0; i < 10; i++)
        printf("%d%c", kept[i], i < 9 ? ' ' : '\n');
    return 0;
}
