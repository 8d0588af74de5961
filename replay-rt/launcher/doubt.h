/* replay-rt/launcher/doubt.h - when one process is not believed, and a second one is asked.
 *
 * All shots of a short sample lie within a millisecond, so that one burst of somebody else's spoils them together: a region of 9.3 ms came out at 14 to
 * 27 in two of thirteen replays. A longer burst does that to all repetitions of short regions: six codelets of an LU factorisation came out 1.5 to 3 times
 * too long. Nothing makes a region faster than it is, so the faster of two processes is taken.
 */
#ifndef PCERE_REPLAY_LAUNCHER_DOUBT_H
#define PCERE_REPLAY_LAUNCHER_DOUBT_H

#include "replay-rt/launcher/replay.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

#define DOUBT_RATIO (4.0 / 3)
#define DOUBT_WEIGHT_RATIO 0.02           /* of the program's time: where a class weighs less, repetitions that agree are not doubted */

#define DOUBT_HEAVY_RATIO 0.1             /* the same: where it weighs less, the processors' own speed is not tried again by another process */

/* What an invocation takes at most where a process is believed: a third more than `in_vivo_ns` at `captured` threads (or fewer: divided), with more of
 * them as much, since more than that would be slower than without them. 0: not known. */
double doubt_most_ns(uint64_t in_vivo_ns, uint32_t captured, uint32_t threads);

/* Of a single process that gave shots, or one timed run: shots lie further apart than a third, or their mean is above most_ns (0: whatever it is). Of one with
 * several timed runs: all are above it. */
bool doubt_found(const struct store_sample *sample, double most_ns);

#define DOUBT_SHOTS_RATIO 0.15            /* half of their mean's interval, or how far that is from the time in vivo: more than this, and shots do not stand for the region; */
#define DOUBT_PROGRAM_RATIO 0.03          /* ... but for an interval that makes no more than this of the program's time, */
#define DOUBT_SHOTS_MOST_RATIO 0.4        /* ... up to this */
#define DOUBT_FAR_RATIO 1.5               /* the same, over the time in vivo, or that over it: no whole replay is too dear then */
#define DOUBT_WHOLE_RUNS 3u               /* that a whole replay takes at the least, */
#define DOUBT_WHOLE_PARTS 10u             /* ... and the part of what its class took that it may take then */

#define DOUBT_FASTER_RATIO 1.5            /* by more than that more threads do not outdo their number, whatever their caches hold */

/* What a region takes with `threads` at least that took in_vivo_ns with `captured`: as if it scaled perfectly; with fewer threads as long. */
uint64_t doubt_least_ns(uint64_t in_vivo_ns, uint32_t captured, uint32_t threads);

/* Why shots do not stand for their region (static), or NULL: their mean's interval is too wide, since iterations differ too much; or it is not near `reference_ns` (0: there is no time in
 * vivo to compare with), since a shot does not find in the caches what the region does; or it is far below `least_ns` (doubt_least_ns; 0: not known). share_ratio: what the class makes of the
 * program's time. */
const char *doubt_of_shots(const struct store_sample *sample, uint64_t reference_ns, uint64_t least_ns, double share_ratio);

/* Are shots so far from these (0: not known) that they must be of something else? */
bool doubt_is_far(const struct store_sample *sample, uint64_t reference_ns, uint64_t least_ns);

struct replay_whole {                     /* what a class took by whole replays of a session */
    const struct replay_target *target;
    uint32_t threads;
    double time_ns;
};

#define DOUBT_SIBLING_RATIO 0.1           /* that shots and a whole replay differ by at most where they agree */

/* Do shots of one class take what another class of its region took whole, with as many threads? Classes that took unlike times in the program, and take the same here, are the same work: the moment made
 * the difference, and shots that do not take what they took in the program are right all the same. */
bool doubt_sibling_agrees(const struct replay_whole *wholes, size_t count, const struct replay_target *target, uint32_t threads, double shots_ns);

/* Do shots take what a whole replay of the same invocation took with as many threads, `whole_ns`, and lie close enough together to say so? Then they stand for their region, and what does not is its
 * time in vivo, or the replay. */
bool doubt_whole_agrees(const struct store_sample *shots, double whole_ns, double share_ratio);

#define DOUBT_SHORT_NS 50000000u          /* ... or, in a short program, such a time */

/* Is a whole replay worth it? `class_ns`, `in_vivo_ns`: of all members and of one, at as many threads; `changed_pages`: to be made the process's own, at `page_ns` each (page_cost_ns); `program_ns`: of the
 * captured run. */
bool doubt_pays(uint64_t class_ns, uint64_t in_vivo_ns, uint64_t changed_pages, uint64_t page_ns, uint64_t program_ns);

/* Of two processes the one with the greater mean is forgotten. True: that was the first. */
bool doubt_settle(struct store_sample *sample);

#endif
