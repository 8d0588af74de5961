/* tests/unit/test_replay_ahead.c - pages that are filled in ahead of touches: what is where, how many at a time, and what is left alone. The kernel delivers
 * the touches; where it lets nobody have them, memory is what it was. */
#include "replay-rt/target/ahead.c"
#include "replay-rt/target/shadow.c"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PAGE = 4096, PAGES = 512, THREADS = 4 };

/* ---- what ahead.c has of others ------------------------------------------------------------------------------------------------ */

int pcere_descriptor_raise(int descriptor) { return descriptor; }

/* No memory has two addresses here. */
size_t pcere_plan_range_from(const struct plan_range *ranges, size_t count, uint64_t address) { (void)ranges, (void)address; return count; }

const void *pcere_plan_table(const struct replay_plan *plan, const struct plan_table *table)
{
    return (const char *)plan + table->offset;
}

_Noreturn void pcere_plan_end(struct codelet *codelet, enum plan_state state, const char *format, ...)
{
    (void)codelet;
    (void)state;
    fprintf(stderr, "%s\n", format);
    abort();
}

/* ---- one captured mapping ------------------------------------------------------------------------------------------------------- */

static struct world {
    struct { struct replay_plan plan; struct plan_range changed[4]; } file;
    struct codelet codelet;
    struct plan_mapping mapping;
    struct plan_copy copies[2];
    struct memory memory;
    struct plan_range adjusted;
    unsigned char *at;
} *world;

static uint32_t threads = 1;              /* of the team: with one, pages are filled into a hypervisor's page tables as well, as if it had them */
static uint64_t adjusted_page;            /* or 0 */

static void fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (number == SIGBUS ? pcere_ahead_serve((uint64_t)info->si_addr) : pcere_ahead_waits((uint64_t)info->si_addr))
        return;
    _exit(99);
}

static uint64_t word_of(uint64_t page) { return (page + 1) * 0x9e3779b97f4a7c15u; }

static uint64_t file_page(uint64_t page) { return page < 400 ? page + 112 : page - 400; }

static uint64_t *word_at(uint64_t page) { return (uint64_t *)(void *)(world->at + page * PAGE); }

/* Two copies: pages 0 to 399, and 400 to 511, which lie in the other order in the file. */
static void world_make(const struct plan_range *changed, size_t changed_count, uint32_t protection)
{
    world = calloc(1, sizeof *world);
    world->at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    world->codelet.pages_fd = memfd_create("pages", MFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(ftruncate(world->codelet.pages_fd, PAGES * PAGE), 0);
    world->codelet.pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, world->codelet.pages_fd, 0);
    uint64_t start = (uint64_t)world->at;
    world->copies[0] = (struct plan_copy){.address = start, .pages = 400, .source = 112 * PAGE};
    world->copies[1] = (struct plan_copy){.address = start + 400 * PAGE, .pages = 112, .source = 0};
    for (uint64_t page = 0; page < PAGES; page++) {
        uint64_t value = word_of(page);
        CU_ASSERT_EQUAL_FATAL(pwrite(world->codelet.pages_fd, &value, sizeof value, (off_t)(file_page(page) * PAGE)), (ssize_t)sizeof value);
        memcpy(world->at + page * PAGE, &value, sizeof value);
    }
    world->mapping = (struct plan_mapping){.start = start, .end = start + PAGES * PAGE, .protection = protection};
    world->file.plan.page_bytes = PAGE;
    world->file.plan.mappings.count = 1;
    world->file.plan.before.count = 2;
    world->file.plan.changed = (struct plan_table){(uint64_t)((char *)world->file.changed - (char *)&world->file.plan), changed_count};
    for (size_t i = 0; i < changed_count; i++)
        world->file.changed[i] = (struct plan_range){start + changed[i].address * PAGE, changed[i].bytes * PAGE};
    world->codelet.plan = &world->file.plan;
    world->file.plan.result.threads = threads;
    world->memory = (struct memory){.codelet = &world->codelet, .mappings = &world->mapping, .copies = world->copies, .lazy = true};
    struct sigaction action = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    memset(&thread, 0, sizeof thread);
    atomic_store(&uses, threads == 1 ? USES_DEAR : USES_UNKNOWN);
    world->adjusted = (struct plan_range){start + adjusted_page * PAGE + 8, 8};
    if (adjusted_page) {
        memcpy(world->codelet.pages + file_page(adjusted_page) * PAGE + 8, "adjusted", 8);
        world->memory.adjusted = &world->adjusted;
        world->memory.adjusted_count = 1;
    }
    pcere_ahead_begin(&world->memory);
}

