#include "core/files.h"

#include "core/faults.h"
#include "core/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define FILE_CHUNK_BYTES ((size_t)1 << 20)
#define TREE_DEPTH_MOST 64
#define HINT_SPACE "free space on the disk, or choose another place"

static int file_fault(const char *fault)
{
    return fault ? fault_point(fault) : 0;
}

static enum pcere_status file_fail(struct pcere_error *error, int errnum, const char *what, const char *path)
{
    return pcere_fail(error, PCERE_SYSTEM, errnum, errnum == ENOSPC || errnum == EDQUOT ? HINT_SPACE : NULL, "cannot %s '%s'",
                      what, path);
}

/* Open a regular file for reading. Without O_NONBLOCK a fifo of that name would block for ever. */
static enum pcere_status file_open_regular(int directory, const char *path, enum pcere_status if_missing, int *ret_descriptor,
                                           struct stat *ret_stat, struct pcere_error *error)
{
    int descriptor = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return pcere_fail(error, errno == ENOENT || errno == ENOTDIR ? if_missing : PCERE_SYSTEM, errno, NULL,
                          "cannot read '%s'", path);
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        enum pcere_status failed = file_fail(error, errno, "read", path);
        close(descriptor);
        return failed;
    }
    if (!S_ISREG(status.st_mode)) {
        close(descriptor);
        return pcere_fail(error, if_missing, 0, NULL, "'%s' is not a regular file", path);
    }
    *ret_descriptor = descriptor;
    *ret_stat = status;
    return PCERE_OK;
}

