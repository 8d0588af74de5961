/* replay-rt/launcher/patience.h - when a codelet's process hangs, and where its threads are then.
 *
 * What counts is what the process had of the time: where others have the processors, or the machine stands still, nothing does.
 */
#ifndef PCERE_REPLAY_LAUNCHER_PATIENCE_H
#define PCERE_REPLAY_LAUNCHER_PATIENCE_H

#include "replay-rt/protocol.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How long nothing has moved. Begin with the time and the processor time of the first look. */
struct patience { uint64_t looked_ns, used_ns, waited_ns; uint32_t progress; };

/* A look, at CLOCK_MONOTONIC: true, nothing has moved for longer than most_ns. `progress`: another number whenever something has. Of the time between two looks counts
 * at most a second: where all threads sleep all of it, else as much as the process ran. */
bool patience_ended(struct patience *patience, uint32_t progress, uint64_t now_ns, uint64_t used_ns, bool sleeps, uint64_t most_ns);

/* Processor time of all threads of a child so far; the time itself where the kernel does not tell. */
uint64_t patience_used_ns(pid_t child);
/* Do all its threads wait for something that is no disk? */
bool patience_sleeps(pid_t child);

/* How long a region may run without an end that took in_vivo_ns in the program, with `slower` times less threads: at least least_ns, and `runs` times its time; and what
 * reading its memory may take. */
uint64_t patience_choose(uint64_t in_vivo_ns, uint64_t slower, uint64_t runs, uint64_t memory_bytes, uint64_t least_ns);

/* Let each thread of a child that hangs say where it is: plan->result.places, while it still answers. */
void patience_ask(pid_t child, struct replay_plan *plan);

#endif
