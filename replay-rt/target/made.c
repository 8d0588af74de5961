/* replay-rt/target/made.c - what a region allocates, held against what it had allocated in the original.
 *
 *   captured memory                    what the original allocated                 what this process did
 *   | .. pointer .. | ── original ──▶  | size | block: 1 2 3, pointer | ──▶ ..
 *                  └─── here ─────────────────────────────────────────────────▶   | size | block: 1 2 3, pointer | ──▶ ..
 *
 * Only where a codelet is verified: blocks come from a room of their own then, cut as the capture did (fresh_blocks.h), by calls of malloc and the like that all loaded objects
 * but the OpenMP runtime make. Where a word that is compared leads into a block in the original, and into one here, these two are a pair: they must be as large, the
 * word must lead as far into both, and their bytes are compared in turn, which may lead to more pairs.
 */
#include "include/pcere/bisect.h"
#include "include/pcere/fresh_blocks.h"
#include "include/pcere/object_divert.h"
#include "replay-rt/target/codelet.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ROOM_BYTES_MOST ((size_t)16 << 30)
#define ROOM_BYTES_LEAST ((size_t)64 << 20)
#define ROOM_APART ((uint64_t)1 << 30)
#define ALIGNMENT_MOST ((size_t)16 << 20)           /* as the capture has it */

struct made_block {
    uint64_t address, bytes;
    uint64_t partner;                 /* of the other list; 0: none yet */
    bool freed, differs;
};

struct made_list { struct made_block *items; size_t count, capacity; bool failed; };

static struct {
    char *start;                      /* NULL: nothing is served */
    bool in_place;                    /* it is where the capture had its own */
    struct fresh_blocks blocks;
    pthread_mutex_t mutex, releasing;
    bool listed;
    bool again;                       /* freed blocks were used again: pointers that dangle may lead to others */
    struct made_list captured, own, released;       /* released: captured blocks that the region freed */
    uint64_t *queue;                  /* places in captured.items, each once */
    size_t queued;
} made = {.mutex = PTHREAD_MUTEX_INITIALIZER, .releasing = PTHREAD_MUTEX_INITIALIZER};

extern __attribute__((weak)) void *pcere_program_malloc(size_t bytes);

/* ---- allocation ---------------------------------------------------------------------------------------------------------------- */

static struct {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t count, size_t bytes);
    void *(*memalign)(size_t alignment, size_t bytes);
} next;

static void *allocate(size_t bytes, size_t alignment)
{
    if (!pcere_heap_in_region() || bytes > ROOM_BYTES_MOST || alignment > ALIGNMENT_MOST || (alignment & (alignment - 1)))
        return NULL;
    size_t chunk = fresh_chunk_bytes(bytes);
    pthread_mutex_lock(&made.mutex);
    char *end, *again = alignment <= 16 ? fresh_again(&made.blocks, chunk) : NULL;
    made.again |= again != NULL;
    char *block = again ? NULL : fresh_place(&made.blocks, chunk, alignment < 16 ? 16 : alignment, &end);
    if (block)
        fresh_take(&made.blocks, block, chunk);
    pthread_mutex_unlock(&made.mutex);
    return again ? fresh_clear(again, chunk) : block;
}

static void *own_malloc(size_t bytes)
{
    void *block = allocate(bytes, 16);
    return block ? block : next.malloc(bytes);
}

static void *own_calloc(size_t count, size_t bytes)
{
    size_t total;
    void *block = __builtin_mul_overflow(count, bytes, &total) ? NULL : allocate(total, 16);
    return block ? block : next.calloc(count, bytes);
}

static void *own_memalign(size_t alignment, size_t bytes)
{
    void *block = alignment ? allocate(bytes, alignment) : NULL;
    return block ? block : next.memalign(alignment, bytes);
}

static void *own_valloc(size_t bytes)
{
    return own_memalign((size_t)sysconf(_SC_PAGESIZE), bytes);
}

