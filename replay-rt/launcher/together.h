/* replay-rt/launcher/together.h - which regions hold for the threads of their capture only, as all units of an image together show. What one unit shows by itself
 * its compiler has told already (passes/Threads.cpp). */
#ifndef PCERE_REPLAY_LAUNCHER_TOGETHER_H
#define PCERE_REPLAY_LAUNCHER_TOGETHER_H

#include "core/error.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

#define TOGETHER_QUICK_BYTES (3u << 20)      /* of bitcode: what a capture can wait for */
#define TOGETHER_BYTES_MOST (128u << 20)     /* what a replay can wait for: four times the largest library that was tried */

/* Regions and reasons, each malloc'ed; none where no image asks for a number of threads and for a thread's number. Images with more than `bytes_most` of bitcode are left out;
 * *ret_large is the last such one's bytes, or 0. `search_path` and `library_directory` as in struct replay_options. PCERE_REFUSED: no compiler here reads the units.
 * PCERE_NO: they do not link, or cannot be read. */
enum pcere_status together_find(const struct store *store, const char *search_path, const char *library_directory, uint64_t bytes_most, struct store_limit **ret_limits, size_t *ret_count,
                                uint64_t *ret_large, struct pcere_error *error);

#endif
