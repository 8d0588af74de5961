/* replay-rt/target/reclaim.c - heap memory of a timed region, which runs again and again: what it frees of captured blocks it may have again, and what it leaves behind is given back.
 *
 * This process's malloc does not know captured blocks. Were they only left alone, a region that replaces older blocks by new ones would take memory that is new to the process in each
 * run, and so would one whose blocks the program's serial part frees later: with a page fault for each page of it, up to 16 times as long as in the program. Captured memory is as it was
 * before the next run, so that nobody has a block of the last run any more, and no run inherits what another one freed.
 *
 * Only blocks that the program's own code asks for are meant: what a library of the system keeps for itself, a stream's buffer, outlives a run. Small blocks are those of the very size
 * that the thread freed, the last one first, larger ones any that is large enough, up to four times as large.
 */
#include "include/pcere/object_divert.h"
#include "replay-rt/target/codelet.h"

#include <dirent.h>
#include <dlfcn.h>
#include <omp.h>
#include <stdatomic.h>
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
#define NOTES_MOST 65536u            /* of a thread in a run: a region that allocates more often leaves it all behind */

enum note_kind { NOTE_GOT, NOTE_FREED };

struct freed { struct freed *next; };

/* Of one thread, which may be gone. */
struct notes {
    struct notes *next;
    uint32_t run, count;
    uintptr_t items[NOTES_MOST];     /* a block, and what happened to it in its lowest bits */
};

static __thread struct {
    uint32_t run;                    /* that the lists are of */
    struct notes *notes;
    struct freed *small[SMALL_MOST / 16 + 1], *large[LARGE_LISTS];
} own;

static bool enabled;
static atomic_bool some, full;       /* a captured block was freed, in any run; notes of this one are not all there */
static _Atomic uint32_t runs;
static struct notes *_Atomic all_notes;

static struct {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t count, size_t bytes);
    void *(*new_one)(size_t bytes);
    void *(*new_array)(size_t bytes);
} next;

extern __attribute__((weak)) void *pcere_program_malloc(size_t bytes);

/* ---- captured blocks ----------------------------------------------------------------------------------------------------------- */