static void world_end(void)
{
    munmap(world->at, PAGES * PAGE);
    munmap(world->codelet.pages, PAGES * PAGE);
    close(world->codelet.pages_fd);
    free(world);
    for (size_t i = 0; i < ahead.count; i++)
        free((void *)ahead.ranges[i].states);
    free(ahead.ranges);
    if (ahead.descriptor >= 0)
        close(ahead.descriptor);
    memset(&ahead, 0, sizeof ahead);
    ahead.descriptor = -1;
}

/* Some kernels let nobody have user faults: then nothing is filled in, and only what memory holds can be looked at. */
static bool works(void) { return ahead.count > 0; }

/* Pages that are there, of all ranges. */
static uint64_t filled(void)
{
    uint64_t count = 0;
    for (size_t i = 0; i < ahead.count; i++)
        for (uint64_t at = ahead.ranges[i].start; at < ahead.ranges[i].end; at += PAGE)
            count += atomic_load(state_of(&ahead.ranges[i], at)) == PAGE_FILLED;
    return count;
}

static const struct plan_range most[] = {{8, 300}, {310, 60}, {420, 80}};

static void content_is_that_of_the_file(void)
{
    world_make(most, 3, PROT_READ | PROT_WRITE);
    if (works()) {
        CU_ASSERT_EQUAL(ahead.count, 2);                          /* one for each copy, with what lies between its changed parts */
        CU_ASSERT_EQUAL(ahead.ranges[0].start, (uint64_t)world->at + 8 * PAGE);
        CU_ASSERT_EQUAL(ahead.ranges[0].end, (uint64_t)world->at + 370 * PAGE);
        CU_ASSERT_EQUAL(ahead.ranges[1].start, (uint64_t)world->at + 420 * PAGE);
        CU_ASSERT_EQUAL(ahead.ranges[1].end, (uint64_t)world->at + 500 * PAGE);
    }
    *word_at(33) = 5;                                             /* a write stays, whatever is filled in around it */
    bool good = true;
    for (uint64_t page = 0; page < PAGES; page++)
        good &= *word_at(page) == (page == 33 ? 5 : word_of(page));
    CU_ASSERT_TRUE(good);
    if (works())
        CU_ASSERT_EQUAL(filled(), 362 + 80);
    world_end();
}

static void touches_that_go_on_fill_twice_as_many(void)
{
    static const struct { uint64_t page, filled; } touches[] = {
        {8, 1}, {9, 3}, {11, 7}, {15, 15}, {23, 31}, {39, 63}, {71, 127}, {135, 191}, {199, 255},     /* 64 at most */
        {340, 256},                                               /* elsewhere: one again, */
        {263, 320},                                               /* and where the other ended as before */
        {499, 321}, {498, 322},                                   /* backwards: one */
    };
    world_make(most, 3, PROT_READ | PROT_WRITE);
    for (size_t i = 0; works() && i < sizeof touches / sizeof *touches; i++) {
        CU_ASSERT_EQUAL(*word_at(touches[i].page), word_of(touches[i].page));
        CU_ASSERT_EQUAL(filled(), touches[i].filled);
    }
    world_end();
}

static void touches_at_equal_distances_fill_as_many(void)
{
    static const struct { uint64_t page, filled; } touches[] = {
        {10, 1}, {30, 2}, {50, 4},                                /* two steps of 20: pages 50 and 70 */
        {90, 8}, {170, 16}, {330, 18},                            /* as far as the range goes */
        {31, 20},                                                 /* goes on behind 30: pages 31 and 32 */
        {369, 21},
        {368, 22}, {367, 24}, {365, 28},                          /* backwards, too */
    };
    world_make(most, 3, PROT_READ | PROT_WRITE);
    for (size_t i = 0; works() && i < sizeof touches / sizeof *touches; i++) {
        CU_ASSERT_EQUAL(*word_at(touches[i].page), word_of(touches[i].page));
        CU_ASSERT_EQUAL(filled(), touches[i].filled);
    }
    world_end();
}

static void many_walks_go_on_side_by_side(void)
{
    enum { WALKS = 20 };
    world_make(most, 3, PROT_READ | PROT_WRITE);
    for (uint64_t page = 0; works() && page < 3; page++)
        for (uint64_t i = 0; i < WALKS; i++) {                    /* no two distances are alike */
            uint64_t at = 10 + i * (i + 7) / 2 + page;
            CU_ASSERT_EQUAL(*word_at(at), word_of(at));
        }
    /* Where two of them share a place in the table, which addresses decide, one begins anew, and takes a fourth page. */
    if (works())
        CU_ASSERT_TRUE(filled() >= 3 * WALKS && filled() < 4 * WALKS);
    world_end();
}

