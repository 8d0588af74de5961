/* tests/unit/store_sample.h - a small store with something of everything, for the tests of store/. */
#ifndef PCERE_TESTS_STORE_SAMPLE_H
#define PCERE_TESTS_STORE_SAMPLE_H

#include "store/store.h"

#include <CUnit/CUnit.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAMPLE_PAGE 4096u
#define SAMPLE_ADDRESS 0x10000000ull
#define SAMPLE_KEYS_BYTES (2 * sizeof(struct store_key))
#define SAMPLE_MADE 0x7ffff0000000u          /* what its region allocated: one page */
#define SAMPLE_MADE_BYTES sizeof(struct store_run)      /* the file's last part */
#define SAMPLE_ALIAS 0x7ffff7000000ull      /* of the first page there */
#define SAMPLE_REGION "conj_grad@cg.c:405"
#define SAMPLE_PROGRAM "/proc/self/exe"

struct sample_store {
    char folder[128];                      /* a temporary directory that holds the store */
    char path[200];
    struct store_writer *writer;           /* NULL once the store is closed */
    unsigned char *data;
    uint64_t *pages;
    size_t page_count;
    char *codelet_name;
};

/* `count` pages: some zero, some twice, some that compress and some that do not. */
static inline unsigned char *sample_pages(size_t count, unsigned seed)
{
    unsigned char *data = calloc(count + 1, SAMPLE_PAGE);
    uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
    for (size_t i = 0; i < count; i++) {
        unsigned char *page = data + i * SAMPLE_PAGE;
        if (i % 5 == 3)
            continue;
        if (i % 11 == 10)
            memcpy(page, data, SAMPLE_PAGE);
        for (size_t at = 0; at < SAMPLE_PAGE && i % 11 != 10; at += 8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            uint64_t word = i % 2 ? state : i + seed;
            memcpy(page + at, &word, sizeof word);
        }
    }
    return data;
}

static inline unsigned char *sample_read(const char *path, size_t *ret_bytes)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (descriptor < 0 || fstat(descriptor, &about) != 0)
        abort();
    unsigned char *data = malloc((size_t)about.st_size + 1);
    size_t done = 0;
    for (ssize_t got; (got = read(descriptor, data + done, (size_t)about.st_size - done)) > 0;)
        done += (size_t)got;
    close(descriptor);
    *ret_bytes = done;
    return data;
}

static inline void sample_write(const char *path, const void *data, size_t bytes)
{
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0 || write(descriptor, data, bytes) != (ssize_t)bytes)
        abort();
    close(descriptor);
}

/* Runs over the sample's pages from SAMPLE_ADDRESS on. */
static inline struct store_run *sample_runs(const struct sample_store *made, size_t *ret_count)
{
    struct store_run *runs = calloc(made->page_count + 1, sizeof *runs);
    size_t count = 0;
    for (size_t i = 0; i < made->page_count; i++) {
        struct store_run *last = count ? &runs[count - 1] : NULL;
        uint64_t next = last ? last->page == STORE_PAGE_ZERO ? STORE_PAGE_ZERO : last->page + last->count : 0;
        if (last && next == made->pages[i])
            last->count++;
        else
            runs[count++] = (struct store_run){SAMPLE_ADDRESS + i * SAMPLE_PAGE, made->pages[i], 1};
    }
    *ret_count = count;
    return runs;
}

