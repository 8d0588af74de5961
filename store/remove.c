/* store/remove.c - taking a store away: what belongs to one, and the order in which it goes, so that a half-removed store is none and
 * can be removed again. */
#include "core/files.h"
#include "core/text.h"
#include "store/directory.h"
#include "store/staging.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MOST = 8 };

struct removal {
    const char *path;
    int directory;
    uint64_t bytes;                  /* that its files occupy */
};

typedef bool is_part_fn(const char *name, bool directory);

static bool ends_in(const char *name, const char *suffix)
{
    size_t length = strlen(name), suffix_length = strlen(suffix);
    return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

static bool is_top(const char *name, bool directory)
{
    bool folder = strcmp(name, "codelets") == 0 || strcmp(name, "libraries") == 0 || strcmp(name, "build") == 0;
    return directory_name_is_ours(name) && folder == directory;
}

static bool is_codelet(const char *name, bool directory)
{
    return !directory && (ends_in(name, ".codelet") || ends_in(name, ".codelet.tmp") || ends_in(name, ".character") || ends_in(name, ".character.tmp"));
}

static bool is_library(const char *name, bool directory)
{
    return !directory && codelet_name_valid(name);
}

/* KEY, KEY.failed, KEY.PID.partial: the key is 16 hexadecimal digits; memory: decompressed pages. */
static bool is_build(const char *name, bool directory)
{
    if (directory && !strcmp(name, "memory"))
        return true;
    size_t digits = strspn(name, "0123456789abcdef");
    return directory && digits == 16 && (!name[16] || strcmp(name + 16, ".failed") == 0 || ends_in(name + 16, ".partial"));
}

static bool is_anything(const char *name, bool directory)
{
    (void)name;
    (void)directory;
    return true;
}

static enum pcere_status fail_foreign(const struct removal *removal, const char *folder, const char *name, struct pcere_error *error)
{
    return pcere_fail(error, PCERE_USAGE, 0, "move it away first: only what PCERE wrote is removed",
                      "'%.200s' holds '%s%s%.200s', which is no part of a store: nothing was removed", removal->path, folder, *folder ? "/" : "", name);
}

/* Count what lies in a folder, and see that all of it is part of a store. A folder that is not there is fine. */
static enum pcere_status folder_check(struct removal *removal, int parent, const char *folder, is_part_fn *is_part, int depth,
                                      struct pcere_error *error)
{
    int descriptor = openat(parent, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *listing = descriptor < 0 ? NULL : fdopendir(descriptor);
    if (!listing) {
        enum pcere_status status = errno == ENOENT ? PCERE_OK : pcere_fail(error, PCERE_USAGE, errno, NULL, "cannot read '%s'", folder);
        if (descriptor >= 0)
            close(descriptor);
        return status;
    }
    enum pcere_status status = PCERE_OK;
    for (struct dirent *entry; !status && (entry = readdir(listing));) {
        struct stat about;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(descriptor, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        removal->bytes += (uint64_t)about.st_blocks * 512;
        if (!is_part(entry->d_name, S_ISDIR(about.st_mode)))
            status = fail_foreign(removal, strcmp(folder, ".") == 0 ? "" : folder, entry->d_name, error);
        else if (S_ISDIR(about.st_mode) && (is_part == is_build || is_part == is_anything) && depth < DEPTH_MOST)
            status = folder_check(removal, descriptor, entry->d_name, is_anything, depth + 1, error);
    }
    closedir(listing);
    return status;
}

static enum pcere_status content_check(struct removal *removal, bool cache_only, struct pcere_error *error)
{
    static const struct { const char *folder; is_part_fn *is_part; } folders[] = {
        {"build", is_build}, {".", is_top}, {"codelets", is_codelet}, {"libraries", is_library}};
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < (cache_only ? 1 : sizeof folders / sizeof *folders) && !status; i++)
        status = folder_check(removal, removal->directory, folders[i].folder, folders[i].is_part, 0, error);
    return status;
}

/* Without its manifest it is no store any more; `pages` goes last, since it still tells what the rest was. */
static enum pcere_status content_remove(const struct removal *removal, struct pcere_error *error)
{
    static const char *const names[] = {"manifest.json", "manifest.json.tmp", "codelets", "samples.jsonl", "samples.jsonl.tmp", "invocations.json",
                                        "invocations.json.tmp",
                                        "libraries", "program", "program.tmp", "build", "pages.tmp", "pages"};
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && !status; i++)
        status = tree_remove(removal->directory, names[i], error);
    return status;
}

static enum pcere_status store_find(struct removal *removal, struct pcere_error *error)
{
    struct stat about;
    if (lstat(removal->path, &about) != 0)
        return pcere_fail(error, errno == ENOENT || errno == ENOTDIR ? PCERE_DATA : PCERE_SYSTEM, errno, "check the name",
                          "cannot remove '%s'", removal->path);
    if (S_ISLNK(about.st_mode))
        return pcere_fail(error, PCERE_USAGE, 0, "name the store itself", "'%s' is a link", removal->path);
    if (!S_ISDIR(about.st_mode) || !directory_is_store(AT_FDCWD, removal->path))
        return pcere_fail(error, PCERE_USAGE, 0, "only stores are removed: what 'pcere capture' made", "'%s' is not a PCERE store", removal->path);
    removal->directory = open(removal->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (removal->directory < 0)
        return pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot open '%s'", removal->path);
    if (directory_in_use(removal->directory))
        return pcere_fail(error, PCERE_USAGE, 0, "wait until it has ended", "'%s' is in use by a capture or by packing", removal->path);
    return PCERE_OK;
}

enum pcere_status store_remove(const char *path, bool cache_only, uint64_t *ret_bytes, struct pcere_error *error)
{
    struct text plain = {0};
    text_add(&plain, path);
    while (plain.length > 1 && plain.data[plain.length - 1] == '/')      /* a link with a slash behind it would be followed */
        plain.data[--plain.length] = '\0';
    if (plain.failed)
        return pcere_fail_memory(error, "a path");
    struct removal removal = {.path = plain.data ? plain.data : "", .directory = -1};
    enum pcere_status status = store_find(&removal, error);
    if (!status)
        status = content_check(&removal, cache_only, error);
    if (!status)
        status = cache_only ? tree_remove(removal.directory, "build", error) : content_remove(&removal, error);
    if (!status && !cache_only && rmdir(removal.path) != 0)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot remove '%s'", removal.path);
    if (removal.directory >= 0)
        close(removal.directory);
    text_done(&plain);
    if (!status)
        *ret_bytes = removal.bytes;
    return status;
}
