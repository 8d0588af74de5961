/* replay-rt/launcher/link_symbols.c - names and addresses for the linker. Names come from a stored file: only harmless ones are
 * written. */
#include "replay-rt/launcher/link_symbols.h"

#include "core/linked_program.h"
#include "replay-rt/launcher/link_image.h"

#include <stdlib.h>
#include <string.h>

bool link_symbol_is_writable(const char *name)
{
    if (!*name)
        return false;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (*c < ' ' || *c == '"' || *c == '\\' || *c == 0x7f)
            return false;
    return true;
}

bool link_symbol_write(struct text *out, const char *name, uint64_t address)
{
    if (!link_symbol_is_writable(name))
        return false;
    text_addf(out, ".globl \"%s\"\n.hidden \"%s\"\n.set \"%s\", 0x%llx\n", name, name, name, (unsigned long long)address);
    return true;
}

static int symbol_order(const void *left, const void *right)
{
    const struct elf_symbol *const *a = left, *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

bool link_symbol_share(struct text *out, const char *name, uint64_t address)
{
    if (!link_symbol_is_writable(name))
        return false;
    text_addf(out, ".globl \"%s\"\n.type \"%s\", @object\n.set \"%s\", 0x%llx\n", name, name, name, (unsigned long long)address);
    return true;
}

/* Does the executable offer the variable to libraries that are captured like it? */
static bool is_shared(const struct images *images, const char *name)
{
    const struct image_export *symbol = images->count > 1 ? image_export_find(&images->items[0].file, name) : NULL;
    return symbol && !symbol->copy;
}

/* Copies that the executable keeps of variables of captured libraries: the captured ones are what all refer to. */
static bool copies_write(const struct images *images, struct text *out)
{
    const struct image *program = &images->items[0].file;
    bool good = true;
    for (size_t i = 0; good && i < program->export_count; i++) {
        const struct image_export *symbol = &program->exports[i], *found = NULL;
        if (symbol->copy && images_resolve(images, 0, symbol->name, &found) == 0)
            good = link_symbol_share(out, symbol->name, symbol->address + images->items[0].bias);
    }
    return good;
}

/* A global variable may stand in several units' tables: inline and tentative definitions. */
static enum pcere_status globals_write(const struct images *images, struct text *out, struct pcere_error *error)
{
    const struct elf_symbol *symbols;
    size_t count = elf_file_tables(images->items[0].elf, &symbols);
    uint64_t bias = images->items[0].bias;
    const struct elf_symbol **globals = calloc(count ? count : 1, sizeof(struct elf_symbol *));
    if (!globals)
        return pcere_fail_memory(error, "the program's symbols");
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        if (symbols[i].kind == PCERE_SYMBOL_VARIABLE && !symbols[i].local)
            globals[found++] = &symbols[i];
    qsort(globals, found, sizeof(struct elf_symbol *), symbol_order);
    bool good = true;
    for (size_t i = 0; good && i < found; i++)
        if (!i || strcmp(globals[i]->name, globals[i - 1]->name) != 0)
            good = is_shared(images, globals[i]->name) ? link_symbol_share(out, globals[i]->name, globals[i]->address + bias)
                                                       : link_symbol_write(out, globals[i]->name, globals[i]->address + bias);
    free(globals);
    return good ? PCERE_OK : pcere_fail(error, PCERE_DATA, 0, "capture the program again", "the stored program has a damaged symbol name");
}

/* What the linker would define for the codelet's executable is what it defined for the program's. Weak: a unit or a table may have such a name of its own. */
static void boundaries_write(const struct images *images, struct text *out)
{
    static const char *const names[] = {"etext", "_etext", "edata", "_edata", "end", "_end", "__bss_start", "__executable_start"};
    const struct elf_file *program = images->items[0].elf;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct elf_symbol *symbol = elf_file_symbol(program, names[i]);
        uint64_t address = symbol ? symbol->address : 0;
        if (symbol ? symbol->kind == PCERE_SYMBOL_TLS : elf_file_imports(program, names[i]) || !elf_file_boundary(program, names[i], &address))
            continue;
        text_addf(out, ".ifndef \"%s\"\n.weak \"%s\"\n.hidden \"%s\"\n.set \"%s\", 0x%llx\n.endif\n", names[i], names[i], names[i], names[i],
                  (unsigned long long)(address + images->items[0].bias));
    }
}

