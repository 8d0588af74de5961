/* replay-rt/launcher/doubt.h - when one process is not believed, and a second one is asked.
 *
 * All shots of a short sample lie within a millisecond, so that one burst of somebody else's spoils them together: a region of 9.3 ms came out at 14 to
 * 27 in two of thirteen replays. A longer burst does that to all repetitions of short regions: six codelets of an LU factorisation came out 1.5 to 3 times
 * too long. Nothing makes a region faster than it is, so the faster of two processes is taken.
 */
#ifndef PCERE_REPLAY_LAUNCHER_DOUBT_H
#define PCERE_REPLAY_LAUNCHER_DOUBT_H

#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

#define DOUBT_RATIO (4.0 / 3)
#define DOUBT_WEIGHT_RATIO 0.02           /* of the program's time: where a class weighs less, repetitions that agree are not doubted */

/* What an invocation takes at most where a process is believed: a third more than `in_vivo_ns` at `captured` threads (or fewer: divided), with more of
 * them as much, since more than that would be slower than without them. 0: not known. */
double doubt_most_ns(uint64_t in_vivo_ns, uint32_t captured, uint32_t threads);

/* Of a single process that gave shots, or one timed run: shots lie further apart than a third, or their mean is above most_ns (0: whatever it is). Of one with
 * several timed runs: all are above it. */
bool doubt_found(const struct store_sample *sample, double most_ns);

/* Of two processes the one with the greater mean is forgotten. True: that was the first. */
bool doubt_settle(struct store_sample *sample);

#endif