static void *own_pvalloc(size_t bytes)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page_bytes - 1) & ~(page_bytes - 1);
    return own_memalign(page_bytes, whole < bytes ? SIZE_MAX : whole);
}

static int own_posix_memalign(void **ret_block, size_t alignment, size_t bytes)
{
    if (!alignment || alignment % sizeof(void *) || (alignment & (alignment - 1)))
        return EINVAL;
    int error = errno;
    void *block = own_memalign(alignment, bytes);
    errno = error;
    if (!block)
        return ENOMEM;
    *ret_block = block;
    return 0;
}

bool pcere_made_serves(void) { return made.start && pcere_heap_in_region(); }

bool pcere_made_owns(const void *block)
{
    return made.start && (const char *)block >= made.start && (const char *)block < made.blocks.end;
}

size_t pcere_made_usable(const void *block) { return fresh_usable(*fresh_size(block) & ~FRESH_FLAGS); }

void pcere_made_free(void *block)
{
    size_t chunk = fresh_chunk_of(*fresh_size(block));
    if (!chunk)
        return;
    pthread_mutex_lock(&made.mutex);
    fresh_free(&made.blocks, block, chunk);
    pthread_mutex_unlock(&made.mutex);
}

void *pcere_made_grow(void *block, size_t bytes)
{
    size_t usable = pcere_made_usable(block);
    if (bytes && bytes <= usable)
        return block;
    void *moved = bytes ? own_malloc(bytes) : NULL;
    if (moved)
        memcpy(moved, block, usable < bytes ? usable : bytes);
    if (moved || !bytes)
        pcere_made_free(block);
    return moved;
}

static void block_add(struct made_list *list, const struct made_block *block)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 1024;
        struct made_block *grown = realloc(list->items, capacity * sizeof *grown);
        if (!grown) {
            list->failed = true;
            return;
        }
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = *block;
}

void pcere_made_release(const void *block, size_t bytes)
{
    if (!pcere_made_serves())
        return;
    pthread_mutex_lock(&made.releasing);
    block_add(&made.released, &(struct made_block){.address = (uint64_t)block, .bytes = bytes});
    pthread_mutex_unlock(&made.releasing);
}

/* ---- who calls ------------------------------------------------------------------------------------------------------------------ */

static uint64_t own_address(const char *name)
{
    const struct { const char *name; uint64_t address; } own[] = {
        {"malloc", (uint64_t)own_malloc}, {"calloc", (uint64_t)own_calloc}, {"memalign", (uint64_t)own_memalign},
        {"aligned_alloc", (uint64_t)own_memalign}, {"posix_memalign", (uint64_t)own_posix_memalign},
        {"valloc", (uint64_t)own_valloc}, {"pvalloc", (uint64_t)own_pvalloc}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(own[i].name, name))
            return own[i].address;
    return 0;
}

/* The OpenMP runtime's blocks are no part of the region. */
static int object_serve(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes;
    (void)context;
    if (!object_has(info, (uintptr_t)omp_get_thread_num))
        object_divert(info, own_address);
    return 0;
}

void *pcere_made_symbol(const char *name)
{
    return made.start ? (void *)own_address(name) : NULL;
}

/* How far room reaches that begins there, up to captured memory. */
static size_t room_left(const struct codelet *codelet, uint64_t start)
{
    const struct plan_mapping *mappings = PLAN_TABLE(codelet, mappings, struct plan_mapping);
    const uint64_t count = codelet->plan->mappings.count;
    BISECT(low, 0, count, i, mappings[i].end <= start);
    uint64_t guard = low < count && mappings[low].flags & PLAN_MAPPING_GROWS ? STACK_ROOM_BYTES + STACK_GUARD_BYTES : 0;
    uint64_t left = low == count ? ROOM_BYTES_MOST : mappings[low].start > start + guard ? mappings[low].start - guard - start : 0;
    return left < ROOM_BYTES_MOST ? (size_t)left : ROOM_BYTES_MOST;
}

