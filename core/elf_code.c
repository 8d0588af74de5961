/* core/elf_code.c - walks .symtab, where local symbols follow the STT_FILE symbol of their unit. */
#include "core/elf_code.h"

#include "core/text.h"
#include "include/pcere/bisect.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The next symbol table behind `section` (NULL: the first), or NULL. */
static Elf_Scn *symbols_next(Elf *elf, Elf_Scn *section, GElf_Shdr *ret_header)
{
    while ((section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, ret_header) && (ret_header->sh_type == SHT_SYMTAB || ret_header->sh_type == SHT_DYNSYM))
            return section;
    return NULL;
}

static void symbols_search(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, uint64_t address, char **ret_function, char **ret_unit)
{
    Elf_Data *data = elf_getdata(section, NULL);
    const char *unit = NULL;
    GElf_Sym symbol;
    for (int i = 1; data && !*ret_function && gelf_getsym(data, i, &symbol); i++) {
        unsigned char type = GELF_ST_TYPE(symbol.st_info);
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (type == STT_FILE)
            unit = name && *name ? name : NULL;
        if (type != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_value > address || !name || !*name ||
            address - symbol.st_value >= (symbol.st_size ? symbol.st_size : 1))
            continue;
        *ret_function = strdup(name);
        *ret_unit = unit && GELF_ST_BIND(symbol.st_info) == STB_LOCAL ? strdup(unit) : NULL;
    }
}

void elf_code_name(const char *path, uint64_t address, char **ret_function, char **ret_unit)
{
    *ret_function = *ret_unit = NULL;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    elf_version(EV_CURRENT);
    Elf *elf = descriptor >= 0 ? elf_begin(descriptor, ELF_C_READ_MMAP, NULL) : NULL;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while (elf && elf_kind(elf) == ELF_K_ELF && !*ret_function && (section = symbols_next(elf, section, &header)))
        symbols_search(elf, section, &header, address, ret_function, ret_unit);
    if (elf)
        elf_end(elf);
    if (descriptor >= 0)
        close(descriptor);
}

/* ---- many addresses -------------------------------------------------------------------------------------------------------- */

struct code_function { uint64_t start; const char *name, *unit; size_t place; };    /* place: in the file, of several that begin at one address the first is told */

struct elf_code {
    int descriptor;
    Elf *elf;
    struct code_function *functions;
    size_t count, capacity;
};

static int function_order(const void *left, const void *right)
{
    const struct code_function *a = left, *b = right;
    return a->start != b->start ? (a->start > b->start) - (a->start < b->start) : (a->place > b->place) - (a->place < b->place);
}

static bool functions_add(struct elf_code *code, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    const char *unit = NULL;
    GElf_Sym symbol;
    for (int i = 1; data && gelf_getsym(data, i, &symbol); i++) {
        unsigned char type = GELF_ST_TYPE(symbol.st_info);
        const char *name = type == STT_FILE || (type == STT_FUNC && symbol.st_shndx != SHN_UNDEF) ? elf_strptr(code->elf, header->sh_link, symbol.st_name) : NULL;
        if (type == STT_FILE)
            unit = name && *name ? name : NULL;
        if (type == STT_FILE || !name || !*name)
            continue;
        if (!array_reserve(&code->functions, &code->capacity, code->count + 1, sizeof *code->functions))
            return false;
        code->functions[code->count] = (struct code_function){symbol.st_value, name, GELF_ST_BIND(symbol.st_info) == STB_LOCAL ? unit : NULL, code->count};
        code->count++;
    }
    return true;
}

struct elf_code *elf_code_open(const char *path)
{
    struct elf_code *code = calloc(1, sizeof *code);
    Elf_Scn *section = NULL;
    if (!code)
        return NULL;
    elf_version(EV_CURRENT);
    code->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    code->elf = code->descriptor >= 0 ? elf_begin(code->descriptor, ELF_C_READ_MMAP, NULL) : NULL;
    bool good = code->elf && elf_kind(code->elf) == ELF_K_ELF;
    GElf_Shdr header;
    while (good && (section = symbols_next(code->elf, section, &header)))
        good = functions_add(code, section, &header);
    if (good && code->count) {
        qsort(code->functions, code->count, sizeof *code->functions, function_order);
        return code;
    }
    elf_code_close(code);
    return NULL;
}

const char *elf_code_function(const struct elf_code *code, uint64_t address, uint64_t *ret_start)
{
    BISECT(low, 0, code->count, i, code->functions[i].start <= address);
    while (low > 1 && code->functions[low - 2].start == code->functions[low - 1].start)
        low--;
    if (!low)
        return NULL;
    *ret_start = code->functions[low - 1].start;
    return code->functions[low - 1].name;
}

bool elf_code_at(const struct elf_code *code, size_t index, struct elf_code_place *ret_place)
{
    if (index >= code->count)
        return false;
    const struct code_function *function = &code->functions[index];
    *ret_place = (struct elf_code_place){function->start, function->name, function->unit};
    return true;
}

void elf_code_close(struct elf_code *code)
{
    if (!code)
        return;
    if (code->elf)
        elf_end(code->elf);
    if (code->descriptor >= 0)
        close(code->descriptor);
    free(code->functions);
    free(code);
}
