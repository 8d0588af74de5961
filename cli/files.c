/* cli/files.c - where things are: PCERE's own files beside the command, programs in PATH.
 *
 * The one place that reads PCERE_LIBDIR and PATH.
 */
#include "cli/cli.h"
#include "core/text.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef PCERE_INSTALL_LIBDIR
#define PCERE_INSTALL_LIBDIR "lib"
#endif

static bool readable(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, R_OK) == 0;
}

enum pcere_status cli_output_check(const char *path, bool force, struct pcere_error *error)
{
    struct stat there;
    if (stat(path, &there) == 0) {
        if (!S_ISREG(there.st_mode))
            return pcere_fail(error, PCERE_USAGE, 0, "-o FILE names another", "'%.300s' is no regular file", path);
        return force ? PCERE_OK : pcere_fail(error, PCERE_USAGE, EEXIST, "--force replaces it, -o FILE names another", "cannot write '%.300s'", path);
    }
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    if (access(dirname(folder), W_OK | X_OK) != 0)
        return pcere_fail(error, PCERE_SYSTEM, errno, "name a file in a folder that is there and may be written", "cannot write '%.300s'", path);
    return PCERE_OK;
}

enum pcere_status cli_output_choose(const char *output, const char *program, const char *suffix, bool force, char **ret_path, struct pcere_error *error)
{
    struct text path = {0};
    text_addf(&path, "%s%s", output ? output : base_name(program), output ? "" : suffix);
    char *taken = text_take(&path);
    if (!taken)
        return pcere_fail_memory(error, "a path");
    enum pcere_status status = cli_output_check(taken, force, error);
    if (status != PCERE_OK)
        free(taken);
    else
        *ret_path = taken;
    return status;
}

enum pcere_status cli_file_find(const char *name, char **ret_path, struct pcere_error *error)
{
    char path[PATH_MAX], directory[PATH_MAX];
    const char *own = getenv("PCERE_LIBDIR");
    if (own && own[0]) {
        snprintf(path, sizeof path, "%s/%s", own, name);
        char *real = readable(path) ? realpath(path, NULL) : NULL;
        if (!real)
            return pcere_fail(error, PCERE_REFUSED, errno ? errno : ENOENT, "PCERE_LIBDIR must name the directory with PCERE's libraries",
                              "cannot read '%s'", path);
        *ret_path = real;
        return PCERE_OK;
    }
    ssize_t length = readlink("/proc/self/exe", directory, sizeof directory - 1);
    if (length < 0)
        return pcere_fail(error, PCERE_REFUSED, errno, "mount /proc", "cannot tell where pcere itself lies");
    directory[length] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(directory, '/');
        if (slash)
            *slash = '\0';
    }
    static const char *const below[] = {"lib/pcere", PCERE_INSTALL_LIBDIR "/pcere", "lib", PCERE_INSTALL_LIBDIR};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        int needed = snprintf(path, sizeof path, "%s/%s/%s", directory, below[i], name);
        if (needed < 0 || (size_t)needed >= sizeof path || !readable(path))
            continue;
        char *copy = strdup(path);
        if (!copy)
            return pcere_fail_memory(error, "a path");
        *ret_path = copy;
        return PCERE_OK;
    }
    return pcere_fail(error, PCERE_REFUSED, 0, "install PCERE again, or set PCERE_LIBDIR to the directory that holds it",
                      "cannot find '%s' below '%.300s'", name, directory);
}

static enum pcere_status program_test(const char *path, const char *name, char **ret_path, struct pcere_error *error)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return pcere_fail(error, PCERE_USAGE, errno, "check the path of the program", "cannot run '%.300s'", name);
    if (S_ISDIR(status.st_mode))
        return pcere_fail(error, PCERE_USAGE, EISDIR, "name the program itself", "cannot run '%.300s'", name);
    if (access(path, X_OK) != 0)
        return pcere_fail(error, PCERE_USAGE, errno, "the file must be executable: chmod +x", "cannot run '%.300s'", name);
    char *copy = strdup(path);
    if (!copy)
        return pcere_fail_memory(error, "a path");
    *ret_path = copy;
    return PCERE_OK;
}

enum pcere_status cli_program_find(const char *name, char **ret_path, struct pcere_error *error)
{
    if (strchr(name, '/'))
        return program_test(name, name, ret_path, error);
    const char *directories = getenv("PATH");
    for (const char *at = directories && directories[0] ? directories : "/usr/bin:/bin"; *at;) {
        size_t length = strcspn(at, ":");
        char path[PATH_MAX];
        int needed = snprintf(path, sizeof path, "%.*s/%s", length ? (int)length : 1, length ? at : ".", name);
        if (needed > 0 && (size_t)needed < sizeof path && program_test(path, name, ret_path, NULL) == PCERE_OK)
            return PCERE_OK;
        at += length;
        at += *at == ':';
    }
    char hint[256] = "check the spelling, or give its path";
    struct stat status;
    if (stat(name, &status) == 0 && S_ISDIR(status.st_mode))
        return program_test(name, name, ret_path, error);
    if (access(name, X_OK) == 0)
        snprintf(hint, sizeof hint, "did you mean './%.200s'?", name);
    return pcere_fail(error, PCERE_USAGE, 0, hint, "there is no program '%.300s' in PATH", name);
}
