/* replay-rt/launcher/build.c - compiles the units of a stored program and links them into one codelet executable. */
#include "replay-rt/launcher/build.h"

#include "core/files.h"
#include "core/host.h"
#include "core/text.h"
#include "replay-rt/launcher/command.h"
#include "replay-rt/launcher/compilers.h"
#include "replay-rt/launcher/images.h"
#include "replay-rt/launcher/layout.h"
#include "replay-rt/launcher/link_image.h"
#include "replay-rt/launcher/link_libraries.h"
#include "replay-rt/launcher/link_symbols.h"
#include "replay-rt/launcher/user_passes.h"
#include "replay-rt/launcher/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define TEXT_BYTES_MOST (256u << 20)

struct build_unit {
    const struct elf_unit *unit;
    const struct compiler *compiler;      /* NULL: left out */
    size_t image;
    char name[48];                        /* of its files, without suffix */
};

struct builder {
    const struct store *store;
    const struct images *images;
    const struct build_options *options;
    struct compilers compilers;
    char *runtime;                        /* path */
    struct build_unit *units;
    size_t unit_count;
    char *folder;                         /* where this build is made */
    _Atomic size_t next_unit;
    pthread_mutex_t lock;
    enum pcere_status status;             /* first failure of a unit, under lock */
    struct pcere_error error;
};

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
        if (compilers_choose(&builder->compilers, origin->written_by, unit->unit->source, &unit->compiler, &origin->refusal))
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
        status = library_find(options->library_directory, "libpcere-replay.a", hint_install, &builder->runtime, error);
    if (!status)
        status = units_choose(builder, build, error);
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
    text_addf(&text, "4|%s|%s|%" PRIx64, processor ? processor : "", flags, runtime);
    if (!status)
        status = compilers_describe(&builder->compilers, &text, error);
    if (!status)
        status = user_passes_describe(builder->options, &text, error);
    for (size_t i = 0; i < builder->unit_count; i++)
        text_addf(&text, "|%s:%u", builder->units[i].name, builder->units[i].compiler ? builder->units[i].compiler->major : 0);
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
    if (!status && text.failed)
        status = pcere_fail_memory(error, "the build's key");
    if (!status)
        *ret_key = XXH3_64bits(text.data, text.length);
    text_done(&text);
    free(processor);
    return status;
}

/* ---- compiling ------------------------------------------------------------------------------------------------------------- */

void build_unit_flags(const struct elf_unit *unit, bool retarget, struct arguments *arguments)
{
    bool has_level = false;
    const char *end = unit->flags + unit->header.flags_bytes;
    for (const char *flag = unit->flags; flag < end; flag += strlen(flag) + 1) {
        bool is_level = !strncmp(flag, "-O", 2);
        has_level |= is_level;
        if (*flag && !(retarget && is_level))
            arguments_add(arguments, flag);
    }
    uint32_t size_level = unit->header.optimisation / PCERE_OPT_SIZE;
    if (!retarget && !has_level && size_level)
        arguments_add(arguments, size_level > 1 ? "-Oz" : "-Os");
    else if (!retarget && !has_level)
        arguments_addf(arguments, "-O%u", unit->header.optimisation % PCERE_OPT_SIZE);
    arguments_add(arguments, unit->header.pie_level    ? (unit->header.pie_level > 1 ? "-fPIE" : "-fpie")
                             : unit->header.pic_level ? (unit->header.pic_level > 1 ? "-fPIC" : "-fpic")
                                                      : "-fno-pie");
}

