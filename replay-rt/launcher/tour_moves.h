/* replay-rt/launcher/tour_moves.h - what of memory has to be laid down between the regions of a tour, out of what their captures saw: no untimed walk has to find it out.
 *
 *   what is there    before #0 | after #0, where that changed something | before #1, where that is another page | after #1 ...
 *   moves                      of #1: pages that are not as it had them --^
 *
 * Pages of the store are numbered by their content, so that numbers tell whether two are alike. Stacks are laid down in any case: runtimes leave there what they like.
 */
#ifndef PCERE_REPLAY_LAUNCHER_TOUR_MOVES_H
#define PCERE_REPLAY_LAUNCHER_TOUR_MOVES_H

#include "replay-rt/launcher/codelet_memory.h"

/* Fill in the moves of `steps`, which predecessors_prepare made beside `memory` (the region's, with what any of the tour changes in `changed`); none of them is only touched. `codelets`: of the
 * steps, then the region's own. region_continues: as a step has it. False: no memory; nothing is filled in. */
bool tour_moves_find(const struct codelet_memory *memory, const struct store_codelet *const *codelets, bool region_continues, uint64_t page_bytes, struct plan_steps *steps);

#endif
