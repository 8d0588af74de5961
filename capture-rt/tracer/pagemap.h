/* capture-rt/tracer/pagemap.h - which pages of a process are there, and which were written since an earlier look.
 *
 * PAGEMAP_SCAN (Linux 6.7) tells both, if the mappings are registered with a userfaultfd in its asynchronous write-protect mode: no
 * fault is ever delivered to anybody. Without it /proc/PID/pagemap tells what is there, and everything counts as written. Which of these the
 * kernel has is found by trying.
 */
#ifndef PCERE_CAPTURE_TRACER_PAGEMAP_H
#define PCERE_CAPTURE_TRACER_PAGEMAP_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {                           /* what is known of the pages of a piece */
    PAGE_ZERO = 1,               /* present, and the kernel's own zero page */
    PAGE_WRITTEN = 2,            /* since the last look that renewed tracking, or unknown */
    PAGE_FILE = 4,               /* the file's own content: present, or (where absent pages were asked for) not */
};

struct page_piece { uint64_t start, end; uint32_t flags; };     /* present pages of one kind */

struct pagemap {
    int descriptor;              /* /proc/PID/pagemap */
    int tracking;                /* userfaultfd of the process, or -1 */
    bool scan;                   /* PAGEMAP_SCAN works */
    bool sparse;                 /* most pages of what is looked at are not there: only a guess about cost */
    bool anonymous;              /* what is looked at has no file behind it: PAGE_FILE need not be found out, which halves the cost */
    uint64_t mapping_start, mapping_end;     /* the whole mapping around what is looked at: tracking begins for all of it, so that it stays one; 0, 0: what is looked at */
    uint64_t page_bytes;
    struct page_piece *pieces;   /* of the last look */
    size_t count, capacity;
};

/* `tracking` (or -1) is taken over. `scan` false: do without PAGEMAP_SCAN. PCERE_SYSTEM. */
enum pcere_status pagemap_open(pid_t pid, int tracking, bool scan, uint64_t page_bytes, struct pagemap *ret_pagemap,
                               struct pcere_error *error);
void pagemap_close(struct pagemap *pagemap);        /* what was write-protected is so no longer */

enum pagemap_tracking {
    PAGEMAP_UNTRACKED,           /* all counts as written */
    PAGEMAP_ASK,                 /* which pages were written; they will count as written at the next look as well */
    PAGEMAP_RENEW,               /* which pages were written; from now on, note again. Each costs its next writer a page fault */
};

/* Append the present pages of one mapping to `pieces`, ascending. PCERE_NO: the process is gone. PCERE_SYSTEM. */
enum pcere_status pagemap_look(struct pagemap *pagemap, uint64_t start, uint64_t end, enum pagemap_tracking how,
                               struct pcere_error *error);

/* Give up tracking these pages until they are looked at with PAGEMAP_RENEW: they count as written, and cost their writer nothing. */
void pagemap_release(const struct pagemap *pagemap, uint64_t start, uint64_t end);

#endif
