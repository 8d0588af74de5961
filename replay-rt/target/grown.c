/* replay-rt/target/grown.c - large captured blocks that grow: their pages move, as the C library has the kernel do with blocks that it mapped by themselves.
 *
 *   captured   ....|..block.|..........|..........|..|....      whole pages move piece by piece (mremap), as they are mapped: pages of the file, and what was absent; where they lay the
 *   grown          |..block.|..........|..........|..new....|..... room to grow on .....|      file's pages are again. Both ends are copied
 *
 * Copying took twenty times as long (192 MB in blocks of 3: 83 ms, moved 1). So do blocks that the program allocated while it was captured, which it has from the kernel when it runs by itself.
 * Blocks of other allocators, and smaller ones, which the C library copies as well, are copied.
 */
#include "replay-rt/target/codelet.h"

#include "include/pcere/fresh_blocks.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEADER_BYTES (2 * sizeof(size_t))     /* of a block that the C library mapped by itself: the chunk's size is the second word, with */
#define CHUNK_MAPPED ((size_t)2)              /* ... this bit */
#define BYTES_LEAST (128u << 10)              /* the C library maps no smaller ones */
enum { GROWN_MOST = 4096, PIECES_MOST = 8 };
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

struct grown {
    uint64_t start, bytes, used, block;         /* its mapping; used: up to the block's end, whole pages */
    uint64_t ends[PIECES_MOST + 2];   /* offsets where pieces of it end that are mapped in another way than what follows */
    uint32_t count;
};

static const struct memory *around;
static struct grown items[GROWN_MOST];
static _Atomic uint32_t item_count;
static atomic_flag taken = ATOMIC_FLAG_INIT;

void pcere_grown_begin(const struct memory *memory)
{
    around = memory;
}

static void items_take(void)
{
    while (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))
        continue;
}

static void items_leave(void)
{
    atomic_flag_clear_explicit(&taken, memory_order_release);
}

static uint64_t pages_of(uint64_t bytes)
{
    uint64_t page_bytes = around->codelet->plan->page_bytes;
    return (bytes + page_bytes - 1) & ~(page_bytes - 1);
}

