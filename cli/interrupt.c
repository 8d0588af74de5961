/* cli/interrupt.c - a command that may be ended at any time, and then says what it leaves. */
#include "cli/interrupt.h"

#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *sentence;
static volatile sig_atomic_t caught;

static void remember(int signal_number)
{
    caught = signal_number;
    ssize_t written = write(STDERR_FILENO, sentence, strlen(sentence));
    (void)written;
}

void interrupt_remember(const char *words)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sentence = words;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction now, then = {.sa_handler = remember, .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(numbers[i], &then, NULL);
    }
}

int interrupt_caught(void)
{
    return caught;
}

bool interrupt_came(void)
{
    return caught != 0;
}

enum pcere_status interrupt_fail(struct cli *cli, const char *hint, struct pcere_error *error, const char *format, ...)
{
    char what[sizeof error->message];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    if (caught)
        cli->signal = caught;
    return pcere_fail(error, PCERE_NO, 0, hint, "interrupted; %s", what);
}
