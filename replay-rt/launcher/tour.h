/* replay-rt/launcher/tour.h - codelets that follow each other in the program, measured in one process: each is what comes before the next.
 *
 *   program    ... | A #7 | B #7 | C #7 | A #8 | B #8 | ...
 *   alone      B C A  B C A  ...        A B C  A B C  ...        B C .. : to measure one, those before it run, untimed, once for each timed run
 *   tour       A B C A B C A B C        all three are timed in each round
 *
 * The memory of each is laid down before it where it is not what the one before it left. That costs no more than a warm-up by predecessors (predecessors.h) of one
 * region, and gives the times of all.
 */
#ifndef PCERE_REPLAY_LAUNCHER_TOUR_H
#define PCERE_REPLAY_LAUNCHER_TOUR_H

#include "replay-rt/launcher/predecessors.h"

struct tour_times {                   /* of one target */
    struct replay_result *results;    /* one for each of the options' thread counts; NULL: no tour measured it. Reasons and residuals are warming_settle's */
    const char *after;                /* the region before it; borrowed from the manifest */
};

/* What may be measured so: regions that ran often, behind others and not behind themselves (a round has each once, behind another), under the options' defaults. It is done where that is cheaper than one by one. What cannot
 * run so is left alone. `times`: one for each target, empty; tour_times_done each. PCERE_SYSTEM: no memory. */
enum pcere_status tours_measure(struct replay_session *session, const struct replay_target *targets, size_t target_count, struct tour_times *times,
                                struct pcere_error *error);
void tour_times_done(struct tour_times *times, size_t thread_count);

/* ---- which: no more than arithmetic ------------------------------------------------------------------------------------------------ */

#define TOUR_NOBODY SIZE_MAX
#define TOUR_ROUNDS 3u                /* an untimed one, and two timed ones */

struct tour_event {                   /* an invocation, in the program's order */
    size_t class;                     /* equal for equal classes */
    size_t candidate;                 /* that would be measured, or TOUR_NOBODY */
    uint64_t time_ns;                 /* that replaying it takes */
    uint64_t lay_ns;                  /* that laying down its memory takes, where it is another one's than of the invocation before it */
    int64_t shift;                    /* its number less that of the invocation whose memory it has */
};

/* Events first .. first + count - 1 are the cheapest round that saves most over `alone_ns` (by candidate): TOUR_ROUNDS rounds of them, at most `most` long. *ret_closed: what comes
 * before the first is of the class of the last, so that rounds follow each other as in the program. False: none saves anything. */
bool tour_choose(const struct tour_event *events, size_t event_count, const uint64_t *alone_ns, size_t candidate_count, size_t most, size_t *ret_first,
                 size_t *ret_count, bool *ret_closed);

#endif
