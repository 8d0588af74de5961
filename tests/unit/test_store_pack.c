/* tests/unit/test_store_pack.c - packed stores: the same comes back, damage and malice are refused before anything appears. */
#include "core/faults.h"
#include "store/pack_format.h"
#include "tests/unit/store_sample.h"
#include "tests/unit/unit.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <sys/file.h>
#include <xxhash.h>

struct packed {
    struct sample_store made;
    char file[200], other[200];      /* the packed store; where it is unpacked */
};

static void library_add(struct sample_store *made)
{
    CU_ASSERT_EQUAL_FATAL(store_writer_library(made->writer, "libsmall.so.1", "/bin/true", NULL, NULL), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(store_writer_library(made->writer, "libsmall.so.1", "/bin/true", NULL, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(store_writer_library(made->writer, "../lib.so", "/bin/true", NULL, NULL), PCERE_USAGE);
    CU_ASSERT_EQUAL(store_writer_library(made->writer, "libnone.so", "/no/such/file", NULL, NULL), PCERE_USAGE);
}

static void prepare(struct packed *packed, bool pack)
{
    struct pcere_error error = {0};
    struct store_pack sizes;
    struct sample_store *made = &packed->made;
    sample_store_make_of(made, 6, false, NULL);
    CU_ASSERT_EQUAL_FATAL(store_writer_program(made->writer, "/bin/true", &error), PCERE_OK);
    library_add(made);
    CU_ASSERT_EQUAL_FATAL(sample_add_codelet(made, &error), PCERE_OK);
    CU_ASSERT_EQUAL_FATAL(sample_add_manifest(made, true, &error), PCERE_OK);
    store_writer_close(made->writer);
    made->writer = NULL;
    struct store *store = sample_store_open(made);
    sample_add_samples(store);
    sample_add_invocations(store);
    snprintf(packed->file, sizeof packed->file, "%s/sample.tar.zst", made->folder);
    snprintf(packed->other, sizeof packed->other, "%s/other.pcere", made->folder);
    if (pack)
        CU_ASSERT_EQUAL_FATAL(store_pack(store, packed->file, false, &sizes, &error), PCERE_OK);
    store_close(store);
}

static enum pcere_status unpack(const struct packed *packed, bool force, struct pcere_error *error)
{
    char *path = NULL;
    struct store_pack sizes;
    enum pcere_status status = store_unpack(packed->file, packed->other, force, &path, &sizes, error);
    free(path);
    return status;
}

/* Names in the test's folder; what a failure leaves behind shows here. */
static size_t names_count(const struct packed *packed)
{
    size_t count = 0;
    DIR *listing = opendir(packed->made.folder);
    while (readdir(listing))
        count++;
    closedir(listing);
    return count - 2;
}

static bool same_files(const char *left, const char *right, const char *name)
{
    char path[300];
    size_t left_bytes, right_bytes;
    snprintf(path, sizeof path, "%s/%s", left, name);
    unsigned char *a = sample_read(path, &left_bytes);
    snprintf(path, sizeof path, "%s/%s", right, name);
    unsigned char *b = sample_read(path, &right_bytes);
    bool same = left_bytes == right_bytes && memcmp(a, b, left_bytes) == 0;
    free(a);
    free(b);
    return same;
}

/* ---- whole stores -------------------------------------------------------------------------------------------------------- */

static void test_what_was_packed_comes_back(void)
{
    struct packed packed;
    struct stat about;
    char codelet[200], path[300];
    prepare(&packed, true);
    CU_ASSERT_TRUE(stat(packed.file, &about) == 0 && (about.st_mode & 07777) == 0600);
    CU_ASSERT_EQUAL_FATAL(unpack(&packed, false, NULL), PCERE_OK);
    snprintf(codelet, sizeof codelet, "codelets/%s.codelet", packed.made.codelet_name);
    const char *names[] = {"manifest.json", "samples.jsonl", "invocations.json", "program", "libraries/libsmall.so.1", "pages", codelet};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CU_ASSERT_TRUE(same_files(packed.made.path, packed.other, names[i]));
        snprintf(path, sizeof path, "%s/%s", packed.other, names[i]);
        CU_ASSERT_TRUE(stat(path, &about) == 0 && (about.st_mode & 07777) == 0600);
    }
    CU_ASSERT_TRUE(stat(packed.other, &about) == 0 && (about.st_mode & 07777) == 0700);
    struct store *store = NULL;
    CU_ASSERT_EQUAL_FATAL(store_open(packed.other, &store, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(store_check(store, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(store_library_count(store), 1);
    CU_ASSERT_STRING_EQUAL(store_library(store, 0)->name, "libsmall.so.1");
    store_close(store);
    CU_ASSERT_EQUAL(names_count(&packed), 3);
    sample_store_done(&packed.made);
}

static void test_two_packs_of_a_store_are_the_same(void)
{
    struct packed packed;
    struct store_pack sizes;
    size_t bytes, again;
    prepare(&packed, true);
    unsigned char *first = sample_read(packed.file, &bytes);
    struct store *store = sample_store_open(&packed.made);
    CU_ASSERT_EQUAL_FATAL(store_pack(store, packed.file, true, &sizes, NULL), PCERE_OK);
    CU_ASSERT_TRUE(sizes.packed_bytes == bytes && sizes.files == 7);
    unsigned char *second = sample_read(packed.file, &again);
    CU_ASSERT_TRUE(bytes == again && memcmp(first, second, bytes) == 0);
    free(first);
    free(second);
    store_close(store);
    sample_store_done(&packed.made);
}

static void test_nothing_is_overwritten_without_force(void)
{
    struct packed packed;
    struct store_pack sizes;
    char link[300];
    prepare(&packed, true);
    struct store *store = sample_store_open(&packed.made);
    CU_ASSERT_EQUAL(store_pack(store, packed.file, false, &sizes, NULL), PCERE_USAGE);
    snprintf(link, sizeof link, "%s/link", packed.made.folder);
    CU_ASSERT_EQUAL(symlink(packed.file, link), 0);
    CU_ASSERT_EQUAL(store_pack(store, link, true, &sizes, NULL), PCERE_USAGE);
    CU_ASSERT_EQUAL(store_pack(store, packed.made.folder, true, &sizes, NULL), PCERE_USAGE);
    store_close(store);
    CU_ASSERT_EQUAL(unpack(&packed, false, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(unpack(&packed, false, NULL), PCERE_USAGE);
    CU_ASSERT_EQUAL(unpack(&packed, true, NULL), PCERE_OK);
    snprintf(packed.other, sizeof packed.other, "%s", packed.made.folder);
    CU_ASSERT_EQUAL(unpack(&packed, true, NULL), PCERE_USAGE);
    sample_store_done(&packed.made);
}

static void test_a_damaged_store_is_not_packed(void)
{
    struct packed packed;
    struct store_pack sizes;
    struct pcere_error error = {0};
    char path[300];
    prepare(&packed, false);
    snprintf(path, sizeof path, "%s/libraries/libsmall.so.1", packed.made.path);
    sample_write(path, "other", 5);
    struct store *store = sample_store_open(&packed.made);
    CU_ASSERT_EQUAL(store_pack(store, packed.file, false, &sizes, &error), PCERE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "libsmall.so.1"));
    store_close(store);
    CU_ASSERT_EQUAL(names_count(&packed), 1);
    sample_store_done(&packed.made);
}

static void test_a_full_disk_leaves_nothing(void)
{
    struct packed packed;
    struct store_pack sizes;
    prepare(&packed, false);
    struct store *store = sample_store_open(&packed.made);
    static const char *const packing[] = {"pack.create:1:ENOSPC", "pack.write:1:ENOSPC", "pack.write:2:ENOSPC", "pack.create:2:EIO", "pack.create:3:EIO"};
    for (size_t i = 0; i < sizeof packing / sizeof *packing; i++) {
        struct pcere_error error = {0};
        fault_arm(packing[i], NULL);
        CU_ASSERT_EQUAL(store_pack(store, packed.file, false, &sizes, &error), PCERE_SYSTEM);
        fault_disarm();
        CU_ASSERT_TRUE(error.errnum == ENOSPC || error.errnum == EIO);
        CU_ASSERT_EQUAL(names_count(&packed), 1);
    }
    CU_ASSERT_EQUAL_FATAL(store_pack(store, packed.file, false, &sizes, NULL), PCERE_OK);
    store_close(store);
    static const char *const unpacking[] = {"store.mkdir", "unpack.create:3:EACCES", "unpack.write:1:ENOSPC", "unpack.write:4:ENOSPC",
                                            "unpack.sync:2:EIO", "store.rename"};
    for (size_t i = 0; i < sizeof unpacking / sizeof *unpacking; i++) {
        struct pcere_error error = {0};
        fault_arm(unpacking[i], NULL);
        CU_ASSERT_EQUAL(unpack(&packed, false, &error), PCERE_SYSTEM);
        fault_disarm();
        CU_ASSERT_TRUE(*error.message != '\0');
        CU_ASSERT_EQUAL(names_count(&packed), 2);
    }
    CU_ASSERT_EQUAL(unpack(&packed, false, NULL), PCERE_OK);
    sample_store_done(&packed.made);
}

/* ---- damage -------------------------------------------------------------------------------------------------------------- */

static void test_every_flipped_byte_is_seen(void)
{
    struct packed packed;
    size_t bytes, unseen = 0;
    prepare(&packed, true);
    unsigned char *data = sample_read(packed.file, &bytes);
    int descriptor = open(packed.file, O_RDWR | O_CLOEXEC);
    for (size_t at = 0; at < bytes; at++) {
        static const unsigned char masks[] = {0x01, 0x80, 0x20, 0xff};
        unsigned char flipped = data[at] ^ masks[at % 4];
        struct pcere_error error = {0};
        if (pwrite(descriptor, &flipped, 1, (off_t)at) != 1 || unpack(&packed, false, &error) != PCERE_DATA || !*error.hint)
            unseen++;
        if (pwrite(descriptor, &data[at], 1, (off_t)at) != 1)
            abort();
    }
    CU_ASSERT_EQUAL(unseen, 0);
    CU_ASSERT_EQUAL(names_count(&packed), 2);
    CU_ASSERT_EQUAL(unpack(&packed, false, NULL), PCERE_OK);
    close(descriptor);
    free(data);
    sample_store_done(&packed.made);
}

static void test_every_cut_is_seen(void)
{
    struct packed packed;
    size_t bytes, unseen = 0;
    prepare(&packed, true);
    free(sample_read(packed.file, &bytes));
    while (bytes-- > 0) {
        struct pcere_error error = {0};
        if (truncate(packed.file, (off_t)bytes) != 0 || unpack(&packed, false, &error) != PCERE_DATA || !*error.hint)
            unseen++;
    }
    CU_ASSERT_EQUAL(unseen, 0);
    CU_ASSERT_EQUAL(names_count(&packed), 2);
    sample_store_done(&packed.made);
}

static void test_other_files_are_no_packed_stores(void)
{
    struct packed packed;
    struct pcere_error error = {0};
    prepare(&packed, true);
    static const char *const others[] = {"/bin/true", "/dev/zero", "/", "/no/such/file"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(packed.file, sizeof packed.file, "%s", others[i]);
        CU_ASSERT_EQUAL(unpack(&packed, false, &error), PCERE_DATA);
        CU_ASSERT_TRUE(*error.message && *error.hint);
    }
    sample_store_done(&packed.made);
}

/* ---- malice -------------------------------------------------------------------------------------------------------------- */

struct item { const char *path; mode_t type; const char *link; const char *content; };

/* An archive of any items behind which a right trailer stands. */
static void craft(const char *file, const struct item *items, size_t count, const struct pack_trailer *claims)
{
    struct archive *archive = archive_write_new();
    struct pack_trailer trailer = {PACK_SKIPPABLE, sizeof trailer - 8, PACK_MAGIC, PACK_VERSION, (uint32_t)count, 0, 0, 0};
    if (archive_write_set_format_pax_restricted(archive) || archive_write_add_filter_zstd(archive) ||
        archive_write_set_bytes_in_last_block(archive, 1) || archive_write_open_filename(archive, file))
        abort();
    for (size_t i = 0; i < count; i++) {
        struct archive_entry *entry = archive_entry_new();
        const char *content = items[i].content ? items[i].content : "";
        archive_entry_set_pathname(entry, items[i].path);
        archive_entry_set_filetype(entry, items[i].type ? items[i].type : AE_IFREG);
        archive_entry_set_perm(entry, 0600);
        archive_entry_set_size(entry, (la_int64_t)strlen(content));
        if (items[i].type == AE_IFLNK)
            archive_entry_set_symlink(entry, items[i].link);
        else if (items[i].link)
            archive_entry_set_hardlink(entry, items[i].link);
        if (archive_write_header(archive, entry) < ARCHIVE_WARN)
            abort();
        archive_write_data(archive, content, strlen(content));
        archive_entry_free(entry);
        trailer.unpacked_bytes += strlen(content);
    }
    archive_write_close(archive);
    archive_write_free(archive);
    size_t bytes;
    unsigned char *data = sample_read(file, &bytes);
    data = realloc(data, bytes + sizeof trailer);
    if (claims) {
        trailer.files = claims->files;
        trailer.unpacked_bytes = claims->unpacked_bytes;
    }
    trailer.archive_bytes = bytes;
    memcpy(data + bytes, &trailer, sizeof trailer);
    trailer.check = XXH64(data, bytes + offsetof(struct pack_trailer, check), 0);
    memcpy(data + bytes, &trailer, sizeof trailer);
    sample_write(file, data, bytes + sizeof trailer);
    free(data);
}

static void check_refused(struct packed *packed, const struct item *items, size_t count, const struct pack_trailer *claims,
                          enum pcere_status wanted, const char *word)
{
    struct pcere_error error = {0};
    craft(packed->file, items, count, claims);
    size_t before = names_count(packed);
    enum pcere_status status = unpack(packed, false, &error);
    if (status != wanted || !strstr(error.message, word))
        fprintf(stderr, "%s: status %d, '%s', and '%s' was wanted\n", items[0].path, status, error.message, word);
    CU_ASSERT_EQUAL(status, wanted);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, word));
    CU_ASSERT_EQUAL(names_count(packed), before);
}

static void test_names_that_lead_elsewhere_are_refused(void)
{
    struct packed packed;
    prepare(&packed, true);
    static const char *const names[] = {
        "../manifest.json", "/tmp/manifest.json", "/manifest.json", "..", "manifest.json", "p/../manifest.json", "p/../../escaped",
        "./manifest.json", ".p/manifest.json", "p/codelets/../../x.codelet", "p/codelets/a/b.codelet", "p/codelets/.codelet",
        "p/codelets/..codelet", "p/libraries/", "p/libraries/..", "p/libraries/../x", "p/libraries/a/b", "p/other", "p/", "p//manifest.json",
        "p/build/0123456789abcdef/codelet", "p/manifest.json.tmp", "p\n/manifest.json", "p/pages/x", "p/codelets/x.codelet2", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_refused(&packed, &(struct item){.path = names[i], .content = "x"}, 1, NULL, PCERE_DATA, "damaged");
    CU_ASSERT_TRUE(access("/tmp/escaped", F_OK) != 0);
    sample_store_done(&packed.made);
}

static void test_links_and_devices_are_refused(void)
{
    struct packed packed;
    prepare(&packed, true);
    static const struct item items[] = {
        {.path = "p/manifest.json", .type = AE_IFLNK, .link = "/etc/passwd"}, {.path = "p/program", .type = AE_IFLNK, .link = "../x"},
        {.path = "p/pages", .link = "/etc/passwd"},         {.path = "p/pages", .type = AE_IFCHR},
        {.path = "p/pages", .type = AE_IFBLK},              {.path = "p/samples.jsonl", .type = AE_IFIFO},
        {.path = "p/libraries/x", .type = AE_IFLNK, .link = "/etc"}};
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        check_refused(&packed, &items[i], 1, NULL, PCERE_DATA, "no regular file");
    check_refused(&packed, &(struct item){.path = "p/codelets", .type = AE_IFDIR}, 1, NULL, PCERE_DATA, "damaged");
    sample_store_done(&packed.made);
}

static void test_archives_that_lie_are_refused(void)
{
    struct packed packed;
    prepare(&packed, true);
    static const struct item twice[] = {{.path = "p/pages", .content = "x"}, {.path = "p/pages", .content = "y"}};
    check_refused(&packed, twice, 2, NULL, PCERE_DATA, "twice");
    static const struct item mixed[] = {{.path = "p/pages", .content = "x"}, {.path = "q/program", .content = "y"}};
    check_refused(&packed, mixed, 2, NULL, PCERE_DATA, "none of a store's");
    static const struct item plain = {.path = "p/pages", .content = "0123456789"};
    check_refused(&packed, &plain, 1, &(struct pack_trailer){.files = 1, .unpacked_bytes = 9}, PCERE_DATA, "more than it says");
    check_refused(&packed, &plain, 1, &(struct pack_trailer){.files = 1, .unpacked_bytes = 11}, PCERE_DATA, "less than it says");
    check_refused(&packed, &plain, 1, &(struct pack_trailer){.files = 2, .unpacked_bytes = 10}, PCERE_DATA, "less than it says");
    check_refused(&packed, twice, 2, &(struct pack_trailer){.files = 1, .unpacked_bytes = 2}, PCERE_DATA, "more than it says");
    check_refused(&packed, &plain, 1, &(struct pack_trailer){.files = 1, .unpacked_bytes = UINT64_MAX}, PCERE_DATA, "more than any store");
    check_refused(&packed, &plain, 1, &(struct pack_trailer){.files = UINT32_MAX, .unpacked_bytes = 10}, PCERE_DATA, "more than any store");
    check_refused(&packed, &plain, 1, &(struct pack_trailer){.files = 1, .unpacked_bytes = PACK_BYTES_MOST}, PCERE_SYSTEM, "takes");
    check_refused(&packed, &plain, 1, NULL, PCERE_DATA, "no manifest.json");
    static const struct item other[] = {{.path = "p/manifest.json", .content = "{\"schema\": \"pcere.store/999\"}"}, {.path = "p/pages", .content = "x"}};
    check_refused(&packed, other, 2, NULL, PCERE_DATA, "another version");
    sample_store_done(&packed.made);
}

/* ---- removing ------------------------------------------------------------------------------------------------------------ */

static void test_a_store_is_removed_and_nothing_else(void)
{
    struct packed packed;
    struct pcere_error error = {0};
    uint64_t bytes = 0;
    char path[300], command[600];
    prepare(&packed, true);
    CU_ASSERT_EQUAL(store_remove(packed.file, false, &bytes, NULL), PCERE_USAGE);
    CU_ASSERT_EQUAL(store_remove(packed.made.folder, false, &bytes, NULL), PCERE_USAGE);
    CU_ASSERT_EQUAL(store_remove("/no/such/store", false, &bytes, NULL), PCERE_DATA);
    snprintf(path, sizeof path, "%s/link.pcere", packed.made.folder);
    CU_ASSERT_EQUAL(symlink(packed.made.path, path), 0);
    CU_ASSERT_EQUAL(store_remove(path, false, &bytes, &error), PCERE_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "link"));
    unlink(path);
    static const char *const foreign[] = {"notes.txt", "codelets/notes", "build/mine", "libraries/.hidden"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        snprintf(command, sizeof command, "mkdir -p '%s/build' && echo > '%s/%s'", packed.made.path, packed.made.path, foreign[i]);
        CU_ASSERT_EQUAL(system(command), 0);
        CU_ASSERT_EQUAL(store_remove(packed.made.path, false, &bytes, &error), PCERE_USAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, foreign[i]));
        struct store *store = sample_store_open(&packed.made);
        CU_ASSERT_EQUAL(store_check(store, NULL), PCERE_OK);
        store_close(store);
        snprintf(path, sizeof path, "%s/%s", packed.made.path, foreign[i]);
        unlink(path);
    }
    int lock = open(packed.made.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    flock(lock, LOCK_EX);
    CU_ASSERT_EQUAL(store_remove(packed.made.path, false, &bytes, NULL), PCERE_USAGE);
    close(lock);
    CU_ASSERT_EQUAL(store_remove(packed.made.path, false, &bytes, &error), PCERE_OK);
    CU_ASSERT_TRUE(bytes > 4096);
    CU_ASSERT_TRUE(access(packed.made.path, F_OK) != 0);
    CU_ASSERT_EQUAL(names_count(&packed), 1);
    sample_store_done(&packed.made);
}

static void test_the_cache_alone_is_removed(void)
{
    struct packed packed;
    uint64_t bytes = 0;
    char command[600];
    prepare(&packed, false);
    snprintf(command, sizeof command, "mkdir -p '%s/build/0123456789abcdef/libraries' && echo > '%s/build/0123456789abcdef/codelet'", packed.made.path,
             packed.made.path);
    CU_ASSERT_EQUAL(system(command), 0);
    CU_ASSERT_EQUAL(store_remove(packed.made.path, true, &bytes, NULL), PCERE_OK);
    CU_ASSERT_TRUE(bytes > 0);
    struct store *store = sample_store_open(&packed.made);
    CU_ASSERT_EQUAL(store_check(store, NULL), PCERE_OK);
    store_close(store);
    snprintf(command, sizeof command, "%s/build", packed.made.path);
    CU_ASSERT_TRUE(access(command, F_OK) != 0);
    sample_store_done(&packed.made);
}

static void test_a_removal_that_was_interrupted_goes_on(void)
{
    struct packed packed;
    struct store *store;
    uint64_t bytes;
    char path[300];
    prepare(&packed, false);
    snprintf(path, sizeof path, "%s/manifest.json", packed.made.path);
    unlink(path);
    CU_ASSERT_EQUAL(store_open(packed.made.path, &store, NULL), PCERE_DATA);
    CU_ASSERT_EQUAL(store_remove(packed.made.path, false, &bytes, NULL), PCERE_OK);
    CU_ASSERT_EQUAL(names_count(&packed), 0);
    sample_store_done(&packed.made);
}

static const struct unit_test tests[] = {
    {"what was packed comes back, byte for byte", test_what_was_packed_comes_back},
    {"two packs of a store are the same", test_two_packs_of_a_store_are_the_same},
    {"nothing is overwritten without force, and what is no packed store or store never", test_nothing_is_overwritten_without_force},
    {"a damaged store is not packed", test_a_damaged_store_is_not_packed},
    {"a full disk leaves nothing", test_a_full_disk_leaves_nothing},
    {"every flipped byte is seen", test_every_flipped_byte_is_seen},
    {"every cut is seen", test_every_cut_is_seen},
    {"other files are no packed stores", test_other_files_are_no_packed_stores},
    {"names that lead elsewhere are refused", test_names_that_lead_elsewhere_are_refused},
    {"links and devices are refused", test_links_and_devices_are_refused},
    {"archives that lie are refused", test_archives_that_lie_are_refused},
    {"a store is removed and nothing else", test_a_store_is_removed_and_nothing_else},
    {"the cache alone is removed", test_the_cache_alone_is_removed},
    {"a removal that was interrupted goes on", test_a_removal_that_was_interrupted_goes_on},
};

UNIT_MAIN("store: packing", tests)
