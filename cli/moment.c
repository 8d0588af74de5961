/* cli/moment.c - directories for the moment, under TMPDIR, and what processes that were killed left of theirs.
 *
 * Such a directory is locked (flock) as long as the process that made it lives. Whoever makes one removes those of the same user and machine that nobody
 * holds: the name has the machine, since locks in a directory that several machines share may be each machine's own.
 *
 *   TMPDIR/pcere-MACHINE-XXXXXX
 */
#include "cli/cli.h"
#include "core/files.h"
#include "core/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define RANDOM_LETTERS "XXXXXX"
#define TRIES 8               /* directories that somebody else's cleaning took before they were locked */

static const char *base_folder(void)
{
    const char *base = getenv("TMPDIR");
    return base && base[0] ? base : "/tmp";
}

/* "pcere-MACHINE-" */
static char *name_begin(void)
{
    struct utsname machine;
    struct text name = {0};
    text_addf(&name, "pcere-%s-", uname(&machine) ? "" : machine.nodename);
    return text_take(&name);
}

/* Remove it if it is ours and nobody holds it. */
static void left_remove(int base, const char *name)
{
    struct stat status;
    int directory = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return;
    if (fstat(directory, &status) == 0 && status.st_uid == geteuid() && flock(directory, LOCK_EX | LOCK_NB) == 0)
        tree_remove(base, name, NULL);
    close(directory);
}

static void all_left_remove(const char *begin)
{
    DIR *base = opendir(base_folder());
    if (!base)
        return;
    for (const struct dirent *entry = readdir(base); entry; entry = readdir(base))
        if (strncmp(entry->d_name, begin, strlen(begin)) == 0 && strlen(entry->d_name) == strlen(begin) + strlen(RANDOM_LETTERS))
            left_remove(dirfd(base), entry->d_name);
    closedir(base);
}

/* False: it is gone, or about to be. Where directories cannot be locked, nobody removes any. The descriptor stays open: the process's end unlocks. */
static bool hold(const char *path)
{
    struct stat held, there;
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return false;
    bool ours = (flock(directory, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && fstat(directory, &held) == 0 && lstat(path, &there) == 0 &&
                held.st_dev == there.st_dev && held.st_ino == there.st_ino;
    if (!ours)
        close(directory);
    return ours;
}

enum pcere_status cli_directory_new(char **ret_path, struct pcere_error *error)
{
    char *begin = name_begin();
    if (!begin)
        return pcere_fail_memory(error, "a path");
    all_left_remove(begin);
    enum pcere_status status = PCERE_OK;
    char *path = NULL;
    for (int k = 0; k < TRIES && status == PCERE_OK && !path; k++) {
        struct text name = {0};
        text_addf(&name, "%s/%s" RANDOM_LETTERS, base_folder(), begin);
        path = text_take(&name);
        if (!path)
            status = pcere_fail_memory(error, "a path");
        else if (!mkdtemp(path))
            status = pcere_fail(error, PCERE_SYSTEM, errno, "set TMPDIR to a directory that can be written", "cannot make a directory for the moment");
        if (path && (status != PCERE_OK || !hold(path))) {
            free(path);
            path = NULL;
        }
    }
    free(begin);
    if (status == PCERE_OK && !path)
        status = pcere_fail(error, PCERE_SYSTEM, EAGAIN, "set TMPDIR to a directory of your own", "what is made in '%.300s' vanishes", base_folder());
    if (status == PCERE_OK)
        *ret_path = path;
    return status;
}

void cli_directory_remove(const char *path)
{
    if (path)
        tree_remove(AT_FDCWD, path, NULL);
}
