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

enum hold_found {
    HOLD_NOBODY,                 /* no thread is to be held */
    HOLD_SOME,                   /* some are, and are marked */
    HOLD_RESTLESS,               /* threads that would run go on doing what nobody can tell from work: nothing is marked, and nothing may be captured */
};

#define HOLD_LOOKS_MOST 150u     /* at what has not calmed: about 0.6 s */

/* freeze_all, where the threads to be held are marked with `held_for`, which is not 0. If a few looks can avoid it, none of them
 * is in the middle of the C library's or the runtime's code (it might have a lock there), and none that will run was given work that it has not begun:
 * each of these was seen, twice, to go on sleeping or spinning since the others stand still. Looks between which nobody in question had a processor
 * tell nothing: of the others there are `looks_most` at most, and as many again as a third of that. As freeze_all, and PCERE_SYSTEM. */
enum pcere_status hold_freeze(struct child *child, const struct capture_log *log, struct callpath *callpath, const struct capture_message *message,
                              uint64_t held_for, unsigned looks_most, struct freeze *freeze, enum hold_found *ret_found, struct pcere_error *error);

#endif
