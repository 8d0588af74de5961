/* trace/ranks.h - processes of one MPI program, traced by us: which message is whose, and their clocks on one.
 *
 * Messages between two ranks with one tag come in the order in which they were sent (MPI 4.0, section 3.5), so the k-th send is the k-th receive; of collective operations the k-th is
 * the k-th everywhere, and none leaves before all, or the root, have come. Each bounds how two clocks stand to each other (trace/clock.h).
 */
#ifndef PCERE_TRACE_RANKS_H
#define PCERE_TRACE_RANKS_H

#include "trace/clock.h"
#include "trace/timeline.h"

struct rank_clock { uint32_t process, rank; bool reference, known; struct clock_line line; uint64_t messages, error_ns; /* also of those that it was compared with */ };
struct rank_pair { uint32_t from, to; };         /* spans: sent, received */

struct ranks { struct rank_clock *clocks; size_t clock_count; struct rank_pair *pairs; size_t pair_count; uint64_t lonely; /* messages of which the other rank's trace does not tell */ };

void ranks_done(struct ranks *ranks);            /* accepts zeroed */
/* Of a timeline after timeline_pair. Everything of each rank is put on the clock of the lowest one that is there; `minima`: its first event on the other's. A rank without messages keeps the clock of
 * the day. *ret_ranks has no clocks if fewer than two processes are ranks. PCERE_DATA: they cannot be of one run, two being one rank or of programs of different size. PCERE_SYSTEM: no memory. */
enum pcere_status ranks_synchronise(struct timeline *timeline, bool minima, struct ranks *ret_ranks, struct pcere_error *error);

#endif
