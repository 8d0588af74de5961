/* signal_handler.c - handlers installed before the region run inside it. */
#include "check.h"
#include <signal.h>
#include <string.h>

static volatile sig_atomic_t handled, last;

static void handler(int number)
{
    handled++;
    last = number;
}

int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && signal(SIGFPE, handler) != SIG_ERR);
    for (int step = 0; step < 2; step++) {
#pragma omp parallel
#pragma omp single
        {
            raise(SIGUSR1);
            raise(SIGFPE);
        }
    }
    CHECK(handled == 4 && last == SIGFPE);
    return 0;
}
