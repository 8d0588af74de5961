/* profiler/target/cache_model.h - two levels of caches as one thread has them: what hits, what misses.
 *
 * Each level is set-associative; the line used least recently leaves its set. What is read or written comes into the first level, by way of the second if it is not
 * there: a miss of the second level is one of the first, too. What leaves the first level stays in the second, and the other way round. Nothing is fetched ahead, nothing is
 * shared with other threads or taken away by them, and code takes no room. docs/METHOD.md says what that means.
 */
#ifndef PCERE_PROFILER_TARGET_CACHE_MODEL_H
#define PCERE_PROFILER_TARGET_CACHE_MODEL_H

#include "include/pcere/counts.h"
#include "profiler/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum cache_count {
#define PCERE_CACHE_COUNT(number, name, text, words) CACHE_##name = number,
#include "include/pcere/cache_counts.inc"
#undef PCERE_CACHE_COUNT
    CACHE_COUNTS
};

struct cache_level {
    uint64_t *lines;             /* [sets][ways]: number of the line + 1, last used first; 0: empty */
    uint64_t set_mask;
    uint32_t ways;
};

struct cache_model {
    struct cache_level levels[2];
    uint32_t line_shift;
};

/* Room that a model of such caches (trace_caches_sound) takes in its caller's storage, which is 0 at first: empty caches. */
static inline size_t cache_model_bytes(const struct trace_cache caches[2])
{
    return (caches[0].bytes + caches[1].bytes) / caches[0].line_bytes * sizeof(uint64_t);
}

static inline void cache_model_init(struct cache_model *model, const struct trace_cache caches[2], uint64_t *storage)
{
    for (int i = 0; i < 2; i++) {
        uint64_t lines = caches[i].bytes / caches[i].line_bytes;
        model->levels[i] = (struct cache_level){.lines = storage, .set_mask = lines / caches[i].ways - 1, .ways = caches[i].ways};
        storage += lines;
    }
    model->line_shift = (uint32_t)__builtin_ctz(caches[0].line_bytes);
}

/* The line comes to the front of its set; was it there? */
static inline bool cache_level_touch(const struct cache_level *level, uint64_t line)
{
    uint64_t *set = level->lines + (line & level->set_mask) * level->ways, tag = line + 1;
    if (__builtin_expect(set[0] == tag, 1))
        return true;
    uint32_t way = 1;
    while (way < level->ways && set[way] != tag)
        way++;
    bool hit = way < level->ways;
    memmove(set + 1, set, (hit ? way : level->ways - 1) * sizeof *set);
    set[0] = tag;
    return hit;
}

static inline void cache_line_touch(const struct cache_model *model, uint64_t line, bool store, uint64_t counts[CACHE_COUNTS])
{
    if (__builtin_expect(cache_level_touch(&model->levels[0], line), 1))
        return;
    counts[CACHE_L1_LOAD_MISSES + store]++;
    if (!cache_level_touch(&model->levels[1], line))
        counts[CACHE_L2_LOAD_MISSES + store]++;
}

/* One access as programs tell it (enum pcere_access): `counts` grow. Bytes beyond the end of all addresses are none. */
static inline void cache_model_access(const struct cache_model *model, uint64_t address, uint64_t bytes, uint32_t what, uint64_t counts[CACHE_COUNTS])
{
    for (int store = 0; store < 2; store++) {
        if (!(what & (store ? PCERE_ACCESS_STORES : PCERE_ACCESS_LOADS)))
            continue;
        counts[CACHE_LOADS + store] += !(what & PCERE_ACCESS_GOES_ON);
        if (!bytes)
            continue;
        uint64_t last = bytes - 1 > UINT64_MAX - address ? UINT64_MAX : address + (bytes - 1);
        for (uint64_t line = address >> model->line_shift; line <= last >> model->line_shift; line++)
            cache_line_touch(model, line, store, counts);
    }
}

#endif
