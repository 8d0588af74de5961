/* test_launcher_differences.c - variables of this very program, some of them changed: what is said of them. It is compiled with -g. */
#include "replay-rt/launcher/differences.h"
#include "replay-rt/launcher/objects_private.h"
#include "replay-rt/launcher/rounded.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct link { int number; struct link *next; };
struct cell { double rho; float flow[2]; char mark; int owner; };

static struct sample {
    struct cell cells[4];
    long double wide;
    double _Complex wave;
    struct cell *second;
    struct link *chain;
    union { double real; long whole; } either;
    struct { unsigned low : 4, high : 4; } bits;
    struct { unsigned char left : 2, right : 3; } holes;      /* three bits that no field has */
} sample __attribute__((aligned(4096)));
static struct link links[6];
#define PLACES 512u
static struct link *places[PLACES];       /* into one block, all over it */

static struct fixture {
    struct debug_info *info;
    struct elf_file *program;
    struct loaded_image image;
    struct images images;
    struct store_mapping mappings[3];     /* these variables, the block that the places are in, and a page to which nothing leads */
    struct store_codelet codelet;
    struct store_region region;
    struct plan_copy copies[3];
    struct captured_view view;
    struct objects *objects;
    uint64_t bias;
    unsigned char *snapshot;
    struct link *block;
} fixture;

#define PAGE 4096u

static uint64_t link_address(const char *name)
{
    const struct debug_variable *variables;
    size_t count = debug_info_variables(fixture.info, &variables);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(variables[i].name, name) && variables[i].where == DEBUG_AT_ADDRESS)
            return variables[i].address;
    return 0;
}

