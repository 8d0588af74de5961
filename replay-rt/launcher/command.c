/* replay-rt/launcher/command.c - child processes of the builder: found, spawned with a fixed environment, waited for. */
#include "replay-rt/launcher/command.h"

#include "core/files.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLANG_SAYS_DIED 254          /* clang's exit status where a program that it ran died of a signal */

#define USUAL_FOLDERS "/usr/local/bin:/usr/bin:/bin"
#define LOG_BYTES_MOST (64u << 20)

static void arguments_take(struct arguments *arguments, char *item)
{
    if (!item || !array_reserve(&arguments->items, &arguments->capacity, arguments->count + 2, sizeof *arguments->items)) {
        free(item);
        arguments->failed = 1;
        return;
    }
    arguments->items[arguments->count++] = item;
    arguments->items[arguments->count] = NULL;
}

void arguments_add(struct arguments *arguments, const char *argument)
{
    arguments_take(arguments, strdup(argument));
}

void arguments_addf(struct arguments *arguments, const char *format, ...)
{
    char *item = NULL;
    va_list list;
    va_start(list, format);
    int length = vasprintf(&item, format, list);
    va_end(list);
    arguments_take(arguments, length < 0 ? NULL : item);
}

void arguments_done(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free(arguments->items[i]);
    free(arguments->items);
    *arguments = (struct arguments){0};
}

enum pcere_status command_find(const char *name, const char *search_path, const char *hint, char **ret_path,
                               struct pcere_error *error)
{
    const char *folder = strchr(name, '/') ? "" : search_path ? search_path : USUAL_FOLDERS;
    for (;;) {
        size_t length = strcspn(folder, ":");
        char *path = NULL;
        if (asprintf(&path, "%.*s%s%s", (int)length, folder, length ? "/" : "", name) < 0)
            return pcere_fail_memory(error, "a path");
        if ((length || strchr(name, '/')) && !access(path, X_OK)) {
            *ret_path = path;
            return PCERE_OK;
        }
        free(path);
        if (!folder[length])
            return pcere_fail(error, PCERE_REFUSED, 0, hint, "there is no '%s' on this machine", name);
        folder += length + 1;
    }
}

static enum pcere_status command_try(const struct arguments *arguments, const char *log, int *ret_status, struct pcere_error *error)
{
    char *environment[] = {"PATH=" USUAL_FOLDERS, "LC_ALL=C", NULL};
    if (arguments->failed || !arguments->count)
        return pcere_fail_memory(error, "a command line");
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions))
        return pcere_fail_memory(error, "a command");
    pid_t child = 0;
    int failure = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    failure = failure ? failure : posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    failure = failure ? failure : posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    failure = failure ? failure : posix_spawn(&child, arguments->items[0], &actions, NULL, arguments->items, environment);
    posix_spawn_file_actions_destroy(&actions);
    if (failure)
        return pcere_fail(error, PCERE_SYSTEM, failure, NULL, "cannot run '%s'", arguments->items[0]);
    while (waitpid(child, ret_status, 0) < 0)
        if (errno != EINTR)
            return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "lost '%s'", arguments->items[0]);
    return PCERE_OK;
}

/* Itself, or what it had begun (as clang says it of a linker). */
static bool died(int status)
{
    return (WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS)) || (WIFEXITED(status) && WEXITSTATUS(status) == CLANG_SAYS_DIED);
}

/* LLD 19 dies once in thousands of times, and does what it is asked to the next time. */
enum pcere_status command_run(const struct arguments *arguments, const char *log, int *ret_status, struct pcere_error *error)
{
    enum pcere_status status = command_try(arguments, log, ret_status, error);
    return !status && died(*ret_status) ? command_try(arguments, log, ret_status, error) : status;
}

char *command_first_error(const char *log)
{
    void *data = NULL;
    size_t bytes = 0;
    if (file_read(AT_FDCWD, log, LOG_BYTES_MOST, &data, &bytes, NULL))
        return strdup("");
    char *content = data, *line = content;
    for (char *at = content; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        size_t length = strcspn(at, "\n");
        if (memmem(at, length, "error:", 6)) {
            line = at;
            break;
        }
    }
    line[strcspn(line, "\n")] = '\0';
    char *copy = strdup(line);
    free(data);
    return copy;
}
