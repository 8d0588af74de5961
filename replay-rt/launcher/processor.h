/* replay-rt/launcher/processor.h - another processor than this machine's, for which codelets are built, and the emulator that runs them here. */
#ifndef PCERE_REPLAY_LAUNCHER_PROCESSOR_H
#define PCERE_REPLAY_LAUNCHER_PROCESSOR_H

#include "core/error.h"
#include "replay-rt/launcher/command.h"

#include <stdbool.h>

struct processor {
    const char *triple;               /* as compilers call it; NULL: this machine's own, and nothing of what follows */
    const char *runtime;              /* file name of the codelets' runtime */
    char *sysroot;                    /* absolute path of that system's headers and libraries */
    char *emulator;                   /* path */
};

/* `target`: as the user names it, or NULL for this machine's own. `search_path` as in struct replay_options. PCERE_USAGE: there is no such target, or no
 * `sysroot` is named. PCERE_REFUSED: the folder is none, or there is no emulator; the hint says what to install. */
enum pcere_status processor_find(const char *target, const char *sysroot, const char *search_path, struct processor *ret_processor,
                                 struct pcere_error *error);
void processor_done(struct processor *processor);

/* For compiler and linker: what to build for; nothing for this machine's own. */
void processor_add(const struct processor *processor, struct arguments *arguments);
/* For the linker: where the OpenMP runtime is. */
void processor_add_libraries(const struct processor *processor, struct arguments *arguments);
/* Is it a flag of the original that only its own processor knows? */
bool processor_drops_flag(const struct processor *processor, const char *flag);

#endif
