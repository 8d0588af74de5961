/* replay-rt/target/made_compare.c - what a region allocated, held against what it had allocated in the original.
 *
 *   captured memory                    what the original allocated                 what this process did
 *   | .. pointer .. | ── original ──▶  | size | block: 1 2 3, pointer | ──▶ ..
 *                  └─── here ─────────────────────────────────────────────────▶   | size | block: 1 2 3, pointer | ──▶ ..
 *
 * Where a word that is compared leads into a block in the original, and into one here, these two are a pair: they must be as large, the word must lead as far into both,
 * and their bytes are compared in turn, which may lead to more pairs.
 */
#include "include/pcere/bisect.h"
#include "include/pcere/fresh_blocks.h"
#include "replay-rt/target/codelet.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct made_block {
    uint64_t address, bytes;
    uint64_t partner;                 /* of the other list; 0: none yet */
    bool freed, differs;
};

struct made_list { struct made_block *items; size_t count, capacity; bool failed; };

static struct {
    bool listed;
    struct made_list captured, own, released;       /* released: captured blocks that the region freed */
    uint64_t *queue;                  /* places in captured.items, each once */
    size_t queued;
    pthread_mutex_t releasing;
} blocks = {.releasing = PTHREAD_MUTEX_INITIALIZER};

/* ---- lists -------------------------------------------------------------------------------------------------------------------- */

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
    pthread_mutex_lock(&blocks.releasing);
    block_add(&blocks.released, &(struct made_block){.address = (uint64_t)block, .bytes = bytes});
    pthread_mutex_unlock(&blocks.releasing);
}

static struct made_block made_block_of(uint64_t address, size_t word)
{
    return (struct made_block){.address = address, .bytes = fresh_usable(fresh_chunk_of(word)), .freed = word & FRESH_FREED};
}

static void own_add(uint64_t address, size_t word)
{
    const struct made_block found = made_block_of(address, word);
    block_add(&blocks.own, &found);
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
            block_add(&blocks.captured, &found);
        block += chunk ? fresh_step(chunk) : 16;
    }
}

/* ---- pairs ---------------------------------------------------------------------------------------------------------------------- */

/* The block that an address lies in, just behind, or just before; NULL: none. */
static struct made_block *block_at(const struct made_list *list, uint64_t address)
{
    BISECT(low, 0, list->count, i, list->items[i].address + list->items[i].bytes < address);
    return low < list->count && list->items[low].address <= address + FRESH_HEADER_BYTES ? &list->items[low] : NULL;
}

static bool is_released(uint64_t word)
{
    const struct made_block *block = block_at(&blocks.released, word);
    return block && block->address <= word;
}

static int block_order(const void *left, const void *right)
{
    const struct made_block *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static void lists_make(const struct memory *memory)
{
    if (blocks.listed)
        return;
    blocks.listed = true;
    if (blocks.released.count)
        qsort(blocks.released.items, blocks.released.count, sizeof *blocks.released.items, block_order);
    pcere_made_visit(own_add);
    captured_list(memory);
    blocks.queue = calloc(blocks.captured.count + 1, sizeof *blocks.queue);
    if (!blocks.queue || blocks.captured.failed || blocks.own.failed || blocks.released.failed)
        pcere_plan_end(memory->codelet, PLAN_FAILED, "no memory for the list of blocks that the region allocated");
}

/* Only one of them is in a block that the region allocated so. The other may be in one that it has from elsewhere: the OpenMP runtime, an allocator of the program's. */
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
    struct made_block *theirs = in_theirs ? block_at(&blocks.captured, captured) : NULL, *ours = in_ours ? block_at(&blocks.own, here) : NULL;
    if (is_released(word) || (in_theirs && !theirs) || (in_ours && !ours))
        return MADE_UNKNOWN;
    if (!theirs || !ours)
        return one_known(memory, theirs, ours, captured, here);
    if (theirs->freed || ours->freed)                 /* what freed blocks hold is nobody's */
        return theirs->freed == ours->freed || pcere_made_again() ? MADE_UNKNOWN : MADE_OTHER;
    if (theirs->bytes != ours->bytes || captured - theirs->address != here - ours->address)
        return MADE_OTHER;
    if (!theirs->partner && !ours->partner) {
        theirs->partner = ours->address;
        ours->partner = theirs->address;
        blocks.queue[blocks.queued++] = (uint64_t)(theirs - blocks.captured.items);
    }
    return theirs->partner == ours->address ? MADE_ALIKE : MADE_OTHER;
}

void pcere_made_differ(uint64_t address)
{
    struct made_block *block = block_at(&blocks.captured, address);
    if (block)
        block->differs = true;
}

/* ---- what is left of addresses ---------------------------------------------------------------------------------------------------- */

#define RESERVED_BYTES ((uint64_t)64 << 20)         /* so much at once are addresses that nobody uses yet */
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
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && end - start < RESERVED_BYTES)
            halves_add(halves, start, end);
    for (size_t i = 0; i < blocks.own.count; i++)
        halves_add(halves, blocks.own.items[i].address, blocks.own.items[i].address + blocks.own.items[i].bytes);
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

/* ---- blocks --------------------------------------------------------------------------------------------------------------------- */

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
    for (size_t i = 0; i < blocks.queued; i++) {
        const struct made_block block = blocks.captured.items[blocks.queue[i]];
        block_compare(memory, &block);
        if (i % 1024 == 0)
            pcere_plan_progress(memory->codelet);
    }
    for (size_t i = 0; i < blocks.captured.count; i++)
        if (blocks.captured.items[i].differs)
            pcere_bytes_compare(memory, blocks.captured.items[i].address - sizeof(size_t), fresh_size((const void *)blocks.captured.items[i].address), sizeof(size_t), 0);
    memory->codelet->plan->result.made_blocks = blocks.queued;
}
