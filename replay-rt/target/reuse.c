/* replay-rt/target/reuse.c - stack distances: a Fenwick tree over times of last use, which are renumbered when they run out; the lines used last at each place of
 * pages, for caches whose sets are chosen by that place; and who wrote a line last. */
#include "replay-rt/target/character.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { LINES_FIRST = 1 << 14, WRITTEN_BITS = 18 };
enum { PLACES = CHARACTER_PLACES, WAYS_MOST = CHARACTER_WAYS };
#define HASH_FACTOR 0x9e3779b97f4a7c15ull

struct used_line { uint64_t line, dirty, seen; uint32_t time; };    /* dirty: bit k: written since it last left a cache of 2^k lines; seen: written_now at the last use */

/* Of all threads: who wrote a line last, by the line's hash. Another line may take the place: then that is forgotten. */
struct written_line { _Atomic uint64_t line, at; _Atomic uintptr_t by; };
static struct written_line *written;
static _Atomic uint64_t written_now;     /* writes so far */

struct reuse {
    uint32_t shift;
    struct used_line *lines;         /* in the order of their first use */
    uint32_t line_count, line_room;  /* room: a power of two; the same for the three below */
    uint32_t *table;                 /* 2 * room: number of a line plus 1, by its hash */
    uint32_t *tree, *slots;          /* 4 * room + 1: marks at last uses; number of the line that was last used then plus 1 */
    uint32_t now;
    uint64_t nearest[PLACES][WAYS_MOST];     /* lines + 1 of each place, the one that was used last first */
};

