/* replay-rt/launcher/rounded.h - how far rounding alone can move a floating-point value: told by replays in which every result is rounded down, and others in
 * which every result is rounded up.
 *
 *   a sum, whatever the order:    rounded down  <=  exact sum  <=  rounded up,     and the sum rounded to nearest lies between them as well
 *
 * So the width between the two is what rounding did to this very computation: terms that cancel count by their own size and not by what they leave. That knows neither how many
 * terms there were nor how large they are. A value that is another each time (chance, a race) has such a width as well: with several threads each is asked twice,
 * and more often where that would explain much.
 */
#ifndef PCERE_REPLAY_LAUNCHER_ROUNDED_H
#define PCERE_REPLAY_LAUNCHER_ROUNDED_H

#include "replay-rt/launcher/debug_info.h"
#include "replay-rt/launcher/differences.h"

#include <stdbool.h>
#include <stdint.h>

#define ROUNDED_AGAIN_MOST 5

struct rounded_pair { const struct difference_list *down, *up; };

struct rounded {                      /* what differs from the original's memory; borrowed */
    struct rounded_pair replay, capture;      /* with as many threads as the replay had, and as the capture */
    struct rounded_pair again[ROUNDED_AGAIN_MOST];      /* `replay` as often again */
    size_t again_count;
};

struct rounded_value {                /* floating point, of up to 16 bytes */
    uint32_t thread;                  /* as in struct plan_difference */
    enum debug_kind kind;
    uint64_t address, bytes;
    const unsigned char *expected;    /* in the original */
};

/* Whether rounding makes `found`, the replay's value, of the original's: each lies where the directed roundings with as many threads say that it can lie, by twice their
 * width to either side, since teams need not add in the same order again; and no farther from the other than both widths. Where there are more
 * pairs, a direction may differ from itself by a quarter of the narrower width at most. */
bool rounded_explains(const struct rounded *rounded, const struct rounded_value *value, long double found);

/* How a thread computes (struct store_setting, float_control), but with results rounded down, or up. 0, where it is not known, stays 0. */
uint64_t rounded_control(uint64_t float_control, bool up);

#endif
