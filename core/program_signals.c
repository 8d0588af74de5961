/* core/program_signals.c - see program_signals.h. */
#include "core/program_signals.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define MOMENT_NS 200000000

static const struct { int number; bool from_terminal; } kinds[PROGRAM_SIGNALS] = {{SIGINT, true}, {SIGQUIT, true}, {SIGTERM, false}, {SIGHUP, false}};
enum { TO_COME = -1, GONE };       /* in place of its number */
static volatile sig_atomic_t program = GONE, came, interrupted;
static int64_t interrupted_ns;      /* when SIGINT or SIGQUIT was last handed on; only its handler uses it, which is not interrupted by itself or the other */

static void hand_on(int number)
{
    int error = errno;
    interrupted = number;
    if (program > 0)
        kill((pid_t)program, number);
    else if (program == TO_COME)
        came = number;
    else
        raise(number);                /* by its default */
    errno = error;
}

static void hand_on_from_process(int number, siginfo_t *information, void *context)
{
    (void)context;
    struct timespec now;
    int error = errno;
    interrupted = number;
    clock_gettime(CLOCK_MONOTONIC, &now);
    errno = error;
    int64_t now_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    if (information->si_code > 0 || program == GONE || (interrupted_ns && now_ns - interrupted_ns < MOMENT_NS))
        return;
    interrupted_ns = now_ns;
    hand_on(number);
}

void program_signals_begin(struct program_signals *ret_signals)
{
    const struct sigaction handle = {.sa_handler = hand_on, .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
    struct sigaction interrupt = {.sa_sigaction = hand_on_from_process, .sa_flags = SA_RESTART | SA_SIGINFO};
    sigaddset(&interrupt.sa_mask, SIGINT);
    sigaddset(&interrupt.sa_mask, SIGQUIT);
    program = TO_COME;
    came = interrupted = 0;
    for (size_t i = 0; i < PROGRAM_SIGNALS; i++) {
        struct sigaction *before = &ret_signals->before[i];
        sigaction(kinds[i].number, NULL, before);
        if (kinds[i].from_terminal && before->sa_handler != SIG_IGN)
            sigaction(kinds[i].number, &interrupt, NULL);
        else if (before->sa_handler == SIG_DFL)
            sigaction(kinds[i].number, &handle, NULL);
    }
}

void program_signals_to(pid_t pid)
{
    program = pid;
    if (came)
        kill(pid, came);
}

void program_signals_gone(void)
{
    program = GONE;
}

void program_signals_end(const struct program_signals *signals)
{
    int number = interrupted;
    program_signals_gone();
    program_signals_give(signals);
    for (size_t i = 0; i < PROGRAM_SIGNALS; i++)
        if (kinds[i].number == number && signals->before[i].sa_handler != SIG_DFL && signals->before[i].sa_handler != SIG_IGN)
            raise(number);
}

bool program_signals_came(void)
{
    return interrupted != 0;
}

void program_signals_give(const struct program_signals *signals)
{
    for (size_t i = 0; i < PROGRAM_SIGNALS; i++)
        sigaction(kinds[i].number, &signals->before[i], NULL);
}

void program_signals_plain(const struct program_signals *signals, sigset_t *ret_set)
{
    sigemptyset(ret_set);
    for (size_t i = 0; i < PROGRAM_SIGNALS; i++)
        if (signals->before[i].sa_handler != SIG_IGN)
            sigaddset(ret_set, kinds[i].number);
}
