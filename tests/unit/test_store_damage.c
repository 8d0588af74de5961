/* tests/unit/test_store_damage.c - every flipped byte and every truncation of a small store gives PCERE_DATA, and never a crash. */
#include "store/format.h"
#include "tests/unit/store_sample.h"
#include "tests/unit/unit.h"

#include <xxhash.h>

static struct sample_store made;           /* shared by the tests, each of which leaves it as it was */

/* Everything a user of a store does; the first failure. */
static enum pcere_status use_store(struct pcere_error *error)
{
    struct store *store;
    enum pcere_status status = store_open(made.path, &store, error);
    if (status)
        return status;
    status = store_check(store, error);
    store_close(store);
    return status;
}

static void store_file_path(char path[400], const char *name)
{
    if (strcmp(name, "codelet") == 0)
        snprintf(path, 400, "%s/codelets/%s.codelet", made.path, made.codelet_name);
    else
        snprintf(path, 400, "%s/%s", made.path, name);
}

static void flip_every_byte(const char *name)
{
    char path[400];
    size_t bytes, unseen = 0;
    store_file_path(path, name);
    unsigned char *data = sample_read(path, &bytes);
    CU_ASSERT_TRUE(bytes > 16);
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    for (size_t at = 0; at < bytes; at++) {
        static const unsigned char masks[] = {0x01, 0x80, 0x20, 0xff};
        unsigned char flipped = data[at] ^ masks[at % 4];
        struct pcere_error error = {0};
        if (pwrite(descriptor, &flipped, 1, (off_t)at) != 1 || use_store(&error) != PCERE_DATA || !*error.message) {
            fprintf(stderr, "%s: byte %zu flipped by %#x is not seen (%s)\n", name, at, masks[at % 4], error.message);
            unseen++;
        }
        if (pwrite(descriptor, &data[at], 1, (off_t)at) != 1)
            abort();
    }
    close(descriptor);
    CU_ASSERT_EQUAL(unseen, 0);
    CU_ASSERT_EQUAL(use_store(NULL), PCERE_OK);
    free(data);
}

