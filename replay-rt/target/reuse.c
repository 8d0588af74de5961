/* replay-rt/target/reuse.c - stack distances: a bit for each time of a last use, counted by a Fenwick tree over words of them, times that are renumbered when they run
 * out; the lines used last at each place of pages, for caches whose sets are chosen by that place; and who wrote a line last. */
#include "replay-rt/target/character.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum { LINES_FIRST = 1 << 14, WRITTEN_BITS = 18 };
enum { PLACES = CHARACTER_PLACES, WAYS_MOST = CHARACTER_WAYS, LANES = 4, WORD_BITS = 64, NEIGHBOURS = 4 };
#define HASH_FACTOR 0x9e3779b97f4a7c15ull

typedef uint32_t four_keys __attribute__((vector_size(LANES * sizeof(uint32_t))));
typedef uint64_t two_words __attribute__((vector_size(2 * sizeof(uint64_t))));

/* dirty_from: written since it last left a cache of 2^k lines, for each k from this on; seen: writes of written_line at the last use */
struct used_line { uint64_t line; uint32_t time, seen; uint32_t dirty_from; };

/* Of all threads: who wrote a line last, by the line's hash, and how often lines of that place were written. Another line may take the place: then that is forgotten. */
struct written_line { _Atomic uint64_t line; _Atomic uint32_t writes, by; };
static struct written_line *written;
static uint32_t reuse_count;

struct reuse {
    uint32_t shift, number;
    bool alone;                      /* no other thread writes */
    struct used_line *lines;         /* in the order of their first use */
    uint32_t line_count, line_room;  /* room: a power of two; the same for the three below */
    uint32_t *table;                 /* 2 * room: number of a line plus 1, by its hash */
    uint64_t *marks;                 /* 4 * room bits: times of last uses */
    uint32_t *tree, *slots;          /* marks of words, room / 16 + 1; 4 * room: number of the line that was last used then (where there is a mark) */
    uint32_t now;
    uint32_t nearest[PLACES][WAYS_MOST];     /* pages + 1 of each place's lines, the one that was used last first; of pages the lowest 32 bits */
};