static void *pages_new(uint64_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

static uint32_t times_most(const struct reuse *reuse) { return 4 * reuse->line_room; }
static uint64_t tree_bytes(uint32_t room) { return (4 * (uint64_t)room + 1) * sizeof(uint32_t); }

static bool room_make(struct reuse *reuse, uint32_t room)
{
    struct reuse next = *reuse;
    next.line_room = room;
    next.lines = pages_new(room * sizeof *next.lines);
    next.table = pages_new(2 * (uint64_t)room * sizeof *next.table);
    next.tree = pages_new(tree_bytes(room));
    next.slots = pages_new(tree_bytes(room));
    if (!next.lines || !next.table || !next.tree || !next.slots)
        return false;
    if (reuse->lines) {
        memcpy(next.lines, reuse->lines, reuse->line_count * sizeof *next.lines);
        memcpy(next.slots, reuse->slots, tree_bytes(reuse->line_room));
        munmap(reuse->lines, reuse->line_room * sizeof *reuse->lines);
        munmap(reuse->table, 2 * (uint64_t)reuse->line_room * sizeof *reuse->table);
        munmap(reuse->tree, tree_bytes(reuse->line_room));
        munmap(reuse->slots, tree_bytes(reuse->line_room));
    }
    *reuse = next;
    return true;
}

struct reuse *pcere_reuse_new(uint32_t shift)
{
    struct reuse *reuse = pages_new(sizeof *reuse);
    if (!reuse)
        return NULL;
    reuse->shift = shift;
    if (!written && !(written = pages_new(sizeof *written << WRITTEN_BITS)))
        return NULL;
    return room_make(reuse, LINES_FIRST) ? reuse : NULL;
}

static void mark(struct reuse *reuse, uint32_t time, uint32_t by)
{
    for (uint32_t at = time; at <= times_most(reuse); at += at & -at)
        reuse->tree[at] += by;
}

static uint32_t marks_until(const struct reuse *reuse, uint32_t time)
{
    uint32_t count = 0;
    for (uint32_t at = time; at; at -= at & -at)
        count += reuse->tree[at];
    return count;
}

static uint32_t *table_find(const struct reuse *reuse, uint64_t line)
{
    uint32_t mask = 2 * reuse->line_room - 1, at = (uint32_t)((line * HASH_FACTOR) >> 20) & mask;
    while (reuse->table[at] && reuse->lines[reuse->table[at] - 1].line != line)
        at = (at + 1) & mask;
    return &reuse->table[at];
}

/* Times become 1, 2, ... in their order. */
static void times_renumber(struct reuse *reuse)
{
    uint32_t end = reuse->now, time = 0;
    memset(reuse->tree, 0, tree_bytes(reuse->line_room));
    for (uint32_t old = 1; old <= end; old++) {
        uint32_t number = reuse->slots[old];
        reuse->slots[old] = 0;
        if (!number)
            continue;
        reuse->slots[++time] = number;
        reuse->lines[number - 1].time = time;
        mark(reuse, time, 1);
    }
    reuse->now = time;
}

/* False: no memory; distances are then those of the lines that are known. */
static bool room_grow(struct reuse *reuse)
{
    if (!room_make(reuse, 2 * reuse->line_room))
        return false;
    for (uint32_t i = 0; i < reuse->line_count; i++)
        *table_find(reuse, reuse->lines[i].line) = i + 1;
    times_renumber(reuse);
    return true;
}

static uint32_t bin_of(uint64_t distance)
{
    uint64_t value = distance + 1;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(value);
    uint32_t bin = 4 * octave + (octave >= 2 ? (uint32_t)(value >> (octave - 2)) & 3 : octave ? (uint32_t)(value & 1) * 2 : 0);
    return bin < CHARACTER_BINS ? bin : CHARACTER_BINS - 1;
}

static void line_leave(struct used_line *line, uint64_t distance, struct character_record *ret)
{
    uint32_t octaves = distance ? 64 - (uint32_t)__builtin_clzll(distance) : 0;     /* caches of 2^0 .. 2^(octaves - 1) lines <= distance */
    for (uint32_t k = 0; k < octaves && k < CHARACTER_OCTAVES; k++)
        if (line->dirty >> k & 1)
            ret->writebacks[k]++;
    line->dirty &= octaves < 64 ? ~UINT64_C(0) << octaves : 0;
}

/* Did another thread write it since this one used it last? From now on, this one did. */
static bool foreign_take(const struct reuse *reuse, struct used_line *used, uint64_t line, bool store)
{
    struct written_line *last = &written[(line * HASH_FACTOR) >> (64 - WRITTEN_BITS)];
    uint64_t now = atomic_load_explicit(&written_now, memory_order_relaxed);
    bool foreign = atomic_load_explicit(&last->line, memory_order_relaxed) == line && atomic_load_explicit(&last->by, memory_order_relaxed) != (uintptr_t)reuse &&
                   atomic_load_explicit(&last->at, memory_order_relaxed) > used->seen;
    if (store) {
        now = atomic_fetch_add_explicit(&written_now, 1, memory_order_relaxed) + 1;
        atomic_store_explicit(&last->line, line, memory_order_relaxed);
        atomic_store_explicit(&last->by, (uintptr_t)reuse, memory_order_relaxed);
        atomic_store_explicit(&last->at, now, memory_order_relaxed);
    }
    used->seen = now;
    return foreign;
}

uint32_t pcere_reuse_place(struct reuse *reuse, uint64_t line)
{
    uint64_t *nearest = reuse->nearest[line % PLACES], moving = line + 1;
    uint32_t way = 0;
    for (; way < WAYS_MOST; way++) {
        uint64_t here = nearest[way];
        nearest[way] = moving;
        if (here == line + 1)
            break;
        moving = here;
    }
    return way;
}

/* What a cache of 2^k lines needs to have kept the line: as many ways of PLACES sets as other lines came to its place, while these can be told; else as many lines as came. */
static uint64_t distance_of(uint64_t lines, uint32_t ways)
{
    if (ways < WAYS_MOST)
        return (uint64_t)ways * PLACES;
    return lines < WAYS_MOST * PLACES ? WAYS_MOST * PLACES : lines;
}

/* It is used now. `ret_between`: other lines that were since its last use, UINT32_MAX: it never was. NULL: no memory. */
static struct used_line *use(struct reuse *reuse, uint64_t line, uint32_t *ret_between)
{
    uint32_t *entry = table_find(reuse, line);
    if (!*entry) {
        if (reuse->line_count == reuse->line_room && !room_grow(reuse))
            return NULL;
        entry = table_find(reuse, line);
        reuse->lines[reuse->line_count] = (struct used_line){.line = line};
        *entry = ++reuse->line_count;
    }
    uint32_t number = *entry;
    if (reuse->now == times_most(reuse))
        times_renumber(reuse);
    struct used_line *used = &reuse->lines[number - 1];
    *ret_between = used->time ? reuse->line_count - marks_until(reuse, used->time) : UINT32_MAX;
    if (used->time) {
        mark(reuse, used->time, (uint32_t)-1);
        reuse->slots[used->time] = 0;
    }
    used->time = ++reuse->now;
    reuse->slots[used->time] = number;
    mark(reuse, used->time, 1);
    return used;
}

void pcere_reuse_page(struct reuse *reuse, uint64_t page, struct character_record *ret)
{
    uint32_t between;
    if (use(reuse, page, &between) && between != UINT32_MAX)
        ret->pages[bin_of(between)]++;
}

void pcere_reuse_touch(struct reuse *reuse, uint64_t line, uint32_t ways, bool store, enum character_kind kind, struct character_record *ret)
{
    uint32_t between;
    struct used_line *used = use(reuse, line, &between);
    if (!used)
        return;
    bool foreign = foreign_take(reuse, used, line, store);
    if (between == UINT32_MAX)
        ret->cold[store][kind]++;
    else {
        /* A share of the lines was used in between: on average half a gap more on either side of each. */
        uint64_t distance = distance_of((uint64_t)between << reuse->shift, ways);
        ret->uses[store][kind][bin_of(distance)]++;
        ret->foreign[kind != CHARACTER_IRREGULAR][bin_of(distance)] += foreign;
        line_leave(used, distance, ret);
    }
    if (store)
        used->dirty = ~UINT64_C(0);
}