enum pcere_status link_symbols_units(const struct images *images, struct text *out, struct pcere_error *error)
{
    const struct elf_symbol *symbols;
    size_t count = elf_file_tables(images->items[0].elf, &symbols);
    uint64_t bias = images->items[0].bias;
    enum pcere_status status = globals_write(images, out, error);
    if (!status && !copies_write(images, out))
        status = pcere_fail(error, PCERE_DATA, 0, "capture the program again", "the stored program has a damaged symbol name");
    struct text name = {0};
    for (size_t i = 0; !status && i < count; i++) {
        const struct elf_symbol *symbol = &symbols[i];
        unsigned long long unit = symbol->unit_id;
        uint64_t value = symbol->address + bias;
        name.length = 0;
        if (symbol->kind == PCERE_SYMBOL_FUNCTION) {
            text_addf(&name, "__pcere_old.%016llx.%s", unit, symbol->name);
        } else if (symbol->kind == PCERE_SYMBOL_TLS) {
            text_addf(&name, "__pcere_tls.%016llx.%s", unit, symbol->name);
            value = symbol->address + 1;
        } else if (symbol->local) {
            text_addf(&name, "%s.pcere.%016llx", symbol->name, unit);
        } else {
            continue;
        }
        if (name.failed)
            status = pcere_fail_memory(error, "the program's symbols");
        else if (!link_symbol_write(out, name.data, value))
            status = pcere_fail(error, PCERE_DATA, 0, "capture the program again", "the stored program has a damaged symbol name");
    }
    boundaries_write(images, out);
    text_done(&name);
    return status;
}

void link_symbols_allocator(const struct elf_file *program, uint64_t bias, bool other_processor, struct text *out)
{
    static const char *const names[] = {"malloc", "calloc", "realloc", "free", "memalign", "aligned_alloc", "posix_memalign", "malloc_usable_size"};
    const size_t name_count = sizeof names / sizeof *names;
    const struct elf_symbol *symbols;
    size_t count = elf_file_symbols(program, &symbols), found = 0;
    struct linked_program linked;
    bool is_linked = linked_program_find(program, &linked);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < name_count; j++) {
            if (is_linked && linked_program_owns(&linked, &symbols[i]))     /* the C library's */
                continue;
            if (symbols[i].kind != PCERE_SYMBOL_FUNCTION || symbols[i].indirect || symbols[i].copy || strcmp(symbols[i].name, names[j]) != 0)
                continue;
            if (!other_processor)
                text_addf(out, ".weak \"pcere_program_%s\"\n.hidden \"pcere_program_%s\"\n.set \"pcere_program_%s\", 0x%llx\n", names[j], names[j],
                          names[j], (unsigned long long)(symbols[i].address + bias));
            found++;
        }
    for (size_t j = 0; found && j < name_count; j++)
        text_addf(out, ".section \".text.%s\", \"ax\", @progbits\n.globl \"%s\"\n.type \"%s\", @function\n\"%s\": %s pcere_served_%s\n", names[j], names[j],
                  names[j], names[j], other_processor ? "b" : "jmp", names[j]);
}

/* Mangled names are the C++ library's, which works where it is by what stands beneath it, and the OpenMP runtime's own; the operators new and delete are others'
 * business as well. The program's start is nobody's. */
static bool is_redirected(const char *name)
{
    static const char *const never[] = {"_init", "_fini", "_start", "__libc_start_main", "__pcere_", "pcere_", "_dl_", "__libc_csu_"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (!strncmp(name, never[i], strlen(never[i])))
            return false;
    return (strncmp(name, "_Z", 2) != 0 || link_image_allocates(name)) && link_symbol_is_writable(name);
}

static const char *rest_of(const char *name, const char *beginning)
{
    size_t length = strlen(beginning);
    return strncmp(name, beginning, length) == 0 ? name + length : NULL;
}

/* One that fails gives NULL, and does not throw. */
bool link_symbol_operator(const char *name, bool other_processor, struct text *out)
{
    static const char *const makes[] = {"_Znwm", "_Znam"}, *const ends[] = {"_ZdlPv", "_ZdaPv"};
    const char *swap = "", *called = NULL, *rest;
    for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) {
        if (rest_of(name, ends[i]))
            called = "free";
        if (!(rest = rest_of(name, makes[i])))
            continue;
        called = "malloc";
        if (rest_of(rest, "St11align_val_t")) {     /* its arguments are the other way round */
            called = "aligned_alloc";
            swap = other_processor ? "mov x2, x0\nmov x0, x1\nmov x1, x2\n" : "xchgq %rdi, %rsi\n";
        }
    }
    if (called && link_symbol_is_writable(name))
        text_addf(out, ".section \".text.%s\", \"ax\", @progbits\n.globl \"%s\"\n.type \"%s\", @function\n\"%s\":\n%s%s %s\n", name, name, name, name, swap,
                  other_processor ? "b" : "jmp", called);
    return called && link_symbol_is_writable(name);
}

