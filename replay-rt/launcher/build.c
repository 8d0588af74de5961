/* replay-rt/launcher/build.c - what shapes the executable of a stored program's codelets, and where it is kept once it is made. */
#include "replay-rt/launcher/build.h"

#include "core/files.h"
#include "core/host.h"
#include "core/text.h"
#include "replay-rt/launcher/build_work.h"
#include "replay-rt/launcher/layout.h"
#include "replay-rt/launcher/link_libraries.h"
#include "replay-rt/launcher/user_passes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- what shapes a build ----------------------------------------------------------------------------------------------------- */

static enum pcere_status library_find(const char *directory, const char *name, const char *hint, char **ret_path,
                                      struct pcere_error *error)
{
    static const char *const places[] = {"", "../", "../../"};
    for (size_t i = 0; directory && i < sizeof places / sizeof *places; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s/%s%s", directory, places[i], name) < 0)
            return pcere_fail_memory(error, "a path");
        if (!access(path, R_OK)) {
            *ret_path = path;
            return PCERE_OK;
        }
        free(path);
    }
    return pcere_fail(error, PCERE_REFUSED, 0, hint, "there is no %s in '%s'", name, directory ? directory : "");
}

static const char hint_install[] = "build and install PCERE completely (scripts/build)";
static const char hint_processor[] = "build PCERE with -DPCERE_AARCH64_SYSROOT=DIR, which scripts/sysroot-aarch64 DIR makes";

/* Such a unit's thread-local variables have no symbols, and lie where the compiler's runtime puts them in each process. */
static enum pcere_status emulation_refuse(const struct elf_unit *unit, struct pcere_error *error)
{
    static const char flag[] = "-femulated-tls";
    for (const char *at = unit->flags, *end = at + unit->header.flags_bytes; at < end; at += strnlen(at, (size_t)(end - at)) + 1)
        if (strncmp(at, flag, (size_t)(end - at) < sizeof flag ? (size_t)(end - at) : sizeof flag) == 0)
            return pcere_fail(error, PCERE_REFUSED, 0, "compile it without that", "'%.120s' was compiled with %s: a codelet would not find its thread-local variables", unit->source, flag);
    return PCERE_OK;
}

/* Fails if no unit can be read; one that cannot stays without a compiler. */
static enum pcere_status units_choose(struct builder *builder, struct build *build, struct pcere_error *error)
{
    size_t readable = 0;
    build->origins = calloc(builder->unit_count, sizeof *build->origins);
    if (!build->origins)
        return pcere_fail_memory(error, "the units");
    build->origin_count = builder->unit_count;
    for (size_t i = 0; i < builder->unit_count; i++) {
        struct build_unit *unit = &builder->units[i];
        struct build_origin *origin = &build->origins[i];
        *origin = (struct build_origin){.unit_id = unit->unit->header.unit_id, .written_by = unit->unit->header.llvm_major};
        if (emulation_refuse(unit->unit, &origin->refusal) || compilers_choose(&builder->compilers, origin->written_by, unit->unit->source, &unit->compiler, &origin->refusal))
            continue;
        origin->rebuilt_by = unit->compiler->major;
        readable++;
    }
    if (!readable && error)
        *error = build->origins[0].refusal;
    return readable ? PCERE_OK : PCERE_REFUSED;
}

static enum pcere_status tools_find(struct builder *builder, struct build *build, struct pcere_error *error)
{
    const struct build_options *options = builder->options;
    enum pcere_status status = user_passes_check(options, error);
    if (!status)
        status = compilers_find(options->compiler, options->search_path, options->library_directory, &builder->compilers, error);
    if (!status)
        status = library_find(options->library_directory, options->processor->triple ? options->processor->runtime : "libpcere-replay.a",
                              options->processor->triple ? hint_processor : hint_install, &builder->runtime, error);
    if (!status)
        status = units_choose(builder, build, error);
    return status;
}

/* Those that some unit needs: to read each plugin takes as long as all the rest of a build that is there. */
static enum pcere_status compilers_describe(const struct builder *builder, struct text *text, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    text_addf(text, "|%s", builder->compilers.linker);
    for (size_t i = 0; !status && i < builder->compilers.count; i++) {
        const struct compiler *compiler = &builder->compilers.items[i];
        bool used = false;
        for (size_t u = 0; !used && u < builder->unit_count; u++)
            used = builder->units[u].compiler == compiler;
        if (used)
            status = compiler_describe(compiler, text, error);
    }
    return status;
}

