/* replay-rt/launcher/link_symbols.h - captured addresses as assembler source: what ties rebuilt code to captured data. */
#ifndef PCERE_REPLAY_LAUNCHER_LINK_SYMBOLS_H
#define PCERE_REPLAY_LAUNCHER_LINK_SYMBOLS_H

#include "core/elf_file.h"
#include "core/error.h"
#include "core/text.h"
#include "replay-rt/launcher/images.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Define every variable, function and thread-local variable of the executable's units, as include/pcere/codelet_abi.h names them. Variables that
 * it shares with captured libraries stay visible to them. PCERE_DATA: a name that no compiler writes. */
enum pcere_status link_symbols_units(const struct images *images, struct text *out, struct pcere_error *error);

/* Can the name stand in quotes in assembly and linker scripts? */
bool link_symbol_is_writable(const char *name);
/* One hidden absolute symbol. False: such a name cannot be written. */
bool link_symbol_write(struct text *out, const char *name, uint64_t address);

/* One absolute symbol of a variable, which shared objects see. */
bool link_symbol_share(struct text *out, const char *name, uint64_t address);

/* Captured address of a global symbol of an image that none of its units defines (objects without bitcode); false: there is
 * none, or it is a copy of a library's variable, which must be the new library's. */
bool link_symbol_find(const struct elf_file *program, uint64_t bias, const char *name, uint64_t *ret_address);
/* Where the program's executable has malloc and the like: these are the codelet runtime's (replay-rt/target/program_heap.c), which goes on to the
 * program's own. Those are weak here: what is rebuilt from bitcode comes first. Another processor has only these. */
void link_symbols_allocator(const struct elf_file *program, uint64_t bias, bool other_processor, struct text *out);
/* Adds the definition of an operator new or delete that allocates by the codelet's functions: where the program has it in a captured library alone (libc++abi), whose
 * own works when captured memory is there. False: the name is none. */
bool link_symbol_operator(const char *name, bool other_processor, struct text *out);

/* For code without bitcode in a statically linked program, and for pointers in its data: jumps from its runtimes' functions to those of the shared
 * libraries (struct codelet_runtime). Nothing for other programs. */
void link_symbols_runtimes(const struct elf_file *program, uint64_t bias, struct text *out);
/* Is it machine code of the program? */
bool link_symbol_is_function(const struct elf_file *program, const char *name);

/* Names that a log of ld.lld calls undefined, or absolute where that cannot be, each once; *ret_names and each name are malloc'ed. */
enum pcere_status link_symbols_undefined(const char *log_text, char ***ret_names, size_t *ret_count, struct pcere_error *error);

#endif
