/* include/pcere/openmp_block.h - what stands in front of a block that the program asked of the OpenMP runtime (omp_alloc and its like) while it was
 * captured. Such blocks are the C library's: capture makes them, replay frees and grows them.
 *
 *   | start of the C library's block ... | struct openmp_block | the program's bytes ...
 *
 * A block of an allocator with a limited pool is charged to that pool as the runtime would: in the runtime's own count, which lies in the program's memory, so that
 * a replay's runtime goes on with it. Whoever frees the block takes the charge back.
 */
#ifndef PCERE_OPENMP_BLOCK_H
#define PCERE_OPENMP_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#define OPENMP_BLOCK_MAGIC 0x9d1f6b6c62706d6fu     /* no address, no size and no predefined allocator, which stand there in front of the runtime's */

struct openmp_block {
    uint64_t *account;               /* only if limited: what of the pool is used, and the block's part of it */
    uint64_t charge;
    void *start;
    uint64_t bytes;
    uint64_t limited;                /* 1 or 0 */
    uint64_t magic;
};

#define OPENMP_BLOCK_OVERHEAD 40u    /* a block is charged with its bytes, its alignment, and what the runtime would put in front of it */

/* NULL: another's block. */
static inline struct openmp_block *openmp_block_of(void *block)
{
    struct openmp_block *header = (struct openmp_block *)block - 1;
    return block && header->magic == OPENMP_BLOCK_MAGIC ? header : NULL;
}

/* It is being freed. */
static inline void openmp_block_discharge(const struct openmp_block *header)
{
    if (header && header->limited)
        __atomic_fetch_sub(header->account, header->charge, __ATOMIC_RELAXED);
}

#endif
