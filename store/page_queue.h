/* store/page_queue.h - the writing side of the file `pages`: a ring of page copies, compressed and appended in order by threads.
 * Private to store/.
 *
 *   ring   [ block 7: compressing | block 8: ready | block 9: filling, 17 of 64 pages | free | free ]
 *            ^ written               ^ taken          ^ open
 *
 * Page numbers are given out in order, so that a block is a run of consecutive pages, and blocks reach the file in order.
 */
#ifndef PCERE_STORE_PAGE_QUEUE_H
#define PCERE_STORE_PAGE_QUEUE_H

#include "store/format.h"

struct page_queue;

/* Append to `descriptor` (which stays the caller's and must outlive the queue), which holds a pages header and no block. */
enum pcere_status page_queue_new(int descriptor, uint64_t page_bytes, unsigned workers, struct page_queue **ret_queue,
                                 struct pcere_error *error);
/* Stops the threads; what is in the ring and not written is lost. Accepts NULL. */
void page_queue_free(struct page_queue *queue);

/* See store_writer_reserve. */
enum pcere_status page_queue_reserve(struct page_queue *queue, uint64_t bytes, const _Atomic(bool) *stop, struct pcere_error *error);
/* See store_writer_pages. */
enum pcere_status page_queue_add(struct page_queue *queue, const void *data, size_t count, uint64_t *ret_pages,
                                 struct pcere_error *error);

/* See store_writer_pause. */
void page_queue_pause(struct page_queue *queue, bool pause);

/* See store_writer_flush. */
void page_queue_flush(struct page_queue *queue);

/* Let the block that is being filled be compressed. *ret_blocks: as many blocks hold all pages added so far. */
void page_queue_seal(struct page_queue *queue, uint64_t *ret_blocks);
/* Wait, and help, until so many blocks are written; the failure if they never will be. *ret_pages is how many pages that is. */
enum pcere_status page_queue_wait(struct page_queue *queue, uint64_t blocks, uint64_t *ret_pages, struct pcere_error *error);
/* Compress all that was added so far, by as many threads as there are processors, in place of those that yield to all others: beside other work these take minutes for what
 * takes seconds. Soon returns when it cannot be had, or the queue has failed: page_queue_wait tells. */
void page_queue_hurry(struct page_queue *queue);
/* What `count` pages from `first` on take of the file, of those that no call before counted: their part of their blocks. They are written. */
uint64_t page_queue_claim(struct page_queue *queue, uint64_t first, uint64_t count);
/* What is written now, whatever failed. */
void page_queue_written(struct page_queue *queue, uint64_t *ret_blocks, uint64_t *ret_bytes, uint64_t *ret_pages);

#endif
