/* replay-rt/launcher/export_units.c - which units the region's code needs, and these as text.
 *
 * A unit is needed if it defines a function or constant that the region uses, over any number of functions in between. What only other
 * code of a needed unit uses (main, as a rule) lies at its old address in captured memory, as variables do. The codelet's build, which is at
 * hand, says which unit defines what.
 */
#include "replay-rt/launcher/export_work.h"

#include "core/files.h"
#include "include/pcere/rt_abi.h"
#include "replay-rt/launcher/compilers.h"
#include "replay-rt/launcher/link_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MOST (1u << 30)

static const char hint_damaged[] = "remove the folder build/ of the store, and try again";

/* ---- objects of the build -------------------------------------------------------------------------------------------------------- */

static enum pcere_status symbols_read(Elf *elf, struct export_object *object, struct pcere_error *error)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        Elf_Data *data = NULL;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB || !header.sh_entsize || !(data = elf_getdata(section, NULL)))
            continue;
        for (size_t i = 0; i < header.sh_size / header.sh_entsize; i++) {
            GElf_Sym symbol;
            const char *name = gelf_getsym(data, (int)i, &symbol) ? elf_strptr(elf, header.sh_link, symbol.st_name) : NULL;
            if (!name || !*name || GELF_ST_BIND(symbol.st_info) == STB_LOCAL)
                continue;
            if (!names_add(symbol.st_shndx == SHN_UNDEF ? &object->undefined : &object->defined, name, strlen(name)))
                return pcere_fail_memory(error, "names of symbols");
        }
    }
    names_sort(&object->defined);
    names_sort(&object->undefined);
    return PCERE_OK;
}

static enum pcere_status object_read(const char *path, struct export_object *object, struct pcere_error *error)
{
    void *data = NULL;
    size_t bytes = 0;
    enum pcere_status status = file_read(AT_FDCWD, path, FILE_BYTES_MOST, &data, &bytes, error);
    if (status)
        return status;
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory(data, bytes);
    if (!elf || elf_kind(elf) != ELF_K_ELF)
        status = pcere_fail(error, PCERE_DATA, 0, hint_damaged, "'%s' is no object file", path);
    else
        status = symbols_read(elf, object, error);
    if (elf)
        elf_end(elf);
    free(data);
    return status;
}

/* A file of the folder that the codelet's executable lies in. */
static char *build_path(const struct export_work *work, const char *name)
{
    const char *executable = work->session.build.executable, *slash = strrchr(executable, '/');
    char *path = NULL;
    return asprintf(&path, "%.*s/%s", slash ? (int)(slash - executable) : 1, slash ? executable : ".", name) < 0 ? NULL : path;
}

static enum pcere_status objects_read(struct export_work *work, struct pcere_error *error)
{
    const struct elf_unit *units;
    size_t count = elf_file_units(work->home->elf, &units);
    enum pcere_status status = PCERE_OK;
    if (!(work->objects = calloc(count + 1, sizeof *work->objects)) || !(work->chosen = calloc(count + 1, sizeof *work->chosen)))
        return pcere_fail_memory(error, "the list of units");
    for (size_t i = 0; !status && i < count; i++) {
        char name[64], image[24] = "";
        if (build_unit_check(&work->session.build, units[i].header.unit_id, NULL))
            continue;                 /* as an object without bitcode */
        if (work->image)
            snprintf(image, sizeof image, "%zu-", work->image);
        snprintf(name, sizeof name, "%s%016" PRIx64 ".o", image, units[i].header.unit_id);
        char *path = build_path(work, name);
        struct export_object *object = &work->objects[work->object_count++];
        object->unit = &units[i];
        status = path ? object_read(path, object, error) : pcere_fail_memory(error, "a path");
        free(path);
    }
    return status;
}

/* Is it a variable or function of a unit? */
static bool has_unit(const struct export_work *work, const char *name)
{
    const struct elf_symbol *symbols;
    size_t count = elf_file_tables(work->home->elf, &symbols);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(symbols[i].name, name))
            return true;
    return false;
}