static void *pages_new(uint64_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* Neighbours have places side by side, so that what goes through memory in order goes through tables likewise. */
static uint64_t place_of(uint64_t line, uint32_t bits)
{
    return (((line / NEIGHBOURS) * HASH_FACTOR) >> (64 - bits) & ~(uint64_t)(NEIGHBOURS - 1)) | line % NEIGHBOURS;
}

static uint64_t times_most(uint64_t room) { return 4 * room; }
static uint64_t words_most(uint64_t room) { return times_most(room) / WORD_BITS; }

static void pages_free(void *pages, uint64_t bytes)
{
    if (pages)
        munmap(pages, bytes);
}

static void room_free(struct reuse *reuse)
{
    pages_free(reuse->lines, reuse->line_room * sizeof *reuse->lines);
    pages_free(reuse->table, 2 * (uint64_t)reuse->line_room * sizeof *reuse->table);
    pages_free(reuse->marks, words_most(reuse->line_room) * sizeof *reuse->marks);
    pages_free(reuse->tree, (words_most(reuse->line_room) + 1) * sizeof *reuse->tree);
    pages_free(reuse->slots, times_most(reuse->line_room) * sizeof *reuse->slots);
}

static bool room_make(struct reuse *reuse, uint32_t room)
{
    struct reuse next = *reuse;
    next.line_room = room;
    next.lines = pages_new(room * sizeof *next.lines);
    next.table = pages_new(2 * (uint64_t)room * sizeof *next.table);
    next.marks = pages_new(words_most(room) * sizeof *next.marks);
    next.tree = pages_new((words_most(room) + 1) * sizeof *next.tree);
    next.slots = pages_new(times_most(room) * sizeof *next.slots);
    if (!next.lines || !next.table || !next.marks || !next.tree || !next.slots) {
        room_free(&next);
        return false;
    }
    if (reuse->lines) {
        memcpy(next.lines, reuse->lines, reuse->line_count * sizeof *next.lines);
        memcpy(next.slots, reuse->slots, times_most(reuse->line_room) * sizeof *next.slots);
        memcpy(next.marks, reuse->marks, words_most(reuse->line_room) * sizeof *next.marks);
        room_free(reuse);
    }
    *reuse = next;
    return true;
}

struct reuse *pcere_reuse_new(uint32_t shift, bool alone)
{
    struct reuse *reuse = pages_new(sizeof *reuse);
    if (!reuse)
        return NULL;
    reuse->shift = shift;
    reuse->alone = alone;
    reuse->number = ++reuse_count;
    if (!written && !(written = pages_new(sizeof *written << WRITTEN_BITS)))
        return NULL;
    return room_make(reuse, LINES_FIRST) ? reuse : NULL;
}

static uint32_t bits_of(uint64_t word)
{
    word -= word >> 1 & 0x5555555555555555u;
    word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
    return (uint32_t)(((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

static void tree_add(struct reuse *reuse, uint32_t word, uint32_t by)
{
    uint32_t words = (uint32_t)words_most(reuse->line_room);
    for (uint32_t at = word + 1; at <= words; at += at & -at)
        reuse->tree[at] += by;
}

/* A mark goes from one time to a later one. */
static void mark_move(struct reuse *reuse, uint32_t from, uint32_t to)
{
    reuse->marks[from / WORD_BITS] &= ~(UINT64_C(1) << from % WORD_BITS);
    reuse->marks[to / WORD_BITS] |= UINT64_C(1) << to % WORD_BITS;
    if (from / WORD_BITS == to / WORD_BITS)
        return;
    tree_add(reuse, from / WORD_BITS, (uint32_t)-1);
    tree_add(reuse, to / WORD_BITS, 1);
}

/* Those before `time`. */
static uint32_t marks_before(const struct reuse *reuse, uint32_t time)
{
    uint32_t word = time / WORD_BITS, count = bits_of(reuse->marks[word] & ((UINT64_C(1) << time % WORD_BITS) - 1));
    for (uint32_t at = word; at; at -= at & -at)
        count += reuse->tree[at];
    return count;
}

static uint32_t *table_find(const struct reuse *reuse, uint64_t line)
{
    uint32_t mask = 2 * reuse->line_room - 1, at = (uint32_t)place_of(line, (uint32_t)__builtin_ctz(2 * reuse->line_room));
    while (reuse->table[at] && reuse->lines[reuse->table[at] - 1].line != line)
        at = (at + 1) & mask;
    return &reuse->table[at];
}

/* Times become 0, 1, ... in their order. */
static void times_renumber(struct reuse *reuse)
{
    uint32_t words = (uint32_t)words_most(reuse->line_room), time = 0;
    for (uint32_t word = 0; word < words; word++)
        for (uint64_t left = reuse->marks[word]; left; left &= left - 1) {
            uint32_t number = reuse->slots[word * WORD_BITS + (uint32_t)__builtin_ctzll(left)];
            reuse->slots[time] = number;
            reuse->lines[number].time = time++;
        }
    memset(reuse->tree, 0, (words + 1) * sizeof *reuse->tree);
    for (uint32_t word = 0; word < words; word++) {
        uint32_t count = time <= word * WORD_BITS ? 0 : time - word * WORD_BITS < WORD_BITS ? time - word * WORD_BITS : WORD_BITS;
        reuse->marks[word] = count == WORD_BITS ? UINT64_MAX : (UINT64_C(1) << count) - 1;
        if (count)
            tree_add(reuse, word, count);
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

uint32_t pcere_reuse_bin(uint64_t number, uint32_t bins)
{
    uint64_t value = number + 1;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(value);
    uint32_t bin = 4 * octave + (octave >= 2 ? (uint32_t)(value >> (octave - 2)) & 3 : octave ? (uint32_t)(value & 1) * 2 : 0);
    return bin < bins ? bin : bins - 1;
}

static uint32_t bin_of(uint64_t distance) { return pcere_reuse_bin(distance, CHARACTER_BINS); }

/* Where a line leaves caches of 2^first .. 2^(octaves - 1) lines that it is dirty in, the first counts one more and the one behind one less: pcere_reuse_sum makes numbers of it. */
static void line_leave(struct used_line *used, uint64_t distance, struct character_record *ret)
{
    uint32_t octaves = distance ? 64 - (uint32_t)__builtin_clzll(distance) : 0;     /* caches of 2^0 .. 2^(octaves - 1) lines <= distance */
    octaves = octaves < CHARACTER_OCTAVES ? octaves : CHARACTER_OCTAVES;
    if (used->dirty_from >= octaves)
        return;
    ret->writebacks[used->dirty_from]++;
    if (octaves < CHARACTER_OCTAVES)
        ret->writebacks[octaves]--;
    used->dirty_from = octaves;
}

void pcere_reuse_sum(struct character_record *record)
{
    for (uint32_t k = 1; k < CHARACTER_OCTAVES; k++)
        record->writebacks[k] += record->writebacks[k - 1];
}

/* Did another thread write it since this one used it last? From now on, this one did. */
static bool foreign_take(const struct reuse *reuse, struct used_line *used, uint64_t line, bool store)
{
    struct written_line *last = &written[place_of(line, WRITTEN_BITS)];
    uint32_t writes = atomic_load_explicit(&last->writes, memory_order_relaxed);
    bool foreign = writes != used->seen && atomic_load_explicit(&last->line, memory_order_relaxed) == line &&
                   atomic_load_explicit(&last->by, memory_order_relaxed) != reuse->number;
    if (store) {
        writes = atomic_fetch_add_explicit(&last->writes, 1, memory_order_relaxed) + 1;
        atomic_store_explicit(&last->line, line, memory_order_relaxed);
        atomic_store_explicit(&last->by, reuse->number, memory_order_relaxed);
    }
    used->seen = writes;
    return foreign;
}

uint32_t pcere_reuse_place(struct reuse *reuse, uint64_t line)
{
    uint32_t *keys = reuse->nearest[line % PLACES], key = (uint32_t)(line / PLACES) + 1, way = 0;
    for (; way < WAYS_MOST; way += LANES) {
        four_keys four;
        memcpy(&four, keys + way, sizeof four);
        two_words same = (two_words)(four == key);
        if (same[0] | same[1])
            break;
    }
    while (way < WAYS_MOST && keys[way] != key)
        way++;
    memmove(keys + 1, keys, (way < WAYS_MOST ? way : WAYS_MOST - 1) * sizeof *keys);
    keys[0] = key;
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
    bool known = *entry;
    if (!known) {
        if (reuse->line_count == reuse->line_room && !room_grow(reuse))
            return NULL;
        entry = table_find(reuse, line);
        reuse->lines[reuse->line_count] = (struct used_line){.line = line, .dirty_from = CHARACTER_OCTAVES};
        *entry = ++reuse->line_count;
    }
    uint32_t number = *entry - 1;
    if (reuse->now == times_most(reuse->line_room))
        times_renumber(reuse);
    struct used_line *used = &reuse->lines[number];
    uint32_t now = reuse->now++;
    if (known) {
        *ret_between = reuse->line_count - 1 - marks_before(reuse, used->time);
        mark_move(reuse, used->time, now);
    } else {
        *ret_between = UINT32_MAX;
        reuse->marks[now / WORD_BITS] |= UINT64_C(1) << now % WORD_BITS;
        tree_add(reuse, now / WORD_BITS, 1);
    }
    used->time = now;
    reuse->slots[now] = number;
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
    bool foreign = !reuse->alone && foreign_take(reuse, used, line, store);
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
        used->dirty_from = 0;
}
