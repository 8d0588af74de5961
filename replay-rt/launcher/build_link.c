/* replay-rt/launcher/build_link.c - links what was compiled of a stored program: an executable, and a shared object for each of its libraries, whose
 * names lead to captured addresses. */
#include "replay-rt/launcher/build_work.h"

#include "core/faults.h"
#include "core/files.h"
#include "replay-rt/launcher/layout.h"
#include "replay-rt/launcher/link_addresses.h"
#include "replay-rt/launcher/link_image.h"
#include "replay-rt/launcher/link_libraries.h"
#include "replay-rt/launcher/link_symbols.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whatever the assembler does not take is left to clang. */
static enum pcere_status assembler_run(const struct builder *builder, const char *path, const char *object, const char *log, int *ret_code, struct pcere_error *error)
{
    const char *assembler = builder->options->processor->triple ? NULL : builder->compilers.assembler;
    enum pcere_status status = PCERE_OK;
    *ret_code = 1;
    for (int attempt = assembler ? 0 : 1; attempt < 2 && !status && *ret_code; attempt++) {
        struct arguments arguments = {0};
        arguments_add(&arguments, attempt ? builder->compilers.linker : assembler);
        if (attempt) {
            processor_add(builder->options->processor, &arguments);
            arguments_add(&arguments, "-c");
        }
        arguments_add(&arguments, "-o");
        arguments_add(&arguments, object);
        arguments_add(&arguments, path);
        status = command_run(&arguments, log, ret_code, error);
        arguments_done(&arguments);
    }
    return status;
}

static enum pcere_status symbols_assemble(const struct builder *builder, const struct text *source, const char *name,
                                          struct pcere_error *error)
{
    char *path = NULL, *object = NULL, *log = NULL;
    int code = 0;
    enum pcere_status status = PCERE_OK;
    if (source->failed || asprintf(&path, "%s/%s.s", builder->folder, name) < 0 || asprintf(&object, "%s/%s.o", builder->folder, name) < 0
        || asprintf(&log, "%s/%s.log", builder->folder, name) < 0)
        status = pcere_fail_memory(error, "the program's symbols");
    if (!status)
        status = file_replace(AT_FDCWD, path, source->data ? source->data : "", source->length, false, NULL, error);
    if (!status)
        status = assembler_run(builder, path, object, log, &code, error);
    if (!status && code)
        status = build_fail_log("assemble", "symbols.s", log, error);
    free(path);
    free(object);
    free(log);
    return status;
}

static void units_add(const struct builder *builder, size_t image, struct arguments *arguments)
{
    for (size_t i = 0; i < builder->unit_count; i++)
        if (builder->units[i].image == image && build_unit_is_made(&builder->units[i]))
            arguments_addf(arguments, "%s/%s.o", builder->folder, builder->units[i].name);
}

#define MACHINE_FLAG "-march="
#define MACHINE_LENGTH (sizeof MACHINE_FLAG - 1)

/* What the processor has beyond others of its kind: -mavx2, -mno-fma. */
static bool is_feature(const char *flag, size_t length)
{
    static const char *const names[] = {"adx", "aes", "amx", "avx", "bmi", "f16c", "fma", "gfni", "lzcnt", "movbe", "pclmul", "popcnt", "sha", "sse", "ssse3", "vaes", "vpclmulqdq"};
    const char *name = flag + (length > 5 && !strncmp(flag, "-mno-", 5) ? 5 : 2);
    if (length < 4 || strncmp(flag, "-m", 2) != 0 || memchr(flag, '=', length))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(name, names[i], strlen(names[i])))
            return true;
    return false;
}

/* The level of an -O. */
static unsigned level_of(const char *letter, unsigned otherwise)
{
    return *letter >= '0' && *letter <= '3' ? (unsigned)(*letter - '0') : *letter == 'f' || *letter == '4' ? 3 : *letter == 's' || *letter == 'z' ? 2 : *letter == 'g' ? 1 : otherwise;
}

