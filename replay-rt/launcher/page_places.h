/* replay-rt/launcher/page_places.h - where in the pool's file each page of the store lies: as codelets have them, by ascending addresses.
 *
 *   numbers in the store    by the order in which several threads wrote them, 256 KiB at a time: one array of the program is in a hundred pieces
 *   places in the file      of the first codelet all pages in the order of their addresses, then those that the second one has besides, ...
 *
 * So a process maps its memory in a few large pieces. Each piece costs it microseconds.
 */
#ifndef PCERE_REPLAY_LAUNCHER_PAGE_PLACES_H
#define PCERE_REPLAY_LAUNCHER_PAGE_PLACES_H

#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page_places {                  /* of codelets that were added */
    struct store_run *runs;       size_t run_count, run_capacity;
    struct store_run *contents;   size_t content_count, content_capacity;   /* of files: a run stays in one piece */
};

bool page_places_add(struct page_places *places, const struct store_codelet *codelet);     /* false: no memory */
/* The place of each of the store's first `page_count` pages, malloc'ed; all different, below `page_count`. The same for the same codelets in the same order.
 * NULL: no memory. */
uint64_t *page_places_find(const struct page_places *places, uint64_t page_count);
void page_places_done(struct page_places *places);

#endif
