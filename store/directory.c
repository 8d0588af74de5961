#include "store/directory.h"

#include "core/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first bytes of a file; how many. */
static size_t read_head(int directory, const char *name, char *head, size_t bytes)
{
    int descriptor = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return 0;
    ssize_t got = read(descriptor, head, bytes);
    close(descriptor);
    return got > 0 ? (size_t)got : 0;
}

bool directory_is_store(int directory, const char *path)
{
    int inside = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (inside < 0)
        return false;
    char head[64];
    size_t bytes = read_head(inside, "manifest.json", head, sizeof head);
    bool ours = memmem(head, bytes, STORE_SCHEMA, strlen(STORE_SCHEMA)) != NULL;
    if (!ours) {
        bytes = read_head(inside, "pages", head, strlen(PAGES_MAGIC));
        ours = bytes == strlen(PAGES_MAGIC) && memcmp(head, PAGES_MAGIC, bytes) == 0;
    }
    close(inside);
    return ours;
}

bool directory_name_is_ours(const char *name)
{
    static const char *const names[] = {".", "..", "manifest.json", "program", "pages", "codelets", "samples.jsonl", "invocations.json", "build",
                                        "libraries"};
    size_t length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, ".tmp") == 0)
        length -= 4;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0)
            return true;
    return false;
}

bool directory_is_leftover(int directory, const char *path)
{
    int inside = openat(directory, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *listing = inside < 0 ? NULL : fdopendir(inside);
    if (!listing) {
        if (inside >= 0)
            close(inside);
        return false;
    }
    bool ours = true;
    for (struct dirent *entry; ours && (entry = readdir(listing));)
        ours = directory_name_is_ours(entry->d_name);
    closedir(listing);
    return ours;
}