/* What no unit and no library defines stands in a file of the build: in others.s as `.set "NAME", 0xADDRESS`, for a library among others in
 * symbols-K.ld as `HIDDEN("NAME" = 0xADDRESS);`. */
static enum pcere_status others_read(struct export_work *work, struct pcere_error *error)
{
    const char *before = work->image ? "HIDDEN(\"" : ".set \"", *between = work->image ? "\" = 0x" : "\", 0x";
    char *path = NULL, file[40] = "others.s";
    void *text = NULL;
    size_t bytes = 0;
    if (work->image)
        snprintf(file, sizeof file, "symbols-%zu.ld", work->image);
    if (!(path = build_path(work, file)))
        return pcere_fail_memory(error, "a path");
    enum pcere_status status = access(path, F_OK) ? PCERE_OK : file_read(AT_FDCWD, path, FILE_BYTES_MOST, &text, &bytes, error);
    for (char *line = text; !status && line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *name = line + strlen(before);
        size_t length = strncmp(line, before, strlen(before)) ? 0 : strcspn(name, "\"\n");
        if (!length || strncmp(name + length, between, strlen(between)) != 0)
            continue;
        struct export_other other = {strndup(name, length), strtoull(name + length + strlen(between), NULL, 16), EXPORT_NO_BITCODE};
        if (build_missing_at(&work->session.build, other.address))
            other.kind = EXPORT_MISSING;
        bool placed = other.name && work->image && (strstr(other.name, ".pcere.") || has_unit(work, other.name));
        if (!other.name || (!placed && !array_reserve(&work->others, &work->other_capacity, work->other_count + 1, sizeof *work->others)))
            status = pcere_fail_memory(error, "names of symbols");
        if (status || placed)
            free(other.name);
        else
            work->others[work->other_count++] = other;
    }
    free(text);
    free(path);
    return status;
}

/* ---- which units ----------------------------------------------------------------------------------------------------------------- */

static bool is_chosen(const struct export_work *work, const struct export_object *object)
{
    for (size_t i = 0; i < work->chosen_count; i++)
        if (work->chosen[i].object == object)
            return true;
    return false;
}

static void choose(struct export_work *work, const struct export_object *object)
{
    struct export_chosen *chosen = &work->chosen[work->chosen_count++];
    *chosen = (struct export_chosen){.object = object};
    snprintf(chosen->suffix, sizeof chosen->suffix, "u%zu", work->chosen_count);
    if (work->chosen_count == 1)
        strcpy(chosen->file, "region.ll");
    else
        snprintf(chosen->file, sizeof chosen->file, "unit%zu.ll", work->chosen_count);
}

static enum pcere_status region_unit_choose(struct export_work *work, struct pcere_error *error)
{
    for (size_t i = 0; i < work->object_count; i++)
        if (work->objects[i].unit->header.unit_id == work->codelet.unit_id)
            choose(work, &work->objects[i]);
    if (work->chosen_count != 1)
        return pcere_fail(error, PCERE_DATA, 0, "capture the program again", "the stored program does not say in which unit region '%s' is",
                          work->codelet.region);
    return PCERE_OK;
}

static const struct export_object *definer(const struct export_work *work, const char *name)
{
    for (size_t i = 0; i < work->object_count; i++)
        if (names_have(&work->objects[i].defined, name))
            return &work->objects[i];
    return NULL;
}

/* ---- what the region uses ----------------------------------------------------------------------------------------------------------- */

static int use_order(const void *left, const void *right)
{
    return strcmp(((const struct export_use *)left)->user, ((const struct export_use *)right)->user);
}

