/* store/page_file.h - the reading side of the file `pages`: which block holds a page, and its bytes after every check.
 * Private to store/.
 */
#ifndef PCERE_STORE_PAGE_FILE_H
#define PCERE_STORE_PAGE_FILE_H

#include "store/format.h"

struct page_file;

/* Open `pages` in the directory. `files` is what the manifest says; if the manifest is `complete` the file must be as long as
 * that, and its blocks are looked at when the first page is read, which fails with PCERE_DATA if they are not what it says. Else it must hold
 * at least that, and what lies behind the last whole block (a killed writer's) is passed over. */
enum pcere_status page_file_open(int directory, const struct manifest_files *files, uint64_t page_bytes, bool complete,
                                 struct page_file **ret_file, struct pcere_error *error);
void page_file_close(struct page_file *file);

uint64_t page_file_count(const struct page_file *file);      /* pages */

/* See store_pages_read. */
enum pcere_status page_file_read(struct page_file *file, uint64_t first, uint64_t count, void *out, struct pcere_error *error);

/* Read and check every block, and every page against its hash. */
enum pcere_status page_file_check(struct page_file *file, struct pcere_error *error);

#endif
