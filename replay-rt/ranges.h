/* replay-rt/ranges.h - tables of the plan that launcher and target both search and join. */
#ifndef PCERE_REPLAY_RT_RANGES_H
#define PCERE_REPLAY_RT_RANGES_H

#include "replay-rt/protocol.h"
#include "include/pcere/bisect.h"

#include <stddef.h>
#include <stdlib.h>

static inline int plan_range_order(const void *left, const void *right)
{
    const struct plan_range *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static inline int plan_copy_order(const void *left, const void *right)
{
    const struct plan_copy *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* In place: ascending, and ranges that touch become one. Returns how many are left. */
static inline size_t plan_ranges_merge(struct plan_range *ranges, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(ranges, count, sizeof *ranges, plan_range_order);
    for (size_t i = 0; i < count; i++) {
        struct plan_range *last = kept ? &ranges[kept - 1] : NULL;
        uint64_t end = ranges[i].address + ranges[i].bytes;
        if (!last || ranges[i].address > last->address + last->bytes)
            ranges[kept++] = ranges[i];
        else if (end > last->address + last->bytes)
            last->bytes = end - last->address;
    }
    return kept;
}

/* The alias that holds the address, or NULL: the address is no alias. */
static inline const struct plan_alias *plan_alias_at(const struct plan_alias *aliases, size_t count, uint64_t address)
{
    BISECT(low, 0, count, i, aliases[i].address + aliases[i].bytes <= address);
    return low < count && aliases[low].address <= address ? &aliases[low] : NULL;
}

/* The first mapping that ends behind the address; count: none does. */
static inline size_t plan_mapping_from(const struct plan_mapping *mappings, size_t count, uint64_t address)
{
    BISECT(low, 0, count, i, mappings[i].end <= address);
    return low;
}

/* The mapping that holds the address, or NULL. */
static inline const struct plan_mapping *plan_mapping_at(const struct plan_mapping *mappings, size_t count, uint64_t address)
{
    size_t at = plan_mapping_from(mappings, count, address);
    return at < count && mappings[at].start <= address ? &mappings[at] : NULL;
}

#endif