/* Bitcode has its floating-point rules on each instruction, where the compiler's flags no longer reach them: the plugin puts them there. */
static void fast_math_take(const char *flag, size_t length, unsigned *rules)
{
    enum { REASSOC = 1, NNAN = 2, NINF = 4, NSZ = 8, ARCP = 16, CONTRACT = 32, AFN = 64, ALL = 127, UNSAFE = REASSOC | NSZ | ARCP | CONTRACT | AFN };
    static const struct { const char *flag; unsigned add, drop; } known[] = {
        {"-ffast-math", ALL, 0}, {"-Ofast", ALL, 0}, {"-fno-fast-math", 0, ALL}, {"-funsafe-math-optimizations", UNSAFE, 0},
        {"-ffinite-math-only", NNAN | NINF, 0}, {"-fno-finite-math-only", 0, NNAN | NINF}, {"-fno-honor-nans", NNAN, 0}, {"-fno-honor-infinities", NINF, 0},
        {"-fno-signed-zeros", NSZ, 0}, {"-fsigned-zeros", 0, NSZ}, {"-freciprocal-math", ARCP, 0}, {"-fassociative-math", REASSOC, 0},
        {"-fno-associative-math", 0, REASSOC}, {"-fapprox-func", AFN, 0}, {"-ffp-contract=fast", CONTRACT, 0}, {"-ffp-contract=off", 0, CONTRACT},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].flag) == length && !strncmp(known[i].flag, flag, length))
            *rules = (*rules & ~known[i].drop) | known[i].add;
}

static void unit_flags_add(struct arguments *arguments, const struct builder *builder, const struct elf_unit *unit)
{
    const char *flags = builder->options->flags;
    bool retarget = flags && *flags;
    unsigned rules = 0;
    build_unit_flags(unit, retarget, arguments);
    if (!retarget)
        return;
    arguments_add(arguments, "-mllvm");
    arguments_add(arguments, "-pcere-codelet-retarget");
    for (const char *at = flags; *at;) {
        at += strspn(at, " \t");
        size_t length = strcspn(at, " \t");
        if (length)
            arguments_addf(arguments, "%.*s", (int)length, at);
        fast_math_take(at, length, &rules);
        at += length;
    }
    if (rules) {
        arguments_add(arguments, "-mllvm");
        arguments_addf(arguments, "-pcere-fast-math=%u", rules);
    }
}

static enum pcere_status fail_log(const char *what, const char *subject, const char *log, struct pcere_error *error)
{
    char *line = command_first_error(log);
    enum pcere_status status = pcere_fail(error, PCERE_NO, 0, NULL, "cannot %s '%.120s': %.300s", what, subject, line ? line : "");
    free(line);
    return status;
}

static enum pcere_status unit_compile(struct builder *builder, const struct build_unit *build_unit, struct pcere_error *error)
{
    const struct elf_unit *unit = build_unit->unit;
    const struct compiler *compiler = build_unit->compiler;
    const char *base = build_unit->name;
    struct text path = {0};
    struct arguments arguments = {0};
    void *bitcode = NULL;
    size_t bytes = 0;
    enum pcere_status status = elf_unit_bitcode(unit, &bitcode, &bytes, error);
    if (status)
        return status;
    text_addf(&path, "%s/%s.bc", builder->folder, base);
    status = path.failed ? pcere_fail_memory(error, "a path")
                         : file_replace(AT_FDCWD, path.data, bitcode, bytes, false, NULL, error);
    free(bitcode);
    arguments_add(&arguments, compiler->clang);
    arguments_add(&arguments, "-Wno-unused-command-line-argument");
    arguments_addf(&arguments, "-fplugin=%s", compiler->plugin);
    arguments_addf(&arguments, "-fpass-plugin=%s", compiler->plugin);
    arguments_add(&arguments, "-mllvm");
    arguments_add(&arguments, "-pcere-codelet");
    if (build_unit->image) {
        arguments_add(&arguments, "-mllvm");
        arguments_add(&arguments, "-pcere-codelet-library");
    }
    user_passes_add(builder->options, &arguments);
    unit_flags_add(&arguments, builder, unit);
    arguments_add(&arguments, "-c");
    arguments_add(&arguments, "-o");
    arguments_addf(&arguments, "%s/%s.o", builder->folder, base);
    arguments_add(&arguments, "-x");
    arguments_add(&arguments, "ir");
    if (!path.failed)
        arguments_add(&arguments, path.data);
    char *log = NULL;
    int code = 0;
    if (!status && asprintf(&log, "%s/%s.log", builder->folder, base) < 0)
        status = pcere_fail_memory(error, "a path");
    if (!status)
        status = command_run(&arguments, log, &code, error);
    if (!status && code)
        status = user_passes_fail(builder->options, compiler->major, log, error) ? PCERE_USAGE : fail_log("compile", unit->source, log, error);
    free(log);
    text_done(&path);
    arguments_done(&arguments);
    return status;
}

