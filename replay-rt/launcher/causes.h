/* replay-rt/launcher/causes.h - names for what differs after a replay: the variable, or the kind of memory. */
#ifndef PCERE_REPLAY_LAUNCHER_CAUSES_H
#define PCERE_REPLAY_LAUNCHER_CAUSES_H

#include "core/elf_file.h"
#include "core/error.h"
#include "replay-rt/launcher/replay.h"
#include "replay-rt/protocol.h"

/* Group the described differences by cause, most bytes first; differences beyond those that were described are a cause of their
 * own. `result` is hostile. *ret_causes and names are malloc'ed. */
enum pcere_status causes_collect(const struct plan_result *result, const struct store_codelet *codelet, const struct elf_file *program,
                                 uint64_t image_bias, struct verify_cause **ret_causes, size_t *ret_count, struct pcere_error *error);

#endif
