/* replay-rt/target/chain.c - the regions that ran before the captured one, run before it again, so that caches hold what they left.
 *
 *   timed region | memory of step 0 | step 0 | memory of step 1 | step 1 | ... | memory of the region | timed region
 *                  `- only the pages that differ from what is there: learned, since what a region leaves is mostly what the next one finds
 *
 * Where all steps follow each other as in the program, but were captured in different time steps, arrays would differ all over. Then a step goes on with
 * what the one before it left, as it did in the program, and only what is between arrays is laid out.
 */
#include "replay-rt/target/codelet.h"
#include "include/pcere/bisect.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE_BYTES 64u
#define DATA_PAGES 16u                /* stretches that change of at least that many pages: arrays, but for their first and last page */

struct moves { struct page_move *items; size_t count, capacity; };

struct state {                        /* memory at the start of a step, or (the last) of the region itself */
    struct page_move *own;            /* pages that are not as the region had them, ascending */
    struct page_move *touched;        /* instead: pages of a step that is not run */
    size_t own_count, touched_count;
    unsigned char *known;             /* a byte per page of the region's and, behind them, of `own`: it is among `moves` */
    struct moves moves;               /* what must be laid out when the one before is over */
    bool continues;                   /* ... and data is not */
};

struct chain {
    struct memory *memory;
    const struct plan_step *steps;
    struct state *states;             /* step_count + 1 */
    size_t step_count;
    const struct state *turn;         /* whose pages all threads touch, */
    const struct page_move *laid;     /* ... or lay out */
    size_t laid_count;
    bool begun;                       /* memory was laid out for some state: before that there is nothing to go on with */
    bool known;                       /* the plan has all moves */
};

static void *array_new(struct chain *chain, size_t count, size_t item_bytes)
{
    void *array = calloc(count ? count : 1, item_bytes);
    if (!array)
        pcere_plan_end(chain->memory->codelet, PLAN_FAILED, "no memory for the regions before this one");
    return array;
}

/* Pages that can be written; of a step that is only touched, those that are there. */
static void own_pages_list(struct chain *chain, const struct plan_step *step, struct state *state)
{
    const struct memory *memory = chain->memory;
    uint64_t page_bytes = memory->codelet->plan->page_bytes, pages = 0;
    const struct plan_copy *copies = PLAN_TABLE(memory->codelet, step_copies, struct plan_copy) + step->copy_first;
    for (uint64_t i = 0; i < step->copy_count; i++)
        pages += copies[i].pages;
    state->own = array_new(chain, pages, sizeof *state->own);
    for (uint64_t i = 0; i < step->copy_count; i++)
        for (uint64_t page = 0; page < copies[i].pages; page++) {
            uint64_t address = copies[i].address + page * page_bytes;
            if ((pcere_memory_protection(memory, address) & PROT_WRITE) && (!step->touched || pcere_memory_copy(memory, address)))
                state->own[state->own_count++] = (struct page_move){address, copies[i].source + page * page_bytes, copies[i].zero};
        }
    if (step->touched) {
        state->touched = state->own;
        state->touched_count = state->own_count;
        state->own = NULL;
        state->own_count = 0;
    }
}

static struct page_move *own_page(const struct state *state, uint64_t address)
{
    BISECT(low, 0, state->own_count, i, state->own[i].address < address);
    return low < state->own_count && state->own[low].address == address ? &state->own[low] : NULL;
}

/* Words that this process had to change are what it needs in any state of the program. */
static void own_pages_adjust(const struct chain *chain, const struct state *state)
{
    const struct memory *memory = chain->memory;
    uint64_t page_bytes = memory->codelet->plan->page_bytes;
    for (size_t i = 0; i < memory->adjusted_count; i++) {
        uint64_t at = memory->adjusted[i].address, end = at + memory->adjusted[i].bytes;
        while (at < end) {
            uint64_t offset = at % page_bytes, piece = end - at < page_bytes - offset ? end - at : page_bytes - offset;
            const struct page_move *page = own_page(state, at - offset);
            const unsigned char *right = pcere_memory_pristine(memory, at);
            if (page && !page->zero && right)
                memcpy(memory->codelet->pages + page->source + offset, right, piece);
            at += piece;
        }
    }
}