static void *units_work(void *context)
{
    struct builder *builder = context;
    for (;;) {
        size_t index = atomic_fetch_add(&builder->next_unit, 1);
        if (index >= builder->unit_count)
            return NULL;
        struct pcere_error error = {0};
        const struct build_unit *unit = &builder->units[index];
        enum pcere_status status = unit->compiler ? unit_compile(builder, unit, &error) : PCERE_OK;
        if (!status)
            continue;
        pthread_mutex_lock(&builder->lock);
        if (!builder->status) {
            builder->status = status;
            builder->error = error;
        }
        pthread_mutex_unlock(&builder->lock);
        atomic_store(&builder->next_unit, builder->unit_count);
    }
}

static enum pcere_status units_compile(struct builder *builder, struct pcere_error *error)
{
    workers_run(units_work, builder, builder->unit_count);
    if (builder->status && error)
        *error = builder->error;
    return builder->status;
}

/* ---- linking --------------------------------------------------------------------------------------------------------------- */

static enum pcere_status symbols_assemble(const struct builder *builder, const struct text *source, const char *name,
                                          struct pcere_error *error)
{
    struct arguments arguments = {0};
    char *path = NULL, *log = NULL;
    int code = 0;
    enum pcere_status status = PCERE_OK;
    if (source->failed || asprintf(&path, "%s/%s.s", builder->folder, name) < 0
        || asprintf(&log, "%s/%s.log", builder->folder, name) < 0)
        status = pcere_fail_memory(error, "the program's symbols");
    if (!status)
        status = file_replace(AT_FDCWD, path, source->data ? source->data : "", source->length, false, NULL, error);
    arguments_add(&arguments, builder->compilers.linker);
    arguments_add(&arguments, "-c");
    arguments_add(&arguments, "-o");
    arguments_addf(&arguments, "%s/%s.o", builder->folder, name);
    if (path)
        arguments_add(&arguments, path);
    if (!status)
        status = command_run(&arguments, log, &code, error);
    if (!status && code)
        status = fail_log("assemble", "symbols.s", log, error);
    free(path);
    free(log);
    arguments_done(&arguments);
    return status;
}

static void units_add(const struct builder *builder, size_t image, struct arguments *arguments)
{
    for (size_t i = 0; i < builder->unit_count; i++)
        if (builder->units[i].image == image && builder->units[i].compiler)
            arguments_addf(arguments, "%s/%s.o", builder->folder, builder->units[i].name);
}

static enum pcere_status program_link(const struct builder *builder, const char *extra_object, const char *log, int *ret_code,
                                      struct pcere_error *error)
{
    struct arguments arguments = {0};
    static const char *const fixed[] = {
        "-no-pie", "-nostartfiles", "-fuse-ld=lld", "-fopenmp", "-Wl,--gc-sections", "-Wl,-z,nostart-stop-gc", "-Wl,-z,now", "-Wl,-S",
        "-Wl,--error-limit=0", "-Wl,--no-demangle", "-Wl,--no-as-needed", "-Wno-unused-command-line-argument"};
    arguments_add(&arguments, builder->compilers.linker);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        arguments_add(&arguments, fixed[i]);
    arguments_addf(&arguments, "-Wl,--image-base=0x%" PRIx64, builder->images->items[0].base);
    arguments_add(&arguments, "-l:Scrt1.o");     /* start files of position-independent code: the base is beyond 32 bits */
    arguments_add(&arguments, "-l:crti.o");
    arguments_add(&arguments, "-o");
    arguments_addf(&arguments, "%s/codelet", builder->folder);
    units_add(builder, 0, &arguments);
    arguments_addf(&arguments, "%s/symbols.o", builder->folder);
    if (extra_object)
        arguments_addf(&arguments, "%s/%s.o", builder->folder, extra_object);
    arguments_add(&arguments, builder->runtime);
    arguments_add(&arguments, "-l:libunwind.so.8");
    arguments_add(&arguments, "-lm");
    for (size_t i = 1; i < builder->images->count; i++)
        if (builder->images->items[i].elf)
            arguments_addf(&arguments, "%s/image-%zu.so", builder->folder, i);
    if (builder->images->count > 1) {
        arguments_add(&arguments, "-Wl,--no-allow-shlib-undefined");
        arguments_add(&arguments, "-Wl,-rpath,$ORIGIN");
    }
    link_libraries_add(&arguments, builder->store, builder->images, 0, false, builder->folder);
    arguments_add(&arguments, "-l:crtn.o");
    enum pcere_status status = command_run(&arguments, log, ret_code, error);
    arguments_done(&arguments);
    return status;
}

