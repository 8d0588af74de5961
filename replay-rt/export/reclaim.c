/* reclaim.c - heap memory of a region that runs again and again: what it frees of captured blocks it may have again, and what it leaves behind is given back.
 *
 * This process's malloc does not know captured blocks. Were they only left alone, a region that replaces older blocks by new ones would take memory that is new to the process in each
 * run, and so would one whose blocks the program's serial part frees later: with a page fault for each page of it, up to 16 times as long as in the program. Captured memory is as it was
 * before the next run, so that nobody has a block of the last run any more, and no run inherits what another one freed.
 *
 * Only blocks that the program's own code asks for are meant: what a library of the system keeps for itself, a stream's buffer, outlives a run. Small blocks are those of the very size
 * that the thread freed, the last one first, larger ones any that is large enough, up to four times as large.
 */
#include "reclaim.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK_LEAST 32u
#define SMALL_MOST 1040u             /* up to here each size has a list; */
#define LARGE_PARTS 8u               /* above, so many parts of each power of two, */
#define LARGE_POWER 10u              /* from this one */
#define LARGE_LISTS (LARGE_PARTS * 21)
#define LARGE_REACH (2 * LARGE_PARTS)
#define LOOKED_AT 4
#define CHUNK_FLAGS ((size_t)7)      /* of the C library's: the block before is in use, this one was mapped by itself, an arena has it */
#define CHUNK_MAPPED ((size_t)2)
#define KNOWN_MOST 1024u           /* further ones are served by the C library alone */
#define NOTES_MOST 65536u            /* of a thread in a run: a region that allocates more often leaves it all behind */

enum note_kind { NOTE_GOT, NOTE_FREED };

struct freed { struct freed *next; };

/* Of one thread, which may be gone. */
struct notes {
    struct notes *next;
    uint32_t run, count;
    uintptr_t items[NOTES_MOST];     /* a block, and what happened to it in its lowest bits */
};

/* Of one thread in a run. */
struct lists {
    uint32_t run;                    /* that they are of */
    struct notes *notes;
    struct freed *small[SMALL_MOST / 16 + 1], *large[LARGE_LISTS];
};

/* By threads' pointers, not thread-local: what is exported has the program's thread-local variables where its code expects them, and room for no others. */
static struct { void *_Atomic self; struct lists *lists; } threads_known[KNOWN_MOST];

bool pcere_reclaim_on;
static atomic_bool some, full;       /* a captured block was freed, in any run; notes of this one are not all there */
static _Atomic uint32_t runs;
static struct notes *_Atomic all_notes;

static void *pages_take(size_t bytes)
{
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return made == MAP_FAILED ? NULL : made;
}

/* The calling thread's; NULL: there is no room for them. */
static struct lists *lists_own(void)
{
    void *self = __builtin_thread_pointer();
    size_t at = (size_t)((uintptr_t)self * 0x9e3779b97f4a7c15u >> 40) % KNOWN_MOST;
    for (unsigned i = 0; i < KNOWN_MOST; i++, at = (at + 1) % KNOWN_MOST) {
        void *other = atomic_load_explicit(&threads_known[at].self, memory_order_relaxed);
        if (!other && atomic_compare_exchange_strong(&threads_known[at].self, &other, self))
            threads_known[at].lists = pages_take(sizeof *threads_known[at].lists);
        if (!other || other == self)
            return threads_known[at].lists;
    }
    return NULL;
}

/* ---- captured blocks ----------------------------------------------------------------------------------------------------------- */

static struct lists *lists_begin(void)
{
    struct lists *own = lists_own();
    uint32_t run = atomic_load_explicit(&runs, memory_order_relaxed);
    if (own && own->run != run) {
        memset(own->small, 0, sizeof own->small);
        memset(own->large, 0, sizeof own->large);
        own->run = run;
    }
    return own;
}

/* The list of the largest part that is no larger; LARGE_LISTS and more: there is none. */
static size_t part_of(size_t chunk)
{
    unsigned power = 63 - (unsigned)__builtin_clzll(chunk);
    return (power - LARGE_POWER) * LARGE_PARTS + (chunk >> (power - 3)) % LARGE_PARTS;
}

static struct freed *take(struct freed **list)
{
    struct freed *freed = *list;
    if (freed)
        *list = freed->next;
    return freed;
}

/* What the C library keeps in front of a block: its chunk's size, and flags. */
static size_t word_of(const void *block)
{
    size_t word;
    memcpy(&word, (const char *)block - sizeof word, sizeof word);
    return word;
}

/* Of its own part one that is not smaller, of the first few; else of a larger part, where none is. */
static struct freed *large_take(struct lists *own, size_t chunk)
{
    size_t part = part_of(chunk);
    if (part >= LARGE_LISTS)
        return NULL;
    struct freed **list = &own->large[part];
    for (int i = 0; *list && i < LOOKED_AT; i++, list = &(*list)->next)
        if ((word_of(*list) & ~CHUNK_FLAGS) >= chunk)
            return take(list);
    for (size_t i = part + 1; i < LARGE_LISTS && i <= part + LARGE_REACH; i++)
        if (own->large[i])
            return take(&own->large[i]);
    return NULL;
}

