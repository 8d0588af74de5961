/* core/linked_program.h - which parts of a statically linked program are its runtimes': the capture object, OpenMP, C++ and C libraries.
 *
 * The capture object is linked behind the program's objects and archives and before the runtimes (capture-rt/target/linked_marks.c), so that in each section all
 * from its mark on is theirs. What the plugin's tables list there all the same, such as tentative definitions, is the program's.
 */
#ifndef PCERE_CORE_LINKED_PROGRAM_H
#define PCERE_CORE_LINKED_PROGRAM_H

#include "core/elf_file.h"

#define LINKED_MARK "__pcere_linked_text"
#define LINKED_WRAPPER "__wrap_"        /* what the program's calls of such a function go to: the capture object's */

struct linked_program {                 /* link-time addresses; bytes 0: nothing */
    struct elf_range text, data, bss;
    struct elf_range tdata, tbss;       /* offsets in the block of thread-local variables */
    struct elf_range openmp;            /* code of the OpenMP runtime */
    struct elf_range frames;            /* of the start files, before the program: what the unwinder notes when it is first asked */
};

/* False: it is not linked statically, or without the capture object, or was stripped. */
bool linked_program_find(const struct elf_file *file, struct linked_program *ret_program);
/* Is it a function of the runtimes', for which a process with shared ones has another? */
bool linked_program_owns(const struct linked_program *program, const struct elf_symbol *symbol);

#endif
