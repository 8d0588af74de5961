/* core/elf_code.h - which function, and which translation unit, an address of an ELF file's code belongs to, as its symbols tell.
 *
 * For code that carries nothing of PCERE's. The file is hostile; whatever cannot be read is as if it were not there.
 */
#ifndef PCERE_CORE_ELF_CODE_H
#define PCERE_CORE_ELF_CODE_H

#include <stdint.h>

/* The symbol of the function at a link-time address, as it stands there, and the name of the unit that it is local to ("x.c", from the symbol table's
 * STT_FILE). Both malloc'ed; NULL where the file does not tell: it is stripped, the function is a global one, or there is no such file. */
void elf_code_name(const char *path, uint64_t address, char **ret_function, char **ret_unit);

#endif
