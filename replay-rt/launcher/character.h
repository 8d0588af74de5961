/* replay-rt/launcher/character.h - find out what codelets compute and move, by one replay each of code that counts. */
#ifndef PCERE_REPLAY_LAUNCHER_CHARACTER_H
#define PCERE_REPLAY_LAUNCHER_CHARACTER_H

#include "replay-rt/launcher/replay.h"

/* For each target and each of options->threads: unless the store has it, replay it once, and write what it did into the store. A region that cannot be
 * replayed stops the others; the errors are those of replay_run, and PCERE_DATA, PCERE_NO of the codelet. Only the executable's code counts, not that of
 * shared libraries. *ret_new: how many were found out. */
enum pcere_status character_run(struct store *store, const struct replay_target *targets, size_t target_count, const struct replay_options *options,
                                size_t *ret_new, struct pcere_error *error);

#endif