void pcere_reclaim_give(void *block, size_t left_bytes)
{
    if (!pcere_reclaim_on || (uintptr_t)block % 16)
        return;
    size_t word = word_of(block), chunk = word & ~CHUNK_FLAGS;
    if ((word & CHUNK_MAPPED) || chunk < CHUNK_LEAST || chunk % 16 || chunk - sizeof word > left_bytes)
        return;
    struct lists *own = lists_begin();
    size_t part = chunk <= SMALL_MOST ? 0 : part_of(chunk);
    if (!own || part >= LARGE_LISTS)
        return;
    struct freed **list = chunk <= SMALL_MOST ? &own->small[chunk / 16] : &own->large[part], *freed = block;
    freed->next = *list;
    *list = freed;
    atomic_store_explicit(&some, true, memory_order_relaxed);
}

void *pcere_reclaim_take(size_t bytes)
{
    if (!atomic_load_explicit(&some, memory_order_relaxed) || bytes > PTRDIFF_MAX)
        return NULL;
    size_t chunk = (bytes + sizeof chunk + 15) & ~(size_t)15;
    chunk = chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk;
    struct lists *own = lists_begin();
    return !own ? NULL : chunk <= SMALL_MOST ? take(&own->small[chunk / 16]) : large_take(own, chunk);
}

/* ---- what is left behind ------------------------------------------------------------------------------------------------------- */

static bool notes_make(struct lists *own)
{
    own->notes = pages_take(sizeof *own->notes);
    if (!own->notes)
        return false;
    own->notes->next = atomic_load(&all_notes);
    while (!atomic_compare_exchange_weak(&all_notes, &own->notes->next, own->notes))
        ;
    return true;
}

static void note(const void *block, enum note_kind kind)
{
    struct lists *own = lists_own();
    uint32_t run = atomic_load_explicit(&runs, memory_order_relaxed);
    if (!own || (!own->notes && !notes_make(own))) {
        atomic_store_explicit(&full, true, memory_order_relaxed);
        return;
    }
    if (own->notes->run != run) {
        own->notes->run = run;
        own->notes->count = 0;
    }
    if (own->notes->count == NOTES_MOST)
        atomic_store_explicit(&full, true, memory_order_relaxed);
    else
        own->notes->items[own->notes->count++] = (uintptr_t)block | kind;
}

void pcere_reclaim_got(const void *block)
{
    if (pcere_reclaim_on && block)
        note(block, NOTE_GOT);
}

void pcere_reclaim_freed(const void *block)
{
    if (pcere_reclaim_on && block)
        note(block, NOTE_FREED);
}

struct balance { uintptr_t block; int32_t count; };

static struct balance *balance_of(struct balance *table, size_t mask, uintptr_t block)
{
    size_t at = (size_t)(block * 0x9e3779b97f4a7c15u >> 20) & mask;
    while (table[at].block && table[at].block != block)
        at = (at + 1) & mask;
    table[at].block = block;
    return &table[at];
}

/* Blocks that the program's code got once more than anybody freed them are there still, and its own: a library that got one meanwhile makes it less. */
static void left_free(struct balance *table, size_t mask, uint32_t run)
{
    for (const struct notes *notes = all_notes; notes; notes = notes->next)
        for (uint32_t i = 0; notes->run == run && i < notes->count; i++)
            balance_of(table, mask, notes->items[i] & ~(uintptr_t)15)->count += (notes->items[i] & 15) == NOTE_GOT ? 1 : -1;
    for (size_t i = 0; i <= mask; i++)
        if (table[i].block && table[i].count == 1)
            free((void *)table[i].block);
}

/* Threads that the region started, and that go on, may use what it left. */
static uint32_t threads_count(void)
{
    DIR *tasks = opendir("/proc/self/task");
    uint32_t count = 0;
    while (tasks && readdir(tasks))
        count++;
    if (tasks)
        closedir(tasks);
    return count;
}

void pcere_reclaim_end(void)
{
    static uint32_t threads;
    uint32_t run = atomic_load_explicit(&runs, memory_order_relaxed);
    size_t count = 0, capacity = 1024;
    for (const struct notes *notes = pcere_reclaim_on ? all_notes : NULL; notes; notes = notes->next)
        count += notes->run == run ? notes->count : 0;
    if (!count)
        return;
    uint32_t now = threads_count();
    bool alone = now == threads && now;
    threads = now;
    while (capacity < 2 * count)
        capacity *= 2;
    struct balance *table = alone && !atomic_load(&full) ? pages_take(capacity * sizeof *table) : NULL;
    if (!table)
        return;
    left_free(table, capacity - 1, run);
    munmap(table, capacity * sizeof *table);
}

void pcere_reclaim_run(void)
{
    atomic_fetch_add_explicit(&runs, 1, memory_order_relaxed);
    atomic_store_explicit(&full, false, memory_order_relaxed);
}
