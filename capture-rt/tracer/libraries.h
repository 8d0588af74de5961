/* capture-rt/tracer/libraries.h - the shared libraries that a program brings, so that its regions can be replayed where these are not.
 *
 * Those of the C, C++ and OpenMP runtimes, of which every machine that replays has its own, stay out.
 */
#ifndef PCERE_CAPTURE_TRACER_LIBRARIES_H
#define PCERE_CAPTURE_TRACER_LIBRARIES_H

#include "capture-rt/tracer/maps.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct libraries {
    char **seen;                     /* paths */
    size_t seen_count, seen_capacity;
    bool missed;                     /* one could not be copied */
};

/* Copy what the process has mapped by now, and was not seen before, into the store. The process need not be stopped. `facts` tells where
 * the program itself lies. What fails is remembered in `missed`. */
void libraries_store(struct libraries *libraries, pid_t pid, const struct map_facts *facts, struct store_writer *writer);
void libraries_done(struct libraries *libraries);

#endif
