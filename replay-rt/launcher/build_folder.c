/* replay-rt/launcher/build_folder.c - the folders where builds are made, and what stopped commands left of them.
 *
 *   STORE/build/KEY.PID.partial/    locked for as long as it is being made: one that nobody has locked was left by a process that was stopped
 */
#include "replay-rt/launcher/build_work.h"

#include "core/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PARTIAL ".partial"
#define KEPT_SECONDS 86400

/* -1: it is being made, or none of ours. */
static int left_lock(int builds, const char *name)
{
    const char *kind = strrchr(name, '.');
    if (!kind || strcmp(kind, PARTIAL) != 0)
        return -1;
    int folder = openat(builds, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB)) {
        close(folder);
        folder = -1;
    }
    return folder;
}

void build_folders_tidy(const char *builds)
{
    DIR *listing = opendir(builds);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        char final[sizeof entry->d_name];
        struct stat here, made;
        int folder = left_lock(dirfd(listing), entry->d_name);
        if (folder < 0)
            continue;
        snprintf(final, sizeof final, "%.*s", (int)strcspn(entry->d_name, "."), entry->d_name);
        if (fstat(folder, &here) || here.st_mtime < time(NULL) - KEPT_SECONDS || !fstatat(dirfd(listing), final, &made, 0))
            tree_remove(dirfd(listing), entry->d_name, NULL);
        close(folder);
    }
    if (listing)
        closedir(listing);
}

/* What is finished of units stays: their files have these names once they are whole. */
static void left_clean(int folder)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = copy < 0 ? NULL : fdopendir(copy);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        const char *name = entry->d_name, *kind = strrchr(name, '.');
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !(kind && (!strcmp(kind, ".bc") || !strcmp(kind, ".o") || !strcmp(kind, ".s"))))
            tree_remove(folder, name, NULL);
    }
    if (copy >= 0 && !listing)
        close(copy);
    if (listing)
        closedir(listing);
}

/* Makes one that was left of the same build this process's. False: there is none. */
static bool left_take(const char *final, const char *path, int *ret_lock)
{
    const char *slash = strrchr(final, '/'), *key = slash ? slash + 1 : final;
    char *builds = strndup(final, slash ? (size_t)(slash - final) : 0);
    DIR *listing = builds ? opendir(builds) : NULL;
    bool taken = false;
    for (struct dirent *entry; !taken && listing && (entry = readdir(listing));) {
        size_t length = strlen(key);
        if (strncmp(entry->d_name, key, length) != 0 || entry->d_name[length] != '.')
            continue;
        int folder = left_lock(dirfd(listing), entry->d_name);
        taken = folder >= 0 && !renameat(dirfd(listing), entry->d_name, AT_FDCWD, path);
        if (taken) {
            left_clean(folder);
            *ret_lock = folder;
        } else if (folder >= 0) {
            close(folder);
        }
    }
    if (listing)
        closedir(listing);
    free(builds);
    return taken;
}

/* Another process may take it for one that was left before it is locked: then it is made again. */
static enum pcere_status folder_make(const char *path, int *ret_lock, struct pcere_error *error)
{
    struct stat here, locked;
    for (bool ours = false; !ours;) {
        enum pcere_status status = tree_remove(AT_FDCWD, path, error);
        if (!status)
            status = directory_make(AT_FDCWD, path, error);
        if (status)
            return status;
        int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder >= 0)
            flock(folder, LOCK_EX);      /* where a file system has no locks, nothing is taken for left either */
        else if (errno != ENOENT)
            return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot open '%s'", path);
        ours = folder >= 0 && !fstat(folder, &locked) && !stat(path, &here) && here.st_ino == locked.st_ino && here.st_dev == locked.st_dev;
        if (ours)
            *ret_lock = folder;
        else if (folder >= 0)
            close(folder);
    }
    return PCERE_OK;
}

enum pcere_status build_folder_take(struct builder *builder, const char *final, int *ret_lock, struct pcere_error *error)
{
    if (asprintf(&builder->folder, "%s.%ld" PARTIAL, final, (long)getpid()) < 0)
        return pcere_fail_memory(error, "a path");
    builder->goes_on = left_take(final, builder->folder, ret_lock);
    return builder->goes_on ? PCERE_OK : folder_make(builder->folder, ret_lock, error);
}