static enum pcere_status key_make(const struct builder *builder, uint64_t *ret_key, struct pcere_error *error)
{
    struct text text = {0};
    uint64_t runtime = 0, bytes = 0;
    const char *flags = builder->options->flags ? builder->options->flags : "";
    char *processor = NULL;                       /* several machines may share a store over a network */
    enum pcere_status status = file_hash(AT_FDCWD, builder->runtime, &runtime, &bytes, error);
    if (!status)
        status = host_cpu_features(&processor, error);
    bool linked = false;
    for (size_t i = 0; i < builder->unit_count; i++)
        linked |= build_unit_lto(builder, &builder->units[i]) != NULL;
    text_addf(&text, "10|%s|%s|%" PRIx64 "%s%s%s", processor ? processor : "", flags, runtime, builder->options->character ? "|character" : "",
              builder->options->all_loops ? "|all loops" : "", linked ? "|optimised by the linker" : "");
    if (builder->options->processor->triple)
        text_addf(&text, "|%s|%s", builder->options->processor->triple, builder->options->processor->sysroot);
    if (!status)
        status = compilers_describe(builder, &text, error);
    if (!status)
        status = user_passes_describe(builder->options, &text, error);
    if (builder->options->count)
        text_addf(&text, "|counts %s", builder->options->count);
    for (size_t i = 0; i < builder->unit_count; i++)
        text_addf(&text, "|%s:%u", builder->units[i].name, builder->units[i].compiler ? builder->units[i].compiler->major : 0);
    for (size_t i = 0; i < builder->options->root_count; i++)
        text_addf(&text, "|%" PRIx64 "@%s", builder->options->roots[i].unit_id, builder->options->roots[i].region);
    for (size_t k = 0; k < builder->images->count; k++) {
        const struct loaded_image *image = &builder->images->items[k];
        const struct elf_symbol *symbols;
        size_t count = image->elf ? elf_file_tables(image->elf, &symbols) : 0;
        text_addf(&text, "|%" PRIx64 "|%" PRIx64, image->base, image->bias);
        for (size_t i = 0; i < count; i++)
            text_addf(&text, "|%" PRIx64 ":%s", symbols[i].address, symbols[i].name);
        for (size_t i = 0; k && i < image->file.export_count; i++)
            text_addf(&text, "|%" PRIx64 ":%s", image->file.exports[i].address, image->file.exports[i].name);
    }
    if (!status)
        status = build_places_describe(builder, &text, error);
    if (!status && text.failed)
        status = pcere_fail_memory(error, "the build's key");
    if (!status)
        *ret_key = XXH3_64bits(text.data, text.length);
    text_done(&text);
    free(processor);
    return status;
}

/* ---- the cache --------------------------------------------------------------------------------------------------------------- */

static enum pcere_status path_in(const char *folder, const char *name, char **ret_path, struct pcere_error *error)
{
    return asprintf(ret_path, "%s/%s", folder, name) < 0 ? pcere_fail_memory(error, "a path") : PCERE_OK;
}

/* Is the build in `folder` whole? */
static bool cache_is_whole(const char *folder)
{
    char *executable = NULL, *stamp = NULL;
    void *text = NULL;
    size_t text_bytes = 0;
    uint64_t hash = 0, bytes = 0;
    bool whole = !path_in(folder, "codelet", &executable, NULL) && !path_in(folder, "codelet.xxh", &stamp, NULL)
                 && !file_read(AT_FDCWD, stamp, 64, &text, &text_bytes, NULL) && !file_hash(AT_FDCWD, executable, &hash, &bytes, NULL)
                 && strtoull(text, NULL, 16) == hash;
    free(executable);
    free(stamp);
    free(text);
    return whole;
}

/* *ret_lines: NULL where there is no such file. */
static enum pcere_status lines_read(const char *folder, const char *name, char **ret_lines, struct pcere_error *error)
{
    char *path = NULL;
    void *data = NULL;
    size_t bytes = 0;
    enum pcere_status status = path_in(folder, name, &path, error);
    if (!status && !access(path, F_OK))
        status = file_read(AT_FDCWD, path, BUILD_TEXT_BYTES_MOST, &data, &bytes, error);
    free(path);
    *ret_lines = data;
    return status;
}

