/* real_timer.c - a timer of real time runs on outside of captured invocations, and stands still where the program does. */
#include "check.h"
#include <signal.h>
#include <sys/time.h>

enum { STEPS = 20, COUNT = 1000, SECONDS = 100000 };
static double sums[COUNT];

static void tick(int number)
{
    (void)number;
}

int main(void)
{
    struct itimerval timer = {{SECONDS, 0}, {SECONDS, 0}}, now;
    CHECK(signal(SIGALRM, tick) != SIG_ERR && setitimer(ITIMER_REAL, &timer, NULL) == 0);
    for (int step = 1; step <= STEPS; step++) {
#pragma omp parallel for
        for (int i = 0; i < COUNT; i++)
            for (int k = 1; k <= 100; k++)
                sums[i] += 1.0 / k / step;
        CHECK(getitimer(ITIMER_REAL, &now) == 0 && now.it_interval.tv_sec == SECONDS && now.it_value.tv_sec > SECONDS / 2 && now.it_value.tv_sec <= SECONDS);
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(sums[i] > 18 && sums[i] < 19 && sums[i] == sums[0]);
    return 0;
}