/* Units that the linker optimises: what the compiler's command line would have told it. */
static void optimisation_add(const struct builder *builder, size_t image, struct arguments *arguments)
{
    const struct build_unit *first = NULL;
    const char *flags = builder->options->flags;
    for (size_t i = 0; i < builder->unit_count && !first; i++)
        if (builder->units[i].image == image && build_unit_lto(builder, &builder->units[i]))
            first = &builder->units[i];
    if (!first)
        return;
    unsigned level = first->unit->header.optimisation % PCERE_OPT_SIZE;
    arguments_add(arguments, "-Wl,-mllvm,-relocation-model=pic");
    for (const char *at = flags && *flags ? flags + strspn(flags, " \t") : ""; *at; at += strspn(at, " \t")) {
        size_t length = strcspn(at, " \t");
        if (length >= 2 && !strncmp(at, "-O", 2))
            level = level_of(at + 2, 1);
        else if (length > MACHINE_LENGTH && !strncmp(at, MACHINE_FLAG, MACHINE_LENGTH))
            arguments_addf(arguments, "-Wl,-mllvm,-mcpu=%.*s", (int)(length - MACHINE_LENGTH), at + MACHINE_LENGTH);
        else if (is_feature(at, length)) {
            bool without = !strncmp(at, "-mno-", 5);
            size_t begin = without ? 5 : 2;
            arguments_addf(arguments, "-Wl,-mllvm,-mattr=%c%.*s", without ? '-' : '+', (int)(length - begin), at + begin);
        }
        at += length;
    }
    arguments_addf(arguments, "-Wl,--lto-O%u", level);
}

/* Names of libraries of which nothing is rebuilt (link_image.h). */
static void wraps_add(const struct builder *builder, size_t image, struct arguments *arguments)
{
    const struct image *file = &builder->images->items[image].file;
    for (size_t i = 0; i < file->relocation_count; i++) {
        size_t owner;
        const char *name = link_image_wrapped(builder->images, image, &file->relocations[i], &owner);
        if (!name)
            continue;
        arguments_add(arguments, "-Xlinker");    /* -Wl would part it at commas */
        arguments_addf(arguments, "--wrap=%s", name);
    }
}

static enum pcere_status program_link(const struct builder *builder, const char *extra_object, const char *log, int *ret_code,
                                      struct pcere_error *error)
{
    struct arguments arguments = {0};
    static const char *const fixed[] = {
        "-no-pie", "-nostartfiles", "-fuse-ld=lld", "-fopenmp", "-Wl,--gc-sections", "-Wl,-z,nostart-stop-gc", "-Wl,-z,now", "-Wl,-S",
        "-Wl,--error-limit=0", "-Wl,--no-demangle", "-Wl,--no-as-needed", "-Wno-unused-command-line-argument"};
    arguments_add(&arguments, builder->compilers.linker);
    processor_add(builder->options->processor, &arguments);
    processor_add_libraries(builder->options->processor, &arguments);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        arguments_add(&arguments, fixed[i]);
    arguments_addf(&arguments, "-Wl,--image-base=0x%" PRIx64, builder->images->items[0].base);
    if (images_stacks_execute(builder->images))
        arguments_add(&arguments, "-Wl,-z,execstack");
    arguments_add(&arguments, "-l:Scrt1.o");     /* start files of position-independent code: the base is beyond 32 bits */
    arguments_add(&arguments, "-l:crti.o");
    arguments_add(&arguments, "-o");
    arguments_addf(&arguments, "%s/codelet", builder->folder);
    units_add(builder, 0, &arguments);
    optimisation_add(builder, 0, &arguments);
    wraps_add(builder, 0, &arguments);
    arguments_addf(&arguments, "%s/symbols.o", builder->folder);
    if (extra_object)
        arguments_addf(&arguments, "%s/%s.o", builder->folder, extra_object);
    arguments_add(&arguments, builder->runtime);
    arguments_add(&arguments, "-lgcc_s");        /* before libunwind, which has functions of the same names: exceptions are its business, as in the program */
    arguments_add(&arguments, "-l:libunwind.so.8");
    arguments_add(&arguments, "-lm");
    for (size_t i = 1; i < builder->images->count; i++)
        if (builder->images->items[i].elf)
            arguments_addf(&arguments, "%s/image-%zu.so", builder->folder, i);
    if (builder->images->count > 1) {
        arguments_add(&arguments, "-Wl,--no-allow-shlib-undefined");
        arguments_add(&arguments, "-Wl,-rpath,$ORIGIN");
    }
    link_libraries_add(&arguments, builder->store, builder->images, 0, false, builder->options->processor->triple ? NULL : builder->folder);
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
        "-Wl,--error-limit=0", "-Wl,--no-demangle", "-Wno-unused-command-line-argument",
        "-Wl,-init,pcere_no_init", "-Wl,-fini,pcere_no_fini"};    /* not the captured _init and _fini, which some libraries export */
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
    optimisation_add(builder, index, &arguments);
    wraps_add(builder, index, &arguments);
    arguments_addf(&arguments, "%s/symbols-%zu.o", builder->folder, index);
    arguments_addf(&arguments, "%s/symbols-%zu.ld", builder->folder, index);
    link_libraries_add(&arguments, builder->store, builder->images, index, false, builder->folder);
    enum pcere_status status = command_run(&arguments, log, ret_code, error);
    arguments_done(&arguments);
    return status;
}