/* One piece that is mapped in one way. `flags`: of mremap, besides that it goes to `to`. Where it is not, or the kernel is older, what was mapped there may be gone. */
static void piece_move(uint64_t from, uint64_t end, uint64_t to, int flags)
{
    if (from >= end || syscall(SYS_mremap, from, end - from, end - from, MREMAP_MAYMOVE | MREMAP_FIXED | flags, to) != -1)
        return;
    if (mmap((void *)to, end - from, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == (void *)to)
        memcpy((void *)to, (const void *)from, end - from);
}

/* Fill in where pieces end; where there are too many, the rest is one, which is copied. */
static void captured_move(uint64_t from, uint64_t end, uint64_t to, struct grown *ret_grown)
{
    uint64_t page_bytes = around->codelet->plan->page_bytes, copies = around->codelet->plan->before.count;
    for (uint64_t at = from, i = pcere_memory_copy_from(around, from); at < end;) {
        const struct plan_copy *copy = i < copies ? &around->copies[i] : NULL;
        uint64_t edge = !copy ? end : copy->address > at ? copy->address : copy->address + copy->pages * page_bytes;
        i += copy && copy->address <= at;
        edge = edge < end && ret_grown->count < PIECES_MOST ? edge : end;
        piece_move(at, edge, to + (at - from), MREMAP_DONTUNMAP);
        if (edge < end)
            ret_grown->ends[ret_grown->count++] = edge - from;
        at = edge;
    }
    ret_grown->ends[ret_grown->count++] = end - from;
}

void pcere_grown_move(uint64_t from, uint64_t end, uint64_t to)
{
    struct grown unused = {0};
    captured_move(from, end, to, &unused);
}

/* The block lies in its page where the captured one does. */
static bool room_make(uint64_t captured, uint64_t bytes, struct grown *ret_grown)
{
    uint64_t page_bytes = around->codelet->plan->page_bytes, before = captured % page_bytes;
    before += before < HEADER_BYTES ? page_bytes : 0;
    uint64_t used = pages_of(before + bytes);
    void *made = mmap(NULL, 2 * used, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *ret_grown = (struct grown){.start = (uint64_t)made, .bytes = 2 * used, .used = used, .block = (uint64_t)made + before};
    return made != MAP_FAILED;
}

static void *block_of(const struct grown *grown)
{
    *fresh_size((const void *)grown->block) = (grown->start + grown->used - grown->block + HEADER_BYTES) | CHUNK_MAPPED;
    return (void *)grown->block;
}

/* Mapped by itself, or as large blocks are while the program is captured. */
static bool is_movable(const void *block, size_t known)
{
    size_t word = *fresh_size(block);
    return known >= BYTES_LEAST && (word & CHUNK_MAPPED || fresh_chunk_of(word));
}

static void captured_take(uint64_t block, uint64_t known, struct grown *grown)
{
    uint64_t page_bytes = around->codelet->plan->page_bytes, first = pages_of(block), end = (block + known) & ~(page_bytes - 1);
    uint64_t to = grown->block - block;
    grown->ends[grown->count++] = first + to - grown->start;
    captured_move(first, end, first + to, grown);
    memcpy((void *)grown->block, (const void *)block, first - block);
    memcpy((void *)(end + to), (const void *)end, block + known - end);
}

void *pcere_grown_make(const void *block, size_t known, size_t bytes)
{
    struct grown grown;
    if (around->codelet->plan->policy.task != PLAN_MEASURE || !is_movable(block, known) || bytes > PTRDIFF_MAX / 4 || !room_make((uint64_t)block, bytes, &grown))
        return NULL;
    items_take();
    uint32_t count = item_count;
    if (count < GROWN_MOST) {
        captured_take((uint64_t)block, known, &grown);
        items[count] = grown;
        item_count = count + 1;
    }
    items_leave();
    if (count < GROWN_MOST)
        return block_of(&grown);
    munmap((void *)grown.start, grown.bytes);
    return NULL;
}

/* NULL: it is none of them. The caller has taken them. */
static struct grown *item_of(const void *block)
{
    struct grown *item = items;
    while (item < items + item_count && item->block != (uint64_t)block)
        item++;
    return item < items + item_count ? item : NULL;
}

static bool may_be_one(const void *block)
{
    return atomic_load_explicit(&item_count, memory_order_relaxed) && block && *fresh_size(block) & CHUNK_MAPPED;
}

/* Its mapping is full: another one, and the pieces as they are. */
static bool item_grow(struct grown *item, size_t bytes)
{
    struct grown grown;
    if (!room_make(item->block, bytes, &grown))
        return false;
    uint64_t at = 0;
    for (uint32_t i = 0; i <= item->count; i++) {
        uint64_t end = i < item->count ? item->ends[i] : item->used;
        piece_move(item->start + at, item->start + end, grown.start + at, 0);
        at = end;
    }
    munmap((void *)item->start, item->bytes);
    memcpy(grown.ends, item->ends, sizeof grown.ends);
    grown.count = item->count;
    *item = grown;
    return true;
}

bool pcere_grown_again(void *block, size_t bytes, void **ret_block)
{
    if (!may_be_one(block) || !bytes)
        return false;
    items_take();
    struct grown *item = item_of(block);
    if (item) {
        uint64_t used = pages_of(item->block - item->start + bytes);
        bool fits = bytes <= PTRDIFF_MAX / 4 && (used <= item->bytes || item_grow(item, bytes));
        if (fits && item->used < used)
            item->used = used;
        *ret_block = fits ? block_of(item) : NULL;
    }
    items_leave();
    return item != NULL;
}

bool pcere_grown_free(void *block)
{
    if (!may_be_one(block))
        return false;
    items_take();
    struct grown *item = item_of(block), gone = item ? *item : (struct grown){0};
    if (item) {
        *item = items[item_count - 1];
        item_count--;
    }
    items_leave();
    if (item)
        munmap((void *)gone.start, gone.bytes);
    return item != NULL;
}

void pcere_grown_run(void)
{
    for (uint32_t i = 0; i < item_count; i++)
        munmap((void *)items[i].start, items[i].bytes);
    item_count = 0;
}
