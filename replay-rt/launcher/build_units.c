/* replay-rt/launcher/build_units.c - compiles the units of a stored program, each with the flags of the original or with the user's. */
#include "replay-rt/launcher/build_work.h"

#include "core/files.h"
#include "core/workers.h"
#include "replay-rt/launcher/user_passes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define LTO_FLAG "-flto="
#define LTO_LENGTH (sizeof LTO_FLAG - 1)

/* What the linker was told of the unit when it made the program, or NULL. */
static const char *lto_flag(const struct elf_unit *unit)
{
    for (const char *flag = unit->flags, *end = flag + unit->header.flags_bytes; flag < end; flag += strlen(flag) + 1)
        if (!strncmp(flag, LTO_FLAG, LTO_LENGTH))
            return flag;
    return NULL;
}

const char *build_unit_lto(const struct builder *builder, const struct build_unit *build_unit)
{
    const struct build_options *options = builder->options;
    if (builder->parted || !build_unit_is_made(build_unit) || build_unit->compiler->major > PCERE_LLVM_MAJOR || options->unit_objects || options->processor->triple || options->character || options->count ||
        options->passes || options->pass_plugin)
        return NULL;
    return lto_flag(build_unit->unit);
}

bool build_is_apart(const struct builder *builder)
{
    bool apart = false;
    for (size_t i = 0; i < builder->unit_count; i++)
        apart |= build_unit_is_made(&builder->units[i]) && lto_flag(builder->units[i].unit) && !build_unit_lto(builder, &builder->units[i]);
    return apart;
}

void build_unit_flags(const struct elf_unit *unit, bool retarget, struct arguments *arguments)
{
    bool has_level = false;
    const char *end = unit->flags + unit->header.flags_bytes;
    for (const char *flag = unit->flags; flag < end; flag += strlen(flag) + 1) {
        bool is_level = !strncmp(flag, "-O", 2);
        has_level |= is_level;
        if (*flag && !(retarget && is_level) && strncmp(flag, LTO_FLAG, LTO_LENGTH) != 0)
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

#define WIDTH_FLAG "-mprefer-vector-width="
#define WIDTH_LENGTH (sizeof WIDTH_FLAG - 1)

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
    const struct processor *processor = builder->options->processor;
    struct arguments original = {0};
    bool retarget = flags && *flags;
    unsigned rules = 0;
    const char *width = NULL;
    build_unit_flags(unit, retarget, &original);
    for (size_t i = 0; i < original.count; i++)
        if (!processor_drops_flag(processor, original.items[i]))
            arguments_add(arguments, original.items[i]);
    arguments->failed |= original.failed;
    arguments_done(&original);
    if (processor->triple) {
        processor_add(processor, arguments);
        arguments_add(arguments, "-Wno-override-module");
        arguments_add(arguments, "-mllvm");
        arguments_add(arguments, "-pcere-codelet-processor");
    }
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
        if (length > WIDTH_LENGTH && !strncmp(at, WIDTH_FLAG, WIDTH_LENGTH))
            width = at + WIDTH_LENGTH;
        at += length;
    }
    if (width) {
        arguments_add(arguments, "-mllvm");
        arguments_addf(arguments, "-pcere-vector-width=%.*s", (int)strcspn(width, " \t"), width);
    }
    if (rules) {
        arguments_add(arguments, "-mllvm");
        arguments_addf(arguments, "-pcere-fast-math=%u", rules);
    }
}

