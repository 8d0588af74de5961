/* store/page_table.h - content hash -> page number: which pages the store holds already. Private to store/.
 *
 * Open addressing over memory in huge pages: a lookup is one cache miss, which page_table_prefetch can start early. Not thread-safe.
 */
#ifndef PCERE_STORE_PAGE_TABLE_H
#define PCERE_STORE_PAGE_TABLE_H

#include "store/format.h"

struct page_table {
    struct page_table_entry *entries;
    size_t mask;                 /* entries - 1 */
    size_t used;
};

/* Room for `pages` without growing. Keeps what it holds. False: no memory, nothing changed. */
bool page_table_reserve(struct page_table *table, size_t pages);
/* Let the kernel provide all its memory now, not at the first use of each part. */
void page_table_touch(struct page_table *table);
void page_table_done(struct page_table *table);

void page_table_prefetch(const struct page_table *table, struct page_hash hash);
/* Number of the page, or STORE_PAGE_ZERO if it is not known. */
uint64_t page_table_find(const struct page_table *table, struct page_hash hash);
/* The hash must be unknown, and there must be room (page_table_reserve of used + 1). */
void page_table_add(struct page_table *table, struct page_hash hash, uint64_t number);

#endif
