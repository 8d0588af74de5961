/* store/parts.c - see parts.h. */
#include "store/parts.h"

#include "store/directory.h"
#include "store/staging.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MOST = 8 };

struct survey {
    const char *path;
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

static enum pcere_status fail_foreign(const struct survey *survey, const char *folder, const char *name, struct pcere_error *error)
{
    return pcere_fail(error, PCERE_USAGE, 0, "move it away first: only what PCERE wrote is removed or replaced",
                      "'%.200s' holds '%s%s%.200s', which is no part of a store: nothing was removed", survey->path, folder, *folder ? "/" : "", name);
}

/* Count what lies in a folder, and see that all of it is part of a store. A folder that is not there is fine. */
static enum pcere_status folder_check(struct survey *survey, int parent, const char *folder, is_part_fn *is_part, int depth,
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
        survey->bytes += (uint64_t)about.st_blocks * 512;
        if (!is_part(entry->d_name, S_ISDIR(about.st_mode)))
            status = fail_foreign(survey, strcmp(folder, ".") == 0 ? "" : folder, entry->d_name, error);
        else if (S_ISDIR(about.st_mode) && (is_part == is_build || is_part == is_anything) && depth < DEPTH_MOST)
            status = folder_check(survey, descriptor, entry->d_name, is_anything, depth + 1, error);
    }
    closedir(listing);
    return status;
}

enum pcere_status store_parts_check(int directory, const char *path, bool cache_only, uint64_t *ret_bytes, struct pcere_error *error)
{
    static const struct { const char *folder; is_part_fn *is_part; } folders[] = {
        {"build", is_build}, {".", is_top}, {"codelets", is_codelet}, {"libraries", is_library}};
    struct survey survey = {.path = path};
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < (cache_only ? 1 : sizeof folders / sizeof *folders) && !status; i++)
        status = folder_check(&survey, directory, folders[i].folder, folders[i].is_part, 0, error);
    *ret_bytes = survey.bytes;
    return status;
}
