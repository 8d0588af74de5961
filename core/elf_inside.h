/* core/elf_inside.h - what an opened ELF file knows: for elf_file.c, which reads what every linker writes, and elf_plugin.c, which reads what the plugin wrote. */
#ifndef PCERE_CORE_ELF_INSIDE_H
#define PCERE_CORE_ELF_INSIDE_H

#include "core/elf_file.h"

#include <gelf.h>

#define ELF_HINT_COMPILE "compile it with: clang -fopenmp -fpass-plugin=PCEREPass.so"

struct elf_symbols { struct elf_symbol *items; size_t count, capacity; };

struct elf_file {
    char *path;
    int descriptor;
    Elf *elf;                                      /* owns section contents that units and tables borrow from */
    bool pie, dynamic;
    uint64_t low, high;
    uint64_t near_low, near_high;                  /* 0, 0: no section tells */
    uint64_t tls_bytes, tls_data_bytes, tls_offset;
    char *build_id;
    char *soname;
    char **needed;
    size_t needed_count, needed_capacity;
    uint64_t *copies;                              /* addresses that copy relocations fill, ascending */
    size_t copy_count, copy_capacity;
    struct elf_unit *units;
    size_t unit_count, unit_capacity;
    size_t other_units, other_tables;              /* written by another version of the plugin, and passed over */
    uint32_t other_version;                        /* the last one's */
    struct elf_symbols tables, symbols;
    size_t first_tables;                           /* entries of .pcere.sym, while .debug_pcere is read */
    uint64_t asked_unit;                           /* the last unit that is_known was asked of, and what it said; 0: none */
    bool asked_is_known;
    struct elf_construct *constructs;
    size_t construct_count, construct_capacity;
    char *names;                                   /* of `symbols` */
    unsigned char *unpacked;                       /* .debug_pcere, where libelf does not unpack it */
};

enum pcere_status elf_damaged(const struct elf_file *file, struct pcere_error *error, const char *what);
enum pcere_status elf_no_memory(struct pcere_error *error);
bool elf_symbols_add(struct elf_symbols *symbols, const struct elf_symbol *symbol);

/* By value, for qsort and bsearch over addresses. */
int elf_compare_addresses(const void *left, const void *right);
/* Is it a variable that a copy relocation fills? Once file->copies are sorted. */
bool elf_is_copy(const struct elf_file *file, uint64_t address, uint16_t kind);

/* The content of .pcere.bc, of .pcere.sym or .debug_pcere, and of .pcere.con: `left` bytes, which stay where they are. */
enum pcere_status elf_read_units(struct elf_file *file, const unsigned char *at, uint64_t left, struct pcere_error *error);
enum pcere_status elf_read_tables(struct elf_file *file, const unsigned char *at, uint64_t left, struct pcere_error *error);
enum pcere_status elf_read_constructs(struct elf_file *file, const unsigned char *at, uint64_t left, struct pcere_error *error);
/* Once symbols are read, too: entries that the linker found nothing under their name for get the address of the name that ThinLTO gave them; the rest leave the tables.
 * Thread-local ones stand at offset 0 then, where another may be: one stays there that the symbols have there, or that nobody disputes the place. */
void elf_settle_tables(struct elf_file *file);

#endif
