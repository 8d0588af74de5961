/* threadprivate_cached_seeds.c - copies that the runtime keeps (-fnoopenmp-use-tls): what each thread's held decides what the region computes, in teams
 * of the initial thread and of one that the program started, which has copies of its own. */
#include "check.h"
#include <omp.h>
#include <pthread.h>

enum { STEPS = 3, MOST = 64 };
static int seed = 17;
static double record[30];
#pragma omp threadprivate(seed, record)
static int results[2][STEPS][MOST], team;

static int next(int value, int me) { return value * (31 + me) % 1009; }

static void work(int who, int step)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        results[who][step][me] = seed;
        record[step] = seed + (step ? record[step - 1] : 0);
        seed = next(seed, me);
#pragma omp single
        team = omp_get_num_threads();
    }
}

static void *other(void *unused)
{
    for (int step = 0; step < STEPS; step++)
        work(1, step);
    return unused;
}

int main(void)
{
    pthread_t thread;
    omp_set_dynamic(0);
    for (int step = 0; step < STEPS; step++)
        work(0, step);
    CHECK(pthread_create(&thread, NULL, other, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    for (int who = 0; who < 2; who++)
        for (int me = 0; me < team && me < MOST; me++)
            for (int step = 0, value = 17; step < STEPS; step++, value = next(value, me))
                CHECK(results[who][step][me] == value || (who && me));    /* workers may have come from the first team, with what they hold */
    return 0;
}
