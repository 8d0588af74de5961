/* replay-rt/launcher/sources.h - what stands in for a file that was open in the capture, when its region is replayed. */
#ifndef PCERE_REPLAY_LAUNCHER_SOURCES_H
#define PCERE_REPLAY_LAUNCHER_SOURCES_H

#include "core/text.h"
#include "replay-rt/protocol.h"
#include "store/store.h"

/* An enum plan_source. *ret_changed_ns: when the file must have changed last, or 0. `what` gets words for what cannot be had (reading it, or
 * for PLAN_SOURCE_LOST any use), nothing if all can. */
uint32_t descriptor_source(const struct store_descriptor *descriptor, uint64_t *ret_changed_ns, struct text *what);

#endif
