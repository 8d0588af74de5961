/* replay-rt/target/sample_phases.c - from what the threads of a team did between barriers to the region's time: pure computation over what the hooks saw. */
#include "replay-rt/target/sample.h"

bool pcere_sample_phases_agree(const struct sample_shot *shot)
{
    for (uint32_t t = 1; t < shot->team; t++)
        if (shot->threads[t].phase != shot->threads[0].phase || shot->threads[t].shared_count != shot->threads[0].shared_count)
            return false;
    return true;
}

bool pcere_sample_shared_spread(struct sample_shot *shot)
{
    for (uint32_t i = 0; i < shot->threads[0].shared_count; i++) {
        uint64_t run = 0, iterations = shot->threads[0].shared[i].iterations;
        double sum_ns = 0, timed_ns = 0;
        for (uint32_t t = 0; t < shot->team; t++) {
            run += shot->threads[t].shared[i].run;
            sum_ns += (double)shot->threads[t].shared[i].loop_ns;
            timed_ns += (double)shot->threads[t].shared[i].timed_ns;
        }
        if (!run)
            return false;
        double rest_ns = (timed_ns * ((double)iterations / (double)run) - sum_ns) / shot->team;
        for (uint32_t t = 0; t < shot->team; t++) {
            struct sample_thread *thread = &shot->threads[t];
            thread->phases[thread->shared[i].phase].work_ns += rest_ns;
            thread->site_ns[thread->shared[i].site] += rest_ns + (double)thread->shared[i].loop_ns;
        }
        shot->threads[0].iterations += iterations;
        shot->threads[0].run += run;
    }
    return true;
}

bool pcere_sample_steps_spread(struct sample_shot *shot)
{
    for (uint32_t t = 0; t < shot->team; t++) {
        struct sample_thread *thread = &shot->threads[t];
        for (uint32_t i = 0; i < thread->left_count; i++) {
            uint32_t site = thread->left[i].site;
            if (!thread->site_timed[site])
                return false;
            thread->phases[thread->left[i].phase].work_ns += thread->site_ns[site] / thread->site_timed[site];
        }
    }
    return true;
}

double pcere_sample_phases_sum(const struct sample_shot *shot)
{
    double sum_ns = 0;
    for (uint32_t p = 0; p <= shot->threads[0].phase; p++) {
        double slowest_ns = 0;
        uint64_t wait_ns = UINT64_MAX;
        for (uint32_t t = 0; t < shot->team; t++) {
            const struct sample_phase *phase = &shot->threads[t].phases[p];
            slowest_ns = phase->work_ns > slowest_ns ? phase->work_ns : slowest_ns;
            wait_ns = phase->wait_ns < wait_ns ? phase->wait_ns : wait_ns;
        }
        sum_ns += slowest_ns + (double)wait_ns;
    }
    return sum_ns;
}