static void move_add(struct chain *chain, struct state *state, const struct page_move *move)
{
    struct moves *moves = &state->moves;
    if (moves->count == moves->capacity) {
        size_t capacity = moves->capacity ? 2 * moves->capacity : 1024;
        struct page_move *grown = realloc(moves->items, capacity * sizeof *grown);
        if (!grown)
            pcere_plan_end(chain->memory->codelet, PLAN_FAILED, "no memory for the regions before this one");
        moves->items = grown;
        moves->capacity = capacity;
    }
    moves->items[moves->count++] = *move;
}

static void moves_take(struct chain *chain, struct state *state, const struct plan_moves *moves)
{
    const struct memory *memory = chain->memory;
    uint64_t page_bytes = memory->codelet->plan->page_bytes;
    const struct plan_copy *copies = PLAN_TABLE(memory->codelet, step_moves, struct plan_copy) + moves->first;
    for (uint64_t i = 0; i < moves->count; i++)
        for (uint64_t page = 0; page < copies[i].pages; page++) {
            const struct page_move move = {copies[i].address + page * page_bytes, copies[i].source + (copies[i].zero ? 0 : page * page_bytes), copies[i].zero};
            if (pcere_memory_protection(memory, move.address) & PROT_WRITE)
                move_add(chain, state, &move);
        }
}

bool pcere_chain_is_known(const struct chain *chain)
{
    return chain && chain->known;
}

struct chain *pcere_chain_new(struct memory *memory, bool may_continue)
{
    const struct replay_plan *plan = memory->codelet->plan;
    if (!plan->steps.count)
        return NULL;
    struct chain *chain = calloc(1, sizeof *chain);
    if (!chain)
        pcere_plan_end(memory->codelet, PLAN_FAILED, "no memory for the regions before this one");
    chain->memory = memory;
    chain->steps = PLAN_TABLE(memory->codelet, steps, struct plan_step);
    chain->step_count = plan->steps.count;
    chain->states = array_new(chain, chain->step_count + 1, sizeof *chain->states);
    for (size_t i = 0; i <= chain->step_count; i++) {
        struct state *state = &chain->states[i];
        if (i < chain->step_count)
            own_pages_list(chain, &chain->steps[i], state);
        own_pages_adjust(chain, state);
        state->continues = may_continue && (i < chain->step_count ? chain->steps[i].continues : plan->policy.continues);
        state->known = array_new(chain, memory->first_page[plan->before.count] + state->own_count, 1);
    }
    chain->known = plan->moves_known;
    for (size_t i = 0; chain->known && i <= chain->step_count; i++)
        moves_take(chain, &chain->states[i], &(i < chain->step_count ? chain->steps[i].moves : plan->region_moves)[may_continue ? 0 : 1]);
    return chain;
}

static const unsigned char zero_page[1u << 16];

/* To read a page that is absent would make it present. */
static bool page_differs(const struct memory *memory, const struct page_move *move)
{
    if (move->zero == PLAN_COPY_ABSENT)
        return pcere_pagemap_state(move->address, memory->codelet->plan->page_bytes) != PAGE_ABSENT;
    const unsigned char *wanted = move->zero ? zero_page : memory->codelet->pages + move->source;
    return memcmp((const void *)move->address, wanted, memory->codelet->plan->page_bytes) != 0;
}

/* It goes on with what is there. */
static bool page_continues(const struct chain *chain, const struct state *state, uint64_t address)
{
    const struct replay_plan *plan = chain->memory->codelet->plan;
    if (!state->continues || !chain->begun)
        return false;
    const struct plan_range *changed = PLAN_TABLE(chain->memory->codelet, changed, struct plan_range);
    size_t i = pcere_plan_range_from(changed, plan->changed.count, address);
    return i < plan->changed.count && changed[i].bytes >= DATA_PAGES * plan->page_bytes && changed[i].address < address
           && address + plan->page_bytes < changed[i].address + changed[i].bytes;
}

