/* core/program_signals.c - see program_signals.h. */
#include "core/program_signals.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

static const struct { int number; bool handed_on; } kinds[PROGRAM_SIGNALS] = {{SIGINT, false}, {SIGQUIT, false}, {SIGTERM, true}, {SIGHUP, true}};
enum { TO_COME = -1, GONE };       /* in place of its number */
static volatile sig_atomic_t program = GONE, came;

static void hand_on(int number)
{
    int error = errno;
    if (program > 0)
        kill((pid_t)program, number);
    else if (program == TO_COME)
        came = number;
    else
        raise(number);                /* by its default */
    errno = error;
}

void program_signals_begin(struct program_signals *ret_signals)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN}, handle = {.sa_handler = hand_on, .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
    program = TO_COME;
    came = 0;
    for (size_t i = 0; i < PROGRAM_SIGNALS; i++) {
        struct sigaction *before = &ret_signals->before[i];
        sigaction(kinds[i].number, NULL, before);
        if (!kinds[i].handed_on)
            sigaction(kinds[i].number, &ignore, NULL);
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
    program_signals_gone();
    program_signals_give(signals);
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