static enum pcere_status missing_load(const char *folder, struct build *build, struct pcere_error *error)
{
    char *data = NULL;
    size_t capacity = 0;
    enum pcere_status status = lines_read(folder, "missing", &data, error);
    for (char *line = data; !status && line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char *name = NULL;
        uint64_t address = strtoull(line, &name, 16);
        if (*name != ' ')
            continue;
        name = strndup(name + 1, strcspn(name + 1, "\n"));
        if (!name || !array_reserve(&build->missing, &capacity, build->missing_count + 1, sizeof *build->missing)) {
            free(name);
            status = pcere_fail_memory(error, "names of symbols");
        } else {
            build->missing[build->missing_count++] = (struct build_missing){address, name};
        }
    }
    free(data);
    return status;
}

/* Which units a build that is there has no code of: lines "UNIT reason", or "UNIT" alone where no codelet reaches it, in the units' order. */
static enum pcere_status left_out_load(const char *folder, const char *name, const struct builder *builder, struct build *build, struct pcere_error *error)
{
    char *data = NULL, *next = NULL;
    size_t unit = 0;
    enum pcere_status status = lines_read(folder, name, &data, error);
    for (char *line = data && !status ? strtok_r(data, "\n", &next) : NULL; line; line = strtok_r(NULL, "\n", &next)) {
        char *reason = strchr(line, ' ');
        if (reason)
            *reason++ = '\0';
        while (unit < builder->unit_count && strcmp(builder->units[unit].name, line) != 0)
            unit++;
        if (unit == builder->unit_count)
            break;
        struct build_origin *origin = &build->origins[unit];
        origin->unreached = !reason;
        origin->rebuilt_by = 0;
        if (!reason) {
            pcere_fail(&origin->refusal, PCERE_REFUSED, 0, NULL, "'%.120s' was left out, since no captured region reaches it", builder->units[unit].unit->source);
        } else {
            pcere_fail(&origin->refusal, PCERE_REFUSED, 0, NULL, "%s", reason);
            snprintf(origin->refusal.hint, sizeof origin->refusal.hint, "all that was said is in '%.400s/*.log'", folder);
        }
    }
    free(data);
    return status;
}

static enum pcere_status libraries_find(const char *folder, struct build *build, struct pcere_error *error)
{
    char *path = NULL;
    enum pcere_status status = path_in(folder, LINK_LIBRARIES_FOLDER, &path, error);
    if (!status && !(build->libraries = realpath(path, NULL)) && errno != ENOENT)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot use '%s'", path);
    free(path);
    return status;
}

static enum pcere_status lines_write(const char *folder, const char *name, const struct text *lines, struct pcere_error *error)
{
    char *path = NULL;
    if (lines->failed)
        return pcere_fail_memory(error, "the list of units");
    enum pcere_status status = lines->length ? path_in(folder, name, &path, error) : PCERE_OK;
    if (!status && path)
        status = file_replace(AT_FDCWD, path, lines->data, lines->length, false, NULL, error);
    free(path);
    return status;
}

static enum pcere_status stamp_write(const struct builder *builder, const struct text *missing, struct pcere_error *error)
{
    const char *folder = builder->folder;
    char *executable = NULL, *path = NULL;
    struct text unreached = {0}, broken = {0};
    uint64_t hash = 0, bytes = 0;
    char stamp[32];
    enum pcere_status status = path_in(folder, "codelet", &executable, error);
    if (!status)
        status = file_hash(AT_FDCWD, executable, &hash, &bytes, error);
    if (!status)
        status = lines_write(folder, "missing", missing, error);
    for (size_t i = 0; i < builder->unit_count; i++) {
        const struct build_unit *unit = &builder->units[i];
        if (unit->broken)
            text_addf(&broken, "%s %s\n", unit->name, unit->error.message);
        else if (unit->unreached)
            text_addf(&unreached, "%s\n", unit->name);
    }
    if (!status)
        status = lines_write(folder, "unreached", &unreached, error);
    if (!status)
        status = lines_write(folder, "broken", &broken, error);
    text_done(&unreached);
    text_done(&broken);
    snprintf(stamp, sizeof stamp, "%016" PRIx64 "\n", hash);
    if (!status && !(status = path_in(folder, "codelet.xxh", &path, error)))
        status = file_replace(AT_FDCWD, path, stamp, strlen(stamp), true, NULL, error);
    free(path);
    free(executable);
    return status;
}

