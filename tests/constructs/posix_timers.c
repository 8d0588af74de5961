/* posix_timers.c - timers of timer_create run on outside of captured invocations, and stand still where the program does; one of them starts threads. */
#include "check.h"
#include <signal.h>
#include <string.h>
#include <time.h>

enum { STEPS = 20, COUNT = 1000, SECONDS = 100000 };
static double sums[COUNT];

static void told(union sigval value)
{
    (void)value;
}

static timer_t timer_start(clockid_t clock, int notify)
{
    timer_t timer;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = notify;
    event.sigev_signo = SIGUSR1;
    if (notify == SIGEV_THREAD)
        event.sigev_notify_function = told;
    struct itimerspec rarely = {{SECONDS, 0}, {SECONDS, 0}};
    CHECK(timer_create(clock, &event, &timer) == 0 && timer_settime(timer, 0, &rarely, NULL) == 0);
    return timer;
}

static int runs_rarely(timer_t timer)
{
    struct itimerspec now;
    return timer_gettime(timer, &now) == 0 && now.it_interval.tv_sec == SECONDS && now.it_value.tv_sec > SECONDS / 2 && now.it_value.tv_sec <= SECONDS;
}

static void tick(int number)
{
    (void)number;
}

int main(void)
{
    CHECK(signal(SIGUSR1, tick) != SIG_ERR);
    timer_t timers[] = {timer_start(CLOCK_MONOTONIC, SIGEV_SIGNAL), timer_start(CLOCK_REALTIME, SIGEV_THREAD), timer_start(CLOCK_MONOTONIC, SIGEV_NONE)};
    for (int step = 1; step <= STEPS; step++) {
#pragma omp parallel for
        for (int i = 0; i < COUNT; i++)
            for (int k = 1; k <= 100; k++)
                sums[i] += 1.0 / k / step;
        for (size_t i = 0; i < sizeof timers / sizeof *timers; i++)
            CHECK(runs_rarely(timers[i]));
    }
    for (int i = 0; i < COUNT; i++)
        CHECK(sums[i] > 18 && sums[i] < 19 && sums[i] == sums[0]);
    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++)
        CHECK(timer_delete(timers[i]) == 0);
    return 0;
}
