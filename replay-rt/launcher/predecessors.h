/* replay-rt/launcher/predecessors.h - which regions ran just before a captured invocation, and whether a codelet of it can run them again.
 *
 *   timing run   ... | region A #7 | B #3 | tiny, not captured | the captured invocation |
 *   steps               A's codelet  B's codelet
 *
 * Each of them is replayed by the codelet of its class, on memory as that had it: where that is the very invocation that came before, all that is to
 * be laid down between the two is what serial code wrote. One that cannot run in this process (it does input and output, works with other
 * thread-local memory, uses memory that is gone) is not run; what it wrote is touched instead.
 */
#ifndef PCERE_REPLAY_LAUNCHER_PREDECESSORS_H
#define PCERE_REPLAY_LAUNCHER_PREDECESSORS_H

#include "replay-rt/launcher/codelet_memory.h"
#include "replay-rt/launcher/replay_session.h"

#define PREDECESSORS_MOST 4u
#define PREDECESSORS_WRITTEN_BYTES (16ull << 20)      /* when so much was written, what came before that no longer matters */

struct predecessor {
    const struct store_region *region;          /* borrowed from the manifest */
    const struct store_class *class;
    uint64_t invocation;                        /* that came before; its class's representative is what is replayed */
    uint64_t time_ns;                           /* that it took in vivo */
    uint64_t written_bytes;
};

/* The last of them comes last: as far back as it takes until PREDECESSORS_WRITTEN_BYTES were written, PREDECESSORS_MOST at most. Invocations inside others,
 * and those whose class was not captured, are passed over. None: it is the first, or nothing says what came before. ret_predecessors holds
 * PREDECESSORS_MOST. `series`: of the store. */
enum pcere_status predecessors_find(struct store *store, const struct store_series *series, size_t series_count, const struct replay_target *target,
                                    struct predecessor *ret_predecessors, size_t *ret_count, struct pcere_error *error);

/* Is it the target over again: of its class, or of its region and about as long? Classes of work that changes steadily follow each other, and what one left in the caches is what the next one
 * uses. */
bool predecessor_repeats(const struct predecessor *predecessor, const struct replay_target *target);

/* All invocations of captured classes that are not inside others, in the order in which they began; malloc'ed. */
enum pcere_status predecessors_order(struct store *store, const struct store_series *series, size_t series_count, struct predecessor **ret_order,
                                     size_t *ret_count, struct pcere_error *error);

/* What a plan says of them (PLAN_STEPS_MAX at most), for a codelet whose memory stands in `memory`. *ret_touched: how many are only touched. Their pages are loaded.
 * The result is empty for none; plan_steps_done it. PCERE_DATA: damage. */
enum pcere_status predecessors_prepare(struct replay_session *session, const struct store_codelet *codelet, const struct codelet_memory *memory,
                                       const struct predecessor *predecessors, size_t count, struct plan_steps *ret_steps, size_t *ret_touched,
                                       struct pcere_error *error);

#endif