/* Logs of a failed build are of use: the last one is kept under a name of its own. */
static void failure_keep(struct builder *builder, const char *final, struct pcere_error *error)
{
    char *failed = NULL;
    if (asprintf(&failed, "%s.failed", final) < 0)
        return;
    tree_remove(AT_FDCWD, failed, NULL);
    if (!rename(builder->folder, failed) && error)
        snprintf(error->hint, sizeof error->hint, "all that was said is in '%.400s/*.log'", failed);
    free(failed);
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* True: some were left out, and are not any more. */
static bool units_take_all(struct builder *builder)
{
    bool some = false;
    for (size_t i = 0; i < builder->unit_count; i++) {
        some |= builder->units[i].unreached;
        builder->units[i].unreached = false;
    }
    return some;
}

/* Where the linker cannot optimise what the compiler and it can make without, each unit is compiled by itself. True: some were not. */
static bool units_part(struct builder *builder)
{
    bool some = false;
    for (size_t i = 0; i < builder->unit_count; i++) {
        char *path = NULL;
        if (!build_unit_lto(builder, &builder->units[i]) || asprintf(&path, "%s/%s.o", builder->folder, builder->units[i].name) < 0)
            continue;
        some |= !unlink(path);
        free(path);
    }
    builder->parted |= some;
    return some;
}

/* Compiles and links in builder->folder. */
static enum pcere_status folder_fill(struct builder *builder, uint64_t *ret_link_ns, struct pcere_error *error)
{
    struct text missing = {0};
    enum pcere_status status = build_units_write(builder, error);
    if (!status)
        status = build_places_write(builder, error);
    if (!status)
        status = build_reach(builder, error);
    if (!status)
        status = build_units_compile(builder, error);
    uint64_t start_ns = clock_ns();
    while (!status && (status = build_link(builder, &missing, error)) == PCERE_NO && (units_take_all(builder) || units_part(builder))) {     /* it may lack them */
        missing.length = 0;
        status = build_units_compile(builder, error);
        start_ns = clock_ns();
    }
    *ret_link_ns = clock_ns() - start_ns;
    if (!status)
        status = stamp_write(builder, &missing, error);
    text_done(&missing);
    return status;
}

static enum pcere_status build_make(struct builder *builder, const char *final, uint64_t *ret_link_ns, struct pcere_error *error)
{
    int lock = -1;
    if (strchr(final, '%'))      /* it makes something else of the sign where it writes */
        return pcere_fail(error, PCERE_USAGE, 0, "rename it, or name it by another path", "LLVM's linker cannot write to '%s', which has a '%%' in it", final);
    enum pcere_status status = store_unwritable_tell(builder->store, build_folder_take(builder, final, &lock, error), error);
    if (!status)
        status = folder_fill(builder, ret_link_ns, error);
    if (!status && !cache_is_whole(final)) {
        tree_remove(AT_FDCWD, final, NULL);
        if (rename(builder->folder, final) && !cache_is_whole(final))
            status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot rename '%s'", builder->folder);
    }
    if (status == PCERE_NO && !builder->goes_on)
        failure_keep(builder, final, error);
    if (status != PCERE_SYSTEM)           /* stopped, or the disk is full: the next command goes on */
        tree_remove(AT_FDCWD, builder->folder, NULL);
    if (lock >= 0)
        close(lock);
    if (status != PCERE_NO || !builder->goes_on)
        return status;
    free(builder->folder);                /* what was left may be damaged: from the start, once */
    builder->folder = NULL;
    builder->status = PCERE_OK;
    return build_make(builder, final, ret_link_ns, error);
}

/* Units are compiled side by side: an object that is linked twice needs files of its own for each copy. */
static void unit_name(const struct builder *builder, struct build_unit *unit)
{
    uint64_t id = unit->unit->header.unit_id;
    size_t copies = 0;
    for (const struct build_unit *other = builder->units; other < unit; other++)
        copies += other->image == unit->image && other->unit->header.unit_id == id;
    int length = unit->image ? snprintf(unit->name, sizeof unit->name, "%zu-%016" PRIx64, unit->image, id)
                             : snprintf(unit->name, sizeof unit->name, "%016" PRIx64, id);
    if (copies)
        snprintf(unit->name + length, sizeof unit->name - (size_t)length, "-copy%zu", copies);
}

static enum pcere_status units_list(struct builder *builder, struct pcere_error *error)
{
    size_t capacity = 0;
    for (size_t k = 0; k < builder->images->count; k++) {
        const struct elf_unit *units;
        size_t count = builder->images->items[k].elf ? elf_file_units(builder->images->items[k].elf, &units) : 0;
        for (size_t i = 0; i < count; i++) {
            if (!array_reserve(&builder->units, &capacity, builder->unit_count + 1, sizeof *builder->units))
                return pcere_fail_memory(error, "the list of units");
            struct build_unit *unit = &builder->units[builder->unit_count++];
            *unit = (struct build_unit){.unit = &units[i], .image = k};
            unit_name(builder, unit);
        }
    }
    return PCERE_OK;
}

/* What a library brought along without bitcode is machine code of the program's processor, and its thread-local variables are laid out for it. */
static enum pcere_status libraries_check(const struct builder *builder, struct pcere_error *error)
{
    for (size_t k = 1; builder->options->processor->triple && k < builder->images->count; k++)
        if (builder->images->items[k].elf)
            return pcere_fail(error, PCERE_REFUSED, 0, "link its sources into the program, and capture that",
                              "programs with shared libraries of their own ('%.120s') are not rebuilt for another processor",
                              builder->images->items[k].file_name);
    return PCERE_OK;
}

enum pcere_status build_codelets(const struct store *store, const struct images *images, const struct build_options *options,
                                 struct build *ret_build, struct pcere_error *error)
{
    struct builder builder = {.store = store, .images = images, .options = options, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct build build = {0};
    char *builds = NULL, *final = NULL;
    uint64_t key = 0;
    enum pcere_status status = units_list(&builder, error);
    if (!status && !builder.unit_count)
        status = pcere_fail(error, PCERE_DATA, 0, "compile it with clang -fopenmp -fpass-plugin=PCEREPass.so, and capture it again",
                            "the stored program carries no bitcode");
    if (!status)
        status = libraries_check(&builder, error);
    if (!status)
        status = tools_find(&builder, &build, error);
    if (!status)
        status = key_make(&builder, &key, error);
    if (!status)
        status = store_file(store, "build", &builds, error);
    if (!status && asprintf(&final, "%s/%016" PRIx64, builds, key) < 0)
        status = pcere_fail_memory(error, "a path");
    if (!status)
        build_folders_tidy(builds);
    if (!status && !(build.cached = cache_is_whole(final)))
        status = build_make(&builder, final, &build.link_ns, error);
    if (!status)
        status = path_in(final, "codelet", &build.executable, error);
    if (!status)
        status = missing_load(final, &build, error);
    if (!status)
        status = left_out_load(final, "unreached", &builder, &build, error);
    if (!status)
        status = left_out_load(final, "broken", &builder, &build, error);
    if (!status)
        status = libraries_find(final, &build, error);
    build.apart = !status && build_is_apart(&builder);
    free(builds);
    free(final);
    compilers_done(&builder.compilers);
    free(builder.runtime);
    free(builder.folder);
    free(builder.units);
    if (status)
        build_done(&build);
    else
        *ret_build = build;
    return status;
}

void build_done(struct build *build)
{
    for (size_t i = 0; i < build->missing_count; i++)
        free(build->missing[i].name);
    free(build->missing);
    free(build->origins);
    free(build->executable);
    free(build->libraries);
    *build = (struct build){0};
}

const char *build_missing_at(const struct build *build, uint64_t address)
{
    const struct build_missing *last = NULL;      /* that begins no later */
    for (size_t i = 0; i < build->missing_count; i++)
        if (address >= build->missing[i].address && (!last || build->missing[i].address > last->address))
            last = &build->missing[i];
    return last && address - last->address < LAYOUT_MISSING_SLOT ? last->name : NULL;
}

enum pcere_status build_unit_check(const struct build *build, uint64_t unit_id, struct pcere_error *error)
{
    for (size_t i = 0; unit_id && i < build->origin_count; i++)
        if (build->origins[i].unit_id == unit_id && !build->origins[i].rebuilt_by) {
            if (error)
                *error = build->origins[i].refusal;
            return PCERE_REFUSED;
        }
    return PCERE_OK;
}