/* Each line for itself: the others are loaded, and which one was not is told. */
static void test_damaged_sample_is_passed_by(void)
{
    char path[400];
    size_t bytes, count, lines = 0, sound;
    struct store_sample *samples;
    struct pcere_error error = {0};
    store_file_path(path, "samples.jsonl");
    unsigned char *data = sample_read(path, &bytes);
    struct store *store = sample_store_open(&made);
    CU_ASSERT_EQUAL(store_samples_whole(store, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(store_samples_load(store, &samples, &sound, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(store_samples_whole(store, NULL), PCERE_OK);
    store_samples_free(samples, sound);
    CU_ASSERT_TRUE_FATAL(sound > 1);
    for (size_t at = 0; at < bytes; at++) {
        char words[32];
        if (at && data[at - 1] != '\n')
            continue;
        data[at + 20] ^= 1;
        sample_write(path, data, bytes);
        data[at + 20] ^= 1;
        CU_ASSERT_EQUAL_FATAL(store_samples_load(store, &samples, &count, &error), PCERE_OK);
        CU_ASSERT_EQUAL(count, sound - 1);
        CU_ASSERT_EQUAL(store_samples_whole(store, &error), PCERE_DATA);
        snprintf(words, sizeof words, "line %zu of", ++lines);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, words));
        CU_ASSERT_TRUE(*error.hint);
        store_samples_free(samples, count);
    }
    CU_ASSERT_EQUAL(lines, sound);
    sample_write(path, data, bytes);
    CU_ASSERT_EQUAL_FATAL(store_samples_load(store, &samples, &count, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(store_samples_whole(store, NULL), PCERE_OK);
    store_samples_free(samples, count);
    store_close(store);
    free(data);
}

/* What is lost at a line's end of the samples, or within the last line, is what a killed writer leaves: allowed. */
static void truncate_to_every_length(const char *name)
{
    char path[400];
    size_t bytes, unseen = 0;
    store_file_path(path, name);
    unsigned char *data = sample_read(path, &bytes);
    bool lines = strcmp(name, "samples.jsonl") == 0;
    for (size_t length = bytes; length-- > 0;) {
        struct pcere_error error = {0};
        if (truncate(path, (off_t)length) != 0)
            abort();
        enum pcere_status status = use_store(&error);
        if (status != (lines ? PCERE_OK : PCERE_DATA)) {
            fprintf(stderr, "%s: cut to %zu bytes: %d (%s)\n", name, length, status, error.message);
            unseen++;
        }
    }
    CU_ASSERT_EQUAL(unseen, 0);
    sample_write(path, data, bytes);
    CU_ASSERT_EQUAL(use_store(NULL), PCERE_OK);
    free(data);
}

static void test_manifest_flips(void) { flip_every_byte("manifest.json"); }
static void test_pages_flips(void) { flip_every_byte("pages"); }
static void test_codelet_flips(void) { flip_every_byte("codelet"); }
static void test_samples_flips(void) { flip_every_byte("samples.jsonl"); }
static void test_program_flips(void) { flip_every_byte("program"); }
static void test_invocations_flips(void) { flip_every_byte("invocations.json"); }
static void test_manifest_cuts(void) { truncate_to_every_length("manifest.json"); }
static void test_pages_cuts(void) { truncate_to_every_length("pages"); }
static void test_codelet_cuts(void) { truncate_to_every_length("codelet"); }
static void test_samples_cuts(void) { truncate_to_every_length("samples.jsonl"); }
static void test_invocations_cuts(void) { truncate_to_every_length("invocations.json"); }
static void test_program_cuts(void) { truncate_to_every_length("program"); }

static void test_appended_bytes(void)
{
    static const char *const names[] = {"manifest.json", "pages", "codelet", "samples.jsonl", "invocations.json", "program"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[400];
        size_t bytes;
        store_file_path(path, names[i]);
        unsigned char *data = sample_read(path, &bytes);
        int descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        CU_ASSERT_EQUAL(write(descriptor, "{}\n", 3), 3);
        close(descriptor);
        CU_ASSERT_EQUAL(use_store(NULL), PCERE_DATA);
        sample_write(path, data, bytes);
        free(data);
    }
    CU_ASSERT_EQUAL(use_store(NULL), PCERE_OK);
}

static void test_no_invocations(void)
{
    char path[400], aside[420];
    struct store_series *series = NULL;
    size_t count = 1;
    store_file_path(path, "invocations.json");
    snprintf(aside, sizeof aside, "%s.aside", path);
    struct store *store = sample_store_open(&made);
    CU_ASSERT_EQUAL(rename(path, aside), 0);
    CU_ASSERT_EQUAL(store_invocations_load(store, &series, &count, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(count, 0);
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    CU_ASSERT_EQUAL(use_store(NULL), PCERE_DATA);
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(rename(aside, path), 0);
    CU_ASSERT_EQUAL_FATAL(store_invocations_load(store, &series, &count, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(count, 1);
    CU_ASSERT_TRUE(series->count == 3 && series->number[2] == 75 && series->time_ns[1] == 1234 && series->representative[0] == 0);
    store_series_free(series, count);
    store_close(store);
}

static void test_missing_files(void)
{
    static const char *const names[] = {"manifest.json", "pages", "codelet", "samples.jsonl", "program"};
    for (size_t i = 0; i < 5; i++) {
        char path[400], aside[420];
        struct pcere_error error = {0};
        store_file_path(path, names[i]);
        snprintf(aside, sizeof aside, "%s.aside", path);
        CU_ASSERT_EQUAL(rename(path, aside), 0);
        CU_ASSERT_EQUAL(use_store(&error), PCERE_DATA);
        CU_ASSERT_TRUE(*error.message);
        CU_ASSERT_TRUE(*error.hint);
        CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
        CU_ASSERT_EQUAL(use_store(&error), PCERE_DATA);
        CU_ASSERT_EQUAL(unlink(path), 0);
        CU_ASSERT_EQUAL(rename(aside, path), 0);
    }
    CU_ASSERT_EQUAL(use_store(NULL), PCERE_OK);
}

/* A file whose checksum is right, but which says that it is of the next version. */
static void test_other_versions(void)
{
    char path[400];
    size_t bytes;
    struct pcere_error error = {0};
    uint32_t version = 2;

    store_file_path(path, "manifest.json");
    unsigned char *data = sample_read(path, &bytes), *copy = malloc(bytes);
    memcpy(copy, data, bytes);
    char *schema = memmem(copy, bytes, "pcere.store/1", 13);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
    schema[12] = '2';
    sample_write(path, copy, bytes);
    CU_ASSERT_EQUAL(use_store(&error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "written by another version"));
    sample_write(path, data, bytes);
    free(data);
    free(copy);

    store_file_path(path, "pages");
    data = sample_read(path, &bytes);
    copy = malloc(bytes);
    memcpy(copy, data, bytes);
    memcpy(copy + 8, &version, 4);
    uint64_t check = XXH64(copy, 56, 0);
    memcpy(copy + 56, &check, 8);
    sample_write(path, copy, bytes);
    CU_ASSERT_EQUAL(use_store(&error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "written by another version"));
    sample_write(path, data, bytes);
    free(data);
    free(copy);

    store_file_path(path, "codelet");
    data = sample_read(path, &bytes);
    copy = malloc(bytes);
    memcpy(copy, data, bytes);
    version = CODELET_VERSION + 1;
    memcpy(copy + 8, &version, 4);
    check = XXH64(copy, bytes - 8, 0);
    memcpy(copy + bytes - 8, &check, 8);
    sample_write(path, copy, bytes);
    CU_ASSERT_EQUAL(use_store(&error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "written by another version"));
    sample_write(path, data, bytes);
    free(data);
    free(copy);
    CU_ASSERT_EQUAL(use_store(NULL), PCERE_OK);
}

/* The sum over all of a codelet is right, and `part`, which ends `behind` bytes before it, is not. */
static void patched_is_damage(size_t behind, const void *part, size_t part_bytes, const char *words)
{
    struct pcere_error error = {0};
    char path[400];
    size_t bytes;
    store_file_path(path, "codelet");
    unsigned char *data = sample_read(path, &bytes), *copy = malloc(bytes);
    memcpy(copy, data, bytes);
    memcpy(copy + bytes - 8 - behind - part_bytes, part, part_bytes);
    uint64_t check = XXH64(copy, bytes - 8, 0);
    memcpy(copy + bytes - 8, &check, 8);
    sample_write(path, copy, bytes);
    CU_ASSERT_EQUAL(use_store(&error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, words));
    sample_write(path, data, bytes);
    free(data);
    free(copy);
}

/* A C library that gave such a key would be another one. */
static void test_keys_that_no_library_gives(void)
{
    const struct store_key key = {STORE_KEYS_MAX, STORE_KEY_MADE, 0};
    patched_is_damage(SAMPLE_MADE_BYTES, &key, sizeof key, "thread-specific key");
}

static void test_aliases_that_make_no_sense(void)
{
    static const struct { struct store_alias alias; const char *words; } cases[] = {
        {{SAMPLE_ALIAS, SAMPLE_ADDRESS, 0}, "empty"},
        {{SAMPLE_ALIAS + 1, SAMPLE_ADDRESS, SAMPLE_PAGE}, "page boundaries"},
        {{SAMPLE_ALIAS, SAMPLE_ADDRESS + 8, SAMPLE_PAGE}, "page boundaries"},
        {{SAMPLE_ALIAS, 0ull - SAMPLE_PAGE, SAMPLE_PAGE * 2ull}, "wraps around"},
        {{SAMPLE_ALIAS + SAMPLE_PAGE, SAMPLE_ADDRESS, SAMPLE_PAGE}, "outside all mappings"},
        {{SAMPLE_ALIAS, SAMPLE_ADDRESS - SAMPLE_PAGE, SAMPLE_PAGE}, "outside all mappings"},
        {{SAMPLE_ALIAS, SAMPLE_ALIAS, SAMPLE_PAGE}, "refers to what refers to another"},
        {{SAMPLE_ADDRESS, SAMPLE_ALIAS, SAMPLE_PAGE}, "a page is there twice"},
    };
    struct store_codelet codelet;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        patched_is_damage(SAMPLE_MADE_BYTES + SAMPLE_KEYS_BYTES, &cases[i].alias, sizeof cases[i].alias, cases[i].words);
    struct store *store = sample_store_open(&made);
    CU_ASSERT_EQUAL_FATAL(store_codelet_load(store, made.codelet_name, &codelet, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(codelet.alias_count, 1);
    CU_ASSERT_TRUE(codelet.aliases->address == SAMPLE_ALIAS && codelet.aliases->original == SAMPLE_ADDRESS && codelet.aliases->bytes == SAMPLE_PAGE);
    store_codelet_done(&codelet);
    store_close(store);
}

static void test_allocations_that_make_no_sense(void)
{
    static const struct { struct store_run run; const char *words; } cases[] = {
        {{SAMPLE_MADE, 0, 0}, "empty"},
        {{SAMPLE_MADE + 8, 0, 1}, "page boundaries"},
        {{SAMPLE_MADE, 1u << 30, 1}, "does not hold"},
        {{SAMPLE_ADDRESS, 0, 1}, "memory that was there before"},
        {{SAMPLE_ALIAS - SAMPLE_PAGE, STORE_PAGE_ZERO, 2}, "memory that was there before"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        patched_is_damage(0, &cases[i].run, sizeof cases[i].run, cases[i].words);
}

static void test_files_of_another_store(void)
{
    static const char *const names[] = {"pages", "codelet"};
    struct sample_store other;
    sample_store_make_of(&other, made.page_count, true, "/bin/true");
    for (size_t i = 0; i < 2; i++) {
        char path[400], source[400];
        size_t bytes, other_bytes;
        struct pcere_error error = {0};
        store_file_path(path, names[i]);
        snprintf(source, sizeof source, i ? "%s/codelets/%s.codelet" : "%s/pages", other.path, other.codelet_name);
        unsigned char *data = sample_read(path, &bytes), *others = sample_read(source, &other_bytes);
        sample_write(path, others, other_bytes);
        CU_ASSERT_EQUAL(use_store(&error), PCERE_DATA);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "another store"));
        sample_write(path, data, bytes);
        free(data);
        free(others);
    }
    CU_ASSERT_EQUAL(use_store(NULL), PCERE_OK);
    sample_store_done(&other);
}

static void test_renamed_codelet(void)
{
    char path[400], renamed[400];
    struct store_codelet codelet;
    struct pcere_error error = {0};
    store_file_path(path, "codelet");
    snprintf(renamed, sizeof renamed, "%s/codelets/other.codelet", made.path);
    CU_ASSERT_EQUAL(link(path, renamed), 0);
    struct store *store = sample_store_open(&made);
    CU_ASSERT_EQUAL(store_codelet_load(store, "other", &codelet, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "another name"));
    CU_ASSERT_EQUAL(store_codelet_load(store, "../manifest", &codelet, &error), PCERE_USAGE);
    CU_ASSERT_EQUAL(store_codelet_load(store, "nothing", &codelet, &error), PCERE_DATA);
    store_close(store);
    CU_ASSERT_EQUAL(unlink(renamed), 0);
}

static void test_what_is_no_store(void)
{
    struct store *store;
    struct pcere_error error = {0};
    CU_ASSERT_EQUAL(store_open("/nonexistent/x.pcere", &store, &error), PCERE_DATA);
    CU_ASSERT_EQUAL(store_open("/proc/self/exe", &store, &error), PCERE_DATA);
    CU_ASSERT_EQUAL(store_open(made.folder, &store, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "not a PCERE store"));
}

static void test_the_only_store_is_found(void)
{
    char before[400], second[300];
    struct store *store;
    struct pcere_error error = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(before, sizeof before));
    CU_ASSERT_EQUAL_FATAL(chdir(made.path), 0);
    CU_ASSERT_EQUAL(store_open(NULL, &store, &error), PCERE_DATA);
    CU_ASSERT_EQUAL_FATAL(chdir(made.folder), 0);
    CU_ASSERT_EQUAL_FATAL(store_open(NULL, &store, &error), PCERE_OK);
    CU_ASSERT_STRING_EQUAL(store_path(store), "sample.pcere");
    store_close(store);
    snprintf(second, sizeof second, "%s/another.pcere", made.folder);
    CU_ASSERT_EQUAL(mkdir(second, 0700), 0);
    CU_ASSERT_EQUAL(store_open(NULL, &store, &error), PCERE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "another.pcere, sample.pcere"));
    CU_ASSERT_EQUAL(rmdir(second), 0);
    CU_ASSERT_EQUAL(chdir(before), 0);
}

/* The first test makes what the others damage, the last one removes it. */
static void test_undamaged(void)
{
    char program[] = "/tmp/pcere-program-XXXXXX";
    int descriptor = mkstemp(program);
    CU_ASSERT_TRUE_FATAL(descriptor >= 0 && write(descriptor, program, sizeof program) == (ssize_t)sizeof program);
    close(descriptor);
    sample_store_make_of(&made, 7, true, program);
    unlink(program);
    CU_ASSERT_EQUAL_FATAL(use_store(NULL), PCERE_OK);
}

static void test_still_undamaged(void)
{
    CU_ASSERT_EQUAL(use_store(NULL), PCERE_OK);
    sample_store_done(&made);
}

static const struct unit_test tests[] = {
    {"an undamaged store is whole", test_undamaged},
    {"every flipped byte of the manifest is found", test_manifest_flips},
    {"every flipped byte of the pages is found", test_pages_flips},
    {"every flipped byte of a codelet is found", test_codelet_flips},
    {"every flipped byte of the samples is found", test_samples_flips},
    {"every flipped byte of the invocations is found", test_invocations_flips},
    {"every flipped byte of the program is found", test_program_flips},
    {"a manifest of any other length is refused", test_manifest_cuts},
    {"pages of any other length are refused", test_pages_cuts},
    {"a codelet of any other length is refused", test_codelet_cuts},
    {"a torn last line of the samples is passed over", test_samples_cuts},
    {"a damaged line of the samples leaves the others", test_damaged_sample_is_passed_by},
    {"invocations of any other length are refused", test_invocations_cuts},
    {"a program of any other length is refused", test_program_cuts},
    {"bytes behind the end of a file are refused", test_appended_bytes},
    {"a missing file is refused, and so is a pipe in its place", test_missing_files},
    {"a store without invocations has none; a pipe in their place is refused", test_no_invocations},
    {"files of another version are refused and named as such", test_other_versions},
    {"a key that no library gives is damage", test_keys_that_no_library_gives},
    {"memory at two addresses that makes no sense is damage, by what is wrong", test_aliases_that_make_no_sense},
    {"allocated memory that makes no sense is damage, by what is wrong", test_allocations_that_make_no_sense},
    {"files of another store are refused", test_files_of_another_store},
    {"a codelet under another name is refused", test_renamed_codelet},
    {"what is no store is refused", test_what_is_no_store},
    {"the only store of a directory is found, two are listed", test_the_only_store_is_found},
    {"the store is whole again once all damage is undone", test_still_undamaged},
};

UNIT_MAIN("store: damage", tests)
