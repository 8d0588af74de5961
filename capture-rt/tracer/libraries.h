/* capture-rt/tracer/libraries.h - the shared libraries that a program brings, so that its regions can be replayed where these are not.
 *
 * It is linked with them, itself or through one of them. Those of the C, C++ and OpenMP runtimes, of which every machine that replays has
 * its own, stay out; so does what the program loads by itself while it runs.
 */
#ifndef PCERE_CAPTURE_TRACER_LIBRARIES_H
#define PCERE_CAPTURE_TRACER_LIBRARIES_H

#include "capture-rt/tracer/maps.h"
#include "core/elf_file.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct libraries {
    char **paths;                    /* that were seen in the process */
    size_t count, capacity;
    bool failed;                     /* some may be missing */
};

/* Remember what the process has mapped by now. It need not be stopped. `facts` tells where the program itself lies. */
void libraries_see(struct libraries *libraries, pid_t pid, const struct map_facts *facts);
/* Copy what was seen, and belongs to the program, into the store. False: one could not be copied. */
bool libraries_store(const struct libraries *libraries, const struct elf_file *program, struct store_writer *writer);
void libraries_done(struct libraries *libraries);

#endif
