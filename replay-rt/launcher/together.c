/* replay-rt/launcher/together.c - hands the units of an image to the compiler as one program (passes/Together.cpp), in files in memory, and reads its answer. */
#include "replay-rt/launcher/together.h"

#include "core/files.h"
#include "core/text.h"
#include "replay-rt/launcher/command.h"
#include "replay-rt/launcher/compilers.h"
#include "replay-rt/launcher/images.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ANSWER_BYTES_MOST (16u << 20)

struct work {
    const struct compiler *compiler;
    int *files;                           /* bitcode of the units; then their names, the answer, the log */
    size_t unit_count;
    struct store_limit *limits;
    size_t limit_count;
};

/* ---- is it worth a look? ------------------------------------------------------------------------------------------------------------ */

static bool is_name(const char *name, const char *known)
{
    size_t length = strlen(known);
    return !strncmp(name, known, length) && (!name[length] || !strcmp(name + length, "_"));     /* Fortran's */
}

static bool asks_for(const struct loaded_image *image, const char *const *names, size_t count)
{
    const struct elf_symbol *symbols;
    size_t symbol_count = elf_file_symbols(image->elf, &symbols);
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < image->file.relocation_count; i++)
            if (is_name(image->file.relocations[i].name, names[k]))
                return true;
        for (size_t i = 0; i < symbol_count; i++)      /* a static executable */
            if (is_name(symbols[i].name, names[k]))
                return true;
    }
    return false;
}

/* Has it regions that the capture did not enter? */
static bool has_more_regions(const struct loaded_image *image, const struct store_manifest *manifest)
{
    const struct elf_construct *constructs;
    size_t count = elf_file_constructs(image->elf, &constructs);
    for (size_t i = 0; i < count; i++) {
        bool entered = constructs[i].entry.kind != PCERE_CONSTRUCT_PARALLEL || !constructs[i].region[0];
        for (size_t j = 0; !entered && j < manifest->region_count; j++)
            entered = strcmp(manifest->regions[j].name, constructs[i].region) == 0;
        if (!entered)
            return true;
    }
    return false;
}

/* As in passes/Threads.cpp, ThreadOwn.cpp and ThreadEntries.cpp. */
static bool may_have_findings(const struct loaded_image *image, const struct store_manifest *manifest, uint64_t bytes_most, uint64_t *large)
{
    static const char *const counts[] = {"omp_get_max_threads", "omp_get_num_threads", "omp_get_num_procs", "omp_get_team_size", "omp_get_thread_limit",
                                         "omp_get_num_places", "get_nprocs", "get_nprocs_conf", "sysconf", "getenv", "secure_getenv", "_ZNSt6thread20hardware_concurrencyEv", "__sched_cpucount", "sched_getaffinity", "pthread_getaffinity_np",
                                         "omp_set_num_threads", "__kmpc_push_num_threads"};
    static const char *const numbers[] = {"omp_get_thread_num", "omp_get_ancestor_thread_num", "omp_get_num_threads"}, *const copies[] = {"__kmpc_threadprivate_cached"};
    const struct elf_unit *units;
    size_t count = image->elf ? elf_file_units(image->elf, &units) : 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += units[i].header.raw_bytes;
    bool counted = count && asks_for(image, counts, sizeof counts / sizeof *counts);
    bool several = count > 1 && (image->file.tls_bytes || asks_for(image, copies, 1) || (counted && asks_for(image, numbers, sizeof numbers / sizeof *numbers)));
    if (!several && !(counted && has_more_regions(image, manifest)))
        return false;
    if (bytes > bytes_most)
        *large = bytes;
    return bytes <= bytes_most;
}

/* ---- files that are gone with this process ---------------------------------------------------------------------------------------------- */

static enum pcere_status memory_file(const void *data, size_t bytes, int *ret_file, struct pcere_error *error)
{
    int file = memfd_create("pcere-units", MFD_CLOEXEC);
    enum pcere_status status = file < 0 ? pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot make a memory file")
                                        : file_write_all(file, 0, data, bytes, "a memory file", NULL, error);
    *ret_file = file;
    return status;
}

static void path_add(struct text *out, int file)
{
    text_addf(out, "/proc/%ld/fd/%d", (long)getpid(), file);
}

static enum pcere_status units_write(struct work *work, const struct elf_unit *units, struct pcere_error *error)
{
    struct text names = {0};
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; !status && i < work->unit_count; i++) {
        void *bitcode = NULL;
        size_t bytes = 0;
        status = elf_unit_bitcode(&units[i], &bitcode, &bytes, error);
        if (!status)
            status = memory_file(bitcode, bytes, &work->files[i], error);
        free(bitcode);
        if (!status && i) {               /* the first is the compiler's own input */
            path_add(&names, work->files[i]);
            text_add(&names, "\n");
        }
    }
    if (!status)
        status = names.failed ? pcere_fail_memory(error, "names of units") : memory_file(names.data, names.length, &work->files[work->unit_count], error);
    for (size_t i = 1; !status && i <= 2; i++)
        status = memory_file("", 0, &work->files[work->unit_count + i], error);
    text_done(&names);
    return status;
}