/* Memory "of the original" is a copy of the pages that the variables lie on. */
static bool fixture_begin(void)
{
    struct pcere_error error;
    fixture = (struct fixture){.region = {.function = (char[]){"none"}, .file = (char[]){"none.c"}, .line = 1}};
    if (debug_info_open("/proc/self/exe", &fixture.info, &error) || elf_file_open("/proc/self/exe", &fixture.program, &error))
        return false;
    uint64_t linked = link_address("sample"), low = 0, high = 0;
    if (!linked)
        return false;
    elf_file_span(fixture.program, &low, &high);
    fixture.bias = (uint64_t)(uintptr_t)&sample - linked;
    for (size_t i = 0; i < 4; i++)
        sample.cells[i] = (struct cell){.rho = 1.0 + (double)i, .flow = {2, 3}, .mark = 'a', .owner = (int)i};
    sample.wide = 5;
    sample.wave = 3;
    sample.second = &sample.cells[1];
    sample.chain = links;
    for (size_t i = 0; i < 5; i++)
        links[i].next = &links[i + 1];
    const size_t block_bytes = PLACES * sizeof(struct link);
    struct link *block = mmap(NULL, block_bytes + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return false;
    for (size_t i = 0; i < PLACES; i++)
        places[i] = &block[1 + i * 167 % PLACES % (PLACES - 1)];
    fixture.block = block;
    uint64_t start = (uint64_t)(uintptr_t)&sample & ~(uint64_t)(PAGE - 1), end = (high + fixture.bias + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    fixture.snapshot = calloc(1, end - start + block_bytes + PAGE);
    int self = open("/proc/self/mem", O_RDONLY);         /* not memcpy: these are many variables at once */
    bool whole = self >= 0 && pread(self, fixture.snapshot, end - start, (off_t)start) == (ssize_t)(end - start);
    if (self >= 0)
        close(self);
    if (!whole)
        return false;
    const uint64_t behind = (uint64_t)(uintptr_t)block;
    fixture.mappings[0] = (struct store_mapping){.start = start, .end = end, .protection = PROT_READ | PROT_WRITE, .role = STORE_ROLE_IMAGE, .name = "self"};
    fixture.mappings[1] = (struct store_mapping){.start = behind, .end = behind + block_bytes, .protection = PROT_READ | PROT_WRITE, .role = STORE_ROLE_ANONYMOUS};
    const uint64_t apart = behind + block_bytes + PAGE;
    fixture.mappings[2] = (struct store_mapping){.start = apart, .end = apart + PAGE, .protection = PROT_READ | PROT_WRITE, .role = STORE_ROLE_ANONYMOUS};
    fixture.codelet = (struct store_codelet){.mappings = fixture.mappings, .mapping_count = 3, .region = fixture.region.function};
    fixture.copies[0] = (struct plan_copy){.address = start, .pages = (end - start) / PAGE};
    fixture.copies[1] = (struct plan_copy){.address = behind, .pages = block_bytes / PAGE, .source = end - start};
    fixture.copies[2] = (struct plan_copy){.address = apart, .pages = 1, .source = end - start + block_bytes};
    fixture.view = (struct captured_view){.pages = fixture.snapshot, .pages_bytes = end - start + block_bytes + PAGE, .page_bytes = PAGE, .copies = fixture.copies,
                                          .copy_count = 3};
    fixture.image = (struct loaded_image){.elf = fixture.program, .bias = fixture.bias, .low = low + fixture.bias, .high = high + fixture.bias};
    fixture.images = (struct images){&fixture.image, 1};
    const struct objects_source source = {fixture.info, &fixture.images, 0, &fixture.codelet, &fixture.region, &fixture.view};
    return objects_new(&source, &fixture.objects, &error) == PCERE_OK;
}

static void fixture_end(void)
{
    objects_free(fixture.objects);
    elf_file_close(fixture.program);
    debug_info_close(fixture.info);
    free(fixture.snapshot);
    munmap(fixture.block, PLACES * sizeof *fixture.block + 2 * PAGE);
}

/* What a run that left `bytes` at `place` reports. */
static void changed(struct difference_list *list, const void *place, const void *bytes, size_t count)
{
    uint64_t address = (uint64_t)(uintptr_t)place, start = address & ~UINT64_C(7), end = (address + count + 7) & ~UINT64_C(7);
    for (uint64_t at = start; at < end; at += 8) {
        struct plan_difference difference = {.address = at, .bytes = 8};
        unsigned char found[8];
        captured_view_read(&fixture.view, at, &difference.expected, 8);
        memcpy(found, &difference.expected, 8);
        for (uint64_t i = 0; i < 8; i++)
            if (at + i >= address && at + i < address + count)
                found[i] = ((const unsigned char *)bytes)[at + i - address];
        memcpy(&difference.found, found, 8);
        if (difference.found == difference.expected)
            continue;
        list->items = realloc(list->items, (list->count + 1) * sizeof *list->items);
        list->items[list->count++] = difference;
        list->different_bytes += 1;
    }
}

static struct verify_result judged_beside(const struct difference_list *lists, size_t count, double ratio, const struct rounded *rounded)
{
    struct verify_result result = {0};
    struct pcere_error error;
    const struct difference_source source = {fixture.objects, &fixture.codelet, &fixture.view, {ratio, ratio, ratio}, rounded};
    CU_ASSERT_EQUAL(differences_judge(&source, lists, count, &result, &error), PCERE_OK);
    return result;
}

static struct verify_result judged(const struct difference_list *lists, size_t count, double ratio)
{
    return judged_beside(lists, count, ratio, NULL);
}

static void forget(struct verify_result *result, struct difference_list *lists, size_t count)
{
    for (size_t i = 0; i < result->cause_count; i++)
        verify_cause_done(&result->causes[i]);
    free(result->causes);
    for (size_t i = 0; i < count; i++)
        difference_list_done(&lists[i]);
}

/* One place changed in one run. */
static void one(const void *place, const void *bytes, size_t count, double ratio, enum verify_verdict verdict, const char *name, const char *first)
{
    struct difference_list list = {0};
    changed(&list, place, bytes, count);
    struct verify_result result = judged(&list, 1, ratio);
    CU_ASSERT_EQUAL(result.verdict, verdict);
    CU_ASSERT_EQUAL_FATAL(result.cause_count, 1);
    CU_ASSERT_STRING_EQUAL(result.causes[0].name, name);
    CU_ASSERT_STRING_EQUAL(result.causes[0].first, first);
    CU_ASSERT_EQUAL(result.causes[0].values, 1);
    forget(&result, &list, 1);
}

#define ONE(place, value, ratio, verdict, name, first) one(&(place), &(__typeof__(place)){value}, sizeof(place), ratio, verdict, name, first)

static void values_of_each_type(void)
{
    CU_ASSERT_TRUE_FATAL(fixture_begin());
    ONE(sample.cells[2].rho, 3.0 + 1e-12, 1e-10, VERIFY_ROUNDED, "sample.cells[].rho", "sample.cells[2].rho");
    ONE(sample.cells[2].rho, 3.0 + 1e-12, 1e-14, VERIFY_DIFFERENT, "sample.cells[].rho", "sample.cells[2].rho");
    ONE(sample.cells[2].rho, 3.0 + 1e-12, 0, VERIFY_DIFFERENT, "sample.cells[].rho", "sample.cells[2].rho");
    ONE(sample.cells[2].rho, NAN, 1, VERIFY_DIFFERENT, "sample.cells[].rho", "sample.cells[2].rho");
    ONE(sample.cells[2].rho, INFINITY, 1, VERIFY_DIFFERENT, "sample.cells[].rho", "sample.cells[2].rho");
    ONE(sample.cells[1].flow[1], 3.0001f, 1e-3, VERIFY_ROUNDED, "sample.cells[].flow[]", "sample.cells[1].flow[1]");
    ONE(sample.wide, 5.0L + 1e-17L, 1e-15, VERIFY_ROUNDED, "sample.wide", "sample.wide");
    ONE(sample.wave, 3.0 + 1e-12, 1e-10, VERIFY_ROUNDED, "sample.wave", "sample.wave");
    ONE(sample.wave, 3.1, 1e-10, VERIFY_DIFFERENT, "sample.wave", "sample.wave");
    ONE(sample.cells[3].owner, 7, 1, VERIFY_DIFFERENT, "sample.cells[].owner", "sample.cells[3].owner");
    ONE(sample.cells[3].mark, 'b', 1, VERIFY_DIFFERENT, "sample.cells[].mark", "sample.cells[3].mark");
    ONE(sample.second, &sample.cells[2], 1, VERIFY_DIFFERENT, "sample.second", "sample.second");
    one((char *)&sample.cells[0].mark + 1, "xy", 1, 0, VERIFY_UNUSED, "sample.cells[] (padding)", "sample.cells[0] (padding)");
    one(&sample.bits, "\x11", 1, 0, VERIFY_DIFFERENT, "sample.bits.low/high", "sample.bits.low/high");
    ONE(sample.either.real, 1.5, 1e-3, VERIFY_DIFFERENT, "sample.either.real", "sample.either.real");
    fixture_end();
}

static void lists_of_blocks(void)
{
    CU_ASSERT_TRUE_FATAL(fixture_begin());
    ONE(links[0].number, 1, 0, VERIFY_DIFFERENT, "links[].number", "links[0].number");
    fixture_end();
}

/* Hash tables, sorted views: as many pointers into an array as it has elements. */
static void pointers_into_one_block(void)
{
    CU_ASSERT_TRUE_FATAL(fixture_begin());
    CU_ASSERT(fixture.objects->slots > 2 * PLACES && fixture.objects->slots < 6 * PLACES);     /* the pointers, and what they lead to, once */
    const int number = 1;
    struct difference_list list = {0};
    changed(&list, &fixture.block[PLACES - 1].number, &number, sizeof number);
    struct verify_result result = judged(&list, 1, 0);
    CU_ASSERT_EQUAL_FATAL(result.cause_count, 1);
    CU_ASSERT_STRING_EQUAL(result.causes[0].kind, "integer");
    forget(&result, &list, 1);
    fixture_end();
}

static void the_largest_counts(void)
{
    CU_ASSERT_TRUE_FATAL(fixture_begin());
    struct difference_list list = {0};
    const double small = 1.0 + 3e-10, large = 4.0 + 1e-12;
    changed(&list, &sample.cells[0].rho, &small, sizeof small);
    changed(&list, &sample.cells[3].rho, &large, sizeof large);
    struct verify_result result = judged(&list, 1, 1e-10);
    CU_ASSERT_EQUAL(result.verdict, VERIFY_ROUNDED);      /* 3e-10 is more than 1e-10 of 1, but not of 4 */
    CU_ASSERT_EQUAL_FATAL(result.cause_count, 1);
    CU_ASSERT_EQUAL(result.causes[0].values, 2);
    CU_ASSERT_DOUBLE_EQUAL(result.causes[0].largest_relative, 3e-10, 1e-12);
    CU_ASSERT_STRING_EQUAL(result.causes[0].first, "sample.cells[0].rho");
    CU_ASSERT_STRING_EQUAL(result.causes[0].memory, "program data");
    CU_ASSERT_STRING_EQUAL(result.causes[0].kind, "floating point");
    forget(&result, &list, 1);
    fixture_end();
}

static void runs_that_disagree(void)
{
    CU_ASSERT_TRUE_FATAL(fixture_begin());
    struct difference_list lists[2] = {0};
    const int four = 4, five = 5;
    const double near = 1.0 + 1e-13, nearer = 1.0 - 1e-13;
    changed(&lists[0], &sample.cells[0].owner, &four, sizeof four);
    changed(&lists[1], &sample.cells[0].owner, &five, sizeof five);
    changed(&lists[0], &sample.cells[0].rho, &near, sizeof near);
    changed(&lists[1], &sample.cells[0].rho, &nearer, sizeof nearer);
    changed(&lists[1], &sample.cells[1].mark, "z", 1);
    for (int i = 0; i < 2; i++)           /* as difference_list_load leaves them */
        for (size_t j = 1; j < lists[i].count; j++)
            for (size_t k = j; k && lists[i].items[k].address < lists[i].items[k - 1].address; k--) {
                struct plan_difference swapped = lists[i].items[k];
                lists[i].items[k] = lists[i].items[k - 1];
                lists[i].items[k - 1] = swapped;
            }
    struct verify_result result = judged(lists, 2, 1e-10);
    CU_ASSERT_EQUAL(result.verdict, VERIFY_UNSTEADY);
    CU_ASSERT_EQUAL_FATAL(result.cause_count, 3);
    CU_ASSERT_EQUAL(result.causes[0].verdict, VERIFY_UNSTEADY);
    CU_ASSERT_EQUAL(result.causes[1].verdict, VERIFY_UNSTEADY);
    CU_ASSERT_EQUAL(result.causes[2].verdict, VERIFY_ROUNDED);
    CU_ASSERT_STRING_EQUAL(result.causes[2].name, "sample.cells[].rho");
    forget(&result, lists, 2);
    struct difference_list same[2] = {0};
    changed(&same[0], &sample.cells[0].owner, &four, sizeof four);
    changed(&same[1], &sample.cells[0].owner, &four, sizeof four);
    result = judged(same, 2, 0);
    CU_ASSERT_EQUAL(result.verdict, VERIFY_DIFFERENT);
    forget(&result, same, 2);
    fixture_end();
}

/* cells[0].rho is 1 in the original. `again`: the replay's down and up once more, or NULL. */
static enum verify_verdict verdict_twice(double found, const double down_up[4], const double again[2])
{
    struct difference_list list = {0}, directed[6] = {0};
    changed(&list, &sample.cells[0].rho, &found, sizeof found);
    for (int i = 0; i < (again ? 6 : 4); i++)
        changed(&directed[i], &sample.cells[0].rho, i < 4 ? &down_up[i] : &again[i - 4], sizeof *down_up);
    const struct rounded rounded = {.replay = {&directed[0], &directed[1]}, .capture = {&directed[2], &directed[3]},
                                    .again = {{&directed[4], &directed[5]}}, .again_count = again != NULL};
    struct verify_result result = judged_beside(&list, 1, 1e-15, &rounded);
    enum verify_verdict verdict = result.verdict;
    forget(&result, &list, 1);
    for (int i = 0; i < 6; i++)
        difference_list_done(&directed[i]);
    return verdict;
}

static enum verify_verdict verdict_beside(double found, const double down_up[4]) { return verdict_twice(found, down_up, NULL); }

/* What is another value each time is spread as widely as it likes. */
static void what_does_not_repeat(void)
{
    CU_ASSERT_TRUE_FATAL(fixture_begin());
    const double wide[4] = {1.0 - 2e-6, 1.0 + 3e-6, 1.0 - 4e-6, 1.0 + 1e-6}, same[2] = {1.0 - 2.5e-6, 1.0 + 3.5e-6}, other_down[2] = {1.0 + 2e-6, 1.0 + 3e-6};
    const double other_up[2] = {1.0 - 2e-6, 1.0 + 1e-6}, steady[2] = {1.0, 1.0}, broken[2] = {1.0 - 2e-6, NAN};
    CU_ASSERT_EQUAL(verdict_twice(1.0 + 2e-6, wide, same), VERIFY_ROUNDED);
    CU_ASSERT_EQUAL(verdict_twice(1.0 + 2e-6, wide, other_down), VERIFY_DIFFERENT);
    CU_ASSERT_EQUAL(verdict_twice(1.0 + 2e-6, wide, other_up), VERIFY_DIFFERENT);
    CU_ASSERT_EQUAL(verdict_twice(1.0 + 2e-6, wide, steady), VERIFY_DIFFERENT);
    CU_ASSERT_EQUAL(verdict_twice(1.0 + 2e-6, wide, broken), VERIFY_DIFFERENT);
    fixture_end();
}

static enum verify_verdict verdict_of(const void *place, unsigned char byte, bool leftover)
{
    struct difference_list list = {0};
    changed(&list, place, &byte, sizeof byte);
    list.items[0].leftover = leftover;
    struct verify_result result = judged(&list, 1, 0);
    enum verify_verdict verdict = result.verdict;
    forget(&result, &list, 1);
    return verdict;
}

static void what_is_no_value(void)
{
    CU_ASSERT_TRUE_FATAL(fixture_begin());
    CU_ASSERT_EQUAL(verdict_of(&sample.holes, 0xe0, false), VERIFY_UNUSED);          /* bits of no field */
    CU_ASSERT_EQUAL(verdict_of(&sample.holes, 0xe1, false), VERIFY_DIFFERENT);
    CU_ASSERT_EQUAL(verdict_of(&sample.holes, 0x10, false), VERIFY_DIFFERENT);
    CU_ASSERT_EQUAL(verdict_of(&sample.bits, 0x10, false), VERIFY_DIFFERENT);        /* all of its bits are some field's */
    CU_ASSERT_EQUAL(verdict_of(&sample.cells[0].owner, 9, true), VERIFY_DIFFERENT);  /* it has a type, whatever it looks like */
    CU_ASSERT_EQUAL(verdict_of((const void *)UINT64_C(0x10000), 9, true), VERIFY_UNUSED);
    CU_ASSERT_EQUAL(verdict_of((const void *)UINT64_C(0x10000), 9, false), VERIFY_DIFFERENT);
    fixture_end();
}

static void word_set(uint64_t address, uint64_t word)
{
    const struct plan_copy *copy = address >= fixture.copies[2].address ? &fixture.copies[2] : &fixture.copies[0];
    memcpy(fixture.snapshot + copy->source + (address - copy->address), &word, sizeof word);
}

/* A page of a mapping to which no word leads, but its own and dead ones. */
static void what_only_a_library_knows(void)
{
    CU_ASSERT_TRUE_FATAL(fixture_begin());
    const uint64_t page = fixture.mappings[2].start, word = (uint64_t)(uintptr_t)&places[3];
    const void *place = (const void *)(page + 16);
    uint64_t words[] = {1, page + 8};
    CU_ASSERT_EQUAL(verdict_of(place, 9, false), VERIFY_UNUSED);
    word_set(page + 32, page + 64);
    CU_ASSERT_EQUAL(verdict_of(place, 9, false), VERIFY_UNUSED);
    word_set(word, page + PAGE);
    CU_ASSERT_EQUAL(verdict_of(place, 9, false), VERIFY_UNUSED);          /* leads just behind it */
    word_set(word, page + 64);
    CU_ASSERT_EQUAL(verdict_of(place, 9, false), VERIFY_DIFFERENT);
    fixture.codelet.stack_pointer = word + 8;
    CU_ASSERT_EQUAL(verdict_of(place, 9, false), VERIFY_UNUSED);          /* below the stack pointer */
    fixture.codelet.stack_pointer = word;
    CU_ASSERT_EQUAL(verdict_of(place, 9, false), VERIFY_DIFFERENT);
    fixture.codelet.stack_pointer = 0;
    word_set(word, (page + 64) | UINT64_C(5) << 56);
    CU_ASSERT_EQUAL(verdict_of(place, 9, false), VERIFY_DIFFERENT);       /* with a tag */
    word_set(word, 0);
    fixture.codelet.words = words;
    fixture.codelet.word_count = 2;
    CU_ASSERT_EQUAL(verdict_of(place, 9, false), VERIFY_DIFFERENT);       /* an argument of the region */
    fixture_end();
}

static void what_directed_rounding_explains(void)
{
    CU_ASSERT_TRUE_FATAL(fixture_begin());
    const double wide[4] = {1.0 - 2e-6, 1.0 + 3e-6, 1.0 - 4e-6, 1.0 + 1e-6}, narrow[4] = {1.0 + 2e-6, 1.0 + 2.1e-6, 1.0 - 1e-9, 1.0 + 1e-9};
    const double wrong[4] = {1.5 - 2e-6, 1.5 + 3e-6, 1.0 - 4e-6, 1.0 + 1e-6}, elsewhere[4] = {2.0, 3.0, 2.5, 3.0}, broken[4] = {1.0 - 2e-6, NAN, 0.0, 1.0};
    CU_ASSERT_EQUAL(verdict_beside(1.0 + 2e-6, wide), VERIFY_ROUNDED);
    CU_ASSERT_EQUAL(verdict_beside(1.0 + 2e-5, wide), VERIFY_DIFFERENT);       /* not where such a replay can be */
    CU_ASSERT_EQUAL(verdict_beside(1.0 + 2e-6, narrow), VERIFY_DIFFERENT);     /* farther than rounding moves either of them */
    CU_ASSERT_EQUAL(verdict_beside(1.5, wrong), VERIFY_DIFFERENT);             /* a wrong replay is wrong however it rounds */
    CU_ASSERT_EQUAL(verdict_beside(2.5, elsewhere), VERIFY_DIFFERENT);         /* a wide spread, that the original's is no part of */
    CU_ASSERT_EQUAL(verdict_beside(1.0 + 2e-6, broken), VERIFY_DIFFERENT);
    CU_ASSERT_EQUAL(verdict_beside(INFINITY, wide), VERIFY_DIFFERENT);
    CU_ASSERT_EQUAL(rounded_control(0, true), 0);
    CU_ASSERT_EQUAL(rounded_control(0x037f00009fc0, false), 0x077f0000bfc0);   /* denormals stay as they are */
    CU_ASSERT_EQUAL(rounded_control(0x0f7f0000ff80, true), 0x0b7f0000df80);    /* toward zero before */
    fixture_end();
}

static void what_is_not_described(void)
{
    CU_ASSERT_TRUE_FATAL(fixture_begin());
    struct difference_list list = {.different_bytes = 77};
    struct verify_result result = judged(&list, 1, 1);
    CU_ASSERT_EQUAL(result.verdict, VERIFY_DIFFERENT);
    CU_ASSERT_EQUAL_FATAL(result.cause_count, 1);
    CU_ASSERT_EQUAL(result.causes[0].bytes, 77);
    forget(&result, &list, 1);
    fixture_end();
}

static void bounds(void)
{
    struct difference_bound few, many;
    difference_bound_for_terms(1, &few);
    difference_bound_for_terms(1e6, &many);
    CU_ASSERT_DOUBLE_EQUAL(few.double_ratio, 16 * 0x1p-53, 1e-20);
    CU_ASSERT_DOUBLE_EQUAL(many.double_ratio / few.double_ratio, 1000, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(many.single_ratio / many.double_ratio, 0x1p29, 1);
}

static const struct unit_test tests[] = {
    {"values of each type are named and judged by it", values_of_each_type},
    {"an array's own name is shorter than the way through a list", lists_of_blocks},
    {"however many pointers lead into a block, it is looked at once", pointers_into_one_block},
    {"rounding counts against the largest value of the variable that differs", the_largest_counts},
    {"what differs between two runs is told apart from what differs in both alike", runs_that_disagree},
    {"what differs by no more than directed rounding moves it is rounding, and nothing else is", what_directed_rounding_explains},
    {"what does not repeat is no rounding", what_does_not_repeat},
    {"bits of no field, and what is left of an address where no type is known, are no values", what_is_no_value},
    {"memory to which no word of the program leads is a library's own", what_only_a_library_knows},
    {"differences that were too many to be described are not forgotten", what_is_not_described},
    {"the bound grows with the root of the number of terms", bounds},
};
UNIT_MAIN("differences", tests)
