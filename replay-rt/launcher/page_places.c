/* replay-rt/launcher/page_places.c - see page_places.h. */
#include "replay-rt/launcher/page_places.h"

#include "core/text.h"

#include <stdlib.h>

#define NOWHERE UINT64_MAX

static bool runs_add(struct store_run **runs, size_t *count, size_t *capacity, const struct store_run *from, size_t from_count)
{
    if (!array_reserve(runs, capacity, *count + from_count, sizeof **runs))
        return false;
    for (size_t i = 0; i < from_count; i++)
        if (from[i].page != STORE_PAGE_ZERO)
            (*runs)[(*count)++] = from[i];
    return true;
}

bool page_places_add(struct page_places *places, const struct store_codelet *codelet)
{
    return runs_add(&places->runs, &places->run_count, &places->run_capacity, codelet->before, codelet->before_count)
           && runs_add(&places->runs, &places->run_count, &places->run_capacity, codelet->after, codelet->after_count)
           && runs_add(&places->contents, &places->content_count, &places->content_capacity, codelet->contents, codelet->content_count);
}

static int page_order(const void *left, const void *right)
{
    const struct store_run *a = left, *b = right;
    return (a->page > b->page) - (a->page < b->page);
}

static void run_place(const struct store_run *run, uint64_t page_count, uint64_t *places, uint64_t *next)
{
    for (uint64_t page = run->page; page - run->page < run->count && page < page_count; page++)
        if (places[page] == NOWHERE)
            places[page] = (*next)++;
}

uint64_t *page_places_find(const struct page_places *places, uint64_t page_count)
{
    uint64_t *found = malloc((page_count ? page_count : 1) * sizeof *found), next = 0;
    struct store_run *contents = malloc((places->content_count + 1) * sizeof *contents);
    for (uint64_t page = 0; found && page < page_count; page++)
        found[page] = NOWHERE;
    for (size_t i = 0; contents && i < places->content_count; i++)
        contents[i] = places->contents[i];
    if (contents && places->content_count)
        qsort(contents, places->content_count, sizeof *contents, page_order);     /* those that overlap follow each other */
    for (size_t i = 0; found && contents && i < places->content_count; i++)
        run_place(&contents[i], page_count, found, &next);
    for (size_t i = 0; found && contents && i < places->run_count; i++)
        run_place(&places->runs[i], page_count, found, &next);
    for (uint64_t page = 0; found && contents && page < page_count; page++)
        if (found[page] == NOWHERE)
            found[page] = next++;
    if (!contents) {
        free(found);
        found = NULL;
    }
    free(contents);
    return found;
}

void page_places_done(struct page_places *places)
{
    free(places->runs);
    free(places->contents);
    *places = (struct page_places){0};
}
