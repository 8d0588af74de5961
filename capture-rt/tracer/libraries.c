#include "capture-rt/tracer/libraries.h"

#include "core/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool every_machine_has_it(const char *name)
{
    static const char *const prefixes[] = {"ld-linux", "ld-", "libc.so", "libc-", "libm.so", "libm-", "libmvec.so", "libpthread", "libdl",
                                           "librt", "libutil", "libresolv", "libanl", "libnss_", "libgcc_s.so", "libstdc++.so", "libomp.so",
                                           "libomp-", "libiomp5", "libgomp", "libarcher", "libomptarget", "libpcere-"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* The path of a line of /proc/PID/maps that maps code of a file other than the program; NULL: it is none. */
static char *code_path(char *line, const struct map_facts *facts)
{
    uint64_t start, end;
    char permissions[8];
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &start, &end, permissions) != 3 || permissions[2] != 'x' ||
        (start < facts->image_high && end > facts->image_low))
        return NULL;
    char *path = strchr(line, '/');
    if (!path || strncmp(path, "/memfd:", 7) == 0 || strncmp(path, "/dev/", 5) == 0)
        return NULL;
    path[strcspn(path, "\n")] = '\0';
    return path;
}

static bool path_add(struct libraries *libraries, const char *path)
{
    for (size_t i = 0; i < libraries->count; i++)
        if (strcmp(libraries->paths[i], path) == 0)
            return true;
    if (!array_reserve(&libraries->paths, &libraries->capacity, libraries->count + 1, sizeof *libraries->paths))
        return false;
    libraries->paths[libraries->count] = strdup(path);
    return libraries->paths[libraries->count] && ++libraries->count;
}

void libraries_see(struct libraries *libraries, pid_t pid, const struct map_facts *facts)
{
    char path[64], *line = NULL;
    size_t capacity = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    libraries->failed |= !file;
    while (file && getline(&line, &capacity, file) > 0) {
        const char *library = code_path(line, facts);
        if (library && !every_machine_has_it(strrchr(library, '/') + 1) && !path_add(libraries, library))
            libraries->failed = true;
    }
    free(line);
    if (file)
        fclose(file);
}

void libraries_done(struct libraries *libraries)
{
    for (size_t i = 0; i < libraries->count; i++)
        free(libraries->paths[i]);
    free(libraries->paths);
    *libraries = (struct libraries){0};
}

/* ---- to the store ---------------------------------------------------------------------------------------------------------- */

struct library {
    struct elf_file *elf;            /* NULL: it is none, or gone */
    const char *path, *name;
    bool wanted;
};

static bool names(const struct elf_file *elf, const char *name)
{
    const char *const *needed;
    size_t count = elf_file_needed(elf, &needed);
    for (size_t i = 0; i < count; i++)
        if (strcmp(needed[i], name) == 0)
            return true;
    return false;
}

/* What the program names, and what these name. */
static void wanted_mark(struct library *list, size_t count, const struct elf_file *program)
{
    for (bool found = true; found;) {
        found = false;
        for (size_t i = 0; i < count; i++) {
            bool wanted = names(program, list[i].name);
            for (size_t j = 0; j < count && !wanted; j++)
                wanted = list[j].wanted && list[j].elf && names(list[j].elf, list[i].name);
            found |= wanted && !list[i].wanted;
            list[i].wanted = wanted;
        }
    }
}

bool libraries_store(const struct libraries *libraries, const struct elf_file *program, struct store_writer *writer)
{
    struct library *list = calloc(libraries->count + 1, sizeof *list);
    bool good = list && !libraries->failed;
    for (size_t i = 0; list && i < libraries->count; i++) {
        const char *path = libraries->paths[i];
        list[i] = (struct library){.path = path, .name = strrchr(path, '/') + 1};
        if (elf_file_open(path, &list[i].elf, NULL) == PCERE_OK && elf_file_soname(list[i].elf))
            list[i].name = elf_file_soname(list[i].elf);
        good &= list[i].elf || !strstr(path, " (deleted)");
    }
    if (list)
        wanted_mark(list, libraries->count, program);
    for (size_t i = 0; list && i < libraries->count; i++) {
        if (list[i].wanted && store_writer_library(writer, list[i].name, list[i].path, NULL) != PCERE_OK)
            good = false;
        elf_file_close(list[i].elf);
    }
    free(list);
    return good;
}
