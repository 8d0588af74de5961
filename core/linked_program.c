/* core/linked_program.c - the parts of a statically linked program, by its symbols. */
#include "core/linked_program.h"

#include <string.h>

static struct elf_range from_mark(const struct elf_file *file, const char *mark, uint64_t end)
{
    const struct elf_symbol *symbol = elf_file_symbol(file, mark);
    return symbol && symbol->address < end ? (struct elf_range){symbol->address, end - symbol->address} : (struct elf_range){0};
}

/* Linkers do not agree on symbols for the end of code: the last function's. */
static uint64_t code_end(const struct elf_file *file)
{
    const struct elf_symbol *symbols;
    size_t count = elf_file_symbols(file, &symbols);
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++)
        if (symbols[i].kind == PCERE_SYMBOL_FUNCTION && symbols[i].address + symbols[i].size > end)
            end = symbols[i].address + symbols[i].size;
    return end;
}

static bool holds(struct elf_range range, uint64_t address)
{
    return address - range.address < range.bytes;
}

/* Archives are linked as wholes: all between its first function and its last one is the runtime's. */
static struct elf_range openmp_find(const struct elf_file *file, struct elf_range text)
{
    const struct elf_symbol *symbols;
    size_t count = elf_file_symbols(file, &symbols);
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = 0; i < count; i++) {
        const struct elf_symbol *symbol = &symbols[i];
        if (symbol->kind != PCERE_SYMBOL_FUNCTION || !holds(text, symbol->address) || !strstr(symbol->name, "__kmp") ||
            !strncmp(symbol->name, LINKED_WRAPPER, sizeof LINKED_WRAPPER - 1))
            continue;
        low = symbol->address < low ? symbol->address : low;
        high = symbol->address + symbol->size > high ? symbol->address + symbol->size : high;
    }
    return low < high ? (struct elf_range){low, high - low} : (struct elf_range){0};
}

/* Start files come first. */
static struct elf_range frames_find(const struct elf_file *file)
{
    const struct elf_symbol *symbols;
    size_t count = elf_file_symbols(file, &symbols);
    struct elf_range found = {0};
    for (size_t i = 0; i < count; i++)
        if (symbols[i].local && !strcmp(symbols[i].name, ELF_FRAMES_OBJECT) && (!found.bytes || symbols[i].address < found.address))
            found = (struct elf_range){symbols[i].address, symbols[i].size ? symbols[i].size : 48};
    return found;
}

bool linked_program_find(const struct elf_file *file, struct linked_program *ret_program)
{
    if (!elf_file_is_static(file) || !elf_file_symbol(file, LINKED_MARK))
        return false;
    uint64_t low, high;
    elf_file_span(file, &low, &high);
    struct linked_program program = {.text = from_mark(file, LINKED_MARK, code_end(file)),
                                     .data = from_mark(file, "__pcere_linked_data", elf_file_data_end(file)),
                                     .bss = from_mark(file, "__pcere_linked_bss", high),
                                     .tdata = from_mark(file, "__pcere_linked_tdata", elf_file_tls_data_bytes(file)),
                                     .tbss = from_mark(file, "__pcere_linked_tbss", elf_file_tls_bytes(file))};
    program.frames = frames_find(file);
    program.openmp = openmp_find(file, program.text);
    *ret_program = program;
    return program.text.bytes > 0;
}

bool linked_program_owns(const struct linked_program *program, const struct elf_symbol *symbol)
{
    return symbol->kind == PCERE_SYMBOL_FUNCTION && !symbol->local && !symbol->indirect && holds(program->text, symbol->address);
}
