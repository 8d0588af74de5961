/* replay-rt/launcher/compilers.h - which compiler rebuilds which bitcode.
 *
 * Bitcode is read by the version of LLVM that wrote it and by newer ones. A version is of use if PCERE's plugin for it is there
 * (pcere/PCEREPass-MAJOR.so) and a clang-MAJOR.
 */
#ifndef PCERE_REPLAY_LAUNCHER_COMPILERS_H
#define PCERE_REPLAY_LAUNCHER_COMPILERS_H

#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct compiler { uint32_t major; char *clang, *plugin; };     /* paths */

struct compilers {
    struct compiler *items;           /* ascending by version, each once */
    size_t count;
    char *linker;                     /* path of the clang that assembles and links: of the default version */
    char *assembler;                  /* of binutils, which starts in a tenth of the time; or NULL */
};

/* `wanted`: the one compiler to use, a name or a path, or NULL for what is there. `search_path` and `library_directory` as in struct
 * replay_options. PCERE_REFUSED: the default clang with its linker, or `wanted`, or a plugin for it, is missing. */
enum pcere_status compilers_find(const char *wanted, const char *search_path, const char *library_directory, struct compilers *ret_compilers,
                                 struct pcere_error *error);
void compilers_done(struct compilers *compilers);

/* The compiler for bitcode of LLVM `written_by`: the same version, else the next newer one; borrowed. PCERE_REFUSED: there is none;
 * message and hint name `source` and what to install. */
enum pcere_status compilers_choose(const struct compilers *compilers, uint32_t written_by, const char *source, const struct compiler **ret_compiler,
                                   struct pcere_error *error);

/* A command line begins: the compiler, with its plugin. */
struct arguments;
void compiler_begin(const struct compiler *compiler, struct arguments *arguments);

/* What makes one compiler differ from another: path, time, size, content of its plugin. */
enum pcere_status compiler_describe(const struct compiler *compiler, struct text *text, struct pcere_error *error);

#endif