static inline enum pcere_status sample_add_codelet(struct sample_store *made, struct pcere_error *error)
{
    uint64_t words[3] = {1, SAMPLE_ADDRESS, UINT64_MAX};
    struct store_mapping mappings[3] = {
        {SAMPLE_ADDRESS, SAMPLE_ADDRESS + (made->page_count + 1) * SAMPLE_PAGE, 3, STORE_ROLE_HEAP, "[heap]"},
        {SAMPLE_ALIAS, SAMPLE_ALIAS + SAMPLE_PAGE, 1, STORE_ROLE_ANONYMOUS, "memfd:ring (deleted)"},
        {0x7ffffffde000, 0x7ffffffff000, 3, STORE_ROLE_STACK, "[stack]"}};
    struct store_alias alias = {SAMPLE_ALIAS, SAMPLE_ADDRESS, SAMPLE_PAGE};
    struct store_run after = {0x7ffffffde000, STORE_PAGE_ZERO, 2}, allocated = {SAMPLE_MADE, made->pages[0], 1};
    struct store_thread thread = {0, 3, SAMPLE_ADDRESS + 64, 64};
    struct store_lock lock = {.address = SAMPLE_ADDRESS + 128, .kind = 1, .held = 2, .held_after = 1};
    struct store_frame frames[2] = {{0x401000, "conj_grad"}, {0x402000, "main"}};
    struct store_range ignored = {SAMPLE_ADDRESS + 256, 8};
    struct store_signal signal = {0x401000, 6, 11, 4};
    struct store_key keys[SAMPLE_KEYS_BYTES / sizeof(struct store_key)] = {{3, STORE_KEY_MADE, 0x401000}, {3, 1, 42}};
    struct store_descriptor descriptors[2] = {
        {.number = 0, .kind = STORE_DESCRIPTOR_TERMINAL, .path = "/dev/pts/0"},
        {.number = 5, .kind = STORE_DESCRIPTOR_FILE, .flags = O_RDWR, .marks = STORE_DESCRIPTOR_READ | STORE_DESCRIPTOR_CONTENT,
         .offset = 12, .bytes = 5000, .changed_ns = 1700000000000000000u, .content_count = 1, .path = "/home/user/mesh.dat"}};
    struct store_stream streams[2] = {{SAMPLE_ADDRESS + 512, 5, STORE_STREAM_FILE, {1, 2}}, {0x7ffff7fa0760, 1, STORE_STREAM_STDOUT, {3}}};
    struct store_run content = {0, STORE_PAGE_ZERO, 2}, external = {0, made->pages[0], 1};
    struct store_random random = {.kind = STORE_RANDOM_48, .bytes = 6, .known_after = 1, .before = {1, 2, 3}, .after = {4, 5, 6}};
    struct store_codelet codelet = {
        .region = (char[]){SAMPLE_REGION}, .invocation = 7, .members = 75, .proc_bind = -1, .capture_threads = 1,
        .stack_pointer = 0x7ffffffde100, .unit_id = 0x8899aabbccddeeffu, .in_vivo_ns = 1234, .words = words, .word_count = 3, .mappings = mappings,
        .mapping_count = 3, .aliases = &alias, .alias_count = 1, .after = &after, .after_count = 1, .made = &allocated, .made_count = 1, .has_after = true, .threads = &thread, .thread_count = 1,
        .locks = &lock, .lock_count = 1, .frames = frames, .frame_count = 2, .ignored = &ignored, .ignored_count = 1,
        .signals = &signal, .signal_count = 1, .keys = keys, .key_count = 2, .setting = {.schedule_kind = 3, .schedule_chunk = 9, .max_active_levels = 2, .dynamic = 0, .environment = SAMPLE_ADDRESS,
                    .level_count = 2, .levels = {{4, 3}, {1, 0}}, .teams = 3, .team = 2, .thread_limit = 6},
        .descriptors = descriptors, .descriptor_count = 2, .streams = streams, .stream_count = 2, .contents = &content,
        .content_count = 1, .randoms = &random, .random_count = 1, .externals = &external, .external_count = 1, .does_io = true, .reads_opened = true};
    uint64_t stored;
    codelet.before = sample_runs(made, &codelet.before_count);
    enum pcere_status status = store_writer_codelet(made->writer, &codelet, &made->codelet_name, &stored, error);
    free(codelet.before);
    return status;
}

static inline enum pcere_status sample_add_manifest(struct sample_store *made, bool complete, struct pcere_error *error)
{
    char *arguments[] = {(char[]){"-n"}, (char[]){"not \xff UTF-8"}, NULL}, *environment[] = {(char[]){"OMP_NUM_THREADS=1"}, NULL};
    struct store_class class = {.representative = 7, .members = 75, .time_ns = 92550, .time_ns_median = 1233,
                                .representative_ns = 1234, .captured = true, .codelet = made->codelet_name,
                                .nested = true, .team = 3, .between_members = 12, .between_ns = 340, .read_bytes = 4096, .io = (char[]){"reads mesh.dat"}};
    struct store_region region = {.name = (char[]){SAMPLE_REGION}, .function = (char[]){"conj_grad"}, .file = (char[]){"cg.c"},
                                  .line = 405, .invocations = 75, .time_ns = 92550, .nested = 5, .nested_ns = 77, .parent = (char[]){"outer@cg.c:9"}, .status = (char[]){"captured"},
                                  .classes = &class, .class_count = 1};
    struct store_manifest manifest = {
        .complete = complete, .program = (char[]){"./sample"}, .program_file = (char[]){"/home/user/sample"},
        .arguments = arguments, .environment = environment, .working_directory = (char[]){"/home/user"},
        .compiler = (char[]){"clang 19"}, .host = (char[]){"{\"name\":\"here\"}"}, .threads = 1, .wall_ns = 100000,
        .serial_ns = 7450, .program_status = -1, .image_bias = 0x555555554000, .regions = &region, .region_count = 1};
    return store_writer_manifest(made->writer, &manifest, error);
}