/* A shared object for one address: -Bsymbolic where only the library's own code saw its names. */
static enum pcere_status library_link(const struct builder *builder, size_t index, const char *log, int *ret_code, struct pcere_error *error)
{
    const struct loaded_image *image = &builder->images->items[index];
    struct arguments arguments = {0};
    static const char *const fixed[] = {
        "-shared", "-nostartfiles", "-fuse-ld=lld", "-fopenmp", "-Wl,--gc-sections", "-Wl,-z,nostart-stop-gc", "-Wl,-z,now", "-Wl,-S",
        "-Wl,--error-limit=0", "-Wl,--no-demangle", "-Wno-unused-command-line-argument"};
    arguments_add(&arguments, builder->compilers.linker);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        arguments_add(&arguments, fixed[i]);
    if (!image->global)
        arguments_add(&arguments, "-Wl,-Bsymbolic");
    arguments_addf(&arguments, "-Wl,--image-base=0x%" PRIx64, image->base);
    arguments_addf(&arguments, "-Wl,-soname,image-%zu.so", index);
    arguments_add(&arguments, "-o");
    arguments_addf(&arguments, "%s/image-%zu.so", builder->folder, index);
    units_add(builder, index, &arguments);
    arguments_addf(&arguments, "%s/symbols-%zu.o", builder->folder, index);
    arguments_addf(&arguments, "%s/symbols-%zu.ld", builder->folder, index);
    link_libraries_add(&arguments, builder->store, builder->images, index, false, builder->folder);
    enum pcere_status status = command_run(&arguments, log, ret_code, error);
    arguments_done(&arguments);
    return status;
}

/* Names that a log calls undefined, each with an address: where an object without bitcode has it, or one where every access is a fault with
 * its name. `slot`: where such addresses begin. */
struct placed { char **names; uint64_t *addresses; size_t count; };

static void placed_done(struct placed *placed)
{
    for (size_t i = 0; i < placed->count; i++)
        free(placed->names[i]);
    free(placed->names);
    free(placed->addresses);
    *placed = (struct placed){0};
}

static enum pcere_status undefined_place(const struct builder *builder, size_t index, uint64_t slot, const char *log, struct text *missing,
                                         struct placed *ret_placed, struct pcere_error *error)
{
    void *text = NULL;
    size_t bytes = 0, missing_count = 0;
    struct placed placed = {0};
    const struct loaded_image *image = &builder->images->items[index];
    enum pcere_status status = file_read(AT_FDCWD, log, TEXT_BYTES_MOST, &text, &bytes, error);
    if (!status)
        status = link_symbols_undefined(text, &placed.names, &placed.count, error);
    if (!status && !(placed.addresses = calloc(placed.count + 1, sizeof *placed.addresses)))
        status = pcere_fail_memory(error, "names of symbols");
    for (size_t i = 0; !status && i < placed.count; i++) {
        if (!link_symbol_find(image->elf, image->bias, placed.names[i], &placed.addresses[i])) {
            placed.addresses[i] = slot + LAYOUT_MISSING_SLOT / 2;
            text_addf(missing, "0x%" PRIx64 " %s\n", slot, placed.names[i]);
            slot += LAYOUT_MISSING_SLOT;
            missing_count++;
        }
        if (missing_count > LAYOUT_MISSING_BYTES / LAYOUT_MISSING_SLOT)
            status = pcere_fail(error, PCERE_NO, 0, "replay with the flags of the original",
                                "the original does not have %zu variables that the rebuilt program needs, among them '%s'",
                                missing_count, placed.names[0]);
    }
    free(text);
    if (status)
        placed_done(&placed);
    else
        *ret_placed = placed;
    return status;
}

