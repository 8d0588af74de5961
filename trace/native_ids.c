/* trace/native_ids.c - see native_ids.h. */
#include "trace/native_ids.h"
#include "core/text.h"
#include "profiler/protocol.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_SHIFT = 10, PAGE_ACTORS = 1 << PAGE_SHIFT };
#define COUNT_MASK (((uint64_t)1 << TRACE_ID_THREAD_SHIFT) - 1)

struct page { uint32_t ended; struct actor actors[PAGE_ACTORS]; };

bool ids_init(struct native_ids *ids, size_t threads, uint64_t most, bool sparing)
{
    *ids = (struct native_ids){.threads = threads, .most = most, .sparing = sparing, .memory = true};
    for (int kind = 0; kind < IDS_KINDS; kind++)
        ids->pages[kind] = calloc(threads + 1, sizeof *ids->pages[kind]);
    return ids->pages[IDS_ACTORS] && ids->pages[IDS_TEAMS];
}

void ids_done(struct native_ids *ids)
{
    for (int kind = 0; kind < IDS_KINDS; kind++) {
        for (size_t i = 0; ids->pages[kind] && i < ids->threads; i++) {
            for (size_t k = 0; k < ids->pages[kind][i].count; k++)
                free(ids->pages[kind][i].list[k]);
            free(ids->pages[kind][i].list);
        }
        free(ids->pages[kind]);
    }
}

/* NULL: no memory. */
static struct page *page_of(struct pages *pages, uint64_t count)
{
    size_t number = (size_t)(count >> PAGE_SHIFT), had = pages->capacity;
    if (number >= pages->count) {
        if (!array_reserve(&pages->list, &pages->capacity, number + 1, sizeof(struct page *)))
            return NULL;
        memset(pages->list + had, 0, (pages->capacity - had) * sizeof(struct page *));
        pages->count = number + 1;
    }
    if (!pages->list[number])
        pages->list[number] = calloc(1, sizeof(struct page));
    return pages->list[number];
}

struct actor *ids_find(struct native_ids *ids, enum ids_kind kind, uint64_t id)
{
    uint64_t thread = id >> TRACE_ID_THREAD_SHIFT, count = id & COUNT_MASK;
    bool sound = id && thread < ids->threads && count <= ids->most;
    struct page *page = sound ? page_of(&ids->pages[kind][thread], count) : NULL;
    ids->memory &= page || !sound;
    if (page)
        return &page->actors[count & (PAGE_ACTORS - 1)];
    ids->nobody = (struct actor){0};
    return &ids->nobody;
}

void ids_forget(struct native_ids *ids, enum ids_kind kind, uint64_t id)
{
    uint64_t thread = id >> TRACE_ID_THREAD_SHIFT, count = id & COUNT_MASK;
    if (!ids->sparing || !id || thread >= ids->threads || count >> PAGE_SHIFT >= ids->pages[kind][thread].count)
        return;
    struct page **page = &ids->pages[kind][thread].list[count >> PAGE_SHIFT];
    if (!*page || ++(*page)->ended < PAGE_ACTORS - (count < PAGE_ACTORS))        /* counts are from 1 */
        return;
    free(*page);
    *page = NULL;
}
