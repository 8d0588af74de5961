/* tests/unit/test_store_round_trip.c - what is written comes back: pages, codelets, manifest, program, samples. */
#include "tests/unit/store_sample.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_pages_come_back(void)
{
    struct sample_store made;
    sample_store_make(&made, 300, true);
    struct store *store = sample_store_open(&made);
    unsigned char page[SAMPLE_PAGE];
    unsigned char *all = malloc(300 * SAMPLE_PAGE);
    for (size_t i = 0; i < made.page_count; i++)
        if (made.pages[i] != STORE_PAGE_ZERO) {
            CU_ASSERT_EQUAL(store_pages_read(store, made.pages[i], 1, page, NULL), PCERE_OK);
            CU_ASSERT_EQUAL(memcmp(page, made.data + i * SAMPLE_PAGE, SAMPLE_PAGE), 0);
        }
    CU_ASSERT_EQUAL(store_check(store, NULL), PCERE_OK);
    free(all);
    store_close(store);
    sample_store_done(&made);
}

static void test_codelet_comes_back(void)
{
    struct sample_store made;
    sample_store_make(&made, 200, true);
    struct store *store = sample_store_open(&made);
    struct store_codelet codelet;
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL_FATAL(store_codelet_load(store, made.codelet_name, &codelet, &error), PCERE_OK);
    CU_ASSERT_STRING_EQUAL(codelet.region, SAMPLE_REGION);
    CU_ASSERT_EQUAL(codelet.invocation, 7);
    CU_ASSERT_EQUAL(codelet.unit_id, 0x8899aabbccddeeffu);
    CU_ASSERT_EQUAL(codelet.word_count, 3);
    CU_ASSERT_EQUAL(codelet.words[2], UINT64_MAX);
    CU_ASSERT_EQUAL(codelet.num_threads, 0);
    CU_ASSERT_EQUAL(codelet.proc_bind, -1);
    CU_ASSERT_EQUAL_FATAL(codelet.mapping_count, 3);
    CU_ASSERT_STRING_EQUAL(codelet.mappings[2].name, "[stack]");
    CU_ASSERT_TRUE(codelet.has_after);
    CU_ASSERT_EQUAL(codelet.after_count, 1);
    CU_ASSERT_EQUAL_FATAL(codelet.made_count, 1);
    CU_ASSERT_EQUAL(codelet.made[0].address, SAMPLE_MADE);
    CU_ASSERT_EQUAL(codelet.threads[0].tls_bytes, 64);
    CU_ASSERT_EQUAL(codelet.locks[0].kind, 1);
    CU_ASSERT_EQUAL(codelet.locks[0].held, 2);
    CU_ASSERT_EQUAL(codelet.locks[0].held_after, 1);
    CU_ASSERT_EQUAL_FATAL(codelet.random_count, 1);
    CU_ASSERT_EQUAL(codelet.randoms[0].after[2], 6);
    CU_ASSERT_EQUAL_FATAL(codelet.external_count, 1);
    CU_ASSERT_EQUAL(codelet.externals[0].count, 1);
    CU_ASSERT_STRING_EQUAL(codelet.frames[1].symbol, "main");
    CU_ASSERT_EQUAL(codelet.ignored[0].bytes, 8);
    CU_ASSERT_EQUAL_FATAL(codelet.signal_count, 1);
    CU_ASSERT_EQUAL(codelet.signals[0].handler, 0x401000);
    CU_ASSERT_EQUAL(codelet.signals[0].number, 11);
    CU_ASSERT_EQUAL_FATAL(codelet.key_count, 2);
    CU_ASSERT_EQUAL(codelet.keys[0].thread, STORE_KEY_MADE);
    CU_ASSERT_EQUAL(codelet.keys[1].value, 42);
    CU_ASSERT_EQUAL(codelet.setting.schedule_chunk, 9);
    CU_ASSERT_EQUAL(codelet.setting.environment, SAMPLE_ADDRESS);
    CU_ASSERT_EQUAL(codelet.setting.level_count, 2);
    CU_ASSERT_EQUAL(codelet.setting.levels[0].team, 4);
    CU_ASSERT_EQUAL(codelet.setting.levels[0].number, 3);
    CU_ASSERT_EQUAL(codelet.setting.levels[1].team, 1);
    CU_ASSERT_EQUAL(codelet.setting.teams, 3);
    CU_ASSERT_EQUAL(codelet.setting.team, 2);
    CU_ASSERT_EQUAL(codelet.setting.thread_limit, 6);
    CU_ASSERT_EQUAL_FATAL(codelet.descriptor_count, 2);
    CU_ASSERT_EQUAL(codelet.descriptors[1].number, 5);
    CU_ASSERT_EQUAL(codelet.descriptors[1].offset, 12);
    CU_ASSERT_STRING_EQUAL(codelet.descriptors[1].path, "/home/user/mesh.dat");
    CU_ASSERT_EQUAL_FATAL(codelet.stream_count, 2);
    CU_ASSERT_EQUAL(codelet.streams[0].bytes[1], 2);
    CU_ASSERT_EQUAL(codelet.streams[1].kind, STORE_STREAM_STDOUT);
    CU_ASSERT_EQUAL_FATAL(codelet.content_count, 1);
    CU_ASSERT_EQUAL(codelet.contents[0].count, 2);
    CU_ASSERT_TRUE(codelet.does_io);
    CU_ASSERT_TRUE(codelet.reads_opened);
    size_t compared = 0;
    unsigned char *bytes = malloc(200 * SAMPLE_PAGE);
    for (size_t i = 0; i < codelet.before_count; i++) {
        const struct store_run *run = &codelet.before[i];
        const unsigned char *expected = made.data + (run->address - SAMPLE_ADDRESS);
        memset(bytes, 0, run->count * SAMPLE_PAGE);
        if (run->page != STORE_PAGE_ZERO)
            CU_ASSERT_EQUAL(store_pages_read(store, run->page, run->count, bytes, NULL), PCERE_OK);
        CU_ASSERT_EQUAL(memcmp(bytes, expected, run->count * SAMPLE_PAGE), 0);
        compared += run->count;
    }
    CU_ASSERT_EQUAL(compared, 200);
    free(bytes);
    store_codelet_done(&codelet);
    store_close(store);
    sample_store_done(&made);
}

