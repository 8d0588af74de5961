/* replay-rt/launcher/page_pool.h - all pages that a store's codelets need, decompressed once, in one file that every process maps: the one in the
 * store's build/ folder, which later replays find again (page_cache.h), or one in memory.
 *
 *   | images: their files, laid out as loaded | zeros: a hole | pages of the store (page_places.h), some of them again: holes until needed |
 *
 * Processes map it privately, so that pages which a region only reads, or never touches, are not copied for anyone.
 */
#ifndef PCERE_REPLAY_LAUNCHER_PAGE_POOL_H
#define PCERE_REPLAY_LAUNCHER_PAGE_POOL_H

#include "core/error.h"
#include "replay-rt/launcher/external_table.h"
#include "replay-rt/launcher/images.h"
#include "replay-rt/launcher/page_cache.h"
#include "replay-rt/launcher/page_places.h"
#include "store/store.h"

enum page_pointers { PAGE_POINTERS_UNKNOWN, PAGE_POINTERS_NONE, PAGE_POINTERS_SOME };

struct pool_pointers {                /* to thread-local variables (thread_pointers.h). Written behind `const` */
    uint64_t key;                     /* of the places of the threads' blocks that the marks hold for */
    unsigned char marks[];            /* enum page_pointers, of each place of the file's last part */
};

struct page_pool {
    int fd;
    uint64_t page_bytes;
    bool huge;                        /* pages are written many at a time, else one by one */
    uint64_t zeros_offset, pages_offset, file_bytes;
    uint64_t zero_pages, page_count;  /* room for so many */
    struct place_table table;          /* of each page of the store: which pages of the file's last part it is */
    struct pool_pointers *pointers;
    unsigned char *loaded;            /* a byte per page of the store */
    uint64_t loaded_pages;
    struct page_cache cache;          /* that the file belongs to */
    struct page_cache_layout layout;
    struct page_cache_index before;   /* of earlier sessions; `loaded` is NULL, the rest is there as long as it holds for `loaded` above */
    struct external_table externals;  /* of the codelet whose turn it is: every page is searched for pointers to them when it is loaded */
};

/* With `store`, the file may be that of its page cache. Sets pool_offset of the images. `zero_pages`: most zero pages of any codelet; `page_count`: one more than the highest page number of any;
 * `places`: of the store's codelets. PCERE_SYSTEM: no memory. */
enum pcere_status page_pool_new(const struct store *store, struct images *images, uint64_t page_bytes, uint64_t zero_pages, uint64_t page_count,
                                const struct page_places *places, struct page_pool *ret_pool, struct pcere_error *error);
void page_pool_done(struct page_pool *pool);    /* accepts half-built */
#define PAGE_POOL_NONE (struct page_pool){.fd = -1, .cache = {.directory = -1}}
/* Where in the file page number `page` of the store lies (first). *ret_together (if not NULL): how many pages from it on, `most` at most,
 * follow each other there. */
uint64_t page_pool_offset(const struct page_pool *pool, uint64_t page, uint64_t most, uint64_t *ret_together);
/* The same, of a codelet's own, as place_table_take has it; and the end of its turn. */
uint64_t page_pool_take(const struct page_pool *pool, uint64_t page, uint64_t most, uint64_t *ret_together);
void page_pool_give_back(const struct page_pool *pool, const struct store_run *runs, size_t count);
/* Which page of the store is at this offset; of what is no such page, some number that no page of the store has. */
uint64_t page_pool_page(const struct page_pool *pool, uint64_t offset);
/* Have the pages at these two offsets the same content, as far as the store knows? */
bool page_pool_same(const struct page_pool *pool, uint64_t a, uint64_t b);
/* At the end of a session: what is there stays for the next one, if the file is the cache's. */
void page_pool_keep(struct page_pool *pool);

/* Before any other page of the codelet: what its pages may point to. Where that is not what held before, all pages are loaded again. Its
 * arguments are searched as well. PCERE_DATA: damage. */
enum pcere_status page_pool_externals(struct page_pool *pool, struct store *store, const struct store_codelet *codelet,
                                      struct pcere_error *error);

/* Make sure that the pages of these runs are there, decompressing the others on all cores. PCERE_DATA: damage. */
enum pcere_status page_pool_load(struct page_pool *pool, struct store *store, const struct store_run *runs, size_t run_count,
                                 struct pcere_error *error);

/* Forget all pages of a file in memory if they take more than a third of this machine's memory: the next codelet loads its own again. */
void page_pool_trim(struct page_pool *pool);

#endif
