/* cancel_region.c - a whole region left early, at a barrier; sections, too. Needs OMP_CANCELLATION=true. */
#include "check.h"
#include <omp.h>

static int arrived, went_on, in_sections, cancelling;

int main(void)
{
    cancelling = omp_get_cancellation();
    for (int step = 0; step < 2; step++) {
#pragma omp parallel
        {
#pragma omp atomic
            arrived++;
            if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
            }
#pragma omp barrier
#pragma omp atomic
            went_on++;
        }
    }
    CHECK(arrived >= 2 && went_on == (cancelling ? 0 : arrived));
#pragma omp parallel sections
    {
#pragma omp section
        {
#pragma omp atomic
            in_sections++;
#pragma omp cancel sections
        }
#pragma omp section
        {
#pragma omp atomic
            in_sections++;
        }
    }
    CHECK(in_sections >= 1 && in_sections <= 2);
    return 0;
}