static char *room_map(void *start, size_t bytes, int flags)
{
    char *room = mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    if (room != MAP_FAILED && start && room != start)
        munmap(room, bytes);
    return room == MAP_FAILED || (start && room != start) ? NULL : room;
}

static char *room_map_at(const struct codelet *codelet, uint64_t start, size_t *ret_bytes)
{
    char *room = NULL;
    for (size_t bytes = room_left(codelet, start); !room && bytes >= ROOM_BYTES_LEAST; bytes /= 2) {
        *ret_bytes = bytes & ~(size_t)(codelet->plan->page_bytes - 1);
        room = room_map((void *)start, *ret_bytes, MAP_FIXED_NOREPLACE);
    }
    return room;
}

/* A single thread allocates in the same order: its blocks lie where the original's do, and pointers to them are the same, whatever the program makes of them. Those of several threads lie beside, so
 * that no pointer to one looks like one to another; above what was there before, as in the capture, since programs put addresses in order. */
static char *room_find(const struct codelet *codelet, size_t *ret_bytes)
{
    const struct replay_plan *plan = codelet->plan;
    char *room = plan->made_in_place ? room_map_at(codelet, plan->made_address, ret_bytes) : NULL;
    made.in_place = room;
    if (!room)
        room = room_map_at(codelet, (plan->made_address + plan->made_bytes + ROOM_APART - 1) & ~(uint64_t)(ROOM_APART - 1), ret_bytes);
    for (size_t bytes = ROOM_BYTES_MOST; !room && bytes >= ROOM_BYTES_LEAST; bytes /= 4) {
        *ret_bytes = bytes;
        room = room_map(NULL, bytes, 0);
        if (room && (uint64_t)room < plan->made_address + plan->made_bytes && (uint64_t)room + bytes > plan->made_address) {
            munmap(room, bytes);
            room = NULL;
        }
    }
    return room;
}

bool pcere_made_in_place(void) { return made.in_place; }

void pcere_made_begin(const struct codelet *codelet)
{
    size_t bytes = 0;
    void *malloc_symbol = dlsym(RTLD_DEFAULT, "malloc"), *calloc_symbol = dlsym(RTLD_DEFAULT, "calloc"), *memalign_symbol = dlsym(RTLD_DEFAULT, "memalign");
    if (!codelet->plan->made_bytes || pcere_program_malloc || !malloc_symbol || !calloc_symbol || !memalign_symbol)
        return;
    memcpy(&next.malloc, &malloc_symbol, sizeof malloc_symbol);
    memcpy(&next.calloc, &calloc_symbol, sizeof calloc_symbol);
    memcpy(&next.memalign, &memalign_symbol, sizeof memalign_symbol);
    made.start = room_find(codelet, &bytes);
    if (!made.start)
        return;
    made.blocks = (struct fresh_blocks){.next = made.start, .end = made.start + bytes};
    dl_iterate_phdr(object_serve, NULL);
}

/* ---- pairs ---------------------------------------------------------------------------------------------------------------------- */

static struct made_block made_block_of(uint64_t address, size_t word)
{
    return (struct made_block){.address = address, .bytes = fresh_usable(fresh_chunk_of(word)), .freed = word & FRESH_FREED};
}

static void own_list(void)
{
    for (char *block = made.start + FRESH_HEADER_BYTES; block < made.blocks.next + FRESH_HEADER_BYTES;) {
        size_t word = *fresh_size(block), chunk = fresh_chunk_of(word);
        const struct made_block found = made_block_of((uint64_t)block, word);
        if (chunk)
            block_add(&made.own, &found);
        block += chunk ? fresh_step(chunk) : 16;
    }
}

