#include "capture-rt/tracer/libraries.h"

#include "core/elf_file.h"
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

static bool seen_add(struct libraries *libraries, const char *path)
{
    for (size_t i = 0; i < libraries->seen_count; i++)
        if (strcmp(libraries->seen[i], path) == 0)
            return false;
    if (!array_reserve(&libraries->seen, &libraries->seen_capacity, libraries->seen_count + 1, sizeof *libraries->seen))
        return false;
    libraries->seen[libraries->seen_count] = strdup(path);
    return libraries->seen[libraries->seen_count] && ++libraries->seen_count;
}

static void one_store(struct libraries *libraries, const char *path, struct store_writer *writer)
{
    const char *name = strrchr(path, '/') + 1;
    struct elf_file *elf = NULL;
    struct pcere_error error;
    if (every_machine_has_it(name) || !seen_add(libraries, path))
        return;
    if (elf_file_open(path, &elf, &error) == PCERE_OK && elf_file_soname(elf))
        name = elf_file_soname(elf);
    if (!elf || store_writer_library(writer, name, path, &error) != PCERE_OK)
        libraries->missed = true;
    elf_file_close(elf);
}

void libraries_store(struct libraries *libraries, pid_t pid, const struct map_facts *facts, struct store_writer *writer)
{
    char path[64], *line = NULL;
    size_t capacity = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &capacity, file) > 0) {
        const char *library = code_path(line, facts);
        if (library)
            one_store(libraries, library, writer);
    }
    free(line);
    if (file)
        fclose(file);
    else
        libraries->missed = true;
}

void libraries_done(struct libraries *libraries)
{
    for (size_t i = 0; i < libraries->seen_count; i++)
        free(libraries->seen[i]);
    free(libraries->seen);
    *libraries = (struct libraries){0};
}
