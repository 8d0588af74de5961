/* replay-rt/launcher/compilers.c - finds the compilers that codelets can be rebuilt with. */
#include "replay-rt/launcher/compilers.h"

#include "core/files.h"
#include "replay-rt/launcher/command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define STRING_OF(macro) STRING_OF_(macro)
#define STRING_OF_(text) #text
#define LLVM_MAJOR STRING_OF(PCERE_LLVM_MAJOR)

static const char hint_compiler[] = "install the packages clang-" LLVM_MAJOR ", lld-" LLVM_MAJOR " and libomp-" LLVM_MAJOR "-dev";
static const char hint_install[] = "build and install PCERE completely (scripts/build)";

static int compiler_order(const void *left, const void *right)
{
    const struct compiler *a = left, *b = right;
    return (a->major > b->major) - (a->major < b->major);
}

/* One entry for each PCEREPass-MAJOR.so in `folder`, without a compiler yet. */
static enum pcere_status plugins_list(const char *folder, struct compilers *compilers, struct pcere_error *error)
{
    size_t capacity = compilers->count;
    DIR *directory = opendir(folder);
    enum pcere_status status = PCERE_OK;
    for (const struct dirent *entry; !status && directory && (entry = readdir(directory));) {
        unsigned major = 0;
        char end = 0, *plugin = NULL;
        if (sscanf(entry->d_name, "PCEREPass-%u.s%c", &major, &end) != 2 || end != 'o')
            continue;
        if (!array_reserve(&compilers->items, &capacity, compilers->count + 1, sizeof *compilers->items)
            || asprintf(&plugin, "%s/%s", folder, entry->d_name) < 0)
            status = pcere_fail_memory(error, "the compilers");
        else
            compilers->items[compilers->count++] = (struct compiler){.major = major, .plugin = plugin};
    }
    if (directory)
        closedir(directory);
    if (compilers->count)
        qsort(compilers->items, compilers->count, sizeof *compilers->items, compiler_order);
    return status;
}

/* The first of the folders beside or above the libraries that holds plugins. */
static enum pcere_status plugins_find(const char *directory, struct compilers *compilers, struct pcere_error *error)
{
    static const char *const places[] = {"pcere", "../pcere", "../../pcere", ""};
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; !status && directory && !compilers->count && i < sizeof places / sizeof *places; i++) {
        char *folder = NULL;
        status = asprintf(&folder, "%s/%s", directory, places[i]) < 0 ? pcere_fail_memory(error, "a path") : plugins_list(folder, compilers, error);
        free(folder);
    }
    if (!status && !compilers->count)
        status = pcere_fail(error, PCERE_REFUSED, 0, hint_install, "there is no pcere/PCEREPass-" LLVM_MAJOR ".so in '%s'", directory ? directory : "");
    return status;
}

static void compilers_drop(struct compilers *compilers, size_t index)
{
    free(compilers->items[index].clang);
    free(compilers->items[index].plugin);
    compilers->count--;
    memmove(&compilers->items[index], &compilers->items[index + 1], (compilers->count - index) * sizeof *compilers->items);
}

/* What a compiler says when it is asked by `option`: the beginning of it. */
static enum pcere_status compiler_ask(const char *clang, const char *option, char text[static 256], struct pcere_error *error)
{
    char path[64];
    struct arguments arguments = {0};
    int code = 0, log = memfd_create("version", MFD_CLOEXEC);
    if (log < 0)
        return pcere_fail(error, PCERE_SYSTEM, 0, NULL, "cannot make a file in memory");
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), log);
    arguments_add(&arguments, clang);
    arguments_add(&arguments, option);
    enum pcere_status status = command_run(&arguments, path, &code, error);
    memset(text, 0, 256);
    if (!status && (code || pread(log, text, 255, 0) <= 0))
        text[0] = '\0';
    close(log);
    arguments_done(&arguments);
    return status;
}

/* What it is built on: `CLANG --version` says "clang version 19.1.7" among other words (GCC's has a number, too), and `CLANG -dumpversion` 19.1.7. */
static enum pcere_status compiler_version(const char *clang, uint32_t *ret_major, struct pcere_error *error)
{
    char text[256];
    unsigned major = 0;
    enum pcere_status status = compiler_ask(clang, "--version", text, error);
    bool is_clang = !status && strstr(text, "clang version");
    if (is_clang)
        status = compiler_ask(clang, "-dumpversion", text, error);
    if (!status && (!is_clang || sscanf(text, "%u.", &major) != 1))
        status = pcere_fail(error, PCERE_REFUSED, 0, hint_compiler, "'%s' does not tell its version as clang does: it is none", clang);
    if (!status)
        *ret_major = major;
    return status;
}

static void versions_text(const struct compilers *compilers, const char *before, struct text *text)
{
    for (size_t i = 0; i < compilers->count; i++)
        text_addf(text, "%s%s%u", i ? ", " : "", before, compilers->items[i].major);
}