/* A function that a captured library has, and that the program did not ask for: other flags inline less. It is too far for a call; and hidden, for the reason that link_image.c
 * has names apart. */
static bool captured_write(const struct builder *builder, const char *name, bool foreign, struct text *out)
{
    const struct image_export *found = NULL;
    size_t owner = foreign ? SIZE_MAX : images_resolve(builder->images, 0, name, &found);
    if (owner == SIZE_MAX || !owner || found->kind != PCERE_SYMBOL_FUNCTION || !link_symbol_is_writable(name))
        return false;
    text_addf(out, ".text\n.globl \"%s\"\n.hidden \"%s\"\n.type \"%s\", @function\n\"%s\": jmp *1f(%%rip)\n.p2align 3\n1: .quad 0x%" PRIx64 "\n", name, name, name, name,
              found->address + builder->images->items[owner].bias);
    return true;
}

/* Names that a log calls undefined, each with an address: where an object without bitcode has it, or one where every access is a fault with
 * its name. `slot`: where such addresses begin. What the executable (0) gets a definition of in `own` has no address: operators, and what captured libraries have. */
struct placed { char **names; uint64_t *addresses; size_t count; };

static void placed_done(struct placed *placed)
{
    for (size_t i = 0; i < placed->count; i++)
        free(placed->names[i]);
    free(placed->names);
    free(placed->addresses);
    *placed = (struct placed){0};
}

#define MISSING UINT64_C(1)              /* no variable lies there */

/* For each of so many, all alike; 0: there is no room for them. (UBSan's descriptions of checks that the optimiser dropped are many.) */
static uint64_t missing_slot_bytes(size_t count)
{
    uint64_t bytes = count ? LAYOUT_MISSING_BYTES / count / LAYOUT_MISSING_LEAST * LAYOUT_MISSING_LEAST : 0;
    return bytes < LAYOUT_MISSING_SLOT ? bytes : LAYOUT_MISSING_SLOT;
}

