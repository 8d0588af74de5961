/* capture-rt/target/timers.c - the program's timers, whose handlers' work is none of a region's.
 *
 * All stand still while the program does. Those of real time run on in captured invocations, since a region may wait for them; whether one expired is told by
 * its clock. Those of processor time (profilers') are put off until the invocation is over: far enough that most regions end before, but not for ever.
 */
#include "capture-rt/target/target.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PUT_OFF_NS UINT64_C(2000000000)
#define LATE_NS 50000u                  /* it may still run before the next stop */
#define ROUNDED_NS 20000000u            /* the kernel rounds processor time to its ticks */
#define LIST_BYTES 8192u                /* of text about the timers of timer_create, which takes about 70 bytes each */

static const struct { int which, signal; enum capture_timer kind; bool cpu; } own_timers[] = {
    {ITIMER_REAL, SIGALRM, CAPTURE_TIMER_REAL, false}, {ITIMER_VIRTUAL, SIGVTALRM, CAPTURE_TIMER_VIRTUAL, true}, {ITIMER_PROF, SIGPROF, CAPTURE_TIMER_PROF, true},
};

static uint64_t nanoseconds(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

static uint64_t cpu_ns(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) ? 0 : nanoseconds(&now);
}

/* Numbers of timer_create are the kernel's, since those of the C library cannot be had; the others are told by their kind. */
static bool timer_get(const struct target_timer *timer, struct itimerspec *ret_value)
{
    struct itimerval value;
    if (timer->kind == CAPTURE_TIMER_CREATED)
        return syscall(SYS_timer_gettime, timer->number, ret_value) == 0;
    if (getitimer((__itimer_which_t)timer->number, &value) != 0)
        return false;
    TIMEVAL_TO_TIMESPEC(&value.it_value, &ret_value->it_value);
    TIMEVAL_TO_TIMESPEC(&value.it_interval, &ret_value->it_interval);
    return true;
}

static void timer_set(const struct target_timer *timer, uint64_t left_ns)
{
    struct timespec left = timespec_of(left_ns), interval = timespec_of(timer->interval_ns);
    struct itimerspec value = {.it_value = left, .it_interval = interval};
    struct itimerval other;
    if (timer->kind == CAPTURE_TIMER_CREATED) {
        syscall(SYS_timer_settime, timer->number, 0, &value, NULL);
        return;
    }
    TIMESPEC_TO_TIMEVAL(&other.it_value, &left);
    TIMESPEC_TO_TIMEVAL(&other.it_interval, &interval);
    if (left_ns && left_ns < 1000)
        other.it_value.tv_usec = 1;         /* 0 would end it */
    setitimer((__itimer_which_t)timer->number, &other, NULL);
}

