/* store/remove.c - taking a store away, in an order such that a half-removed store is none and can be removed again. */
#include "core/files.h"
#include "core/text.h"
#include "store/directory.h"
#include "store/parts.h"
#include "store/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct removal {
    const char *path;
    int directory;
    uint64_t bytes;                  /* that its files occupy */
};

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
        status = store_parts_check(removal.directory, removal.path, cache_only, &removal.bytes, error);
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
