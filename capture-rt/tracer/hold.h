/* capture-rt/tracer/hold.h - which threads stand still while a captured region runs, so that what changes in memory is what the region changed.
 *
 *   the entering thread                              runs
 *   threads that the program started                 held
 *   the OpenMP runtime's with a frame of the program held: they work for another thread, or in a team around the region
 *   the OpenMP runtime's without                     run: they wait for work, and the region's team is made of them
 *
 * The entering thread may need what a held one has: a lock, or an answer. Whoever holds must let go after a while.
 */
#ifndef PCERE_CAPTURE_TRACER_HOLD_H
#define PCERE_CAPTURE_TRACER_HOLD_H

#include "capture-rt/protocol.h"
#include "capture-rt/tracer/callpath.h"
#include "capture-rt/tracer/freeze.h"

/* freeze_all, where the threads to be held are marked with `held_for`, which is not 0. *ret_any: there are some. If a few tries can avoid it, none of them
 * is in the middle of the C library's or the runtime's code (it might have a lock there), and none that will run was given work that it has not begun:
 * each of these was seen, twice, to go on sleeping or spinning since the others stand still. As freeze_all, and PCERE_SYSTEM. */
enum pcere_status hold_freeze(struct child *child, const struct capture_log *log, struct callpath *callpath, const struct capture_message *message,
                              uint64_t held_for, struct freeze *freeze, bool *ret_any, struct pcere_error *error);

#endif