/* Lines "USER USED" of a unit's text; they stay in `chosen`. */
static enum pcere_status uses_read(struct export_work *work, struct export_chosen *chosen, struct pcere_error *error)
{
    char name[sizeof chosen->file + 8];
    void *text = NULL;
    size_t bytes = 0, capacity = 0;
    snprintf(name, sizeof name, "%s.uses", chosen->file);
    enum pcere_status status = file_read(work->folder, name, FILE_BYTES_MOST, &text, &bytes, error);
    unlinkat(work->folder, name, 0);
    chosen->uses_text = text;
    char *next = NULL;
    for (char *line = status ? NULL : strtok_r(text, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
        char *space = strchr(line, ' ');
        if (!space)
            continue;
        if (!array_reserve(&chosen->uses, &capacity, chosen->use_count + 1, sizeof *chosen->uses))
            return pcere_fail_memory(error, "what the region uses");
        *space = '\0';
        chosen->uses[chosen->use_count++] = (struct export_use){line, space + 1, false};
    }
    if (chosen->use_count)
        qsort(chosen->uses, chosen->use_count, sizeof *chosen->uses, use_order);
    return status;
}

/* A line each of another file. */
static enum pcere_status taken_read(struct export_work *work, struct export_chosen *chosen, struct pcere_error *error)
{
    char name[sizeof chosen->file + 8];
    void *text = NULL;
    size_t bytes = 0;
    snprintf(name, sizeof name, "%s.taken", chosen->file);
    enum pcere_status status = file_read(work->folder, name, FILE_BYTES_MOST, &text, &bytes, error);
    unlinkat(work->folder, name, 0);
    char *next = NULL;
    for (char *line = status ? NULL : strtok_r(text, "\n", &next); !status && line; line = strtok_r(NULL, "\n", &next))
        if (!names_add(&chosen->taken, line, strlen(line)))
            status = pcere_fail_memory(error, "what the region uses");
    names_sort(&chosen->taken);
    free(text);
    return status;
}

/* Follow all uses from the region's function. */
static enum pcere_status uses_follow(struct export_work *work, struct pcere_error *error)
{
    struct names *reached = &work->reached;
    for (size_t at = 0; at < reached->count; at++)
        for (size_t i = 0; i < work->chosen_count; i++) {
            const struct export_use wanted = {.user = reached->items[at]};
            const struct export_chosen *chosen = &work->chosen[i];
            struct export_use *use = chosen->use_count ? bsearch(&wanted, chosen->uses, chosen->use_count, sizeof wanted, use_order) : NULL;
            while (use && use > chosen->uses && !strcmp(use[-1].user, wanted.user))
                use--;
            for (; use && use < chosen->uses + chosen->use_count && !strcmp(use->user, wanted.user); use++) {
                if (use->followed)
                    continue;
                use->followed = true;
                if (!names_add(reached, use->used, strlen(use->used)))
                    return pcere_fail_memory(error, "what the region uses");
            }
        }
    return PCERE_OK;
}

/* Units that define what the region uses, or what else has no address in captured memory. */
static enum pcere_status users_choose(struct export_work *work, struct pcere_error *error)
{
    enum pcere_status status = uses_follow(work, error);
    for (size_t i = 0; !status && i < work->reached.count; i++) {
        const struct export_object *object = definer(work, work->reached.items[i]);
        if (object && !is_chosen(work, object))
            choose(work, object);
    }
    uint64_t address, bias = work->home->bias;
    const struct names *undefined = &work->chosen[work->chosen_count - 1].object->undefined;
    for (size_t i = 0; !status && i < undefined->count; i++) {
        const struct export_object *object = definer(work, undefined->items[i]);
        if (object && !is_chosen(work, object) && !link_symbol_find(work->home->elf, bias, undefined->items[i], &address))
            choose(work, object);
    }
    return status;
}

/* Sentences about what is neither in a unit nor in a library. */
static enum pcere_status others_tell(struct export_work *work, struct pcere_error *error)
{
    struct text old = {0}, missing = {0};
    names_sort(&work->reached);
    for (size_t i = 0; i < work->other_count; i++) {
        const struct export_other *other = &work->others[i];
        if (other->kind == EXPORT_NO_BITCODE && names_have(&work->reached, other->name))
            text_addf(&old, "%s%s", old.length ? ", " : "", other->name);
        for (size_t j = 0; other->kind == EXPORT_MISSING && j < work->chosen_count; j++)
            if (names_have(&work->chosen[j].object->undefined, other->name))
                text_addf(&missing, "%s%s", missing.length ? ", " : "", other->name);
    }
    enum pcere_status status = old.failed || missing.failed ? pcere_fail_memory(error, "a remark") : PCERE_OK;
    if (!status && old.length)
        status = export_limit(work, error, "there is no bitcode of %s: functions among these run as the program's machine code, from captured memory",
                              old.data);
    if (!status && missing.length)
        status = export_limit(work, error, "the program, as it was optimised, has no variable %s: using it is a crash", missing.data);
    text_done(&old);
    text_done(&missing);
    return status;
}

/* One compiler for all units: it must read the newest. */
static enum pcere_status compiler_choose(struct export_work *work, struct compilers *compilers, const struct compiler **ret_compiler,
                                         struct pcere_error *error)
{
    const struct replay_options *options = work->options;
    const struct build *build = &work->session.build;
    uint32_t newest = 0;
    for (size_t i = 0; i < build->origin_count; i++)
        newest = build->origins[i].rebuilt_by > newest ? build->origins[i].rebuilt_by : newest;
    enum pcere_status status = compilers_find(options->compiler, options->search_path, options->library_directory, compilers, error);
    if (!status)
        status = compilers_choose(compilers, newest, "the region", ret_compiler, error);
    if (!status)
        work->compiler_major = (*ret_compiler)->major;
    return status;
}

/* ---- their texts ------------------------------------------------------------------------------------------------------------------ */

static enum pcere_status unit_write(const struct export_work *work, const struct export_chosen *chosen, const struct compiler *compiler,
                                    struct pcere_error *error)
{
    struct arguments arguments = {0};
    void *bitcode = NULL;
    size_t bytes = 0;
    int code = 0;
    char *log = NULL;
    enum pcere_status status = elf_unit_bitcode(chosen->object->unit, &bitcode, &bytes, error);
    if (!status)
        status = file_replace(work->folder, "unit.bc", bitcode, bytes, false, EXPORT_FAULT, error);
    if (!status && asprintf(&log, "%s/unit.log", work->folder_path) < 0)
        status = pcere_fail_memory(error, "a path");
    free(bitcode);
    compiler_begin(compiler, &arguments);
    arguments_add(&arguments, "-mllvm");
    arguments_addf(&arguments, "-pcere-export=%s/%s", work->folder_path, chosen->file);
    arguments_add(&arguments, "-mllvm");
    arguments_addf(&arguments, "-pcere-export-suffix=%s", chosen->suffix);
    for (const char *const *word = (const char *const[]){"-O0", "-S", "-emit-llvm", "-o", "/dev/null", "-x", "ir", NULL}; *word; word++)
        arguments_add(&arguments, *word);
    arguments_addf(&arguments, "%s/unit.bc", work->folder_path);
    if (!status)
        status = command_run(&arguments, log, &code, error);
    if (!status && code) {
        char *line = command_first_error(log);
        status = pcere_fail(error, PCERE_NO, 0, NULL, "cannot write '%.120s' as text: %.300s", chosen->object->unit->source, line ? line : "");
        free(line);
    }
    if (!status && fchmodat(work->folder, chosen->file, 0600, 0))
        status = pcere_fail(error, PCERE_SYSTEM, errno, NULL, "cannot protect '%s'", chosen->file);
    unlinkat(work->folder, "unit.bc", 0);
    unlinkat(work->folder, "unit.log", 0);
    free(log);
    arguments_done(&arguments);
    return status;
}

/* "; region 'NAME' is FUNCTION with N arguments": the region's function, if this line is about it. */
static enum pcere_status region_line_read(struct export_work *work, const char *line, size_t length, struct pcere_error *error)
{
    static const char is[] = "' is ", with[] = " with ";
    size_t name_length = strlen(work->codelet.region);
    const char *at = line + 10, *end = line + length;
    if (length < 10 + name_length + sizeof is || strncmp(line, "; region '", 10) != 0 || strncmp(at, work->codelet.region, name_length) != 0
        || strncmp(at + name_length, is, sizeof is - 1) != 0)
        return PCERE_OK;
    at += name_length + sizeof is - 1;
    const char *count = memmem(at, (size_t)(end - at), with, sizeof with - 1);
    uint64_t words = count ? strtoull(count + sizeof with - 1, NULL, 10) : 0;
    bool condition = work->codelet.path == PCERE_PATH_FORK_IF && work->codelet.word_count == 2 && words < 2;    /* and an argument, or none */
    if (!count || (words != work->codelet.word_count && !condition) || work->microtask)
        return PCERE_OK;
    work->arguments = words;
    work->microtask = strndup(at, (size_t)(count - at));
    return work->microtask ? PCERE_OK : pcere_fail_memory(error, "a name");
}

/* Names of the variables that a unit's text defines or uses: `@NAME = ` or `@"NAME" = ` at a line's start. */
static enum pcere_status unit_text_read(struct export_work *work, struct export_chosen *chosen, struct pcere_error *error)
{
    void *text = NULL;
    size_t bytes = 0;
    enum pcere_status status = file_read(work->folder, chosen->file, FILE_BYTES_MOST, &text, &bytes, error);
    for (const char *line = text; !status && line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (*line == ';' && chosen == work->chosen)
            status = region_line_read(work, line, strcspn(line, "\n"), error);
        if (*line != '@')
            continue;
        bool quoted = line[1] == '"';
        const char *name = line + 1 + quoted;
        if (!names_add(&chosen->variables, name, strcspn(name, quoted ? "\"\n" : " \n")))
            status = pcere_fail_memory(error, "names of variables");
    }
    names_sort(&chosen->variables);
    free(text);
    return status;
}

/* Flags in one word list, for people and for the Makefile: what a shell or make would read otherwise cannot be written. */
static enum pcere_status unit_describe(struct export_work *work, const struct export_chosen *chosen, struct pcere_error *error)
{
    struct export_unit *grown = realloc(work->report.units, (work->report.unit_count + 1) * sizeof *grown);
    if (!grown)
        return pcere_fail_memory(error, "the list of units");
    work->report.units = grown;
    struct export_unit *unit = &grown[work->report.unit_count++];
    *unit = (struct export_unit){0};
    struct arguments arguments = {0};
    struct text flags = {0};
    build_unit_flags(chosen->object->unit, false, &arguments);
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; !arguments.failed && i < arguments.count; i++) {
        if (strspn(arguments.items[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+=.,_:/@%^") != strlen(arguments.items[i]))
            status = pcere_fail(error, PCERE_NO, 0, NULL, "'%.120s' was compiled with a flag that no Makefile can hold: %.120s",
                                chosen->object->unit->source, arguments.items[i]);
        text_addf(&flags, "%s%s", i ? " " : "", arguments.items[i]);
    }
    bool whole = !arguments.failed && (unit->file = strdup(chosen->file)) && (unit->source = strdup(chosen->object->unit->source))
                 && (unit->flags = text_take(&flags));
    text_done(&flags);
    arguments_done(&arguments);
    return !status && !whole ? pcere_fail_memory(error, "the list of units") : status;
}

/* The region's unit first; reading it shows which others are needed, and so on. */
static enum pcere_status units_follow(struct export_work *work, const struct compiler *compiler, struct pcere_error *error)
{
    enum pcere_status status = region_unit_choose(work, error);
    for (size_t i = 0; !status && i < work->chosen_count; i++) {
        status = unit_write(work, &work->chosen[i], compiler, error);
        if (!status)
            status = unit_text_read(work, &work->chosen[i], error);
        if (!status)
            status = unit_describe(work, &work->chosen[i], error);
        if (!status)
            status = uses_read(work, &work->chosen[i], error);
        if (!status)
            status = taken_read(work, &work->chosen[i], error);
        if (!status && !work->microtask)
            status = pcere_fail(error, PCERE_NO, 0, NULL, "the program's bitcode has no region '%s' with %zu arguments", work->codelet.region,
                                work->codelet.word_count);
        if (!status && !work->reached.count && !names_add(&work->reached, work->microtask, strlen(work->microtask)))
            status = pcere_fail_memory(error, "what the region uses");
        if (!status)
            status = users_choose(work, error);
    }
    return status;
}

static bool is_chosens(const struct export_work *work, const char *name)
{
    for (size_t i = 0; i < work->chosen_count; i++)
        if (names_have(&work->chosen[i].object->defined, name))
            return true;
    return false;
}

/* A function of a unit that the codelet's build did without, since no region reaches it: hidden ones stand in no other table. What images offer is found there. */
static bool unbuilt_find(const struct export_work *work, const char *name, uint64_t *ret_address)
{
    const struct elf_symbol *symbols;
    const struct image_export *offered = NULL;
    size_t count = elf_file_tables(work->home->elf, &symbols);
    for (size_t i = 0; i < count; i++) {
        if (symbols[i].local || symbols[i].kind != PCERE_SYMBOL_FUNCTION || strcmp(symbols[i].name, name) != 0)
            continue;
        *ret_address = symbols[i].address + work->home->bias;
        return images_resolve(&work->session.images, work->image, name, &offered) == SIZE_MAX;
    }
    return false;
}

/* In place of what the codelet's build, which has no use for it, may have found under that name. */
static enum pcere_status unreached_add(struct export_work *work, const char *name, uint64_t address, struct pcere_error *error)
{
    for (size_t i = 0; i < work->other_count; i++)
        if (!strcmp(work->others[i].name, name)) {
            work->others[i].address = address;
            work->others[i].kind = EXPORT_UNREACHED;
            return PCERE_OK;
        }
    struct export_other other = {strdup(name), address, EXPORT_UNREACHED};
    if (!other.name || !array_reserve(&work->others, &work->other_capacity, work->other_count + 1, sizeof *work->others)) {
        free(other.name);
        return pcere_fail_memory(error, "names of symbols");
    }
    work->others[work->other_count++] = other;
    return PCERE_OK;
}

/* What other code of the chosen units uses of units that are not chosen lies where the program has it. */
static enum pcere_status old_code_place(struct export_work *work, struct pcere_error *error)
{
    enum pcere_status status = PCERE_OK;
    for (size_t i = 0; i < work->chosen_count; i++) {
        const struct names *undefined = &work->chosen[i].object->undefined;
        for (size_t j = 0; !status && j < undefined->count; j++) {
            const char *name = undefined->items[j];
            uint64_t address;
            if (!is_chosens(work, name) && (definer(work, name) ? link_symbol_find(work->home->elf, work->home->bias, name, &address)
                                                                : unbuilt_find(work, name, &address)))
                status = unreached_add(work, name, address, error);
        }
    }
    return status;
}

enum pcere_status export_units_write(struct export_work *work, struct pcere_error *error)
{
    struct compilers compilers = {0};
    const struct compiler *compiler = NULL;
    enum pcere_status status = build_unit_check(&work->session.build, work->codelet.unit_id, error);
    if (!status)
        status = objects_read(work, error);
    if (!status)
        status = others_read(work, error);
    if (!status)
        status = compiler_choose(work, &compilers, &compiler, error);
    if (!status)
        status = units_follow(work, compiler, error);
    if (!status)
        status = old_code_place(work, error);
    if (!status)
        status = export_images_resolve(work, error);
    if (!status)
        status = others_tell(work, error);
    compilers_done(&compilers);
    return status;
}