static void lists_begin(void)
{
    uint32_t run = atomic_load_explicit(&runs, memory_order_relaxed);
    if (own.run == run)
        return;
    memset(own.small, 0, sizeof own.small);
    memset(own.large, 0, sizeof own.large);
    own.run = run;
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

static size_t chunk_of(const void *block)
{
    size_t word;
    memcpy(&word, (const char *)block - sizeof word, sizeof word);
    return word & ~CHUNK_FLAGS;
}

/* Of its own part one that is not smaller, of the first few; else of a larger part, where none is. */
static struct freed *large_take(size_t chunk)
{
    size_t part = part_of(chunk);
    if (part >= LARGE_LISTS)
        return NULL;
    struct freed **list = &own.large[part];
    for (int i = 0; *list && i < LOOKED_AT; i++, list = &(*list)->next)
        if (chunk_of(*list) >= chunk)
            return take(list);
    for (size_t i = part + 1; i < LARGE_LISTS && i <= part + LARGE_REACH; i++)
        if (own.large[i])
            return take(&own.large[i]);
    return NULL;
}

void pcere_reclaim_give(void *block, size_t left_bytes)
{
    size_t word;
    if (!enabled || (uintptr_t)block % 16)
        return;
    memcpy(&word, (const char *)block - sizeof word, sizeof word);
    size_t chunk = word & ~CHUNK_FLAGS;
    if ((word & CHUNK_MAPPED) || chunk < CHUNK_LEAST || chunk % 16 || chunk - sizeof word > left_bytes)
        return;
    lists_begin();
    size_t part = chunk <= SMALL_MOST ? 0 : part_of(chunk);
    if (part >= LARGE_LISTS)
        return;
    struct freed **list = chunk <= SMALL_MOST ? &own.small[chunk / 16] : &own.large[part], *freed = block;
    freed->next = *list;
    *list = freed;
    atomic_store_explicit(&some, true, memory_order_relaxed);
}

static void *reclaim(size_t bytes)
{
    if (!atomic_load_explicit(&some, memory_order_relaxed) || bytes > PTRDIFF_MAX)
        return NULL;
    size_t chunk = (bytes + sizeof chunk + 15) & ~(size_t)15;
    chunk = chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk;
    lists_begin();
    return chunk <= SMALL_MOST ? take(&own.small[chunk / 16]) : large_take(chunk);
}

/* ---- what is left behind ------------------------------------------------------------------------------------------------------- */

static bool notes_make(void)
{
    void *made = mmap(NULL, sizeof *own.notes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return false;
    own.notes = made;
    own.notes->next = atomic_load(&all_notes);
    while (!atomic_compare_exchange_weak(&all_notes, &own.notes->next, own.notes))
        ;
    return true;
}

static void note(const void *block, enum note_kind kind)
{
    uint32_t run = atomic_load_explicit(&runs, memory_order_relaxed);
    if (!own.notes && !notes_make()) {
        atomic_store_explicit(&full, true, memory_order_relaxed);
        return;
    }
    if (own.notes->run != run) {
        own.notes->run = run;
        own.notes->count = 0;
    }
    if (own.notes->count == NOTES_MOST)
        atomic_store_explicit(&full, true, memory_order_relaxed);
    else
        own.notes->items[own.notes->count++] = (uintptr_t)block | kind;
}

void pcere_reclaim_freed(const void *block)
{
    if (enabled && block)
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
    for (const struct notes *notes = enabled ? all_notes : NULL; notes; notes = notes->next)
        count += notes->run == run ? notes->count : 0;
    if (!count)
        return;
    uint32_t now = threads_count();
    bool alone = now == threads && now;
    threads = now;
    while (capacity < 2 * count)
        capacity *= 2;
    struct balance *table = alone && !atomic_load(&full) ? mmap(NULL, capacity * sizeof *table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (table == MAP_FAILED)
        return;
    left_free(table, capacity - 1, run);
    munmap(table, capacity * sizeof *table);
}

void pcere_reclaim_run(void)
{
    atomic_fetch_add_explicit(&runs, 1, memory_order_relaxed);
    atomic_store_explicit(&full, false, memory_order_relaxed);
}

/* ---- who calls ----------------------------------------------------------------------------------------------------------------- */

static void *noted(void *block)
{
    if (block && pcere_heap_in_region())
        note(block, NOTE_GOT);
    return block;
}

static void *own_malloc(size_t bytes)
{
    void *block = pcere_heap_in_region() ? reclaim(bytes) : NULL;
    return block ? block : noted(next.malloc(bytes));
}

static void *own_calloc(size_t count, size_t bytes)
{
    size_t total;
    void *block = __builtin_mul_overflow(count, bytes, &total) || !pcere_heap_in_region() ? NULL : reclaim(total);
    return block ? memset(block, 0, total) : noted(next.calloc(count, bytes));
}

static void *own_new(size_t bytes)
{
    void *block = pcere_heap_in_region() ? reclaim(bytes) : NULL;
    return block ? block : noted(next.new_one(bytes));
}

static void *own_new_array(size_t bytes)
{
    void *block = pcere_heap_in_region() ? reclaim(bytes) : NULL;
    return block ? block : noted(next.new_array(bytes));
}

static uint64_t own_address(const char *name)
{
    if (!strcmp(name, "malloc"))
        return (uint64_t)own_malloc;
    if (!strcmp(name, "calloc"))
        return (uint64_t)own_calloc;
    if (!strcmp(name, "_Znwm") && next.new_one)
        return (uint64_t)own_new;
    return !strcmp(name, "_Znam") && next.new_array ? (uint64_t)own_new_array : 0;
}

/* The executable, whose rebuilt units it holds, and what was rebuilt of libraries; not where the OpenMP runtime lies in it, too. */
static int object_serve(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    if (object_has(info, (uintptr_t)omp_get_thread_num))
        return 0;
    if (object_has(info, (uintptr_t)pcere_reclaim_begin) || pcere_images_are_at(context, (const void *)info->dlpi_addr))
        object_divert(info, own_address);
    return 0;
}

void pcere_reclaim_begin(const struct codelet *codelet)
{
    const struct { const char *name; void *to; } wanted[] = {{"malloc", &next.malloc}, {"calloc", &next.calloc}, {"_Znwm", &next.new_one}, {"_Znam", &next.new_array}};
    if (codelet->plan->policy.task != PLAN_MEASURE || !codelet->plan->allocates || codelet->plan->foreign_allocator || pcere_program_malloc)
        return;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *symbol = dlsym(RTLD_DEFAULT, wanted[i].name);
        memcpy(wanted[i].to, &symbol, sizeof symbol);
    }
    enabled = next.malloc && next.calloc;
    if (enabled)
        dl_iterate_phdr(object_serve, (void *)(uintptr_t)codelet);
}

void *pcere_reclaim_symbol(const char *name)
{
    return enabled ? (void *)own_address(name) : NULL;
}