static void test_manifest_comes_back(void)
{
    struct sample_store made;
    sample_store_make(&made, 10, true);
    struct store *store = sample_store_open(&made);
    const struct store_manifest *manifest = store_manifest(store);
    CU_ASSERT_TRUE(manifest->complete);
    CU_ASSERT_STRING_EQUAL(manifest->program, "./sample");
    CU_ASSERT_STRING_EQUAL(manifest->arguments[0], "-n");
    CU_ASSERT_STRING_EQUAL(manifest->arguments[1], "not \xff UTF-8");
    CU_ASSERT_PTR_NULL(manifest->arguments[2]);
    CU_ASSERT_STRING_EQUAL(manifest->environment[0], "OMP_NUM_THREADS=1");
    CU_ASSERT_STRING_EQUAL(manifest->host, "{\"name\":\"here\"}");
    CU_ASSERT_EQUAL(manifest->page_size, SAMPLE_PAGE);
    CU_ASSERT_EQUAL(manifest->program_status, -1);
    CU_ASSERT_EQUAL(manifest->image_bias, 0x555555554000);
    CU_ASSERT_EQUAL(manifest->region_count, 1);
    CU_ASSERT_STRING_EQUAL(manifest->regions[0].name, SAMPLE_REGION);
    CU_ASSERT_EQUAL(manifest->regions[0].classes[0].members, 75);
    CU_ASSERT_STRING_EQUAL(manifest->regions[0].classes[0].codelet, made.codelet_name);
    CU_ASSERT_PTR_NULL(manifest->regions[0].classes[0].reason);
    CU_ASSERT_STRING_EQUAL(manifest->regions[0].classes[0].io, "reads mesh.dat");
    CU_ASSERT_EQUAL(manifest->regions[0].classes[0].read_bytes, 4096);
    CU_ASSERT_TRUE(manifest->regions[0].classes[0].nested);
    CU_ASSERT_EQUAL(manifest->regions[0].classes[0].team, 3);
    CU_ASSERT_EQUAL(manifest->regions[0].classes[0].between_members, 12);
    CU_ASSERT_EQUAL(manifest->regions[0].classes[0].between_ns, 340);
    CU_ASSERT_EQUAL(manifest->regions[0].nested, 5);
    CU_ASSERT_EQUAL(manifest->regions[0].nested_ns, 77);
    CU_ASSERT_STRING_EQUAL(manifest->regions[0].parent, "outer@cg.c:9");
    store_close(store);
    sample_store_done(&made);
}