static enum pcere_status undefined_place(const struct builder *builder, size_t index, uint64_t slot, const char *log, struct text *missing,
                                         struct text *own, struct placed *ret_placed, struct pcere_error *error)
{
    void *text = NULL;
    size_t bytes = 0, missing_count = 0, first = 0;
    struct placed placed = {0};
    const struct loaded_image *image = &builder->images->items[index];
    enum pcere_status status = file_read(AT_FDCWD, log, BUILD_TEXT_BYTES_MOST, &text, &bytes, error);
    if (!status)
        status = link_symbols_undefined(text, &placed.names, &placed.count, error);
    if (!status && !(placed.addresses = calloc(placed.count + 1, sizeof *placed.addresses)))
        status = pcere_fail_memory(error, "names of symbols");
    for (size_t i = 0; !status && i < placed.count; i++) {
        bool foreign = builder->options->processor->triple && link_symbol_is_function(image->elf, placed.names[i]);
        if (!foreign && link_symbol_find(image->elf, image->bias, placed.names[i], &placed.addresses[i]))
            continue;                           /* its own, which the C++ library in a program is as well */
        if (!index && (link_symbol_operator(placed.names[i], foreign, own) || captured_write(builder, placed.names[i], foreign, own)))
            continue;
        placed.addresses[i] = MISSING;
        first = missing_count++ ? first : i;
    }
    uint64_t slot_bytes = missing_slot_bytes(missing_count);
    if (!status && missing_count && !slot_bytes)
        status = pcere_fail(error, PCERE_NO, 0, "replay with the flags of the original",
                            "the original does not have %zu variables that the rebuilt program needs, among them '%s'", missing_count, placed.names[first]);
    for (size_t i = 0; !status && i < placed.count; i++) {
        if (placed.addresses[i] != MISSING)
            continue;
        placed.addresses[i] = slot + slot_bytes / 2;
        text_addf(missing, "0x%" PRIx64 " %s\n", slot, placed.names[i]);
        slot += slot_bytes;
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

/* The linker says "unable to find library -l:NAME". */
static enum pcere_status link_fail(const struct builder *builder, const char *log, struct pcere_error *error)
{
    static const char words[] = "unable to find library -l";
    enum pcere_status status = build_fail_log("link", "the codelets", log, error);
    const char *found = error ? strstr(error->message, words) : NULL;
    if (!found)
        return status;
    char name[256];
    found += sizeof words - 1;
    found += *found == ':';
    snprintf(name, sizeof name, "%.*s", (int)strcspn(found, " \n"), found);
    if (builder->options->processor->triple)
        return pcere_fail(error, PCERE_REFUSED, 0, "put that processor's into the folder that --sysroot names",
                          "'%s', with which the program is linked, is missing in '%.200s'", name, builder->options->processor->sysroot);
    return pcere_fail(error, PCERE_REFUSED, 0, "install the package that brings it, or capture the program again to have it in the store",
                      "'%s', with which the program is linked, is missing here", name);
}

/* Code and data of objects without bitcode lie at their captured addresses. Libraries may need such names of the program. */
static enum pcere_status program_link_all(const struct builder *builder, const char *log, struct text *missing, int *ret_code,
                                          struct pcere_error *error)
{
    struct text symbols = {0}, others = {0};
    struct placed placed = {0};
    enum pcere_status status = link_symbols_units(builder->images, &symbols, error);
    if (!status)
        status = link_addresses_write(builder->images, 0, &symbols, error);
    link_symbols_allocator(builder->images->items[0].elf, builder->images->items[0].bias, builder->options->processor->triple, &symbols);
    if (!builder->options->processor->triple)
        link_symbols_runtimes(builder->images->items[0].elf, builder->images->items[0].bias, &symbols);
    if (!status)
        status = symbols_assemble(builder, &symbols, "symbols", error);
    if (!status)
        status = program_link(builder, NULL, log, ret_code, error);
    if (!status && *ret_code)
        status = undefined_place(builder, 0, builder->images->items[0].base - LAYOUT_MISSING_BYTES, log, missing, &others, &placed, error);
    bool shared = builder->images->count > 1;
    for (size_t i = 0; i < placed.count; i++)
        if (placed.addresses[i] && (!shared || !link_symbol_share(&others, placed.names[i], placed.addresses[i])))
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
        status = link_addresses_write(builder->images, index, &script, error);
    if (!status)
        status = symbols_assemble(builder, &assembly, name, error);
    if (!status)
        status = script_write(builder, name, &script, error);
    if (!status)
        status = library_link(builder, index, log, ret_code, error);
    if (!status && *ret_code)
        status = undefined_place(builder, index, slots, log, missing, NULL, &placed, error);
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

enum pcere_status build_link(const struct builder *builder, struct text *missing, struct pcere_error *error)
{
    char *log = NULL;
    int code = 0;
    if (!builder->parted && fault_point("codelets.link"))
        return pcere_fail(error, PCERE_NO, 0, NULL, "cannot link the codelets");
    if (asprintf(&log, "%s/link.log", builder->folder) < 0)
        return pcere_fail_memory(error, "a path");
    enum pcere_status status = builder->options->processor->triple ? PCERE_OK : libraries_choose(builder, error);
    for (size_t i = 1; !status && !code && i < builder->images->count; i++)
        if (builder->images->items[i].elf)
            status = library_link_all(builder, i, log, missing, &code, error);
    if (!status && !code)
        status = program_link_all(builder, log, missing, &code, error);
    if (!status && code)
        status = link_fail(builder, log, error);
    free(log);
    return status;
}