/* The store is three folders above the links, wherever it is moved. */
static enum pcere_status libraries_choose(const struct builder *builder, struct pcere_error *error)
{
    char *folder = NULL;
    if (asprintf(&folder, "%s/" LINK_LIBRARIES_FOLDER, builder->folder) < 0)
        return pcere_fail_memory(error, "a path");
    enum pcere_status status = link_libraries_choose(builder->store, folder, "../../../libraries", error);
    free(folder);
    return status;
}

static enum pcere_status link_fail(const char *log, struct pcere_error *error)
{
    enum pcere_status status = fail_log("link", "the codelets", log, error);
    if (error && strstr(error->message, "unable to find library"))
        status = pcere_fail(error, PCERE_REFUSED, 0, "install the package that brings it, or capture the program again to have it in the store",
                            "a shared library of the program is missing here: %s", strstr(error->message, "unable to find library"));
    return status;
}

/* Code and data of objects without bitcode lie at their captured addresses. Libraries may need such names of the program. */
static enum pcere_status program_link_all(const struct builder *builder, const char *log, struct text *missing, int *ret_code,
                                          struct pcere_error *error)
{
    struct text symbols = {0}, others = {0};
    struct placed placed = {0};
    enum pcere_status status = link_symbols_units(builder->images, &symbols, error);
    if (!status)
        status = symbols_assemble(builder, &symbols, "symbols", error);
    if (!status)
        status = program_link(builder, NULL, log, ret_code, error);
    if (!status && *ret_code)
        status = undefined_place(builder, 0, builder->images->items[0].base - LAYOUT_MISSING_BYTES, log, missing, &placed, error);
    bool shared = builder->images->count > 1;
    for (size_t i = 0; i < placed.count; i++)
        if (!shared || !link_symbol_share(&others, placed.names[i], placed.addresses[i]))
            link_symbol_write(&others, placed.names[i], placed.addresses[i]);
    if (!status && placed.count) {
        unlink(log);
        status = symbols_assemble(builder, &others, "others", error);
        if (!status)
            status = program_link(builder, "others", log, ret_code, error);
    }
    placed_done(&placed);
    text_done(&symbols);
    text_done(&others);
    return status;
}

static enum pcere_status script_write(const struct builder *builder, const char *name, const struct text *script, struct pcere_error *error)
{
    char *path = NULL;
    if (script->failed || asprintf(&path, "%s/%s.ld", builder->folder, name) < 0)
        return pcere_fail_memory(error, "a library's symbols");
    enum pcere_status status = file_replace(AT_FDCWD, path, script->data, script->length, false, NULL, error);
    free(path);
    return status;
}

static enum pcere_status library_link_all(const struct builder *builder, size_t index, const char *log, struct text *missing, int *ret_code,
                                          struct pcere_error *error)
{
    struct text assembly = {0}, script = {0};
    struct placed placed = {0};
    char name[32];
    uint64_t slots = builder->images->items[index].base + LAYOUT_LIBRARY_BYTES - LAYOUT_MISSING_BYTES;
    snprintf(name, sizeof name, "symbols-%zu", index);
    enum pcere_status status = link_image_write(builder->images, index, &assembly, &script, error);
    if (!status)
        status = symbols_assemble(builder, &assembly, name, error);
    if (!status)
        status = script_write(builder, name, &script, error);
    if (!status)
        status = library_link(builder, index, log, ret_code, error);
    if (!status && *ret_code)
        status = undefined_place(builder, index, slots, log, missing, &placed, error);
    for (size_t i = 0; i < placed.count; i++)
        if (link_symbol_is_writable(placed.names[i]))
            text_addf(&script, "HIDDEN(\"%s\" = 0x%" PRIx64 ");\n", placed.names[i], placed.addresses[i]);
    if (!status && placed.count) {
        unlink(log);
        status = script_write(builder, name, &script, error);
        if (!status)
            status = library_link(builder, index, log, ret_code, error);
    }
    placed_done(&placed);
    text_done(&assembly);
    text_done(&script);
    return status;
}

