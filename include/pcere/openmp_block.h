/* include/pcere/openmp_block.h - what stands in front of a block that the program asked of the OpenMP runtime (omp_alloc and its like) while it was
 * captured. Such blocks are the C library's: capture makes them, replay frees and grows them.
 *
 *   | start of the C library's block ... | struct openmp_block | the program's bytes ...
 */
#ifndef PCERE_OPENMP_BLOCK_H
#define PCERE_OPENMP_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#define OPENMP_BLOCK_MAGIC 0x9d1f6b6c62706d6fu     /* no address, no size and no predefined allocator, which stand there in front of the runtime's */

struct openmp_block {
    void *start;
    uint64_t bytes;
    uint64_t unused;                 /* keeps blocks aligned to 16 bytes */
    uint64_t magic;
};

/* NULL: another's block. */
static inline struct openmp_block *openmp_block_of(void *block)
{
    struct openmp_block *header = (struct openmp_block *)block - 1;
    return block && header->magic == OPENMP_BLOCK_MAGIC ? header : NULL;
}

#endif