/* ---- the compiler ------------------------------------------------------------------------------------------------------------------ */

static enum pcere_status units_look(const struct work *work, struct pcere_error *error)
{
    static const char *const fixed[] = {"-O0", "-Wno-everything", "-c", "-emit-llvm", "-o", "/dev/null", "-x", "ir"};
    const int *files = work->files + work->unit_count;
    struct arguments arguments = {0};
    struct text input = {0}, units = {0}, answer = {0}, log = {0};
    path_add(&input, work->files[0]);
    path_add(&units, files[0]);
    path_add(&answer, files[1]);
    path_add(&log, files[2]);
    bool failed = input.failed || units.failed || answer.failed || log.failed;
    compiler_begin(work->compiler, &arguments);
    arguments_add(&arguments, "-mllvm");
    arguments_addf(&arguments, "-pcere-threads=%s", failed ? "" : answer.data);
    arguments_add(&arguments, "-mllvm");
    arguments_addf(&arguments, "-pcere-threads-units=%s", failed ? "" : units.data);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        arguments_add(&arguments, fixed[i]);
    arguments_add(&arguments, failed ? "" : input.data);
    int code = 0;
    enum pcere_status status = failed ? pcere_fail_memory(error, "paths") : command_run(&arguments, log.data, &code, error);
    if (!status && code) {
        char *line = command_first_error(log.data);
        status = pcere_fail(error, PCERE_NO, 0, NULL, "%.300s", line && *line ? line : "the compiler failed");
        free(line);
    }
    arguments_done(&arguments);
    text_done(&input);
    text_done(&units);
    text_done(&answer);
    text_done(&log);
    return status;
}

static enum pcere_status limit_add(struct work *work, const char *region, const char *reason, struct pcere_error *error)
{
    struct store_limit *grown = realloc(work->limits, (work->limit_count + 1) * sizeof *grown);
    if (!grown)
        return pcere_fail_memory(error, "limits of regions");
    work->limits = grown;
    grown[work->limit_count] = (struct store_limit){strdup(region), strdup(reason)};
    const struct store_limit *limit = &grown[work->limit_count++];
    return limit->region && limit->reason ? PCERE_OK : pcere_fail_memory(error, "limits of regions");
}

/* Lines "REGION\tREASON". */
static enum pcere_status answer_read(struct work *work, struct pcere_error *error)
{
    struct text path = {0};
    void *answer = NULL;
    size_t bytes = 0;
    path_add(&path, work->files[work->unit_count + 1]);
    enum pcere_status status = path.failed ? pcere_fail_memory(error, "a path") : file_read(AT_FDCWD, path.data, ANSWER_BYTES_MOST, &answer, &bytes, error);
    char *next = NULL;
    for (char *line = status ? NULL : strtok_r(answer, "\n", &next); !status && line; line = strtok_r(NULL, "\n", &next)) {
        char *tab = strchr(line, '\t');
        if (!tab)
            continue;
        *tab = '\0';
        status = limit_add(work, line, tab + 1, error);
    }
    free(answer);
    text_done(&path);
    return status;
}

static enum pcere_status image_look(struct work *work, const struct compilers *compilers, const struct loaded_image *image, struct pcere_error *error)
{
    const struct elf_unit *units;
    size_t newest = 0, count = elf_file_units(image->elf, &units);
    for (size_t i = 1; i < count; i++)
        if (units[i].header.llvm_major > units[newest].header.llvm_major)
            newest = i;
    work->unit_count = count;
    if (!(work->files = malloc((count + 3) * sizeof *work->files)))
        return pcere_fail_memory(error, "the list of units");
    for (size_t i = 0; i < count + 3; i++)
        work->files[i] = -1;
    enum pcere_status status = compilers_choose(compilers, units[newest].header.llvm_major, units[newest].source, &work->compiler, error);
    if (!status)
        status = units_write(work, units, error);
    if (!status)
        status = units_look(work, error);
    if (!status)
        status = answer_read(work, error);
    for (size_t i = 0; i < count + 3; i++)
        if (work->files[i] >= 0)
            close(work->files[i]);
    free(work->files);
    work->files = NULL;
    return status;
}

enum pcere_status together_find(const struct store *store, const char *search_path, const char *library_directory, uint64_t bytes_most, struct store_limit **ret_limits, size_t *ret_count,
                                uint64_t *ret_large, struct pcere_error *error)
{
    struct images images = {0};
    struct compilers compilers = {0};
    struct work work = {0};
    bool looking = false;
    uint64_t large = 0;
    enum pcere_status status = images_open(store, &images, error);
    for (size_t i = 0; !status && i < images.count; i++) {
        if (!may_have_findings(&images.items[i], store_manifest(store), bytes_most, &large))
            continue;
        if (!looking)
            status = compilers_find(NULL, search_path, library_directory, &compilers, error);
        looking = true;
        if (!status)
            status = image_look(&work, &compilers, &images.items[i], error);
    }
    compilers_done(&compilers);
    images_close(&images);
    if (status) {
        store_limits_free(work.limits, work.limit_count);
        return status;
    }
    *ret_limits = work.limits;
    *ret_count = work.limit_count;
    *ret_large = large;
    return PCERE_OK;
}
