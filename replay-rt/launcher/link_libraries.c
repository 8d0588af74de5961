#include "replay-rt/launcher/link_libraries.h"

#include "core/files.h"
#include "core/linked_program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const system_folders[] = {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"};

static bool is_of_the_system(const struct store_library *library)
{
    for (size_t i = 0; i < sizeof system_folders / sizeof *system_folders; i++) {
        size_t length = strlen(system_folders[i]);
        if (!strncmp(library->file, system_folders[i], length) && library->file[length] == '/')
            return true;
    }
    return false;
}

static bool is_here(const char *name)
{
    for (size_t i = 0; i < sizeof system_folders / sizeof *system_folders; i++) {
        char *path = NULL;
        bool found = asprintf(&path, "%s/%s", system_folders[i], name) >= 0 && !access(path, R_OK);
        free(path);
        if (found)
            return true;
    }
    return false;
}

static enum pcere_status library_use(const struct store *store, int folder, const char *prefix, const char *name, struct pcere_error *error)
{
    char *inside = NULL, *target = NULL, *path = NULL;
    enum pcere_status status = PCERE_OK;
    if (asprintf(&inside, "libraries/%s", name) < 0 || asprintf(&target, "%s/%s", prefix, name) < 0)
        status = pcere_fail_memory(error, "a path");
    if (!status)
        status = store_file(store, inside, &path, error);
    if (!status && symlinkat(target, folder, name) && errno != EEXIST)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot make a link to '%s'", path);
    free(inside);
    free(target);
    free(path);
    return status;
}

enum pcere_status link_libraries_choose(const struct store *store, const char *folder, const char *prefix, struct pcere_error *error)
{
    int descriptor = -1;
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; !status && i < store_library_count(store); i++) {
        const struct store_library *library = store_library(store, i);
        if (is_of_the_system(library) && is_here(library->name))
            continue;
        if (descriptor < 0) {
            status = directory_make(AT_FDCWD, folder, error);
            descriptor = status ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            if (!status && descriptor < 0)
                status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot open '%s'", folder);
        }
        if (!status)
            status = library_use(store, descriptor, prefix, library->name, error);
    }
    if (descriptor >= 0)
        close(descriptor);
    return status;
}

static bool is_implied_library(const char *name)
{
    static const char *const implied[] = {"ld-linux", "libc.so", "libomp.so", "libomp-", "libiomp5.so", "libgomp.so", "libgcc_s.so",
                                          "libpcere-"};
    for (size_t i = 0; i < sizeof implied / sizeof *implied; i++)
        if (!strncmp(name, implied[i], strlen(implied[i])))
            return true;
    return false;
}

/* They come first: what a library that is the program's allocator (mimalloc, tcmalloc) has before them are operators new and delete, and a codelet's allocate by its own malloc, as these do. */
static bool is_cpp_library(const char *name)
{
    return !strncmp(name, "libstdc++.so", 12) || !strncmp(name, "libc++.so", 9) || !strncmp(name, "libc++abi.so", 12);
}

/* Folders in which the original found its libraries: run path, then LD_LIBRARY_PATH of the capture. */
static const char *captured_path(const struct store *store, const struct loaded_image *image)
{
    for (size_t i = 0; *image->name && i < store_library_count(store); i++)
        if (!strcmp(store_library(store, i)->name, image->name))
            return store_library(store, i)->file;
    const char *program = store_manifest(store)->program_file;
    return program ? program : "";
}

static void folders_add(struct arguments *arguments, const struct store *store, const struct loaded_image *loaded)
{
    const struct store_manifest *manifest = store_manifest(store);
    const struct image *image = &loaded->file;
    const char *program = captured_path(store, loaded);
    const char *slash = strrchr(program, '/');
    int origin_length = slash ? (int)(slash - program) : 0;
    for (char **path = image->run_paths; path && *path; path++) {
        const char *rest = !strncmp(*path, "$ORIGIN", 7) ? *path + 7 : !strncmp(*path, "${ORIGIN}", 9) ? *path + 9 : NULL;
        const char *option[] = {"-L", "-Wl,-rpath,"};
        for (size_t i = 0; i < 2; i++)
            if (rest)
                arguments_addf(arguments, "%s%.*s%s", option[i], origin_length, program, rest);
            else if (**path)
                arguments_addf(arguments, "%s%s", option[i], *path);
    }
    for (char **variable = manifest->environment; variable && *variable; variable++) {
        if (strncmp(*variable, "LD_LIBRARY_PATH=", 16) != 0)
            continue;
        for (const char *at = *variable + 16; *at;) {
            size_t length = strcspn(at, ":");
            if (length)
                arguments_addf(arguments, "-L%.*s", (int)length, at);
            at += length + (at[length] == ':');
        }
    }
}

static bool is_captured(const struct images *images, const char *name)
{
    for (size_t i = 1; i < images->count; i++) {
        const char *soname = images->items[i].elf ? elf_file_soname(images->items[i].elf) : NULL;
        if (images->items[i].elf && (!strcmp(name, images->items[i].file_name) || (soname && !strcmp(name, soname))))
            return true;
    }
    return false;
}

/* Which runtimes a statically linked program has that are not linked with every codelet: that of C++, and libatomic, whose functions have several forms. */
static void runtimes_add(const struct elf_file *program, struct arguments *arguments)
{
    struct linked_program linked;
    const struct elf_symbol *symbols;
    size_t count = elf_file_symbols(program, &symbols);
    bool cpp = false, llvm = false, atomic = false;
    if (!linked_program_find(program, &linked))
        return;
    for (size_t i = 0; i < count; i++) {
        const char *name = symbols[i].name;
        atomic |= symbols[i].indirect && !strncmp(name, "__atomic_", 9);
        cpp |= !strcmp(name, "__gxx_personality_v0");
        llvm |= linked_program_owns(&linked, &symbols[i]) && (!strncmp(name, "_ZNSt3__1", 9) || !strncmp(name, "_ZNKSt3__1", 10));
    }
    if (cpp || llvm)
        arguments_add(arguments, llvm ? "-l:libc++.so.1" : "-l:libstdc++.so.6");
    if (atomic)
        arguments_add(arguments, "-l:libatomic.so.1");
}

void link_libraries_add(struct arguments *arguments, const struct store *store, const struct images *images, size_t index, bool captured,
                        const char *build)
{
    const struct elf_file *program = images->items[index].elf;
    const char *const *names;
    size_t count = elf_file_needed(program, &names);
    if (build) {
        arguments_addf(arguments, "-L%s/" LINK_LIBRARIES_FOLDER, build);
        folders_add(arguments, store, &images->items[index]);
    }
    if (!index)
        runtimes_add(program, arguments);
    for (unsigned other = 0; other < 2; other++)
        for (size_t i = 0; i < count; i++) {
            const char *slash = strrchr(names[i], '/');     /* a library without a soname can be named by its path */
            const char *name = slash ? slash + 1 : names[i];
            if (is_cpp_library(name) != other && !is_implied_library(name) && (captured || !is_captured(images, name)))
                arguments_addf(arguments, slash ? "%s" : "-l:%s", names[i]);
        }
}
