/* include/pcere/fresh_blocks.h - blocks that a region allocates while it is captured, and while a replay of it is held against the original: both
 * make them alike, so that what lies in them can be compared.
 *
 *   start                                                          next
 *   | - | size | block      | end | gap | size | block | ... | end |
 *         └─ bytes of the block and of `end`, and flags
 *
 * They look like the C library's (a size with flags in front of each), so that malloc_usable_size and realloc understand them. Each is zero when it is given
 * away, one that was freed before, too: bytes that the program never writes are the same in both. Freed ones are used again only while there are many: what still points to
 * them leads to blocks that say so, not to others that several threads may have got in any order.
 *
 * Small blocks each thread cuts from slabs of its own, and keeps what it frees, so that threads that allocate at the same time neither wait for each other nor write
 * into one line: behind one lock two threads took 20 times as long. What one thread alone allocates lies where it lies in the other process.
 */
#ifndef PCERE_FRESH_BLOCKS_H
#define PCERE_FRESH_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FRESH_BYTES_MOST ((size_t)16 << 30)         /* of a block, and of all of them */
#define FRESH_ALIGNMENT_MOST ((size_t)16 << 20)
#define FRESH_HEADER_BYTES 16u                      /* from the end of what came before to a block, at least: a pointer that leads just before a block (arrays from 1 on) leads to no other */
#define FRESH_SMALL_BYTES 4096u                     /* up to here, freed blocks are kept by their size; above, by powers of two */
#define FRESH_SMALL_LISTS (FRESH_SMALL_BYTES / 16 + 1)
#define FRESH_LISTS (FRESH_SMALL_LISTS + 40)
#define FRESH_IN_USE ((size_t)1)                    /* as the C library has it: the block before is in use */
#define FRESH_FREED ((size_t)8)                     /* no flag of the C library's */
#define FRESH_FLAGS ((size_t)15)
#define FRESH_KEPT_BYTES ((size_t)16 << 20)         /* so much of freed blocks is not used again */

struct fresh_freed { struct fresh_freed *next; };

/* next, end: room that is left. The caller locks, and makes memory of the room where it is none yet. */
struct fresh_blocks { char *next, *end; size_t freed_bytes; struct fresh_freed *lists[FRESH_LISTS]; };

static inline size_t *fresh_size(const void *block) { return (size_t *)((uintptr_t)block - sizeof(size_t)); }

/* What the block holds, and a word behind it. */
static inline size_t fresh_chunk_bytes(size_t bytes)
{
    size_t chunk = (bytes + sizeof(size_t) + 15) & ~(size_t)15;
    if (chunk < 32)
        return 32;
    return chunk <= FRESH_SMALL_BYTES ? chunk : (size_t)1 << (64 - __builtin_clzll(chunk - 1));
}

/* Of a block's size word; 0: that is none. */
static inline size_t fresh_chunk_of(size_t word)
{
    size_t chunk = word & ~FRESH_FLAGS;
    return chunk >= 32 && (chunk <= FRESH_SMALL_BYTES || (chunk & (chunk - 1)) == 0) ? chunk : 0;
}

static inline size_t fresh_usable(size_t chunk) { return chunk - sizeof(size_t); }

/* Of a block that was given away. */
static inline size_t fresh_bytes(const void *block) { return fresh_usable(*fresh_size(block) & ~FRESH_FLAGS); }

/* From a block to where the next one may begin at the earliest. */
static inline size_t fresh_step(size_t chunk) { return chunk + FRESH_HEADER_BYTES; }

static inline struct fresh_freed **fresh_list(struct fresh_blocks *blocks, size_t chunk)
{
    return &blocks->lists[chunk <= FRESH_SMALL_BYTES ? chunk / 16 : FRESH_SMALL_LISTS + (size_t)__builtin_ctzll(chunk) - 12];
}

/* One that was freed before, or NULL. */
static inline void *fresh_again(struct fresh_blocks *blocks, size_t chunk)
{
    struct fresh_freed **list = fresh_list(blocks, chunk), *block = blocks->freed_bytes > FRESH_KEPT_BYTES ? *list : NULL;
    if (block) {
        *list = block->next;
        blocks->freed_bytes -= chunk;
    }
    return block;
}

/* Where a new one would begin, which ends a chunk behind that. NULL: there is no room. `alignment`: a power of two from 16 on. */
static inline char *fresh_place(const struct fresh_blocks *blocks, size_t chunk, size_t alignment)
{
    uintptr_t at = ((uintptr_t)blocks->next + FRESH_HEADER_BYTES + alignment - 1) & ~(uintptr_t)(alignment - 1), end = (uintptr_t)blocks->end;
    return at <= end && chunk <= end - at ? (char *)at : NULL;
}

/* The block is given away, and all behind it is left. The word behind it says that it is in use, as the C library asks before it tells a size. */
static inline void fresh_take(struct fresh_blocks *blocks, char *block, size_t chunk)
{
    blocks->next = block + chunk;
    *fresh_size(block + chunk) = FRESH_IN_USE;
    *fresh_size(block) = chunk | FRESH_IN_USE;
}

/* Outside the lock: it may be large. */
static inline void *fresh_clear(void *block, size_t chunk)
{
    *fresh_size(block) = chunk | FRESH_IN_USE;
    return memset(block, 0, fresh_usable(chunk));
}

/* ---- a thread's own ---- */

#define FRESH_SLAB_BYTES ((size_t)64 << 10)
#define FRESH_OWN_CHUNK_MOST ((size_t)8 << 10)      /* larger ones are cut from the room of all */
#define FRESH_OWN_ALIGNMENT_MOST ((size_t)4096)
#define FRESH_OWNERS 256u                           /* threads; others go to the room of all */

static inline bool fresh_is_own(size_t chunk, size_t alignment) { return chunk <= FRESH_OWN_CHUNK_MOST && alignment <= FRESH_OWN_ALIGNMENT_MOST; }

/* The calling thread's number, from 1, which it keeps in *number (0: none yet); above FRESH_OWNERS: it has nothing of its own. *given: numbers that were given. */
static inline uint32_t fresh_owner(uint32_t *number, uint32_t *given)
{
    if (!*number)
        *number = __atomic_add_fetch(given, __atomic_load_n(given, __ATOMIC_RELAXED) <= FRESH_OWNERS, __ATOMIC_RELAXED);
    return *number;
}

/* NULL: the slab is used up, or there is none yet. */
static inline void *fresh_own(struct fresh_blocks *own, size_t chunk, size_t alignment)
{
    void *again = alignment <= 16 ? fresh_again(own, chunk) : NULL;
    if (again)
        return fresh_clear(again, chunk);
    char *block = fresh_place(own, chunk, alignment);
    if (block)
        fresh_take(own, block, chunk);
    return block;
}

/* The next slab, of `all`, whose caller locks and makes memory of it. False: there is no room. */
static inline bool fresh_slab(struct fresh_blocks *all, struct fresh_blocks *own)
{
    if ((size_t)(all->end - all->next) < FRESH_SLAB_BYTES)
        return false;
    own->next = all->next;
    own->end = all->next += FRESH_SLAB_BYTES;
    return true;
}

static inline void fresh_free(struct fresh_blocks *blocks, void *block, size_t chunk)
{
    struct fresh_freed *freed = block, **list = fresh_list(blocks, chunk);
    freed->next = *list;
    *list = freed;
    blocks->freed_bytes += chunk;
    *fresh_size(block) |= FRESH_FREED;
}

#endif
