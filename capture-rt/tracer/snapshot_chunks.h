/* capture-rt/tracer/snapshot_chunks.h - which parts of a program's memory are worth tracking between stops, and which are better read again at each.
 *
 * A tracked page costs its first writer a page fault, one that is not costs the next stop its reading. Where faults are cheap all is tracked, and what the program
 * usually rewrites is released once no other stop follows soon. Where they are dear (snapshotter_spares_faults) nothing is tracked until it was calm for a while, but for
 * intervals in which little can be written.
 */
#ifndef PCERE_CAPTURE_TRACER_SNAPSHOT_CHUNKS_H
#define PCERE_CAPTURE_TRACER_SNAPSHOT_CHUNKS_H

#include "capture-rt/tracer/snapshot.h"

/* For a snapshotter whose fault_ns is known. */
void chunks_begin(struct snapshotter *snapshotter);
/* From `start` up to where it is no longer one or the other, at most to `end`: is what is written there to be tracked (*ret_due), if not all is? */
uint64_t chunks_due_until(const struct snapshotter *snapshotter, uint64_t start, uint64_t end, bool *ret_due);
/* The same for what was tracked since the snapshot before. */
uint64_t chunks_tracked_until(const struct snapshotter *snapshotter, uint64_t start, uint64_t end, bool *ret_tracked);
/* A snapshot was taken, and all, or what is due, is tracked now. */
void chunks_taken(struct snapshotter *snapshotter, bool all);

#endif
