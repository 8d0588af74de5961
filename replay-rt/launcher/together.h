/* replay-rt/launcher/together.h - which regions hold for the threads of their capture only, as all units of an image together show. What one unit shows by itself
 * its compiler has told already (passes/Threads.cpp). */
#ifndef PCERE_REPLAY_LAUNCHER_TOGETHER_H
#define PCERE_REPLAY_LAUNCHER_TOGETHER_H

#include "core/error.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

/* Regions and reasons, each malloc'ed; none where no image asks for a number of threads and for a thread's number, or where an image has so many units that optimising
 * them would take longer than captures do; *ret_large is the last such one's bytes of bitcode, or 0. `search_path` and `library_directory` as in struct replay_options. PCERE_REFUSED: no compiler here reads the units.
 * PCERE_NO: they do not link, or cannot be read. */
enum pcere_status together_find(const struct store *store, const char *search_path, const char *library_directory, struct store_limit **ret_limits, size_t *ret_count,
                                uint64_t *ret_large, struct pcere_error *error);

#endif