/* A linker that lays out its result in mapped memory dies of the bus error where the disk has no more room, and a compiler may find no room for its message. */
static bool disk_filled(const char *line, const char *log)
{
    const uint64_t little_bytes = 16u << 20;
    struct statvfs disk;
    if (strstr(line, "No space left") || strstr(line, "quota exceeded"))
        return true;
    return (!*line || strstr(line, "Bus error")) && statvfs(log, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize < little_bytes;
}

enum pcere_status build_fail_log(const char *what, const char *subject, const char *log, struct pcere_error *error)
{
    char *line = command_first_error(log);
    enum pcere_status status = line && disk_filled(line, log)
        ? pcere_fail(error, PCERE_SYSTEM, ENOSPC, "free some: the same command goes on with what the store has", "cannot %s '%.120s'", what, subject)
        : pcere_fail(error, PCERE_NO, 0, NULL, "cannot %s '%.120s': %.300s", what, subject, line ? line : "");
    free(line);
    return status;
}

/* By who ends the command, and the compiler with it. */
static bool is_stopped(int code)
{
    return WIFSIGNALED(code) && (WTERMSIG(code) == SIGINT || WTERMSIG(code) == SIGTERM || WTERMSIG(code) == SIGHUP);
}

/* NULL: as it is to run; else an option of the plugin, for an assembly file. */
static enum pcere_status unit_translate(struct builder *builder, const struct build_unit *build_unit, const char *naming, struct pcere_error *error)
{
    const struct elf_unit *unit = build_unit->unit;
    const struct compiler *compiler = build_unit->compiler;
    const char *base = build_unit->name;
    struct arguments arguments = {0};
    enum pcere_status status = PCERE_OK;
    compiler_begin(compiler, &arguments);
    arguments_add(&arguments, "-Wno-unused-command-line-argument");
    arguments_add(&arguments, "-mllvm");
    arguments_add(&arguments, "-pcere-codelet");
    if (build_unit->image) {
        arguments_add(&arguments, "-mllvm");
        arguments_add(&arguments, "-pcere-codelet-library");
    }
    if (builder->options->all_loops) {
        arguments_add(&arguments, "-mllvm");
        arguments_add(&arguments, "-pcere-codelet-schedules");
    }
    if (builder->options->count) {
        arguments_add(&arguments, "-mllvm");
        arguments_addf(&arguments, "-pcere-count=%s", builder->options->count);
    }
    if (naming || (builder->options->character && !build_unit->image)) {
        arguments_add(&arguments, "-mllvm");
        arguments_add(&arguments, naming ? naming : "-pcere-codelet-character");
        if (naming)
            arguments_add(&arguments, "-fno-discard-value-names");
    }
    struct text places = {0};
    if (build_places_path(builder, build_unit->image, &places)) {
        arguments_add(&arguments, "-mllvm");
        arguments_addf(&arguments, "-pcere-codelet-places=%s", places.data);
    }
    arguments.failed |= places.failed;
    text_done(&places);
    user_passes_add(builder->options, &arguments);
    unit_flags_add(&arguments, builder, unit);
    const char *lto = naming ? NULL : build_unit_lto(builder, build_unit);
    if (lto)
        arguments_add(&arguments, lto);
    arguments_add(&arguments, naming ? "-S" : "-c");
    arguments_add(&arguments, "-o");
    arguments_addf(&arguments, "%s/%s%s", builder->folder, base, naming ? ".s" : ".o");
    arguments_add(&arguments, "-x");
    arguments_add(&arguments, "ir");
    arguments_addf(&arguments, "%s/%s.bc", builder->folder, base);
    char *log = NULL;
    int code = 0;
    if (asprintf(&log, "%s/%s.log", builder->folder, base) < 0)
        status = pcere_fail_memory(error, "a path");
    if (!status)
        status = command_run(&arguments, log, &code, error);
    if (!status && is_stopped(code))
        status = pcere_fail(error, PCERE_SYSTEM, EINTR, "the same command goes on with the units that are finished", "compiling '%.120s' was stopped", unit->source);
    else if (!status && code)
        status = user_passes_fail(builder->options, compiler->major, log, error) ? PCERE_USAGE : build_fail_log("compile", unit->source, log, error);
    free(log);
    arguments_done(&arguments);
    return status;
}

static bool has_file(const struct builder *builder, const struct build_unit *unit, const char *suffix)
{
    struct text path = {0};
    text_addf(&path, "%s/%s%s", builder->folder, unit->name, suffix);
    bool has = !path.failed && !access(path.data, R_OK);
    text_done(&path);
    return has;
}

static enum pcere_status unit_write(struct builder *builder, const struct build_unit *build_unit, struct pcere_error *error)
{
    struct text path = {0};
    void *bitcode = NULL;
    size_t bytes = 0;
    if (!build_unit->compiler || has_file(builder, build_unit, ".bc"))
        return PCERE_OK;
    enum pcere_status status = elf_unit_bitcode(build_unit->unit, &bitcode, &bytes, error);
    if (status)
        return status;
    text_addf(&path, "%s/%s.bc", builder->folder, build_unit->name);
    status = path.failed ? pcere_fail_memory(error, "a path") : file_replace(AT_FDCWD, path.data, bitcode, bytes, false, NULL, error);
    free(bitcode);
    text_done(&path);
    return status;
}

/* The compiler gives its output the name when it is whole. */
static enum pcere_status unit_compile(struct builder *builder, const struct build_unit *build_unit, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    if (!build_unit_is_made(build_unit))
        return PCERE_OK;
    if (!has_file(builder, build_unit, ".o"))
        status = unit_translate(builder, build_unit, NULL, error);
    if (!status && builder->options->character && !build_unit->image && !has_file(builder, build_unit, ".s"))
        status = unit_translate(builder, build_unit, "-pcere-codelet-names", error);
    return status;
}

/* Codelets of other units do without it. Other flags and passes are the user's: if one unit does not take them, nothing is built. */
static bool unit_is_left_out(const struct builder *builder, struct build_unit *unit, enum pcere_status status, const struct pcere_error *error)
{
    const struct build_options *options = builder->options;
    if ((status != PCERE_NO && status != PCERE_DATA) || (options->flags && *options->flags) || options->passes || options->pass_plugin)
        return false;
    unit->broken = true;
    unit->error = *error;
    unit->error.status = status;
    for (char *at = unit->error.message; (at = strchr(at, '\n')) != NULL;)
        *at = ' ';
    return true;
}

/* Fails with what is wrong with the first one, if nothing is left. */
static enum pcere_status units_left(const struct builder *builder, struct pcere_error *error)
{
    const struct build_unit *broken = NULL;
    for (size_t i = 0; i < builder->unit_count; i++) {
        if (build_unit_is_made(&builder->units[i]))
            return PCERE_OK;
        broken = !broken && builder->units[i].broken ? &builder->units[i] : broken;
    }
    if (broken && error)
        *error = broken->error;
    return broken ? broken->error.status : PCERE_OK;
}

static size_t units_made(const struct builder *builder)
{
    size_t made = 0;
    for (size_t i = 0; i < builder->unit_count; i++)
        made += build_unit_is_made(&builder->units[i]);
    return made;
}

static void progress_tell(struct builder *builder, const struct build_unit *unit)
{
    const struct build_options *options = builder->options;
    if (builder->step != unit_compile || !options->progress || !build_unit_is_made(unit))
        return;
    pthread_mutex_lock(&builder->lock);
    options->progress(options->progress_context, ++builder->compiled, builder->made);
    pthread_mutex_unlock(&builder->lock);
}

static void *units_work(void *context)
{
    struct builder *builder = context;
    for (;;) {
        size_t index = atomic_fetch_add(&builder->next_unit, 1);
        if (index >= builder->unit_count)
            return NULL;
        struct pcere_error error = {0};
        enum pcere_status status = builder->step(builder, &builder->units[index], &error);
        progress_tell(builder, &builder->units[index]);
        if (!status || unit_is_left_out(builder, &builder->units[index], status, &error))
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

static enum pcere_status units_step(struct builder *builder, build_step *step, struct pcere_error *error)
{
    builder->step = step;
    builder->compiled = 0;
    builder->made = units_made(builder);
    atomic_store(&builder->next_unit, 0);
    workers_run(units_work, builder, builder->unit_count);
    if (builder->status && error)
        *error = builder->error;
    return builder->status ? builder->status : units_left(builder, error);
}

enum pcere_status build_units_write(struct builder *builder, struct pcere_error *error)
{
    return units_step(builder, unit_write, error);
}

enum pcere_status build_units_compile(struct builder *builder, struct pcere_error *error)
{
    return units_step(builder, unit_compile, error);
}