static inline void sample_add_samples(const struct store *store)
{
    uint64_t times[3] = {120000, 121000, 123456}, cpu[3] = {119000, 120000, 121000}, switches[3] = {0, 0, 5}, waits[3] = {0, 0, 9000}, processes[2] = {1, 2};
    struct store_sample replay = {.kind = (char[]){"replay"}, .host_name = (char[]){"here-2"}, .region = (char[]){SAMPLE_REGION},
                                  .representative = 7, .threads = 2, .warmup = (char[]){"auto"}, .warmup_policy = (char[]){"preceded"}, .warmup_reason = (char[]){"plain was off"},
                                  .has_residual = true, .residual_ratio = -0.125, .sampled_ratio = 0.0625, .slow_ratio = 0.75, .loud_ratio = 0.125, .line_ns = 155, .processors = 2, .samples_ns = times,
                                  .sample_count = 3, .cpu_ns = cpu, .switches = switches, .waits_ns = waits, .process_counts = processes, .process_count = 2,
                                  .when_s = 1700000000};
    struct store_sample run = {.kind = (char[]){"run"}, .host_name = (char[]){"here-2"}, .threads = 1, .wall_ns = 5};
    CU_ASSERT_EQUAL_FATAL(store_sample_append(store, &replay, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(store_sample_append(store, &run, NULL), PCERE_OK);
}

static inline void sample_add_invocations(const struct store *store)
{
    uint64_t number[3] = {1, 7, 75}, begin[3] = {0, 5000, 91000}, times[3] = {1300, 1234, 1229}, representative[3] = {0, 7, 7};
    const struct store_series series = {.region = (char[]){SAMPLE_REGION}, .invocations = 75, .count = 3, .number = number, .begin_ns = begin,
                                        .time_ns = times, .representative = representative};
    CU_ASSERT_EQUAL_FATAL(store_invocations_write(store, &series, 1, NULL), PCERE_OK);
}

static inline struct store *sample_store_open(const struct sample_store *made)
{
    struct store *store = NULL;
    struct pcere_error error = {0};
    if (store_open(made->path, &store, &error)) {
        fprintf(stderr, "%s\n", error.message);
        CU_FAIL_FATAL("the store does not open");
    }
    return store;
}

/* A store of `count` pages in a temporary directory: finished and closed, or with the writer open and only its pages added. */
static inline void sample_store_make_of(struct sample_store *made, size_t count, bool finish, const char *program)
{
    struct pcere_error error = {0};
    *made = (struct sample_store){.page_count = count};
    snprintf(made->folder, sizeof made->folder, "/tmp/pcere-test-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(made->folder));
    snprintf(made->path, sizeof made->path, "%s/sample.pcere", made->folder);
    if (store_writer_open(made->path, false, SAMPLE_PAGE, 2, &made->writer, &error)) {
        fprintf(stderr, "%s\n", error.message);
        CU_FAIL_FATAL("the store cannot be made");
    }
    made->data = sample_pages(count, 1);
    made->pages = calloc(count + 1, sizeof *made->pages);
    CU_ASSERT_EQUAL_FATAL(store_writer_pages(made->writer, made->data, count, made->pages, &error), PCERE_OK);
    if (!finish)
        return;
    CU_ASSERT_EQUAL_FATAL(store_writer_program(made->writer, program, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(sample_add_codelet(made, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(sample_add_manifest(made, true, &error), PCERE_OK);
    store_writer_close(made->writer);
    made->writer = NULL;
    struct store *store = sample_store_open(made);
    sample_add_samples(store);
    sample_add_invocations(store);
    store_close(store);
}

static inline void sample_store_make(struct sample_store *made, size_t count, bool finish)
{
    sample_store_make_of(made, count, finish, SAMPLE_PROGRAM);
}

static inline void sample_store_done(struct sample_store *made)
{
    char command[300];
    store_writer_close(made->writer);
    free(made->data);
    free(made->pages);
    free(made->codelet_name);
    snprintf(command, sizeof command, "rm -rf '%s'", made->folder);
    if (system(command) != 0)
        abort();
}

#endif
