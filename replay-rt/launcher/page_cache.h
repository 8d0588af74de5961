/* replay-rt/launcher/page_cache.h - the page pool's file in the store's build/ folder: what one replay decompressed, the next one finds in the
 * kernel's page cache.
 *
 *   build/memory/pages     as the pool lays it out
 *   build/memory/index     which of its pages are there, and which functions of libraries they point to
 *
 * The index is removed when the file is opened, and written when a session ends: after one that was killed all pages are read from the store again. It
 * holds for one start of the machine, since only then every write that came before it is sure to be seen. One session at a time has the file.
 */
#ifndef PCERE_REPLAY_LAUNCHER_PAGE_CACHE_H
#define PCERE_REPLAY_LAUNCHER_PAGE_CACHE_H

#include "replay-rt/launcher/external_table.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page_cache {
    int directory;                    /* of the folder; -1: there is no cache */
    uint64_t identity;                /* of the file */
    bool in_use;                      /* by another session */
    bool without_room;                /* there is no cache, since it would take too much of what is left */
};

struct page_cache_layout { uint64_t store_id, page_bytes, zeros_offset, pages_offset, page_count, places; };     /* what must agree; places: a hash of the table */

struct page_cache_index {
    unsigned char *loaded;            /* a byte per page of the store: 1 if it is there */
    uint64_t loaded_pages;
    struct store_run *runs;           /* the table of externals that those pages were searched for */
    size_t run_count;
    unsigned char *found;             /* a byte per entry of that table */
    size_t found_count;
};

/* The file, made if it is not there, `bytes` long, and what its index says (nothing, if that does not fit). -1: it cannot be had, is in use, or would
 * take more than half of the disk space that is left or of the memory; then *ret_cache is empty but for without_room. *ret_index: page_cache_index_done. */
int page_cache_open(const struct store *store, const struct page_cache_layout *layout, uint64_t bytes, struct page_cache *ret_cache,
                    struct page_cache_index *ret_index);
/* Write the index. What fails is not there for the next session, and no failure of this one. */
void page_cache_save(const struct page_cache *cache, const struct page_cache_layout *layout, const struct page_cache_index *index);
void page_cache_done(struct page_cache *cache);           /* accepts an empty one */
void page_cache_index_done(struct page_cache_index *index);

#endif
