/* core/elf_code.h - which function, and which translation unit, an address of an ELF file's code belongs to, as its symbols tell.
 *
 * For code that carries nothing of PCERE's. The file is hostile; whatever cannot be read is as if it were not there.
 */
#ifndef PCERE_CORE_ELF_CODE_H
#define PCERE_CORE_ELF_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The symbol of the function at a link-time address, as it stands there, and the name of the unit that it is local to ("x.c", from the symbol table's
 * STT_FILE). Both malloc'ed; NULL where the file does not tell: it is stripped, the function is a global one, or there is no such file. */
void elf_code_name(const char *path, uint64_t address, char **ret_function, char **ret_unit);

/* The functions of one file, for many addresses. */
struct elf_code;
struct elf_code *elf_code_open(const char *path);        /* NULL: it tells of none */
/* The function that begins last at or below a link-time address, as unwinders name it, and where it begins; NULL: none does. The name is borrowed. */
const char *elf_code_function(const struct elf_code *code, uint64_t address, uint64_t *ret_start);
/* All of them, ascending by address. `unit`: the source file of a local one, as STT_FILE has it; else NULL. Borrowed. False: there are no more. */
struct elf_code_place { uint64_t start; const char *name, *unit; };
bool elf_code_at(const struct elf_code *code, size_t index, struct elf_code_place *ret_place);
void elf_code_close(struct elf_code *code);              /* accepts NULL */

#endif
