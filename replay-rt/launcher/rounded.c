/* replay-rt/launcher/rounded.c - intervals of values from runs with directed rounding. */
#include "replay-rt/launcher/rounded.h"
#include "include/pcere/bisect.h"

#include "replay-rt/launcher/objects.h"

#include <math.h>
#include <string.h>

#define WORD 8u
#define VALUE_MOST 16u

/* The first word that may hold bytes from `address` on. */
static size_t word_from(const struct difference_list *list, uint32_t thread, uint64_t address)
{
    const struct plan_difference *words = list->items;
    BISECT(low, 0, list->count, i, words[i].thread_local_of != thread ? words[i].thread_local_of > thread : words[i].address + words[i].bytes <= address);
    return low;
}

/* What the run has there: the original's bytes where no word differs. */
static long double value_in(const struct difference_list *list, const struct rounded_value *value)
{
    unsigned char bytes[VALUE_MOST] = {0};
    uint64_t end = value->address + value->bytes;
    memcpy(bytes, value->expected, value->bytes);
    for (size_t i = word_from(list, value->thread, value->address); i < list->count; i++) {
        const struct plan_difference *word = &list->items[i];
        if (word->thread_local_of != value->thread || word->address >= end)
            break;
        for (uint64_t byte = 0; byte < word->bytes && byte < WORD; byte++)
            if (word->address + byte >= value->address && word->address + byte < end)
                bytes[word->address + byte - value->address] = (unsigned char)(word->found >> (8 * byte));
    }
    return object_float(value->kind, bytes, value->bytes);
}

struct interval { long double low, high, width; };

static bool interval_find(const struct difference_list *down, const struct difference_list *up, const struct rounded_value *value, struct interval *ret_interval)
{
    long double one = value_in(down, value), other = value_in(up, value);
    if (!isfinite(one) || !isfinite(other))
        return false;
    *ret_interval = (struct interval){fminl(one, other), fmaxl(one, other), fabsl(other - one)};
    return true;
}

static bool interval_reaches(const struct interval *interval, long double value)
{
    return value >= interval->low - interval->width && value <= interval->high + interval->width;
}

/* What rounding moves, it moves the same way again, but for the order of additions. */
static bool repeats(const struct rounded *rounded, const struct rounded_value *value, const struct interval *first)
{
    bool same = true;
    for (size_t i = 0; i < rounded->again_count && same; i++) {
        const struct rounded_pair *again = &rounded->again[i];
        struct interval other;
        if (!interval_find(again->down, again->up, value, &other))
            return false;
        long double most = fminl(first->width, other.width) / 4;
        same = fabsl(value_in(rounded->replay.down, value) - value_in(again->down, value)) <= most
               && fabsl(value_in(rounded->replay.up, value) - value_in(again->up, value)) <= most;
    }
    return same;
}

bool rounded_explains(const struct rounded *rounded, const struct rounded_value *value, long double found)
{
    struct interval replay, capture;
    if (!value->bytes || value->bytes > VALUE_MOST)
        return false;
    long double expected = object_float(value->kind, value->expected, value->bytes);
    return isfinite(expected) && isfinite(found) && interval_find(rounded->replay.down, rounded->replay.up, value, &replay)
           && repeats(rounded, value, &replay)
           && interval_find(rounded->capture.down, rounded->capture.up, value, &capture) && interval_reaches(&replay, found)
           && interval_reaches(&capture, expected) && fabsl(expected - found) <= replay.width + capture.width;
}

/* Bits 13 and 14 of MXCSR, 10 and 11 of the x87's control word: 1 down, 2 up. */
#define VECTORS_ROUNDING 13u
#define OLD_ROUNDING (32u + 10u)

uint64_t rounded_control(uint64_t float_control, bool up)
{
    const uint64_t both = UINT64_C(3) << VECTORS_ROUNDING | UINT64_C(3) << OLD_ROUNDING;
    uint64_t mode = up ? 2 : 1;
    return float_control ? (float_control & ~both) | mode << VECTORS_ROUNDING | mode << OLD_ROUNDING : 0;
}
