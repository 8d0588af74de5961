/* trace/native_ready.c - see native_ready.h. */
#include "trace/native_ready.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SLAB_BYTES = 1 << 21, SLAB_PAGES = SLAB_BYTES / sizeof(struct ready_page) };

/* Of links + 1; 0: no memory. */
static uint32_t link_take(struct ready *ready, struct ready_link one)
{
    uint32_t link = ready->free_link;
    if (link) {
        ready->free_link = ready->links[link - 1].next;
    } else {
        if (ready->link_count >= TIMELINE_NONE / 2 || !array_reserve(&ready->links, &ready->link_capacity, ready->link_count + 1, sizeof *ready->links))
            return 0;
        link = (uint32_t)++ready->link_count;
    }
    ready->links[link - 1] = one;
    return link;
}

static void page_leave(struct ready *ready, uint32_t page)
{
    struct ready_page *left = ready->pages[page];
    if (!left || left->open || left->there)
        return;
    ready->pages[page] = NULL;
    left->next = ready->free_page;
    ready->free_page = left;
}

/* Tasks run long after they were made: each is a wait for memory, which large pages make shorter. */
static bool slab_make(struct ready *ready)
{
    if (!array_reserve(&ready->slabs, &ready->slab_capacity, ready->slab_count + 1, sizeof *ready->slabs))
        return false;
    struct ready_page *slab = aligned_alloc(SLAB_BYTES, SLAB_BYTES);
    if (!slab)
        return false;
    madvise(slab, SLAB_BYTES, MADV_HUGEPAGE);
    ready->slabs[ready->slab_count++] = slab;
    ready->slab_used = 0;
    return true;
}

static bool page_open(struct ready *ready, uint32_t page)
{
    struct ready_page *opened = ready->free_page;
    if (opened) {
        ready->free_page = opened->next;
    } else {
        if ((!ready->slab_count || ready->slab_used == SLAB_PAGES) && !slab_make(ready))
            return false;
        opened = &ready->slabs[ready->slab_count - 1][ready->slab_used++];
    }
    memset(opened, 0, sizeof *opened);
    opened->open = true;
    ready->pages[page] = opened;
    return true;
}

bool ready_declare(struct ready *ready, uint32_t number, uint32_t *page)
{
    uint32_t wanted = number / NUMBERS_PAGE;
    if (*page != wanted + 1) {
        if (*page) {
            ready->pages[*page - 1]->open = false;
            page_leave(ready, *page - 1);
        }
        *page = 0;
        if (!page_open(ready, wanted))
            return false;
        *page = wanted + 1;
    }
    struct ready_task *task = ready_task(ready, number);
    ready->pages[wanted]->there += !task->state;
    task->state |= READY_DECLARED;
    return true;
}

bool ready_after(struct ready *ready, uint32_t number, uint32_t other, bool *ret_blocked)
{
    struct ready_task *task = ready_task(ready, other), *waits = ready_task(ready, number);
    *ret_blocked = false;
    if (!task || task->state & READY_ENDED)
        return true;
    uint32_t others = 0;
    if (task->followers && !(others = task->followers & 1 ? task->followers >> 1 : link_take(ready, (struct ready_link){task->followers >> 1, 0})))
        return false;
    uint32_t followers = others ? link_take(ready, (struct ready_link){number, others}) << 1 | 1 : number << 1;
    if (followers == 1 || (waits->state & READY_UNMET) == READY_UNMET)
        return false;
    task->followers = followers;
    *ret_blocked = !(waits->state++ & READY_UNMET);
    return true;
}

static uint32_t release(struct ready *ready, uint32_t number)
{
    struct ready_task *task = ready_task(ready, number);
    if (!task)                           /* it ended while it waited */
        return 0;
    task->state--;
    return !(task->state & (READY_UNMET | READY_BEGUN));
}

static uint32_t release_links(struct ready *ready, uint32_t first)
{
    uint32_t released = 0;
    for (uint32_t link = first, next; link; link = next) {
        struct ready_link *one = &ready->links[link - 1];
        next = one->next;
        released += release(ready, one->task);
        one->next = ready->free_link;
        ready->free_link = link;
    }
    return released;
}

uint32_t ready_end(struct ready *ready, uint32_t number)
{
    struct ready_page *page = ready->pages[number / NUMBERS_PAGE];
    struct ready_task *task = ready_task(ready, number);
    if (!task || !task->state || task->state & READY_ENDED)
        return 0;
    uint32_t followers = task->followers, released = followers & 1 ? release_links(ready, followers >> 1) : followers ? release(ready, followers >> 1) : 0;
    task->state |= READY_ENDED;
    task->followers = 0;
    if (--page->there == 0)
        page_leave(ready, number / NUMBERS_PAGE);
    return released;
}

bool ready_init(struct ready *ready, const struct numbers *numbers)
{
    *ready = (struct ready){.page_count = numbers->end / NUMBERS_PAGE + 1};
    ready->pages = calloc(ready->page_count, sizeof(struct ready_page *));
    return ready->pages != NULL;
}

void ready_done(struct ready *ready)
{
    for (size_t i = 0; i < ready->slab_count; i++)
        free(ready->slabs[i]);
    free(ready->slabs);
    free(ready->pages);
    free(ready->links);
}