static void captured_list(const struct memory *memory)
{
    const struct replay_plan *plan = memory->codelet->plan;
    const uint64_t end = plan->made_address + plan->made_bytes;
    for (uint64_t block = plan->made_address + FRESH_HEADER_BYTES; block < end;) {
        uint64_t word = 0, after = 0;
        if (!pcere_expected_word(memory, block - sizeof word, &word, &after)) {
            block = after < end ? after + FRESH_HEADER_BYTES : end;
            continue;
        }
        size_t chunk = fresh_chunk_of(word);
        const struct made_block found = made_block_of(block, word);
        if (chunk && block < end && found.bytes <= end - block)
            block_add(&made.captured, &found);
        block += chunk ? fresh_step(chunk) : 16;
    }
}

/* The block that an address lies in, just behind, or just before; NULL: none. */
static struct made_block *block_at(const struct made_list *list, uint64_t address)
{
    BISECT(low, 0, list->count, i, list->items[i].address + list->items[i].bytes < address);
    return low < list->count && list->items[low].address <= address + FRESH_HEADER_BYTES ? &list->items[low] : NULL;
}

static bool is_released(uint64_t word)
{
    const struct made_block *block = block_at(&made.released, word);
    return block && block->address <= word;
}

static int block_order(const void *left, const void *right)
{
    const struct made_block *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static void lists_make(const struct memory *memory)
{
    if (made.listed)
        return;
    made.listed = true;
    if (made.released.count)
        qsort(made.released.items, made.released.count, sizeof *made.released.items, block_order);
    own_list();
    captured_list(memory);
    made.queue = calloc(made.captured.count + 1, sizeof *made.queue);
    if (!made.queue || made.captured.failed || made.own.failed || made.released.failed)
        pcere_plan_end(memory->codelet, PLAN_FAILED, "no memory for the list of blocks that the region allocated");
}

/* Only one of them is a block that the region allocated. What else it may have from, as another block: the OpenMP runtime, an allocator of the program's. */
static enum made_pair one_known(const struct memory *memory, const struct made_block *theirs, const struct made_block *ours, uint64_t captured, uint64_t here)
{
    Dl_info about;
    bool elsewhere = theirs ? !theirs->freed && dladdr((const void *)here, &about) : !ours->freed && !memory->codelet->plan->foreign_allocator && captured >= 1u << 16;
    return elsewhere ? MADE_OTHER : MADE_UNKNOWN;
}

enum made_pair pcere_made_pair(const struct memory *memory, uint64_t word, uint64_t captured, uint64_t here)
{
    const struct replay_plan *plan = memory->codelet->plan;
    bool in_theirs = captured - plan->made_address < plan->made_bytes, in_ours = pcere_made_owns((const void *)here);
    if (!in_theirs && !in_ours)
        return MADE_UNKNOWN;
    lists_make(memory);
    struct made_block *theirs = in_theirs ? block_at(&made.captured, captured) : NULL, *ours = in_ours ? block_at(&made.own, here) : NULL;
    if (is_released(word) || (in_theirs && !theirs) || (in_ours && !ours))
        return MADE_UNKNOWN;
    if (!theirs || !ours)
        return one_known(memory, theirs, ours, captured, here);
    if (theirs->freed || ours->freed)                 /* what freed blocks hold is nobody's */
        return theirs->freed == ours->freed || made.again ? MADE_UNKNOWN : MADE_OTHER;
    if (theirs->bytes != ours->bytes || captured - theirs->address != here - ours->address)
        return MADE_OTHER;
    if (!theirs->partner && !ours->partner) {
        theirs->partner = ours->address;
        ours->partner = theirs->address;
        made.queue[made.queued++] = (uint64_t)(theirs - made.captured.items);
    }
    return theirs->partner == ours->address ? MADE_ALIKE : MADE_OTHER;
}

/* What stands in front of an exception of C++, of a GNU or an LLVM library: who catches it, and where in which code. */
enum { EXCEPTION_BYTES = 128, EXCEPTION_CLASS_OFFSET = 96 };

static size_t exception_parts(const char *block, size_t bytes, struct plan_range ret_parts[1])
{
    uint64_t class;
    if (bytes < EXCEPTION_BYTES)
        return 0;
    memcpy(&class, block + EXCEPTION_CLASS_OFFSET, sizeof class);
    class &= ~UINT64_C(1);                /* one that refers to another */
    if (class != 0x474e5543432b2b00u && class != 0x434c4e47432b2b00u)       /* "GNUCC++", "CLNGC++" */
        return 0;
    ret_parts[0] = (struct plan_range){0, EXCEPTION_BYTES};
    return 1;
}

void pcere_made_differ(uint64_t address)
{
    struct made_block *block = block_at(&made.captured, address);
    if (block)
        block->differs = true;
}

/* ---- what is left of addresses ---------------------------------------------------------------------------------------------------- */

enum { HALVES_MOST = 256 };
struct halves { uint32_t items[HALVES_MOST]; size_t count; };      /* upper halves of addresses of a process */

static void halves_add(struct halves *halves, uint64_t start, uint64_t end)
{
    for (uint64_t half = start >> 32; half && half <= (end - 1) >> 32 && halves->count < HALVES_MOST; half++) {
        bool known = false;
        for (size_t i = 0; i < halves->count; i++)
            known |= halves->items[i] == half;
        if (!known)
            halves->items[halves->count++] = (uint32_t)half;
    }
}

static bool halves_hold(const struct halves *halves, uint64_t word)
{
    for (size_t i = 0; i < halves->count; i++)
        if (halves->items[i] == word >> 32)
            return true;
    return false;
}

static void own_halves_find(struct halves *halves)
{
    uint64_t start, end;
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && end - start < ROOM_BYTES_LEAST)
            halves_add(halves, start, end);
    halves_add(halves, (uint64_t)made.start, (uint64_t)made.blocks.next);
    if (maps)
        fclose(maps);
}