/* The C library lends two signals to itself, for which nobody else can ask. */
static bool is_handled(int signal)
{
    struct sigaction action;
    return sigaction(signal, NULL, &action) != 0 || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

static void timer_stop(struct target_timers *timers, struct target_timer timer)
{
    struct itimerspec value;
    if (timers->count == TARGET_TIMERS_MAX || !timer_get(&timer, &value) || !(timer.left_ns = nanoseconds(&value.it_value)))
        return;
    timer.interval_ns = nanoseconds(&value.it_interval);
    timer_set(&timer, 0);
    timers->items[timers->count++] = timer;
}

static bool field(const char *entry, const char *end, const char *label, long *ret_value)
{
    const char *at = strstr(entry, label);
    if (!at || at >= end)
        return false;
    *ret_value = strtol(at + strlen(label), NULL, 10);
    return true;
}

/* "ID: 0", "signal: 14/..", "notify: ..", "ClockID: 1": no other way tells which there are. Not there in kernels without CONFIG_CHECKPOINT_RESTORE. */
static void created_stop(struct target_timers *timers)
{
    static char text[LIST_BYTES];
    size_t length = 0;
    ssize_t got = 0;
    int file = open("/proc/self/timers", O_RDONLY | O_CLOEXEC);
    while (file >= 0 && length < sizeof text - 1 && (got = read(file, text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)got;
    if (file >= 0)
        close(file);
    text[length] = '\0';
    for (const char *entry = text, *next; *entry; entry = next) {
        next = strstr(entry, "\nID: ");
        next = next ? next + 1 : text + length;
        long number, signal, clock;
        if (!field(entry, next, "ID: ", &number) || !field(entry, next, "signal: ", &signal) || !field(entry, next, "ClockID: ", &clock))
            continue;
        timer_stop(timers, (struct target_timer){.number = (int)number, .kind = CAPTURE_TIMER_CREATED, .handled = is_handled((int)signal),
                                                 .cpu = clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID});
    }
}

void target_timers_stop(struct target_timers *timers)
{
    timers->count = 0;
    for (size_t i = 0; i < sizeof own_timers / sizeof *own_timers; i++)
        timer_stop(timers, (struct target_timer){.number = own_timers[i].which, .kind = own_timers[i].kind, .cpu = own_timers[i].cpu, .handled = is_handled(own_timers[i].signal)});
    created_stop(timers);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return !a || (b && b < a) ? b : a;
}

void target_timers_go(struct target_timers *timers, bool captured)
{
    bool put_off = captured && !timers->put_off && !timers->waited_for;
    struct target_alarms *alarms = &timers->alarms;
    *alarms = (struct target_alarms){.real_ns = target_clock_ns(), .cpu_ns = cpu_ns()};
    for (uint32_t i = 0; i < timers->count; i++) {
        struct target_timer *timer = &timers->items[i];
        uint64_t late_ns = put_off && timer->cpu ? PUT_OFF_NS : 0;
        struct target_alarm *alarm = &(timer->cpu ? alarms->cpu : alarms->real)[timer->kind];
        if (late_ns) {
            timers->late[timers->late_count] = *timer;
            timers->late[timers->late_count++].set_ns = timer->left_ns + late_ns;
        }
        if (timer->handled) {
            alarm->left_ns = smaller(alarm->left_ns, timer->left_ns + late_ns);
            alarm->interval_ns = smaller(alarm->interval_ns, timer->interval_ns);
        }
        timer_set(timer, timer->left_ns + late_ns);
    }
    if (put_off) {
        timers->put_off = true;
        timers->put_off_cpu_ns = alarms->cpu_ns;
    }
}

void target_timers_resume(struct target_timers *timers)
{
    uint64_t used_ns = cpu_ns() - timers->put_off_cpu_ns;
    for (uint32_t i = 0; i < timers->late_count; i++) {
        const struct target_timer *timer = &timers->late[i];
        struct itimerspec now;
        uint64_t left_ns = timer_get(timer, &now) ? nanoseconds(&now.it_value) : 0;
        if (used_ns + PUT_OFF_NS / 10 >= timer->set_ns)
            timers->waited_for = true;
        if (left_ns && left_ns <= timer->set_ns + ROUNDED_NS && left_ns + used_ns + PUT_OFF_NS / 2 >= timer->set_ns)     /* else the program set it anew, or ended it */
            timer_set(timer, timer->left_ns);
    }
    timers->late_count = 0;
    timers->put_off = false;
}

/* The kernel counts ITIMER_VIRTUAL and ITIMER_PROF by its ticks, which may come before the clock says so. */
static bool ticked(uint32_t kind, uint64_t before_ns)
{
    const struct target_timer timer = {.number = kind == CAPTURE_TIMER_VIRTUAL ? ITIMER_VIRTUAL : ITIMER_PROF, .kind = kind};
    struct itimerspec now;
    return (kind == CAPTURE_TIMER_VIRTUAL || kind == CAPTURE_TIMER_PROF) && timer_get(&timer, &now) &&
           (nanoseconds(&now.it_value) > before_ns + ROUNDED_NS || !nanoseconds(&now.it_value) || nanoseconds(&now.it_value) + PUT_OFF_NS / 2 < before_ns);
}

static uint32_t alarms_ran(const struct target_alarm *alarms, uint64_t time_ns, bool *rarely)
{
    uint32_t ran = 0;
    for (uint32_t kind = 0; kind < CAPTURE_TIMER_KINDS; kind++) {
        if (!alarms[kind].left_ns || (time_ns + LATE_NS < alarms[kind].left_ns && !ticked(kind, alarms[kind].left_ns)))
            continue;
        ran |= UINT32_C(1) << kind;
        *rarely = *rarely && (!alarms[kind].interval_ns || time_ns + LATE_NS < alarms[kind].interval_ns);
    }
    return ran;
}

uint32_t target_timers_ran(const struct target_alarms *before, bool *ret_rarely)
{
    *ret_rarely = true;
    return alarms_ran(before->real, target_clock_ns() - before->real_ns, ret_rarely) | alarms_ran(before->cpu, cpu_ns() - before->cpu_ns, ret_rarely);
}
