/* core/elf_code.c - walks .symtab, where local symbols follow the STT_FILE symbol of their unit. */
#include "core/elf_code.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

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
    while (elf && elf_kind(elf) == ELF_K_ELF && !*ret_function && (section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
            symbols_search(elf, section, &header, address, ret_function, ret_unit);
    }
    if (elf)
        elf_end(elf);
    if (descriptor >= 0)
        close(descriptor);
}
