/* tests/unit/test_launcher_tour_moves.c - what a tour lays down: memory as each region had it, whoever ran before, and no page that is there already. A model of the process follows the moves page by page. */
#include "replay-rt/launcher/tour_moves.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum { PAGE = 4096, BASE = 0x100000, STACK = 0x9000000, PAGES = 64, STATES = 3 };

#define AT(page) (BASE + (uint64_t)(page) * PAGE)

/* A pool whose pages lie at the place of their number, behind the one page of zeros. */
static uint32_t numbers[256];
static struct page_pool pool;

static uint64_t source_of(uint64_t number)
{
    return pool.pages_offset + number * PAGE;
}

static void pool_make(void)
{
    for (uint32_t i = 0; i < 256; i++)
        numbers[i] = i;
    pool = (struct page_pool){.page_bytes = PAGE, .pages_offset = PAGE, .file_bytes = PAGE + 256 * PAGE, .table = {.pages = numbers, .place_count = 256}};
}

/* Three regions in turn. The region's own memory: pages 0 to 39 hold 0 to 39. Before step 0 page 3 held 100, before step 1 pages 3 and 4 held 101 and zeros, and page 50 was there, which the region does
 * not have. Step 0 leaves 101 in page 3, step 1 makes pages 10 to 29 others, and page 4 what the region has; the region makes page 3 102 and pages 10 to 29 what they were. */
static struct store_run after_0[] = {{AT(3), 101, 1}}, after_1[] = {{AT(4), 4, 1}, {AT(10), 110, 20}, {AT(50), 150, 1}}, after_2[] = {{AT(3), 102, 1}, {AT(10), 10, 20}};
static struct store_codelet codelets[STATES];
static const struct store_codelet *const stops[STATES] = {&codelets[0], &codelets[1], &codelets[2]};
static struct plan_copy before[] = {{AT(0), 40, 0, 0}};
static struct plan_copy own[] = {{AT(3), 1, 0, 0}, {AT(3), 1, 0, 0}, {AT(4), 1, 0, 1}, {AT(50), 1, 0, 0}};
static struct plan_range changed[] = {{AT(3), 2 * PAGE}, {AT(10), 20 * PAGE}};
static struct codelet_memory memory = {.before = before, .before_count = 1, .changed = changed, .changed_count = 2};

static struct plan_steps steps_make(bool continues)
{
    pool_make();
    before[0].source = source_of(0);
    own[0].source = source_of(100);
    own[1].source = source_of(101);
    own[3].source = source_of(149);
    codelets[0] = (struct store_codelet){.after = after_0, .after_count = 1, .stack_pointer = STACK};
    codelets[1] = (struct store_codelet){.after = after_1, .after_count = 3, .stack_pointer = STACK};
    codelets[2] = (struct store_codelet){.after = after_2, .after_count = 2, .stack_pointer = STACK};
    struct plan_steps steps = {.count = 2, .copies = own, .copy_count = 4, .pool = &pool};
    steps.items[0] = (struct plan_step){.copy_first = 0, .copy_count = 1, .continues = continues};
    steps.items[1] = (struct plan_step){.copy_first = 1, .copy_count = 3, .continues = continues};
    CU_ASSERT_FATAL(tour_moves_find(&memory, stops, continues, PAGE, &steps));
    return steps;
}

#define NOTHING UINT64_MAX
#define ZEROS (UINT64_MAX - 1)

struct model { uint64_t holds[PAGES]; size_t moved; };

static void copies_lay(struct model *model, const struct plan_copy *copies, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        for (uint64_t p = 0; p < copies[i].pages; p++) {
            uint64_t page = (copies[i].address - BASE) / PAGE + p;
            CU_ASSERT_FATAL(page < PAGES);
            uint64_t put = copies[i].zero == PLAN_COPY_ABSENT ? NOTHING : copies[i].zero ? ZEROS : page_pool_page(&pool, copies[i].source + p * PAGE);
            CU_ASSERT_NOT_EQUAL(model->holds[page], put);         /* it is there already */
            model->holds[page] = put;
            model->moved++;
        }
}

