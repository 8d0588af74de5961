/* cpu_timers.c - timers of processor time run, by three interfaces: what their handlers count is none of the region's work. */
#include "check.h"
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { USEC = 2000 };
static volatile sig_atomic_t ticks[3];
static double sum;

static void tick(int number)
{
    ticks[number == SIGVTALRM ? 0 : number == SIGUSR1 ? 1 : 2]++;
}

static timer_t timer_start(clockid_t clock, int number)
{
    timer_t timer;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = number;
    struct itimerspec often = {{0, USEC * 1000}, {0, USEC * 1000}};
    CHECK(timer_create(clock, &event, &timer) == 0 && timer_settime(timer, 0, &often, NULL) == 0);
    return timer;
}

static int runs_often(timer_t timer)
{
    struct itimerspec now;
    return timer_gettime(timer, &now) == 0 && now.it_interval.tv_nsec == USEC * 1000 && now.it_value.tv_sec == 0;
}

/* A timer that is due at this moment is told with nothing left, like one that was stopped: what tells is that it goes off once more. */
static int goes_off(const volatile sig_atomic_t *count)
{
    sig_atomic_t before = *count;
    clock_t start = clock();
    while (*count == before && clock() - start < 10 * (clock_t)CLOCKS_PER_SEC)
        ;
    return *count != before;
}

int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    CHECK(sigaction(SIGVTALRM, &action, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGUSR2, &action, NULL) == 0);
    struct itimerval often = {{0, USEC}, {0, USEC}}, now;
    CHECK(setitimer(ITIMER_VIRTUAL, &often, NULL) == 0);
    timer_t process = timer_start(CLOCK_PROCESS_CPUTIME_ID, SIGUSR1), thread = timer_start(CLOCK_THREAD_CPUTIME_ID, SIGUSR2);
#pragma omp parallel for reduction(+ : sum)
    for (long i = 1; i <= 20000000; i++)
        sum += 1.0 / ((double)i * (double)i);
    CHECK(sum > 1.6449340 && sum < 1.6449341);
    CHECK(getitimer(ITIMER_VIRTUAL, &now) == 0 && now.it_interval.tv_usec == USEC && now.it_value.tv_sec == 0);
    CHECK(runs_often(process) && runs_often(thread));
    for (int i = 0; i < 3; i++)
        CHECK(goes_off(&ticks[i]));
    CHECK(timer_delete(process) == 0 && timer_delete(thread) == 0);
    memset(&often, 0, sizeof often);
    CHECK(setitimer(ITIMER_VIRTUAL, &often, NULL) == 0);
    return 0;
}