#define JUMP_BYTES 5u

void link_symbols_runtimes(const struct elf_file *program, uint64_t bias, struct text *out)
{
    const struct elf_symbol *symbols;
    struct linked_program linked;
    size_t count = elf_file_symbols(program, &symbols), wrapper = strlen(LINKED_WRAPPER);
    if (!linked_program_find(program, &linked))
        return;
    for (size_t i = 0; i < count; i++) {
        const char *name = symbols[i].name;
        if (!strncmp(name, LINKED_WRAPPER, wrapper))
            name += wrapper;
        if (symbols[i].size >= JUMP_BYTES && linked_program_owns(&linked, &symbols[i]) && is_redirected(name))
            text_addf(out, ".weak \"%s\"\n.section .text.pcere_runtimes,\"ax\",@progbits\n1: jmp *\"%s\"@GOTPCREL(%%rip)\n"
                           ".section pcere_runtimes,\"aw\",@progbits\n.p2align 3\n.quad 0x%llx, 1b, \"%s\"\n",
                      name, name, (unsigned long long)(symbols[i].address + bias), name);
    }
}

bool link_symbol_find(const struct elf_file *program, uint64_t bias, const char *name, uint64_t *ret_address)
{
    const struct elf_symbol *symbols;
    size_t count = elf_file_symbols(program, &symbols);
    for (size_t i = 0; i < count; i++)
        if (!symbols[i].copy && !symbols[i].indirect && symbols[i].kind != PCERE_SYMBOL_TLS && !strcmp(symbols[i].name, name)) {
            *ret_address = symbols[i].address + bias;
            return true;
        }
    if (!elf_file_boundary(program, name, ret_address))
        return false;
    *ret_address += bias;
    return true;
}

/* The name that a line of the linker's says it cannot do without, to the end of the line, or NULL. */
static const char *name_missed(const char *line, size_t length)
{
    static const struct { const char *about, *before; } sayings[] = {
        {"error: undefined ", " symbol: "}, {"error: undefined ", " reference: "}, {"error: relocation ", " absolute symbol: "}};
    for (size_t i = 0; i < sizeof sayings / sizeof *sayings; i++) {
        size_t bytes = strlen(sayings[i].before);
        const char *word = memmem(line, length, sayings[i].about, strlen(sayings[i].about));
        const char *at = word ? memmem(word, length - (size_t)(word - line), sayings[i].before, bytes) : NULL;
        if (at)
            return at + bytes;
    }
    return NULL;
}

bool link_symbol_is_function(const struct elf_file *program, const char *name)
{
    const struct elf_symbol *symbols;
    size_t count = elf_file_symbols(program, &symbols);
    for (size_t i = 0; i < count; i++)
        if (symbols[i].kind == PCERE_SYMBOL_FUNCTION && !strcmp(symbols[i].name, name))
            return true;
    return false;
}

enum pcere_status link_symbols_undefined(const char *log_text, char ***ret_names, size_t *ret_count, struct pcere_error *error)
{
    char **names = NULL;
    size_t count = 0, capacity = 0;
    for (const char *line = log_text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = name_missed(line, strcspn(line, "\n"));
        if (!at)
            continue;
        size_t length = strcspn(at, "\n");
        bool known = false;
        for (size_t i = 0; i < count; i++)
            known |= !strncmp(names[i], at, length) && !names[i][length];
        if (known)
            continue;
        if (!array_reserve(&names, &capacity, count + 1, sizeof *names) || !(names[count] = strndup(at, length))) {
            while (count)
                free(names[--count]);
            free(names);
            return pcere_fail_memory(error, "names of symbols");
        }
        count++;
    }
    *ret_names = names;
    *ret_count = count;
    return PCERE_OK;
}