/* Pages of the region that are not as this state wants them. What is still the file's is as the region had it. */
static void region_pages_compare(struct chain *chain, struct state *state)
{
    const struct memory *memory = chain->memory;
    uint64_t page_bytes = memory->codelet->plan->page_bytes;
    for (uint64_t i = 0; i < memory->codelet->plan->before.count; i++) {
        const struct plan_copy *copy = &memory->copies[i];
        if (!(pcere_memory_protection(memory, copy->address) & PROT_WRITE))
            continue;
        for (uint64_t page = 0; page < copy->pages; page++) {
            const struct page_move move = {copy->address + page * page_bytes, copy->source + page * page_bytes, copy->zero};
            unsigned char *known = &state->known[memory->first_page[i] + page];
            enum page_state now = *known ? PAGE_OF_FILE : pcere_pagemap_state(move.address, page_bytes);
            if ((now != PAGE_OWN && now != PAGE_UNKNOWN) || page_continues(chain, state, move.address) || own_page(state, move.address)
                || !page_differs(memory, &move))
                continue;
            *known = 1;
            move_add(chain, state, &move);
        }
    }
}

static void moves_learn(struct chain *chain, struct state *state)
{
    uint64_t pages = chain->memory->first_page[chain->memory->codelet->plan->before.count];
    pcere_pagemap_refresh();
    region_pages_compare(chain, state);
    for (size_t i = 0; i < state->own_count; i++)
        if (!state->known[pages + i] && !page_continues(chain, state, state->own[i].address) && page_differs(chain->memory, &state->own[i])) {
            state->known[pages + i] = 1;
            move_add(chain, state, &state->own[i]);
        }
}

static void pages_lay(void *context, uint32_t thread, uint32_t threads)
{
    const struct chain *chain = context;
    uint64_t page_bytes = chain->memory->codelet->plan->page_bytes;
    for (size_t i = chain->laid_count * thread / threads; i < chain->laid_count * (thread + 1) / threads; i++)
        pcere_page_move(chain->memory->codelet, &chain->laid[i], page_bytes);
    pcere_pages_moved();
}

static void pages_touch(void *context, uint32_t thread, uint32_t threads)
{
    const struct chain *chain = context;
    const struct state *state = chain->turn;
    uint64_t page_bytes = chain->memory->codelet->plan->page_bytes;
    for (size_t i = state->touched_count * thread / threads; i < state->touched_count * (thread + 1) / threads; i++)
        for (uint64_t offset = 0; offset < page_bytes; offset += LINE_BYTES) {
            volatile unsigned char *byte = (volatile unsigned char *)(state->touched[i].address + offset);
            *byte = *byte;
        }
}

static void state_enter(struct chain *chain, struct state *state, bool learn)
{
    bool first = chain->known && !chain->begun;
    chain->turn = state;
    if (learn && !chain->known)
        moves_learn(chain, state);
    chain->laid = first ? state->own : state->moves.items;       /* until then memory is the region's */
    chain->laid_count = first ? state->own_count : state->moves.count;
    pcere_team_run(pages_lay, chain);
    if (!chain->known && !chain->begun && state->continues) {      /* the next time there is something to go on with */
        state->moves.count = 0;
        memset(state->known, 0, chain->memory->first_page[chain->memory->codelet->plan->before.count] + state->own_count);
    }
    chain->begun = true;
}

void pcere_chain_walk(struct chain *chain, enum chain_learning learning, chain_step_fn *run, void *context)
{
    struct plan_result *result = &chain->memory->codelet->plan->result;
    bool learn = learning == CHAIN_LEARNS;
    for (size_t i = 0; i < chain->step_count; i++) {
        state_enter(chain, &chain->states[i], learn || (learning == CHAIN_LEARNS_START && !i));
        if (chain->steps[i].touched)
            pcere_team_run(pages_touch, chain);
        else
            run(context, i);
    }
    if (learning != CHAIN_KNOWS)
        pcere_memory_learn_drops(chain->memory);
    pcere_memory_drop(chain->memory);
    state_enter(chain, &chain->states[chain->step_count], learn);
    result->laid_pages = chain->states[chain->step_count].moves.count;
    result->written_pages = 0;
    for (size_t i = 0; i <= chain->step_count; i++)
        result->written_pages += chain->states[i].moves.count;
}

void pcere_chain_walk_first(struct chain *chain, chain_step_fn *run, void *context)
{
    state_enter(chain, &chain->states[0], false);
    run(context, 0);
}
