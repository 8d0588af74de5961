/* replay-rt/launcher/page_places.c - see page_places.h. */
#include "replay-rt/launcher/page_places.h"

#include "core/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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
    if (!array_reserve(&places->firsts, &places->first_capacity, places->first_count + 2, sizeof *places->firsts))
        return false;
    places->firsts[places->first_count++] = places->run_count;
    if (!runs_add(&places->runs, &places->run_count, &places->run_capacity, codelet->before, codelet->before_count))
        return false;
    places->firsts[places->first_count++] = places->run_count;
    return runs_add(&places->runs, &places->run_count, &places->run_capacity, codelet->after, codelet->after_count)
           && runs_add(&places->runs, &places->run_count, &places->run_capacity, codelet->made, codelet->made_count)
           && runs_add(&places->contents, &places->content_count, &places->content_capacity, codelet->contents, codelet->content_count);
}

void page_places_done(struct page_places *places)
{
    free(places->runs);
    free(places->firsts);
    free(places->contents);
    *places = (struct page_places){0};
}

static int page_order(const void *left, const void *right)
{
    const struct store_run *a = left, *b = right;
    return (a->page > b->page) - (a->page < b->page);
}

struct finder {
    struct place_table table;
    uint64_t extra;
};

static uint32_t place_new(struct finder *finder, uint64_t page)
{
    struct place_table *table = &finder->table;
    table->again[table->place_count] = PAGE_NOWHERE;
    table->pages[table->place_count] = (uint32_t)page;
    return (uint32_t)table->place_count++;
}

static void page_place(struct finder *finder, uint64_t page)
{
    if (finder->table.places[page] == PAGE_NOWHERE)
        finder->table.places[page] = place_new(finder, page);
}

/* The last place of it that this codelet took is not enough. */
static void page_place_again(struct finder *finder, uint64_t page)
{
    uint32_t last = finder->table.taken[page] - 1;
    if (finder->table.again[last] != PAGE_NOWHERE || !finder->extra)
        return;
    uint32_t place = place_new(finder, page);
    finder->table.again[last] = place;
    finder->extra--;
}

static void run_place(struct finder *finder, const struct store_run *run, bool take)
{
    for (uint64_t page = run->page; page - run->page < run->count && page < finder->table.page_count; page++) {
        page_place(finder, page);
        if (take && finder->table.taken[page])
            page_place_again(finder, page);
        if (take)
            place_table_take(&finder->table, page);
    }
}

static void codelets_place(struct finder *finder, const struct page_places *places)
{
    for (size_t i = 0; i < places->first_count; i++) {
        bool before = i % 2 == 0;
        size_t end = i + 1 < places->first_count ? places->firsts[i + 1] : places->run_count;
        for (size_t run = places->firsts[i]; run < end; run++)
            run_place(finder, &places->runs[run], before);
        if (before)
            place_table_give_back(&finder->table, places->runs + places->firsts[i], end - places->firsts[i]);
    }
}

/* Those that overlap follow each other. False: no memory. */
static bool contents_place(struct finder *finder, const struct page_places *places)
{
    if (!places->content_count)
        return true;
    struct store_run *contents = malloc(places->content_count * sizeof *contents);
    if (!contents)
        return false;
    memcpy(contents, places->contents, places->content_count * sizeof *contents);
    qsort(contents, places->content_count, sizeof *contents, page_order);
    for (size_t i = 0; i < places->content_count; i++)
        run_place(finder, &contents[i], false);
    free(contents);
    return true;
}

/* What is not used is not touched. */
static bool table_map(struct place_table *table, uint64_t page_count, uint64_t extra)
{
    size_t item_bytes = sizeof *table->places;
    if (page_count >= PAGE_NOWHERE / 2 || extra >= PAGE_NOWHERE / 2)
        return false;
    size_t places_most = page_count + extra + 1;
    table->memory_bytes = 2 * (page_count + 1 + places_most) * item_bytes;
    table->memory = mmap(NULL, table->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table->memory == MAP_FAILED) {
        table->memory = NULL;
        return false;
    }
    table->page_count = page_count;
    table->taken = table->memory;
    table->places = table->taken + page_count + 1;
    table->again = table->places + page_count + 1;
    table->pages = table->again + places_most;
    return true;
}

bool place_table_find(const struct page_places *places, uint64_t page_count, uint64_t extra, struct place_table *ret_table)
{
    struct finder finder = {.extra = extra};
    struct place_table *table = &finder.table;
    bool found = table_map(table, page_count, extra);
    for (uint64_t page = 0; found && page < page_count; page++)
        table->places[page] = PAGE_NOWHERE;
    found = found && contents_place(&finder, places);
    if (found)
        codelets_place(&finder, places);
    for (uint64_t page = 0; found && page < page_count; page++)
        page_place(&finder, page);
    if (found)
        *ret_table = *table;
    else
        place_table_done(table);
    return found;
}

void place_table_done(struct place_table *table)
{
    if (table->memory)
        munmap(table->memory, table->memory_bytes);
    *table = (struct place_table){0};
}

uint64_t place_table_look(const struct place_table *table, uint64_t page)
{
    uint32_t taken = table->taken[page];
    if (!taken)
        return table->places[page];
    uint32_t next = table->again[taken - 1];
    return next != PAGE_NOWHERE ? next : taken - 1;
}

uint64_t place_table_take(const struct place_table *table, uint64_t page)
{
    uint64_t place = place_table_look(table, page);
    table->taken[page] = (uint32_t)place + 1;
    return place;
}

void place_table_give_back(const struct place_table *table, const struct store_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (uint64_t page = runs[i].page; page - runs[i].page < runs[i].count && page < table->page_count; page++)
            table->taken[page] = 0;
}
