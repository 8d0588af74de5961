/* replay-rt/launcher/page_places.h - where in the pool's file each page of the store lies: as codelets have them, by ascending addresses.
 *
 *   numbers in the store    by the order in which several threads wrote them, 256 KiB at a time: one array of the program is in a hundred pieces
 *   places in the file      of the first codelet all pages in the order of their addresses, then those that the second one has besides, ...
 *
 * So a process maps its memory in a few large pieces. Each piece costs it microseconds.
 *
 * A page that a codelet has at several addresses is in the store once, and in the file as often as a codelet has it: what the program had in memory twice
 * takes twice as much of a cache. (A sparse matrix whose values are alike was 25 MB instead of 59, and multiplied a third too fast.)
 */
#ifndef PCERE_REPLAY_LAUNCHER_PAGE_PLACES_H
#define PCERE_REPLAY_LAUNCHER_PAGE_PLACES_H

#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page_places {                  /* of codelets that were added */
    struct store_run *runs;       size_t run_count, run_capacity;
    size_t *firsts;               size_t first_count, first_capacity;       /* two for each codelet, in `runs`: of memory before the region, after it */
    struct store_run *contents;   size_t content_count, content_capacity;   /* of files: a run stays in one piece */
};

bool page_places_add(struct page_places *places, const struct store_codelet *codelet);     /* false: no memory */
void page_places_done(struct page_places *places);

#define PAGE_NOWHERE UINT32_MAX     /* 16 TiB of pages of 4 KiB, no more */
struct place_table {
    uint32_t *places;                 /* of each page of the store */
    uint32_t *pages;                  /* of each place: whose it is */
    uint32_t *again;                  /* of each place: where its page lies once more, or PAGE_NOWHERE */
    uint32_t *taken;                  /* of each page: one more than the place that the codelet took last whose turn it is; zeros between codelets. Written behind `const` */
    uint64_t page_count, place_count;
    void *memory;                     /* all of these, mapped at once */
    size_t memory_bytes;
};

/* The places of the store's first `page_count` pages, all different, below place_count. The same for the same codelets in the same order.
 * At most `extra` are those of pages once more: what a codelet has more often than there are such shares one. False: no memory. */
bool place_table_find(const struct page_places *places, uint64_t page_count, uint64_t extra, struct place_table *ret_table);
void place_table_done(struct place_table *table);
/* Where the codelet whose turn it is has the page: another place each time, as long as there are such. Asked for all pages of `before`, in their order, places
 * follow each other as often as they can. */
uint64_t place_table_take(const struct place_table *table, uint64_t page);
/* ... without taking it. */
uint64_t place_table_look(const struct place_table *table, uint64_t page);
/* The turn of the codelet is over, which took pages of these runs: only these are made zeros again, since the table may be larger than all that it needs. */
void place_table_give_back(const struct place_table *table, const struct store_run *runs, size_t count);

#endif
