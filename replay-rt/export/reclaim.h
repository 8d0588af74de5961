/* reclaim.h - the heap of a region that is timed: captured blocks that it frees, and blocks that it leaves behind. The same in codelets and in what is exported of them. */
#ifndef RECLAIM_H
#define RECLAIM_H

#include <stdbool.h>
#include <stddef.h>

extern bool pcere_reclaim_on;                       /* else all of this does nothing */
void pcere_reclaim_run(void);                       /* a run of the region begins */
void pcere_reclaim_end(void);                       /* behind a run, when captured memory is restored or about to be: what it left goes to free() */
void pcere_reclaim_give(void *block, size_t left_bytes);        /* the calling thread freed this captured block; behind it so much of its mapping is left */
void *pcere_reclaim_take(size_t bytes);             /* one of those for a new block, or NULL */
void pcere_reclaim_got(const void *block);          /* the program's code has it from the allocator, in the region */
void pcere_reclaim_freed(const void *block);        /* anybody freed it there */

#endif