static enum pcere_status codelet_link(const struct builder *builder, struct text *missing, struct pcere_error *error)
{
    char *log = NULL;
    int code = 0;
    if (asprintf(&log, "%s/link.log", builder->folder) < 0)
        return pcere_fail_memory(error, "a path");
    enum pcere_status status = libraries_choose(builder, error);
    for (size_t i = 1; !status && !code && i < builder->images->count; i++)
        if (builder->images->items[i].elf)
            status = library_link_all(builder, i, log, missing, &code, error);
    if (!status && !code)
        status = program_link_all(builder, log, missing, &code, error);
    if (!status && code)
        status = link_fail(log, error);
    free(log);
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

static enum pcere_status missing_load(const char *folder, struct build *build, struct pcere_error *error)
{
    char *path = NULL;
    void *data = NULL;
    size_t bytes = 0, capacity = 0;
    enum pcere_status status = path_in(folder, "missing", &path, error);
    if (!status && !access(path, F_OK))
        status = file_read(AT_FDCWD, path, TEXT_BYTES_MOST, &data, &bytes, error);
    free(path);
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

static enum pcere_status libraries_find(const char *folder, struct build *build, struct pcere_error *error)
{
    char *path = NULL;
    enum pcere_status status = path_in(folder, LINK_LIBRARIES_FOLDER, &path, error);
    if (!status && !(build->libraries = realpath(path, NULL)) && errno != ENOENT)
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot use '%s'", path);
    free(path);
    return status;
}

static enum pcere_status stamp_write(const char *folder, const struct text *missing, struct pcere_error *error)
{
    char *executable = NULL, *path = NULL;
    uint64_t hash = 0, bytes = 0;
    char stamp[32];
    enum pcere_status status = path_in(folder, "codelet", &executable, error);
    if (!status)
        status = file_hash(AT_FDCWD, executable, &hash, &bytes, error);
    if (!status && missing->length && !(status = path_in(folder, "missing", &path, error)))
        status = file_replace(AT_FDCWD, path, missing->data, missing->length, false, NULL, error);
    free(path);
    path = NULL;
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

static enum pcere_status build_make(struct builder *builder, const char *final, struct pcere_error *error)
{
    struct text missing = {0};
    if (strchr(final, '%'))      /* it makes something else of the sign where it writes */
        return pcere_fail(error, PCERE_USAGE, 0, "rename it, or name it by another path", "LLVM's linker cannot write to '%s', which has a '%%' in it", final);
    if (asprintf(&builder->folder, "%s.%ld.partial", final, (long)getpid()) < 0)
        return pcere_fail_memory(error, "a path");
    enum pcere_status status = tree_remove(AT_FDCWD, builder->folder, error);
    if (!status)
        status = directory_make(AT_FDCWD, builder->folder, error);
    if (!status)
        status = units_compile(builder, error);
    if (!status)
        status = codelet_link(builder, &missing, error);
    if (!status)
        status = stamp_write(builder->folder, &missing, error);
    if (!status && !cache_is_whole(final)) {
        tree_remove(AT_FDCWD, final, NULL);
        if (rename(builder->folder, final) && !cache_is_whole(final))
            status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot rename '%s'", builder->folder);
    }
    if (status == PCERE_NO)
        failure_keep(builder, final, error);
    tree_remove(AT_FDCWD, builder->folder, NULL);
    text_done(&missing);
    return status;
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
            if (k)
                snprintf(unit->name, sizeof unit->name, "%zu-%016" PRIx64, k, units[i].header.unit_id);
            else
                snprintf(unit->name, sizeof unit->name, "%016" PRIx64, units[i].header.unit_id);
        }
    }
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
        status = tools_find(&builder, &build, error);
    if (!status)
        status = key_make(&builder, &key, error);
    if (!status)
        status = store_file(store, "build", &builds, error);
    if (!status && asprintf(&final, "%s/%016" PRIx64, builds, key) < 0)
        status = pcere_fail_memory(error, "a path");
    if (!status && !(build.cached = cache_is_whole(final)))
        status = build_make(&builder, final, error);
    if (!status)
        status = path_in(final, "codelet", &build.executable, error);
    if (!status)
        status = missing_load(final, &build, error);
    if (!status)
        status = libraries_find(final, &build, error);
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
    for (size_t i = 0; i < build->missing_count; i++)
        if (address >= build->missing[i].address && address - build->missing[i].address < LAYOUT_MISSING_SLOT)
            return build->missing[i].name;
    return NULL;
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
