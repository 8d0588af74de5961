/* cli/process.c - run another program, keep what it says, and do not wait for ever.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { OUTPUT_MOST = 64 * 1024 };

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Read until the writers are gone or time is up (false). What exceeds OUTPUT_MOST is read and dropped. */
static bool output_read(int descriptor, char *output, int64_t deadline_ms)
{
    size_t length = 0;
    char spill[4096];
    for (;;) {
        int64_t left = deadline_ms - now_ms();
        struct pollfd poll_fd = {.fd = descriptor, .events = POLLIN};
        int ready = left > 0 ? poll(&poll_fd, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        size_t room = OUTPUT_MOST - 1 - length;
        ssize_t got = room ? read(descriptor, output + length, room) : read(descriptor, spill, sizeof spill);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return true;
        if (room)
            length += (size_t)got;
        output[length] = '\0';
    }
}

static enum pcere_status process_start(const struct cli_process *process, int output, pid_t *ret_pid, struct pcere_error *error)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    int failed = posix_spawnp(ret_pid, process->arguments[0], &actions, &attributes, process->arguments,
                              process->environment ? process->environment : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? pcere_fail(error, PCERE_REFUSED, failed, NULL, "cannot run '%s'", process->arguments[0]) : PCERE_OK;
}

enum pcere_status cli_process_run(const struct cli_process *process, char **ret_output, int *ret_status, struct pcere_error *error)
{
    int ends[2];
    char *output = calloc(1, OUTPUT_MOST);
    if (!output)
        return pcere_fail_memory(error, "a program's output");
    if (pipe2(ends, O_CLOEXEC) != 0) {
        free(output);
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot make a pipe");
    }
    pid_t pid = -1;
    enum pcere_status status = process_start(process, ends[1], &pid, error);
    close(ends[1]);
    if (status == PCERE_OK && !output_read(ends[0], output, now_ms() + (int64_t)process->timeout_s * 1000)) {
        kill(-pid, SIGKILL);
        status = pcere_fail(error, PCERE_REFUSED, 0, NULL, "'%s' did not end within %u s", process->arguments[0], process->timeout_s);
    }
    close(ends[0]);
    int wait_status = 0;
    while (pid > 0 && waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    if (status != PCERE_OK) {
        free(output);
        return status;
    }
    *ret_output = output;
    *ret_status = wait_status;
    return PCERE_OK;
}

char *cli_status_text(char text[static CLI_TEXT_MOST], int status)
{
    if (WIFSIGNALED(status))
        snprintf(text, CLI_TEXT_MOST, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(text, CLI_TEXT_MOST, "exited with status %d", WEXITSTATUS(status));
    return text;
}