static void after_leave(struct model *model, const struct store_codelet *codelet)
{
    for (size_t i = 0; i < codelet->after_count; i++)
        for (uint64_t p = 0; p < codelet->after[i].count; p++)
            model->holds[(codelet->after[i].address - BASE) / PAGE + p] = codelet->after[i].page + p;
}

/* As the capture had it. */
static uint64_t expected(size_t state, uint64_t page)
{
    if (state == 0 && page == 3)
        return 100;
    if (state == 1 && (page == 3 || page == 4 || page == 50))
        return page == 3 ? 101 : page == 4 ? ZEROS : 149;
    return page < 40 ? page : NOTHING;
}

/* Four walks. `data`: pages 11 to 28 go on as they are, the rest is as it was. */
static size_t walk(struct plan_steps *steps, unsigned kind, bool data)
{
    struct model model = {.moved = 0};
    for (uint64_t page = 0; page < PAGES; page++)
        model.holds[page] = page < 40 ? page : NOTHING;
    for (size_t turn = 0; turn < 4 * STATES; turn++) {
        size_t state = turn % STATES;
        const struct plan_moves *moves = &(state < 2 ? steps->items[state].moves : steps->region_moves)[kind];
        if (state == 2)
            model.holds[50] = NOTHING;            /* as pcere_memory_drop leaves it */
        if (!turn)
            copies_lay(&model, own, 1);
        else
            copies_lay(&model, steps->moves + moves->first, moves->count);
        for (uint64_t page = 0; page < PAGES; page++)
            if (!(data && page > 10 && page < 29) && !(state == 0 && page == 50))
                CU_ASSERT_EQUAL(model.holds[page], expected(state, page));
        after_leave(&model, &codelets[state]);
    }
    return model.moved;
}

static void memory_is_as_it_was(void)
{
    struct plan_steps steps = steps_make(false);
    CU_ASSERT_TRUE(steps.moves_known);
    /* Step 0's page 3, four times; step 1's 4 and 50; the region's 3 and 10 to 29, each time */
    CU_ASSERT_EQUAL(walk(&steps, 0, false), 4 * (1 + 2 + 21));
    CU_ASSERT_EQUAL(walk(&steps, 1, false), 4 * (1 + 2 + 21));
    free(steps.moves);
}

static void data_goes_on(void)
{
    struct plan_steps steps = steps_make(true);
    CU_ASSERT_EQUAL(walk(&steps, 0, true), 4 * (1 + 2 + 1 + 2));     /* the first and the last page of the long stretch are none of it */
    CU_ASSERT_EQUAL(walk(&steps, 1, false), 4 * (1 + 2 + 21));
    free(steps.moves);
}

/* Pages near the stack pointer are laid down before each region that has them, whatever captures say. */
static void stacks_are_laid_down(void)
{
    struct plan_steps steps = steps_make(false);
    size_t usual = steps.move_count;
    free(steps.moves);
    struct plan_copy with_stack[] = {before[0], {STACK - 2 * PAGE, 3, source_of(200), 0}};
    struct codelet_memory larger = memory;
    larger.before = with_stack;
    larger.before_count = 2;
    steps = (struct plan_steps){.count = 2, .copies = own, .copy_count = 4, .pool = &pool, .items = {steps.items[0], steps.items[1]}};
    CU_ASSERT_FATAL(tour_moves_find(&larger, stops, false, PAGE, &steps));
    CU_ASSERT_EQUAL(steps.move_count, usual + 2 * STATES);
    for (unsigned kind = 0; kind < 2; kind++)
        for (size_t state = 0; state < STATES; state++) {
            const struct plan_moves *moves = &(state < 2 ? steps.items[state].moves : steps.region_moves)[kind];
            const struct plan_copy *last = &steps.moves[moves->first + moves->count - 1];
            CU_ASSERT_EQUAL(last->address, STACK - 2 * PAGE);
            CU_ASSERT_EQUAL(last->pages, 3);
            CU_ASSERT_EQUAL(last->source, source_of(200));
        }
    free(steps.moves);
}

static const struct unit_test tests[] = {
    {"before each region memory is as it had it, and nothing is laid down that is there", memory_is_as_it_was},
    {"where steps continue, arrays are left as they are, but for their ends", data_goes_on},
    {"stacks are laid down each time", stacks_are_laid_down},
};

UNIT_MAIN("launcher: moves of tours", tests)