enum pcere_status file_read(int directory, const char *path, size_t limit_bytes, void **ret_data, size_t *ret_bytes,
                            struct pcere_error *error)
{
    int descriptor;
    struct stat about;
    enum pcere_status status = file_open_regular(directory, path, PCERE_DATA, &descriptor, &about, error);
    if (status)
        return status;
    struct text content = {0};
    size_t capacity = about.st_size > 0 && (uint64_t)about.st_size <= limit_bytes ? (size_t)about.st_size : 0;
    if (!array_reserve(&content.data, &content.capacity, capacity + 2, 1))
        status = pcere_fail_memory(error, path);
    /* Files in /proc and /sys have no size: read until the end is seen. */
    while (!status) {
        if (!array_reserve(&content.data, &content.capacity, content.length + 2, 1)) {
            status = pcere_fail_memory(error, path);
            break;
        }
        ssize_t got = read(descriptor, content.data + content.length, content.capacity - content.length - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = file_fail(error, errno, "read", path);
        else if (got == 0)
            break;
        else if ((content.length += (size_t)got) > limit_bytes)
            status = pcere_fail(error, PCERE_DATA, 0, NULL, "'%s' has more than %zu bytes", path, limit_bytes);
    }
    close(descriptor);
    if (status) {
        text_done(&content);
        return status;
    }
    content.data[content.length] = 0;
    *ret_data = content.data;
    *ret_bytes = content.length;
    return PCERE_OK;
}

enum pcere_status file_write_all(int descriptor, int64_t offset, const void *data, size_t bytes, const char *path,
                                 const char *fault, struct pcere_error *error)
{
    const char *at = data;
    while (bytes) {
        int errnum = file_fault(fault);
        ssize_t put = -1;
        if (!errnum) {
            put = offset < 0 ? write(descriptor, at, bytes) : pwrite(descriptor, at, bytes, offset);
            errnum = put < 0 ? errno : 0;
        }
        if (errnum == EINTR)
            continue;
        if (errnum || put == 0)
            return file_fail(error, errnum ? errnum : ENOSPC, "write", path);
        at += put;
        bytes -= (size_t)put;
        if (offset >= 0)
            offset += put;
    }
    return PCERE_OK;
}

enum pcere_status directory_sync(int directory, const char *path, struct pcere_error *error)
{
    int descriptor = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return file_fail(error, errno, "open", path);
    /* Some file systems do not sync directories and say so: nothing more can be done there. */
    int failed = fsync(descriptor) != 0 && errno != EINVAL && errno != ENOTSUP ? errno : 0;
    close(descriptor);
    return failed ? file_fail(error, failed, "sync", path) : PCERE_OK;
}

static char *path_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* A file without a name, in the directory where `path` is to be: it is gone with whoever is killed while he writes it. -1 where the file system has none,
 * or where there is no /proc to name it from. */
static int nameless_make(int directory, const char *path)
{
    char *parent = path_parent(path);
    int descriptor = parent && access("/proc/self/fd", X_OK) == 0 ? openat(directory, parent, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600) : -1;
    free(parent);
    return descriptor;
}

/* 0, or errno */
static int nameless_name(int directory, const struct file_stage *stage)
{
    char itself[32];
    if (stage->named)
        return 0;
    snprintf(itself, sizeof itself, "/proc/self/fd/%d", stage->descriptor);
    unlinkat(directory, stage->name, 0);
    return linkat(AT_FDCWD, itself, directory, stage->name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

enum pcere_status file_stage(int directory, const char *path, const char *fault, struct file_stage *ret_stage,
                             struct pcere_error *error)
{
    char *name;
    struct stat there;
    if (fstatat(directory, path, &there, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode) && !S_ISDIR(there.st_mode))
        return pcere_fail(error, PCERE_USAGE, 0, "name a file", "'%.200s' is a device or the like, and is not replaced", path);
    if (asprintf(&name, "%s.tmp", path) < 0)
        return pcere_fail_memory(error, path);
    int errnum = file_fault(fault);
    int descriptor = errnum ? -1 : nameless_make(directory, path);
    bool named = descriptor < 0;
    if (!errnum && named)
        descriptor = openat(directory, name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0) {
        enum pcere_status status = file_fail(error, errnum ? errnum : errno, "create", name);
        free(name);
        return status;
    }
    *ret_stage = (struct file_stage){name, descriptor, named};
    return PCERE_OK;
}

enum pcere_status file_publish(int directory, const char *path, struct file_stage *stage, bool durable, const char *fault,
                               enum pcere_status written, struct pcere_error *error)
{
    enum pcere_status status = written;
    if (!status && durable) {
        int errnum = file_fault(fault);
        if (errnum || fsync(stage->descriptor) != 0)
            status = file_fail(error, errnum ? errnum : errno, "sync", stage->name);
    }
    int unnamed = status ? 0 : nameless_name(directory, stage);
    if (unnamed)
        status = file_fail(error, unnamed, "create", stage->name);
    if (close(stage->descriptor) != 0 && !status)
        status = file_fail(error, errno, "write", stage->name);
    if (!status) {
        int errnum = file_fault(fault);
        if (errnum || renameat(directory, stage->name, directory, path) != 0)
            status = file_fail(error, errnum ? errnum : errno, "create", path);
    }
    if (status)
        unlinkat(directory, stage->name, 0);
    else if (durable) {
        char *parent = path_parent(path);
        status = parent ? directory_sync(directory, parent, error) : pcere_fail_memory(error, path);
        free(parent);
    }
    free(stage->name);
    *stage = (struct file_stage){.descriptor = -1};
    return status;
}

enum pcere_status file_replace(int directory, const char *path, const void *data, size_t bytes, bool durable, const char *fault,
                               struct pcere_error *error)
{
    struct file_stage stage;
    enum pcere_status status = file_stage(directory, path, fault, &stage, error);
    if (status)
        return status;
    status = file_write_all(stage.descriptor, -1, data, bytes, stage.name, fault, error);
    return file_publish(directory, path, &stage, durable, fault, status, error);
}

/* Each way may be missing on a file system or between two of them: the next one goes on where it stopped. */
static enum pcere_status file_copy_content(int from, int to, const char *path, const char *fault, struct pcere_error *error)
{
    int errnum = file_fault(fault);
    if (errnum)
        return file_fail(error, errnum, "write", path);
    if (ioctl(to, FICLONE, from) == 0)
        return PCERE_OK;
    ssize_t moved;
    while ((moved = copy_file_range(from, NULL, to, NULL, FILE_CHUNK_BYTES, 0)) > 0) {}
    if (moved < 0 && (errno == ENOSPC || errno == EDQUOT))
        return file_fail(error, errno, "write", path);
    while ((moved = sendfile(to, from, NULL, FILE_CHUNK_BYTES)) > 0) {}
    if (moved < 0)
        return file_fail(error, errno, "write", path);
    return PCERE_OK;
}

enum pcere_status file_copy(const char *from, int directory, const char *path, const char *fault, struct pcere_error *error)
{
    int source;
    struct stat about, copied;
    struct file_stage stage;
    enum pcere_status status = file_open_regular(AT_FDCWD, from, PCERE_USAGE, &source, &about, error);
    if (status)
        return status;
    status = file_stage(directory, path, fault, &stage, error);
    if (status) {
        close(source);
        return status;
    }
    status = file_copy_content(source, stage.descriptor, stage.name, fault, error);
    if (!status && (fstat(stage.descriptor, &copied) != 0 || copied.st_size != about.st_size))
        status = pcere_fail(error, PCERE_SYSTEM, 0, "see that no one writes it meanwhile", "'%s' changed while it was copied", from);
    close(source);
    return file_publish(directory, path, &stage, false, fault, status, error);
}

enum pcere_status file_hash(int directory, const char *path, uint64_t *ret_hash, uint64_t *ret_bytes, struct pcere_error *error)
{
    int descriptor;
    struct stat about;
    enum pcere_status status = file_open_regular(directory, path, PCERE_DATA, &descriptor, &about, error);
    if (status)
        return status;
    /* no larger than the file, and a byte more, which shows that it ends there */
    size_t chunk_bytes = (uint64_t)about.st_size < FILE_CHUNK_BYTES ? (size_t)about.st_size + 1 : FILE_CHUNK_BYTES;
    char *chunk = malloc(chunk_bytes);
    XXH64_state_t *state = XXH64_createState();
    uint64_t bytes = 0;
    if (!chunk || !state)
        status = pcere_fail_memory(error, path);
    else
        XXH64_reset(state, 0);
    for (ssize_t got = 1; !status && got;) {
        got = read(descriptor, chunk, chunk_bytes);
        if (got < 0 && errno != EINTR)
            status = file_fail(error, errno, "read", path);
        else if (got > 0) {
            XXH64_update(state, chunk, (size_t)got);
            bytes += (uint64_t)got;
        }
    }
    if (!status) {
        *ret_hash = XXH64_digest(state);
        *ret_bytes = bytes;
    }
    XXH64_freeState(state);
    free(chunk);
    close(descriptor);
    return status;
}

enum pcere_status directory_make(int directory, const char *path, struct pcere_error *error)
{
    struct stat about;
    if (mkdirat(directory, path, 0700) == 0)
        return PCERE_OK;
    int errnum = errno;
    if (errnum == EEXIST && fstatat(directory, path, &about, 0) == 0 && S_ISDIR(about.st_mode))
        return PCERE_OK;
    return file_fail(error, errnum, "make directory", path);
}

static enum pcere_status tree_empty(int descriptor, const char *path, int depth, struct pcere_error *error);

static enum pcere_status tree_remove_at(int directory, const char *path, int depth, struct pcere_error *error)
{
    if (unlinkat(directory, path, 0) == 0 || errno == ENOENT)
        return PCERE_OK;
    if (errno != EISDIR && errno != EPERM)
        return file_fail(error, errno, "remove", path);
    if (depth > TREE_DEPTH_MOST)
        return pcere_fail(error, PCERE_SYSTEM, ELOOP, NULL, "cannot remove '%s'", path);
    int descriptor = openat(directory, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0)
        return file_fail(error, errno, "remove", path);
    enum pcere_status status = tree_empty(descriptor, path, depth, error);
    if (!status && unlinkat(directory, path, AT_REMOVEDIR) != 0 && errno != ENOENT)
        status = file_fail(error, errno, "remove", path);
    return status;
}

/* Takes the descriptor. */
static enum pcere_status tree_empty(int descriptor, const char *path, int depth, struct pcere_error *error)
{
    DIR *listing = fdopendir(descriptor);
    if (!listing) {
        close(descriptor);
        return file_fail(error, errno, "read", path);
    }
    enum pcere_status status = PCERE_OK;
    for (struct dirent *entry; !status && (entry = readdir(listing));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = tree_remove_at(dirfd(listing), entry->d_name, depth + 1, error);
    closedir(listing);
    return status;
}

enum pcere_status tree_remove(int directory, const char *path, struct pcere_error *error)
{
    return tree_remove_at(directory, path, 0, error);
}
