/* replay-rt/launcher/tour_moves.c - see tour_moves.h. */
#include "replay-rt/launcher/tour_moves.h"

#include "core/text.h"
#include "include/pcere/bisect.h"
#include "replay-rt/ranges.h"

#include <stdlib.h>
#include <string.h>

#define DATA_PAGES 16u                /* as chain.c has it */
#define STACK_BYTES (128u << 10)      /* below a region's stack pointer: what it and the OpenMP runtime may leave there */

/* What a page holds: a number of the store's pages, or what page_pool_page makes of other parts of the pool's file; or */
#define HOLDS_ZEROS (UINT64_MAX - 1)
#define HOLDS_NOTHING UINT64_MAX      /* it is absent */

struct page {
    uint64_t source, zero;            /* of the region's own memory, as struct plan_copy has it; zero PLAN_COPY_ABSENT: it has none there */
    uint64_t holds;                   /* now */
    uint64_t wanted_source, wanted_zero;
    bool asked;                       /* a step says of this page what it wants */
    bool data, stack;                 /* of those that are left as they are where a step continues; that are laid down in any case */
};

/* All pages that some region changes, or that are not the same for all. */
struct world {
    const struct page_pool *pool;
    uint64_t page_bytes;
    struct plan_range *ranges;        /* ascending, merged */
    size_t range_count, range_capacity;
    size_t *firsts;                   /* of each range: its first page */
    struct page *pages;
    size_t page_count;
};

static bool range_add(struct world *world, uint64_t address, uint64_t bytes)
{
    if (!array_reserve(&world->ranges, &world->range_capacity, world->range_count + 1, sizeof *world->ranges))
        return false;
    world->ranges[world->range_count++] = (struct plan_range){address, bytes};
    return true;
}

static struct plan_range stack_range(const struct world *world, uint64_t stack_pointer)
{
    uint64_t end = (stack_pointer / world->page_bytes + 1) * world->page_bytes, bytes = end > STACK_BYTES ? STACK_BYTES : end;
    return (struct plan_range){end - bytes, bytes};
}

/* Calls `visit` for each page of [address, address + bytes) that is in the world. */
typedef void page_fn(struct page *page, uint64_t offset, void *context);
static void pages_visit(struct world *world, uint64_t address, uint64_t bytes, page_fn *visit, void *context)
{
    uint64_t end = address + bytes;
    BISECT(at, 0, world->range_count, i, world->ranges[i].address + world->ranges[i].bytes <= address);
    for (; at < world->range_count && world->ranges[at].address < end; at++) {
        const struct plan_range *range = &world->ranges[at];
        uint64_t from = range->address > address ? range->address : address, stop = range->address + range->bytes < end ? range->address + range->bytes : end;
        for (; from < stop; from += world->page_bytes)
            visit(&world->pages[world->firsts[at] + (from - range->address) / world->page_bytes], from - address, context);
    }
}

static uint64_t holds(const struct world *world, uint64_t source, uint64_t zero)
{
    return zero == PLAN_COPY_ABSENT ? HOLDS_NOTHING : zero ? HOLDS_ZEROS : page_pool_page(world->pool, source);
}

static void own_take(struct page *page, uint64_t offset, void *context)
{
    const struct plan_copy *copy = context;
    page->source = copy->source + (copy->zero ? 0 : offset);
    page->zero = copy->zero;
}

static void wanted_take(struct page *page, uint64_t offset, void *context)
{
    const struct plan_copy *copy = context;
    page->wanted_source = copy->source + (copy->zero ? 0 : offset);
    page->wanted_zero = copy->zero;
    page->asked = true;
}

static void data_mark(struct page *page, uint64_t offset, void *context)
{
    (void)offset;
    (void)context;
    page->data = true;
}

static void stack_mark(struct page *page, uint64_t offset, void *context)
{
    (void)offset;
    (void)context;
    page->stack = true;
}

struct after { const struct store_run *run; uint64_t page_bytes; };
static void after_take(struct page *page, uint64_t offset, void *context)
{
    const struct after *after = context;
    page->holds = after->run->page == STORE_PAGE_ZERO ? HOLDS_ZEROS : after->run->page + offset / after->page_bytes;
}

/* Its pages, as the region has them. False: no memory. */
static bool world_make(struct world *world, const struct codelet_memory *memory, const struct store_codelet *const *codelets, const struct plan_steps *steps)
{
    bool room = true;
    for (size_t i = 0; room && i <= steps->count; i++) {
        for (size_t j = 0; room && j < codelets[i]->after_count; j++)
            room = range_add(world, codelets[i]->after[j].address, codelets[i]->after[j].count * world->page_bytes);
        struct plan_range stack = stack_range(world, codelets[i]->stack_pointer);
        room = room && range_add(world, stack.address, stack.bytes);
    }
    for (size_t i = 0; room && i < steps->copy_count; i++)
        room = range_add(world, steps->copies[i].address, steps->copies[i].pages * world->page_bytes);
    world->range_count = room ? plan_ranges_merge(world->ranges, world->range_count) : 0;
    world->firsts = room ? calloc(world->range_count + 1, sizeof *world->firsts) : NULL;
    for (size_t i = 0; world->firsts && i < world->range_count; i++) {
        world->firsts[i] = world->page_count;
        world->page_count += world->ranges[i].bytes / world->page_bytes;
    }
    world->pages = world->firsts ? calloc(world->page_count + 1, sizeof *world->pages) : NULL;
    if (!world->pages)
        return false;
    for (size_t i = 0; i < world->page_count; i++)
        world->pages[i].zero = PLAN_COPY_ABSENT;
    for (size_t i = 0; i < memory->before_count; i++)
        pages_visit(world, memory->before[i].address, memory->before[i].pages * world->page_bytes, own_take, &memory->before[i]);
    for (size_t i = 0; i < memory->changed_count; i++)
        if (memory->changed[i].bytes >= DATA_PAGES * world->page_bytes)
            pages_visit(world, memory->changed[i].address + world->page_bytes, memory->changed[i].bytes - 2 * world->page_bytes, data_mark, NULL);
    for (size_t i = 0; i <= steps->count; i++) {
        struct plan_range stack = stack_range(world, codelets[i]->stack_pointer);
        pages_visit(world, stack.address, stack.bytes, stack_mark, NULL);
    }
    return true;
}