bool pcere_made_leftover(const struct memory *memory, uint64_t address, uint64_t expected, uint64_t found)
{
    static struct halves captured, own;
    const struct replay_plan *plan = memory->codelet->plan;
    if (address - plan->made_address >= plan->made_bytes)
        return false;
    if (!captured.count) {
        for (uint64_t i = 0; i < plan->mappings.count; i++)
            halves_add(&captured, memory->mappings[i].start, memory->mappings[i].end);
        halves_add(&captured, plan->made_address, plan->made_address + plan->made_bytes);
        own_halves_find(&own);
    }
    bool alike = (uint32_t)expected == (uint32_t)found || ((uint8_t)expected == (uint8_t)found && expected % sizeof expected);
    return alike && (halves_hold(&captured, expected) || halves_hold(&own, found));
}

static void block_compare(struct memory *memory, const struct made_block *block)
{
    const char *here = (const char *)block->partner;
    struct plan_range parts[3];
    size_t count = pcere_stream_parts(here, block->bytes, parts);
    count = count ? count : exception_parts(here, block->bytes, parts);
    uint64_t at = 0;
    parts[count++] = (struct plan_range){.address = block->bytes};
    for (size_t i = 0; i < count; i++) {
        pcere_bytes_compare(memory, block->address + at, here + at, parts[i].address - at, 0);
        at = parts[i].address + parts[i].bytes;
    }
}

void pcere_made_compare(struct memory *memory)
{
    for (size_t i = 0; i < made.queued; i++) {
        const struct made_block block = made.captured.items[made.queue[i]];
        block_compare(memory, &block);
        if (i % 1024 == 0)
            pcere_plan_progress(memory->codelet);
    }
    for (size_t i = 0; i < made.captured.count; i++)
        if (made.captured.items[i].differs)
            pcere_bytes_compare(memory, made.captured.items[i].address - sizeof(size_t), fresh_size((const void *)made.captured.items[i].address), sizeof(size_t), 0);
    memory->codelet->plan->result.made_blocks = made.queued;
}
