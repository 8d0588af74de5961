/* profile_timer.c - a timer for profiling runs: what its handler counts is none of the region's work. */
#include "check.h"
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static volatile sig_atomic_t ticks;
static double sum;

static void tick(int number)
{
    (void)number;
    ticks++;
}

int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    struct itimerval timer = {{0, 1000}, {0, 1000}}, now;
    CHECK(sigaction(SIGPROF, &action, NULL) == 0 && setitimer(ITIMER_PROF, &timer, NULL) == 0);
#pragma omp parallel for reduction(+ : sum)
    for (long i = 1; i <= 20000000; i++)
        sum += 1.0 / ((double)i * (double)i);
    CHECK(sum > 1.6449340 && sum < 1.6449341);
    CHECK(getitimer(ITIMER_PROF, &now) == 0 && now.it_interval.tv_usec == 1000 && now.it_value.tv_sec == 0);
    /* one that is due at this moment is told with nothing left, like one that was stopped: what tells is that it goes off once more */
    sig_atomic_t before = ticks;
    clock_t start = clock();
    while (ticks == before && clock() - start < 10 * (clock_t)CLOCKS_PER_SEC)
        ;
    CHECK(ticks != before);
    memset(&timer, 0, sizeof timer);
    CHECK(setitimer(ITIMER_PROF, &timer, NULL) == 0);
    return 0;
}