static bool move_add(const struct world *world, struct plan_steps *steps, size_t first, uint64_t address, const struct page *page)
{
    struct plan_copy *last = steps->move_count > first ? &steps->moves[steps->move_count - 1] : NULL;
    uint64_t bytes = last ? last->pages * world->page_bytes : 0;
    if (last && last->address + bytes == address && last->zero == page->wanted_zero && (last->zero || last->source + bytes == page->wanted_source)) {
        last->pages++;
        return true;
    }
    if (!array_reserve(&steps->moves, &steps->move_capacity, steps->move_count + 1, sizeof *steps->moves))
        return false;
    steps->moves[steps->move_count++] = (struct plan_copy){address, 1, page->wanted_source, page->wanted_zero};
    return true;
}

/* What state number `index` wants: the last one is the region's. */
static void wanted_find(struct world *world, const struct plan_steps *steps, size_t index)
{
    for (size_t i = 0; i < world->page_count; i++) {
        struct page *page = &world->pages[i];
        page->wanted_source = page->source;
        page->wanted_zero = page->zero;
        page->asked = false;
        if (index == steps->count && page->zero == PLAN_COPY_ABSENT)
            page->holds = HOLDS_NOTHING;      /* what walks made where the region has nothing is absent again */
    }
    for (uint64_t i = 0; index < steps->count && i < steps->items[index].copy_count; i++) {
        struct plan_copy *copy = &steps->copies[steps->items[index].copy_first + i];
        pages_visit(world, copy->address, copy->pages * world->page_bytes, wanted_take, copy);
    }
}

static void after_apply(struct world *world, const struct store_codelet *codelet)
{
    for (size_t i = 0; i < codelet->after_count; i++) {
        struct after after = {&codelet->after[i], world->page_bytes};
        pages_visit(world, codelet->after[i].address, codelet->after[i].count * world->page_bytes, after_take, &after);
    }
}

/* Lay down what is not there; `first`: there was nothing to go on with, and nobody asks what is moved. False: no memory. */
static bool state_enter(struct world *world, struct plan_steps *steps, bool continues, bool first)
{
    size_t move_first = steps->move_count;
    bool room = true;
    for (size_t r = 0; room && r < world->range_count; r++)
        for (uint64_t at = 0; room && at < world->ranges[r].bytes; at += world->page_bytes) {
            struct page *page = &world->pages[world->firsts[r] + at / world->page_bytes];
            uint64_t wanted = holds(world, page->wanted_source, page->wanted_zero);
            if ((continues && !first && page->data) || (page->zero == PLAN_COPY_ABSENT && !page->asked) || (wanted == page->holds && !page->stack)
                || (wanted == HOLDS_NOTHING && page->holds == HOLDS_NOTHING))
                continue;
            room = first || move_add(world, steps, move_first, world->ranges[r].address + at, page);
            page->holds = wanted;
        }
    return room;
}

/* The first step's moves are those of its second time: the first time it lays down all that is its own. */
static bool walks_follow(struct world *world, const struct store_codelet *const *codelets, bool region_continues, unsigned kind, struct plan_steps *steps)
{
    bool room = true;
    for (size_t i = 0; i < world->page_count; i++)
        world->pages[i].holds = holds(world, world->pages[i].source, world->pages[i].zero);
    for (size_t turn = 0; room && turn <= steps->count + 1; turn++) {
        size_t i = turn % (steps->count + 1), first = steps->move_count;
        bool own = i == steps->count, continues = own ? region_continues : steps->items[i].continues;
        wanted_find(world, steps, i);
        room = state_enter(world, steps, continues && !kind, !turn);
        (own ? steps->region_moves : steps->items[i].moves)[kind] = (struct plan_moves){first, steps->move_count - first};
        after_apply(world, codelets[i]);
    }
    return room;
}

bool tour_moves_find(const struct codelet_memory *memory, const struct store_codelet *const *codelets, bool region_continues, uint64_t page_bytes, struct plan_steps *steps)
{
    struct world world = {.pool = steps->pool, .page_bytes = page_bytes};
    bool room = world_make(&world, memory, codelets, steps);
    for (unsigned kind = 0; room && kind < 2; kind++)
        room = walks_follow(&world, codelets, region_continues, kind, steps);
    steps->moves_known = room;
    if (!room)
        steps->move_count = 0;
    free(world.ranges);
    free(world.firsts);
    free(world.pages);
    return room;
}