/* Leave the one whose plugin fits `clang`. */
static enum pcere_status wanted_keep(struct compilers *compilers, const char *wanted, const char *search_path, struct pcere_error *error)
{
    char *clang = NULL;
    uint32_t major = 0;
    bool found = false;
    enum pcere_status status = command_find(wanted, search_path, hint_compiler, &clang, error);
    if (!status)
        status = compiler_version(clang, &major, error);
    for (size_t i = 0; !status && i < compilers->count; i++)
        found |= compilers->items[i].major == major;
    if (!status && !found) {
        struct text known = {0};
        versions_text(compilers, "", &known);
        status = pcere_fail(error, PCERE_REFUSED, 0, "give a --compiler of one of these versions, or none",
                            "'%.300s' is of LLVM %u, and PCERE's plugin is here for LLVM %s", wanted, major, known.data ? known.data : "no version");
        text_done(&known);
    }
    for (size_t i = compilers->count; !status && i-- > 0;)
        if (compilers->items[i].major != major)
            compilers_drop(compilers, i);
    if (status)
        free(clang);
    else
        compilers->items[0].clang = clang;
    return status;
}

static enum pcere_status linker_find(const char *search_path, struct compilers *compilers, struct pcere_error *error)
{
    char *lld = NULL;
    enum pcere_status status = command_find("ld.lld-" LLVM_MAJOR, search_path, hint_compiler, &lld, error);
    free(lld);
    for (size_t i = 0; !status && i < compilers->count; i++)
        if (compilers->items[i].major == PCERE_LLVM_MAJOR)
            return (compilers->linker = strdup(compilers->items[i].clang)) ? PCERE_OK : pcere_fail_memory(error, "a path");
    return status ? status : command_find("clang-" LLVM_MAJOR, search_path, hint_compiler, &compilers->linker, error);
}

enum pcere_status compilers_find(const char *wanted, const char *search_path, const char *library_directory, struct compilers *ret_compilers,
                                 struct pcere_error *error)
{
    struct compilers compilers = {0};
    enum pcere_status status = plugins_find(library_directory, &compilers, error);
    if (!status && wanted)
        status = wanted_keep(&compilers, wanted, search_path, error);
    for (size_t i = compilers.count; !status && !wanted && i-- > 0;) {
        char name[32];
        snprintf(name, sizeof name, "clang-%u", compilers.items[i].major);
        if (command_find(name, search_path, NULL, &compilers.items[i].clang, NULL))
            compilers_drop(&compilers, i);
    }
    if (!status)
        status = linker_find(search_path, &compilers, error);
    if (!status)
        command_find("as", search_path, NULL, &compilers.assembler, NULL);      /* clang does as well */
    if (status)
        compilers_done(&compilers);
    else
        *ret_compilers = compilers;
    return status;
}

void compilers_done(struct compilers *compilers)
{
    while (compilers->count)
        compilers_drop(compilers, compilers->count - 1);
    free(compilers->items);
    free(compilers->linker);
    free(compilers->assembler);
    *compilers = (struct compilers){0};
}

enum pcere_status compilers_choose(const struct compilers *compilers, uint32_t written_by, const char *source, const struct compiler **ret_compiler,
                                   struct pcere_error *error)
{
    for (size_t i = 0; i < compilers->count; i++)
        if (compilers->items[i].major >= written_by) {
            *ret_compiler = &compilers->items[i];
            return PCERE_OK;
        }
    char hint[160];
    struct text known = {0};
    versions_text(compilers, "clang-", &known);
    snprintf(hint, sizeof hint, "install clang-%u and llvm-%u-dev, and build PCERE again: it then has a plugin for that version", written_by, written_by);
    enum pcere_status status = pcere_fail(error, PCERE_REFUSED, 0, hint, "the bitcode of '%.200s' was written by LLVM %u, which is newer than %s",
                                          source, written_by, known.data ? known.data : "any compiler here");
    text_done(&known);
    return status;
}

void compiler_begin(const struct compiler *compiler, struct arguments *arguments)
{
    arguments_add(arguments, compiler->clang);
    arguments_addf(arguments, "-fplugin=%s", compiler->plugin);
    arguments_addf(arguments, "-fpass-plugin=%s", compiler->plugin);
}

enum pcere_status compiler_describe(const struct compiler *compiler, struct text *text, struct pcere_error *error)
{
    struct stat file;
    uint64_t plugin = 0, bytes = 0;
    if (stat(compiler->clang, &file))
        return pcere_fail(error, PCERE_REFUSED, errno, hint_compiler, "cannot use '%s'", compiler->clang);
    enum pcere_status status = file_hash(AT_FDCWD, compiler->plugin, &plugin, &bytes, error);
    if (!status)
        text_addf(text, "|%s|%lld.%ld|%lld|%" PRIx64, compiler->clang, (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec, (long long)file.st_size, plugin);
    return status;
}
