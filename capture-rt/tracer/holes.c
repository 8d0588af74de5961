#include "capture-rt/tracer/holes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

bool holes_may_be(const struct map_list *maps, const struct map_entry *entry)
{
    size_t places = 0;
    if (!entry->shared || !entry->file || !entry->inode || !(entry->mapping.protection & 2u /* PROT_WRITE */))
        return false;
    for (size_t i = 0; i < maps->count; i++)
        places += maps->entries[i].inode == entry->inode && maps->entries[i].device == entry->device;
    return places == 1;
}

/* Only that file, if it is a regular one: others may do something when they are opened. */
static int open_same(const char *path, const struct map_entry *entry)
{
    struct stat facts;
    if (stat(path, &facts) || !S_ISREG(facts.st_mode) || facts.st_ino != entry->inode ||
        ((uint64_t)major(facts.st_dev) << 32 | minor(facts.st_dev)) != entry->device)
        return -1;
    return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

int holes_open(pid_t pid, const struct map_entry *entry)
{
    char path[320];
    snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, entry->mapping.start, entry->mapping.end);
    int found = open_same(path, entry);
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = found < 0 ? opendir(path) : NULL;
    for (struct dirent *one; folder && found < 0 && (one = readdir(folder));) {
        snprintf(path, sizeof path, "/proc/%d/fd/%.200s", (int)pid, one->d_name);
        found = one->d_name[0] == '.' ? -1 : open_same(path, entry);
    }
    if (folder)
        closedir(folder);
    return found;
}

bool holes_at(int descriptor, const struct map_entry *entry, uint64_t page_bytes, uint64_t at, uint64_t end, uint64_t *ret_end)
{
    struct stat facts;
    uint64_t shift = entry->offset - entry->mapping.start;       /* from an address to the file's offset */
    *ret_end = end;
    if (descriptor < 0 || fstat(descriptor, &facts) || at + shift >= (uint64_t)facts.st_size)
        return false;
    uint64_t file_end = ((uint64_t)facts.st_size + page_bytes - 1) / page_bytes * page_bytes - shift;
    *ret_end = file_end < end ? file_end : end;
    off_t data = lseek(descriptor, (off_t)(at + shift), SEEK_DATA);
    if (data < 0)           /* nothing until the file's end */
        return errno == ENXIO;
    uint64_t next = (uint64_t)data / page_bytes * page_bytes - shift;
    if (next > at) {
        *ret_end = next < *ret_end ? next : *ret_end;
        return true;
    }
    off_t hole = lseek(descriptor, data, SEEK_HOLE);
    next = hole < 0 ? *ret_end : ((uint64_t)hole + page_bytes - 1) / page_bytes * page_bytes - shift;
    *ret_end = next > at && next < *ret_end ? next : *ret_end;
    return false;
}
