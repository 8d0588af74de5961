/* core/host_memory.c - how much memory there is: the machine's, and what limits of control groups leave of it, of both versions. */
#include "core/host.h"
#include "core/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct group_files { const char *root, *limit, *used, *cached[2]; };  /* `cached`: the keys of files' pages, which the kernel takes back where it is short of memory, the lately used ones too */

static const struct group_files first_version = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};
static const struct group_files second_version = {"/sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file", "active_file"}};

/* The number behind `key`, or the first one with NULL; UINT64_MAX: there is none ("max"). */
static uint64_t number_read(const char *path, const char *key)
{
    char line[256];
    uint64_t number = UINT64_MAX;
    size_t length = key ? strlen(key) : 0;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *value = !key ? line : strncmp(line, key, length) == 0 && strchr(": ", line[length]) ? line + length + 1 : NULL;
        if (!value)
            continue;
        if (sscanf(value, "%" SCNu64, &number) != 1)
            number = UINT64_MAX;
        break;
    }
    if (file)
        fclose(file);
    return number;
}

static uint64_t group_number(const struct group_files *files, const char *group, const char *name, const char *key)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s%s/%s", files->root, group, name);
    return length > 0 && (size_t)length < sizeof path ? number_read(path, key) : UINT64_MAX;
}

/* Limits of the group and of those above it: the least, of all that there is or of what is left. */
static uint64_t groups_least(const struct group_files *files, char *group, bool left)
{
    uint64_t least = UINT64_MAX;
    for (;;) {
        uint64_t limit = group_number(files, group, files->limit, NULL);
        if (limit != UINT64_MAX && left) {
            uint64_t used = group_number(files, group, files->used, NULL);
            used = used == UINT64_MAX ? 0 : used;
            for (int kind = 0; kind < 2; kind++) {
                uint64_t cached = group_number(files, group, "memory.stat", files->cached[kind]);
                used -= cached == UINT64_MAX ? 0 : cached < used ? cached : used;
            }
            limit = used < limit ? limit - used : 0;
        }
        least = limit < least ? limit : least;
        char *slash = strrchr(group, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

/* /proc/self/cgroup has lines "NUMBER:CONTROLLERS:/GROUP", of the second version without controllers. In a container the group may be the host's name of it, and only the root is there. */
static uint64_t groups_find(bool left)
{
    char line[4096];
    uint64_t least = UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        const struct group_files *files = !controllers[1] ? &second_version : strstr(controllers, "memory") ? &first_version : NULL;
        uint64_t found = files ? groups_least(files, group, left) : UINT64_MAX;
        least = found < least ? found : least;
    }
    if (file)
        fclose(file);
    return least;
}

static uint64_t machine_bytes(const char *key)
{
    uint64_t kib = number_read("/proc/meminfo", key);
    return kib > UINT64_MAX / 1024 ? 0 : kib * 1024;
}

static uint64_t lesser(uint64_t machine, uint64_t groups)
{
    return groups < machine ? groups : machine;
}

uint64_t host_memory_available_bytes(void)
{
    return lesser(machine_bytes("MemAvailable"), groups_find(true));
}

uint64_t host_memory_bytes(void)
{
    return lesser(machine_bytes("MemTotal"), groups_find(false));
}