static void test_program_comes_back(void)
{
    struct sample_store made;
    sample_store_make(&made, 10, true);
    struct store *store = sample_store_open(&made);
    char *path;
    CU_ASSERT_EQUAL_FATAL(store_file(store, "program", &path, NULL), PCERE_OK);
    size_t bytes, original;
    unsigned char *copy = sample_read(path, &bytes), *source = sample_read("/proc/self/exe", &original);
    CU_ASSERT_EQUAL(bytes, original);
    CU_ASSERT_EQUAL(memcmp(copy, source, bytes < original ? bytes : original), 0);
    struct stat about;
    CU_ASSERT_EQUAL(stat(path, &about), 0);
    CU_ASSERT_EQUAL(about.st_mode & 0777, 0600);
    free(copy);
    free(source);
    free(path);
    CU_ASSERT_EQUAL(store_file(store, "build", &path, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(access(path, W_OK), 0);
    free(path);
    CU_ASSERT_EQUAL(store_file(store, "../etc", &path, NULL), PCERE_USAGE);
    store_close(store);
    sample_store_done(&made);
}

static void test_samples_come_back(void)
{
    struct sample_store made;
    sample_store_make(&made, 10, true);
    struct store *store = sample_store_open(&made);
    struct store_sample *samples;
    size_t count;
    CU_ASSERT_EQUAL_FATAL(store_samples_load(store, &samples, &count, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(count, 2);
    CU_ASSERT_STRING_EQUAL(samples[0].region, SAMPLE_REGION);
    CU_ASSERT_EQUAL(samples[0].sample_count, 3);
    CU_ASSERT_EQUAL(samples[0].samples_ns[2], 123456);
    CU_ASSERT_TRUE(samples[0].cpu_ns && samples[0].cpu_ns[1] == 120000);
    CU_ASSERT_TRUE(samples[0].switches && samples[0].switches[2] == 5);
    CU_ASSERT_TRUE(samples[0].waits_ns && samples[0].waits_ns[2] == 9000);
    CU_ASSERT_TRUE(samples[0].process_count == 2 && samples[0].process_counts[1] == 2);
    CU_ASSERT_TRUE(!samples[1].cpu_ns && !samples[1].switches && !samples[1].waits_ns && !samples[1].process_counts);
    CU_ASSERT_EQUAL(samples[0].sampled_ratio, 0.0625);
    CU_ASSERT_EQUAL(samples[0].slow_ratio, 0.75);
    CU_ASSERT_EQUAL(samples[0].loud_ratio, 0.125);
    CU_ASSERT_EQUAL(samples[0].line_ns, 155);
    CU_ASSERT_EQUAL(samples[0].processors, 2);
    CU_ASSERT_EQUAL(samples[1].processors, 0);
    CU_ASSERT_STRING_EQUAL(samples[0].warmup_policy, "preceded");
    CU_ASSERT_STRING_EQUAL(samples[0].warmup_reason, "plain was off");
    CU_ASSERT_TRUE(samples[0].has_residual);
    CU_ASSERT_EQUAL(samples[0].residual_ratio, -0.125);
    CU_ASSERT_PTR_NULL(samples[1].warmup_policy);
    CU_ASSERT_FALSE(samples[1].has_residual);
    CU_ASSERT_EQUAL(samples[1].sampled_ratio, 0);
    CU_ASSERT_EQUAL(samples[1].slow_ratio, 0);
    CU_ASSERT_PTR_NULL(samples[1].region);
    CU_ASSERT_STRING_EQUAL(samples[1].host_name, "here-2");
    store_samples_free(samples, count);
    store_close(store);
    sample_store_done(&made);
}

static void test_known_and_zero_pages_cost_nothing(void)
{
    struct sample_store made;
    sample_store_make(&made, 0, false);
    unsigned char *data = calloc(4, SAMPLE_PAGE);
    uint64_t first[4], second[4];
    data[SAMPLE_PAGE] = 1;
    data[2 * SAMPLE_PAGE + SAMPLE_PAGE - 1] = 1;
    data[3 * SAMPLE_PAGE] = 1;
    CU_ASSERT_EQUAL(store_writer_pages(made.writer, data, 4, first, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(store_writer_pages(made.writer, data, 4, second, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(first[0], STORE_PAGE_ZERO);
    CU_ASSERT_EQUAL(first[1], 0);
    CU_ASSERT_EQUAL(first[2], 1);
    CU_ASSERT_EQUAL(first[3], 0);
    CU_ASSERT_EQUAL(memcmp(first, second, sizeof first), 0);
    struct store_mapping mapping = {SAMPLE_ADDRESS, SAMPLE_ADDRESS + 4 * SAMPLE_PAGE, 3, STORE_ROLE_HEAP, "x"};
    struct store_run runs[] = {{SAMPLE_ADDRESS, STORE_PAGE_ZERO, 1}, {SAMPLE_ADDRESS + SAMPLE_PAGE, 0, 2}, {SAMPLE_ADDRESS + 3 * SAMPLE_PAGE, 0, 1}};
    struct store_codelet codelet = {.region = (char[]){"r"}, .invocation = 1, .mappings = &mapping, .mapping_count = 1, .before = runs, .before_count = 3};
    char *name;
    uint64_t stored;
    CU_ASSERT_EQUAL(store_writer_codelet(made.writer, &codelet, &name, &stored, NULL), PCERE_OK);
    CU_ASSERT_TRUE(stored > 0 && stored < 2 * SAMPLE_PAGE);
    free(name);
    CU_ASSERT_EQUAL(store_writer_pages(made.writer, data, 4, second, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(store_writer_codelet(made.writer, &codelet, &name, &stored, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(stored, 0);
    CU_ASSERT_STRING_EQUAL(name, "r-1-2");
    free(name);
    free(data);
    sample_store_done(&made);
}

struct done_record { unsigned count; uint64_t stored; char names[3][32]; };

static void note_done(void *context, const char *name, uint64_t stored_bytes, const struct pcere_error *error)
{
    struct done_record *record = context;
    if (!error && record->count < 3) {
        snprintf(record->names[record->count++], sizeof record->names[0], "%s", name);
        record->stored += stored_bytes;
    }
}

/* Whichever codelet is written first, and though all pages were there before. */
static void test_each_codelet_counts_what_it_added(void)
{
    struct sample_store made;
    sample_store_make(&made, 0, false);
    unsigned char *data = calloc(100, SAMPLE_PAGE);
    uint64_t pages[100];
    for (unsigned i = 0; i < 100; i++)
        memset(data + i * SAMPLE_PAGE, (int)i + 1, SAMPLE_PAGE / 2);
    CU_ASSERT_EQUAL(store_writer_pages(made.writer, data, 100, pages, NULL), PCERE_OK);
    struct store_mapping mapping = {SAMPLE_ADDRESS, SAMPLE_ADDRESS + 100 * SAMPLE_PAGE, 3, STORE_ROLE_HEAP, "x"};
    uint64_t stored[4], ends[] = {60, 100, 100, 100}, starts[] = {0, 50, 10, 10};
    for (unsigned i = 0; i < 4; i++) {
        struct store_run run = {SAMPLE_ADDRESS, starts[i], ends[i] - starts[i]};
        struct store_codelet codelet = {.region = (char[]){"r"}, .invocation = i + 1, .mappings = &mapping, .mapping_count = 1, .before = &run, .before_count = i < 3};
        char *name;
        CU_ASSERT_EQUAL(store_writer_codelet(made.writer, &codelet, &name, &stored[i], NULL), PCERE_OK);
        free(name);
    }
    CU_ASSERT_TRUE(stored[0] > 0 && stored[1] > 0);
    CU_ASSERT_EQUAL(stored[2], 0);
    CU_ASSERT_EQUAL(stored[3], 0);
    CU_ASSERT_TRUE(3 * stored[1] > stored[0] && stored[1] < stored[0]);        /* 60 pages, and 40 */
    free(data);
    sample_store_done(&made);
}

static void test_background_codelets_come_in_order(void)
{
    struct sample_store made;
    sample_store_make(&made, 0, false);
    struct done_record record = {0};
    for (uint64_t i = 1; i <= 3; i++) {
        unsigned char *data = sample_pages(500, (unsigned)i);
        uint64_t *pages = calloc(500, sizeof *pages);
        CU_ASSERT_EQUAL(store_writer_pages(made.writer, data, 500, pages, NULL), PCERE_OK);
        struct store_codelet codelet = {.region = strdup("r"), .invocation = i, .mappings = calloc(1, sizeof *codelet.mappings), .mapping_count = 1,
                                        .before = calloc(500, sizeof *codelet.before), .before_count = 500};
        codelet.mappings[0] = (struct store_mapping){SAMPLE_ADDRESS, SAMPLE_ADDRESS + 500 * SAMPLE_PAGE, 3, STORE_ROLE_HEAP, "x"};
        for (size_t k = 0; k < 500; k++)
            codelet.before[k] = (struct store_run){SAMPLE_ADDRESS + k * SAMPLE_PAGE, pages[k], 1};
        CU_ASSERT_EQUAL(store_writer_codelet_async(made.writer, &codelet, note_done, &record, NULL), PCERE_OK);
        CU_ASSERT_PTR_NULL(codelet.region);
        free(data);
        free(pages);
    }
    struct store_manifest manifest = {.complete = true};
    CU_ASSERT_EQUAL(store_writer_manifest(made.writer, &manifest, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(record.count, 3);
    CU_ASSERT_STRING_EQUAL(record.names[0], "r-1");
    CU_ASSERT_STRING_EQUAL(record.names[2], "r-3");
    struct stat about;
    char path[300];
    snprintf(path, sizeof path, "%s/pages", made.path);
    CU_ASSERT_EQUAL(stat(path, &about), 0);
    CU_ASSERT_EQUAL(record.stored + 64, (uint64_t)about.st_size);
    sample_store_done(&made);
}

struct adder { struct store_writer *writer; const unsigned char *data; size_t count, step; uint64_t *pages; enum pcere_status status; };

static void *adder_main(void *argument)
{
    struct adder *adder = argument;
    for (size_t at = 0; at < adder->count && !adder->status; at += adder->step) {
        size_t count = adder->count - at < adder->step ? adder->count - at : adder->step;
        adder->status = store_writer_pages(adder->writer, adder->data + at * SAMPLE_PAGE, count, adder->pages + at, NULL);
    }
    return NULL;
}

static void test_many_callers_agree_on_page_numbers(void)
{
    enum { CALLERS = 4, PAGES = 9000 };            /* more than the ring holds, so that callers wait */
    struct sample_store made;
    sample_store_make(&made, 0, false);
    unsigned char *data = sample_pages(PAGES, 3);
    struct adder adders[CALLERS];
    pthread_t threads[CALLERS];
    for (unsigned i = 0; i < CALLERS; i++) {
        adders[i] = (struct adder){made.writer, data, PAGES, 1 + 30 * i, calloc(PAGES, sizeof(uint64_t)), PCERE_OK};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, adder_main, &adders[i]), 0);
    }
    CU_ASSERT_EQUAL(store_writer_reserve(made.writer, 4000000, NULL, NULL), PCERE_OK);      /* of the room that is there, */
    CU_ASSERT_EQUAL(store_writer_reserve(made.writer, 40000000, NULL, NULL), PCERE_OK);     /* and more */
    for (unsigned i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    struct store_manifest manifest = {.complete = true};
    CU_ASSERT_EQUAL(store_writer_manifest(made.writer, &manifest, NULL), PCERE_OK);
    struct store *store = sample_store_open(&made);
    unsigned char page[SAMPLE_PAGE];
    uint64_t highest = 0;
    for (size_t i = 0; i < PAGES; i++) {
        for (unsigned j = 1; j < CALLERS; j++)
            CU_ASSERT_EQUAL_FATAL(adders[j].pages[i], adders[0].pages[i]);
        if (adders[0].pages[i] == STORE_PAGE_ZERO)
            continue;
        CU_ASSERT_EQUAL_FATAL(store_pages_read(store, adders[0].pages[i], 1, page, NULL), PCERE_OK);
        CU_ASSERT_EQUAL_FATAL(memcmp(page, data + i * SAMPLE_PAGE, SAMPLE_PAGE), 0);
        highest = adders[0].pages[i] > highest ? adders[0].pages[i] : highest;
    }
    CU_ASSERT_TRUE(highest < PAGES);
    unsigned char *run = malloc((highest + 1) * SAMPLE_PAGE);
    CU_ASSERT_EQUAL(store_pages_read(store, 0, highest + 1, run, NULL), PCERE_OK);
    for (size_t i = 0; i < PAGES; i++)
        if (adders[0].pages[i] != STORE_PAGE_ZERO)
            CU_ASSERT_EQUAL(memcmp(run + adders[0].pages[i] * SAMPLE_PAGE, data + i * SAMPLE_PAGE, SAMPLE_PAGE), 0);
    CU_ASSERT_EQUAL(store_pages_read(store, highest, 2, run, NULL), PCERE_DATA);
    CU_ASSERT_EQUAL(store_pages_read(store, 1, UINT64_MAX, run, NULL), PCERE_DATA);
    CU_ASSERT_EQUAL(store_check(store, NULL), PCERE_OK);
    free(run);
    store_close(store);
    for (unsigned i = 0; i < CALLERS; i++)
        free(adders[i].pages);
    free(data);
    sample_store_done(&made);
}

static uint64_t resident_pages(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fscanf(file, "%*u %lu", &pages), 1);
    fclose(file);
    return pages;
}

static void test_reserved_room_is_there(void)
{
    enum { BYTES = 8000000 };                       /* less than there is room for */
    struct sample_store made;
    sample_store_make(&made, 0, false);
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), before = resident_pages();
    const _Atomic(bool) stop = true;
    CU_ASSERT_EQUAL(store_writer_reserve(made.writer, BYTES, &stop, NULL), PCERE_OK);
    CU_ASSERT_TRUE(resident_pages() - before < BYTES / 2 / page_bytes);
    CU_ASSERT_EQUAL(store_writer_reserve(made.writer, BYTES, NULL, NULL), PCERE_OK);
    CU_ASSERT_TRUE(resident_pages() - before >= BYTES * 9 / 10 / page_bytes);
    store_writer_close(made.writer);
    made.writer = NULL;
    sample_store_done(&made);
}

static void pages_are_as_written(const struct sample_store *made, const unsigned char *data, const uint64_t *numbers, size_t count)
{
    struct store *store = sample_store_open(made);
    unsigned char page[SAMPLE_PAGE];
    for (size_t i = 0; i < count; i++)
        if (numbers[i] != STORE_PAGE_ZERO) {
            CU_ASSERT_EQUAL_FATAL(store_pages_read(store, numbers[i], 1, page, NULL), PCERE_OK);
            CU_ASSERT_EQUAL_FATAL(memcmp(page, data + i * SAMPLE_PAGE, SAMPLE_PAGE), 0);
        }
    store_close(store);
}

static void test_paused_writer_takes_more_than_it_has_room_for(void)
{
    enum { PAGES = 6000 };                                          /* the ring holds 4096 */
    struct sample_store made;
    sample_store_make(&made, 0, false);
    unsigned char *data = sample_pages(PAGES, 3);
    uint64_t *numbers = calloc(PAGES, sizeof *numbers);
    store_writer_pause(made.writer, true);
    CU_ASSERT_EQUAL(store_writer_pages(made.writer, data, PAGES, numbers, NULL), PCERE_OK);
    store_writer_pause(made.writer, false);
    struct store_manifest manifest = {.complete = true};
    CU_ASSERT_EQUAL(store_writer_manifest(made.writer, &manifest, NULL), PCERE_OK);
    pages_are_as_written(&made, data, numbers, PAGES);
    free(numbers);
    free(data);
    sample_store_done(&made);
}

/* Nobody compresses while the writer is paused, but who waits. */
static void test_who_settles_compresses_what_waits(void)
{
    enum { PAGES = 2000 };
    struct sample_store made;
    sample_store_make(&made, 0, false);
    unsigned char *data = sample_pages(PAGES, 3);
    uint64_t *numbers = calloc(PAGES, sizeof *numbers);
    store_writer_pause(made.writer, true);
    CU_ASSERT_EQUAL(store_writer_pages(made.writer, data, PAGES, numbers, NULL), PCERE_OK);
    char *pages;
    struct stat before, after;
    CU_ASSERT_TRUE_FATAL(asprintf(&pages, "%s/pages", made.path) > 0);
    CU_ASSERT_EQUAL_FATAL(stat(pages, &before), 0);
    store_writer_settle(made.writer);
    CU_ASSERT_EQUAL_FATAL(stat(pages, &after), 0);
    CU_ASSERT_TRUE(after.st_size > before.st_size);
    struct store_manifest manifest = {.complete = true};
    CU_ASSERT_EQUAL(store_writer_manifest(made.writer, &manifest, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(stat(pages, &before), 0);
    CU_ASSERT_EQUAL(after.st_size, before.st_size);
    pages_are_as_written(&made, data, numbers, PAGES);
    free(pages);
    free(numbers);
    free(data);
    sample_store_done(&made);
}

static void test_codelet_that_breaks_its_rules_is_not_written(void)
{
    struct sample_store made;
    sample_store_make(&made, 0, false);
    struct store_mapping mapping = {SAMPLE_ADDRESS, SAMPLE_ADDRESS + SAMPLE_PAGE, 3, STORE_ROLE_HEAP, "x"};
    struct store_run outside = {SAMPLE_ADDRESS + SAMPLE_PAGE, STORE_PAGE_ZERO, 1}, unknown = {SAMPLE_ADDRESS, 5, 1};
    struct store_codelet codelet = {.region = (char[]){"r"}, .mappings = &mapping, .mapping_count = 1, .before_count = 1};
    struct pcere_error error;
    char *name;
    uint64_t stored;
    codelet.before = &outside;
    CU_ASSERT_EQUAL(store_writer_codelet(made.writer, &codelet, &name, &stored, &error), PCERE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "outside all mappings"));
    codelet.before = &unknown;
    CU_ASSERT_EQUAL(store_writer_codelet(made.writer, &codelet, &name, &stored, &error), PCERE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "does not hold"));
    sample_store_done(&made);
}

static const struct unit_test tests[] = {
    {"room that is reserved is in memory before pages come", test_reserved_room_is_there},
    {"pages come back as they were", test_pages_come_back},
    {"a codelet comes back as it was", test_codelet_comes_back},
    {"the manifest comes back, with strings that are not UTF-8", test_manifest_comes_back},
    {"the program comes back, readable by its owner only", test_program_comes_back},
    {"samples come back in order", test_samples_come_back},
    {"known pages and zero pages cost nothing", test_known_and_zero_pages_cost_nothing},
    {"each codelet is told what it added, in whatever order codelets are written", test_each_codelet_counts_what_it_added},
    {"codelets written in the background come in order", test_background_codelets_come_in_order},
    {"many callers agree on page numbers", test_many_callers_agree_on_page_numbers},
    {"a paused writer takes more than it has room for", test_paused_writer_takes_more_than_it_has_room_for},
    {"who settles compresses what waits", test_who_settles_compresses_what_waits},
    {"a codelet that breaks its rules is not written", test_codelet_that_breaks_its_rules_is_not_written},
};

UNIT_MAIN("store: round trip", tests)
