/* trace/native_ready.h - while records are read: which tasks wait for others, by the dependences that they declared.
 *
 * Tasks have numbers (native_changes.h), and stand in pages of these, so that nothing is looked up. A page is given back when all in it have ended and their maker makes no more of it: what has no page has ended, or declared
 * nothing. So memory goes with the tasks that are there at one time.
 */
#ifndef PCERE_TRACE_NATIVE_READY_H
#define PCERE_TRACE_NATIVE_READY_H

#include "trace/native_changes.h"

struct ready_task { uint32_t state, followers; };        /* how many others it waits for, and bits; followers: 0 none; the task that waits for it × 2; of the first link × 2 + 1 */
enum { READY_DECLARED = 1 << 29, READY_BEGUN = 1 << 30, READY_UNMET = READY_DECLARED - 1 };
#define READY_ENDED (1u << 31)

struct ready_page {
    struct ready_page *next;     /* of the free ones */
    uint32_t there;              /* tasks that declared something and did not end */
    bool open;                   /* its maker may make more of it */
    struct ready_task tasks[NUMBERS_PAGE];
};

struct ready_link { uint32_t task, next; };      /* next: + 1; 0: none */

struct ready {
    struct ready_page **pages;   /* [number / NUMBERS_PAGE] */
    size_t page_count;
    struct ready_page *free_page, **slabs;       /* slabs: that pages are taken from */
    size_t slab_count, slab_capacity, slab_used;
    struct ready_link *links;
    size_t link_count, link_capacity;
    uint32_t free_link;          /* + 1; 0: none */
};

/* False: no memory. */
bool ready_init(struct ready *ready, const struct numbers *numbers);
void ready_done(struct ready *ready);    /* accepts zeroed */

/* NULL: it has no page. */
static inline struct ready_task *ready_task(const struct ready *ready, uint32_t number)
{
    struct ready_page *page = ready->pages[number / NUMBERS_PAGE];
    return page ? &page->tasks[number % NUMBERS_PAGE] : NULL;
}

/* The task, made last by its maker, has dependences; *page: its number / NUMBERS_PAGE + 1 of the maker's last one that had some; 0: none. False: no memory. */
bool ready_declare(struct ready *ready, uint32_t number, uint32_t *page);
/* It waits for another one, if that has not ended. *ret_blocked: it was ready until now. False: no memory. */
bool ready_after(struct ready *ready, uint32_t number, uint32_t other, bool *ret_blocked);

/* It begins; true if it still waits for others as its records have it. */
static inline bool ready_begin(struct ready *ready, uint32_t number)
{
    struct ready_task *task = ready_task(ready, number);
    if (!task || !task->state)
        return false;
    task->state |= READY_BEGUN;
    return task->state & READY_UNMET;
}

/* What its begin asks for, and its end: to be asked for beforehand, the second later than the first. (By the caller: GCC leaves out calls that do nothing else.) */
static inline const void *ready_soon(const struct ready *ready, uint32_t number) { return ready_task(ready, number); }
static inline const void *ready_later(const struct ready *ready, uint32_t number)
{
    const struct ready_task *task = ready_task(ready, number);
    uint32_t followers = task ? task->followers : 0;
    return followers & 1 ? (const void *)&ready->links[(followers >> 1) - 1] : ready_task(ready, followers >> 1);
}

/* It ended: how many tasks that did not begin wait for nothing any more. */
uint32_t ready_end(struct ready *ready, uint32_t number);

#endif
