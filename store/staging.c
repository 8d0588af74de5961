#include "store/staging.h"

#include "core/faults.h"
#include "core/files.h"
#include "store/directory.h"
#include "store/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static enum pcere_status fail_path(struct pcere_error *error, const char *what, const char *path)
{
    return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot %s '%s'", what, path);
}

static int directory_open(int parent, const char *name)
{
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool directory_in_use(int descriptor)
{
    return descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/* `path` as a descriptor of its parent and a name in it. */
static enum pcere_status split_path(struct staging *staging, const char *path, struct pcere_error *error)
{
    char *resolved = realpath(path, NULL);
    char *head = strdup(resolved ? resolved : path), *tail = strdup(resolved ? resolved : path);
    free(resolved);
    enum pcere_status status = PCERE_OK;
    const char *name = tail ? basename(tail) : NULL;
    if (!head || !tail)
        status = pcere_fail_memory(error, "the store's path");
    else if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "/") == 0)
        status = pcere_fail(error, PCERE_USAGE, 0, NULL, "'%s' cannot be the name of a store", path);
    else if ((staging->parent = open(dirname(head), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        status = fail_path(error, "open the directory of", path);
    else if (!(staging->name = strdup(name)) || asprintf(&staging->staging_name, "%s.new", name) < 0)
        status = pcere_fail_memory(error, "the store's path");
    free(head);
    free(tail);
    return status;
}

static enum pcere_status fail_in_use(struct pcere_error *error, const char *name)
{
    return pcere_fail(error, PCERE_USAGE, 0, "wait until it has ended, or write to another store with -o",
                      "'%s' is being written by another capture", name);
}

/* May what has the store's name be replaced? */
static enum pcere_status check_old(struct staging *staging, bool force, struct pcere_error *error)
{
    struct stat about;
    if (fstatat(staging->parent, staging->name, &about, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? PCERE_OK : fail_path(error, "read", staging->name);
    if (!S_ISDIR(about.st_mode) || !directory_is_store(staging->parent, staging->name))
        return pcere_fail(error, PCERE_USAGE, 0, "choose another name with -o", "'%s' exists and is not a PCERE store", staging->name);
    if (!force)
        return pcere_fail(error, PCERE_USAGE, 0, "replace it with --force, or write to another store with -o",
                          "the store '%s' exists", staging->name);
    uint64_t bytes;
    int old = directory_open(staging->parent, staging->name);
    enum pcere_status status = directory_in_use(old) ? fail_in_use(error, staging->name) : old < 0 ? PCERE_OK : store_parts_check(old, staging->name, false, &bytes, error);
    if (old >= 0)
        close(old);
    staging->replaces = true;
    return status;
}

/* Remove what a killed writer left under the staging name, and nothing else. */
static enum pcere_status clear_staging(struct staging *staging, struct pcere_error *error)
{
    int left = directory_open(staging->parent, staging->staging_name);
    if (left < 0 && errno == ENOENT)
        return PCERE_OK;
    bool ours = left >= 0 && (directory_is_store(staging->parent, staging->staging_name) ||
                              directory_is_leftover(staging->parent, staging->staging_name));
    enum pcere_status status = PCERE_OK;
    uint64_t bytes;
    if (!ours)
        status = pcere_fail(error, PCERE_USAGE, 0, "move it away, or choose another name with -o",
                            "'%s' is in the way and is not a PCERE store", staging->staging_name);
    else if (directory_in_use(left))
        status = fail_in_use(error, staging->name);
    else if (!(status = store_parts_check(left, staging->staging_name, false, &bytes, error)))
        status = tree_remove(staging->parent, staging->staging_name, error);
    if (left >= 0)
        close(left);
    return status;
}

static enum pcere_status make_directory(struct staging *staging, struct pcere_error *error)
{
    int errnum = fault_point("store.mkdir");
    if (errnum || mkdirat(staging->parent, staging->staging_name, 0700) != 0)
        return !errnum && errno == EEXIST ? fail_in_use(error, staging->name) :      /* since we looked */
               pcere_fail(error, PCERE_SYSTEM, errnum ? errnum : errno, NULL, "cannot make the store '%s'", staging->name);
    staging->directory = directory_open(staging->parent, staging->staging_name);
    if (staging->directory < 0)
        return fail_path(error, "open", staging->staging_name);
    if (directory_in_use(staging->directory))
        return fail_in_use(error, staging->name);
    staging->owned = true;
    return PCERE_OK;
}

enum pcere_status staging_open(const char *path, bool force, struct staging *ret_staging, struct pcere_error *error)
{
    *ret_staging = (struct staging){.parent = -1, .directory = -1};
    enum pcere_status status = split_path(ret_staging, path, error);
    if (!status)
        status = check_old(ret_staging, force, error);
    if (!status)
        status = clear_staging(ret_staging, error);
    return status ? status : make_directory(ret_staging, error);
}

static int rename_name(const struct staging *staging, const char *from, const char *to, unsigned flags)
{
    int errnum = fault_point("store.rename");
    if (errnum) {
        errno = errnum;
        return -1;
    }
    int result = renameat2(staging->parent, from, staging->parent, to, flags);
    if (result != 0 && flags == RENAME_NOREPLACE && (errno == EINVAL || errno == ENOSYS))
        result = renameat(staging->parent, from, staging->parent, to);
    return result;
}

/* On a file system that cannot exchange. */
static int replace_in_two_steps(const struct staging *staging)
{
    char *old;
    if (asprintf(&old, "%s.old", staging->name) < 0)
        return -1;
    int result = rename_name(staging, staging->name, old, RENAME_NOREPLACE);
    if (result == 0)
        result = rename_name(staging, staging->staging_name, staging->name, RENAME_NOREPLACE);
    if (result == 0)
        tree_remove(staging->parent, old, NULL);
    free(old);
    return result;
}

enum pcere_status staging_publish(struct staging *staging, struct pcere_error *error)
{
    if (staging->published)
        return PCERE_OK;
    int result = rename_name(staging, staging->staging_name, staging->name, staging->replaces ? RENAME_EXCHANGE : RENAME_NOREPLACE);
    if (result != 0 && staging->replaces && errno == ENOENT)
        result = rename_name(staging, staging->staging_name, staging->name, RENAME_NOREPLACE);
    else if (result != 0 && staging->replaces && (errno == EINVAL || errno == ENOSYS))
        result = replace_in_two_steps(staging);
    if (result != 0)
        return fail_path(error, "give its name to the store", staging->name);
    staging->published = true;
    directory_sync(staging->parent, ".", NULL);
    if (staging->replaces)
        tree_remove(staging->parent, staging->staging_name, NULL);
    return PCERE_OK;
}

void staging_abandon(struct staging *staging)
{
    if (staging->owned)
        tree_remove(staging->parent, staging->published ? staging->name : staging->staging_name, NULL);
}

void staging_done(struct staging *staging)
{
    if (staging->directory >= 0)
        close(staging->directory);
    if (staging->parent >= 0)
        close(staging->parent);
    free(staging->name);
    free(staging->staging_name);
    *staging = (struct staging){.parent = -1, .directory = -1};
}