/* A word that this process changed is not in the file. */
static void adjusted_pages_are_taken_from_memory(void)
{
    adjusted_page = 100;
    world_make(most, 3, PROT_READ | PROT_WRITE);
    for (uint64_t page = 8; works() && page < 300; page++) {
        CU_ASSERT_EQUAL(*word_at(page), word_of(page));
        CU_ASSERT_EQUAL(memcmp(word_at(page) + 1, page == adjusted_page ? "adjusted" : "\0\0\0\0\0\0\0", 8), 0);
    }
    adjusted_page = 0;
    world_end();
}

static void what_was_dropped_comes_again(void)
{
    world_make(most, 3, PROT_READ | PROT_WRITE);
    for (uint64_t page = 8; page < 10; page++)
        *word_at(page) = 1;
    if (works()) {
        CU_ASSERT_EQUAL(madvise(word_at(8), 2 * PAGE, MADV_DONTNEED), 0);
        CU_ASSERT_EQUAL(*word_at(8), word_of(8));
        CU_ASSERT_EQUAL(*word_at(9), word_of(9));
    }
    world_end();
}

static void what_is_short_or_read_only_is_left_alone(void)
{
    static const struct plan_range short_one[] = {{20, 15}};
    world_make(short_one, 1, PROT_READ | PROT_WRITE);
    CU_ASSERT_EQUAL(ahead.count, 0);
    CU_ASSERT_EQUAL(*word_at(20), word_of(20));
    world_end();
    world_make(most, 3, PROT_READ);
    CU_ASSERT_EQUAL(ahead.count, 0);
    CU_ASSERT_EQUAL(*word_at(200), word_of(200));
    world_end();
}

static void faults_elsewhere_are_not_answered(void)
{
    world_make(most, 3, PROT_READ | PROT_WRITE);
    CU_ASSERT_FALSE(pcere_ahead_serve((uint64_t)world->at));
    CU_ASSERT_FALSE(pcere_ahead_serve((uint64_t)world->at + 370 * PAGE));
    CU_ASSERT_FALSE(pcere_ahead_serve((uint64_t)world->at + 419 * PAGE));
    CU_ASSERT_FALSE(pcere_ahead_serve((uint64_t)world->at + 500 * PAGE));
    CU_ASSERT_FALSE(pcere_ahead_serve(0));
    world_end();
}

static void *half_touch(void *context)
{
    uint64_t first = (uint64_t)(uintptr_t)context, wrong = 0;
    for (uint64_t page = first; page < PAGES; page += 2) {
        wrong += *word_at(page) != word_of(page);
        world->at[page * PAGE + 64 + first] = (unsigned char)(1 + first);
    }
    return (void *)(uintptr_t)wrong;
}

/* Both threads of a pair write to the same pages: whoever comes second must not take back what the other one wrote. */
static void pages_meet(uint32_t team_size)
{
    pthread_t team[THREADS];
    threads = team_size;
    world_make(most, 3, PROT_READ | PROT_WRITE);
    threads = 1;
    for (uintptr_t i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&team[i], NULL, half_touch, (void *)i), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *wrong = NULL;
        pthread_join(team[i], &wrong);
        CU_ASSERT_PTR_NULL(wrong);
    }
    bool good = true;
    for (uint64_t page = 0; page < PAGES; page++)
        for (uint64_t i = page % 2; i < THREADS; i += 2)
            good &= page < i || world->at[page * PAGE + 64 + i] == 1 + i;
    CU_ASSERT_TRUE(good);
    world_end();
}

static void threads_that_meet_lose_nothing(void) { pages_meet(THREADS); }

/* Where a team of one has others inside, pages may only be read for a moment. */
static void threads_inside_a_team_of_one_lose_nothing(void)
{
    for (int i = 0; i < 20; i++)
        pages_meet(1);
}

static const struct unit_test tests[] = {
    {"pages that are filled in hold what the file does, and what was written stays", content_is_that_of_the_file},
    {"each time twice as many pages are filled in where touches go on, 64 at most", touches_that_go_on_fill_twice_as_many},
    {"touches at equal distances fill twice as many in each time, too", touches_at_equal_distances_fill_as_many},
    {"many walks go on side by side", many_walks_go_on_side_by_side},
    {"pages with adjusted words are not read from the file", adjusted_pages_are_taken_from_memory},
    {"what was dropped comes again", what_was_dropped_comes_again},
    {"what is short or read-only is left alone", what_is_short_or_read_only_is_left_alone},
    {"faults elsewhere are somebody else's", faults_elsewhere_are_not_answered},
    {"threads that touch the same pages lose nothing", threads_that_meet_lose_nothing},
    {"nor do threads inside a team of one", threads_inside_a_team_of_one_lose_nothing},
};

UNIT_MAIN("replay: ahead", tests)
